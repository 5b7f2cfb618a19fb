//! Workers in a room: written in each language with its kit, or without one.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lineside_core::Propagation;
use lineside_core::failure::FailureKind;
use lineside_core::invocation::{Environment, Program};
use lineside_core::json::{Value, json};
use lineside_core::worker::{HookCall, HookWorker, HookWorkerBounds, WorkerEnded, WorkerReach, WorkerStart};
use lineside_exec::{Containment, HookWorkerClient, KITS, LogSource, WorkerListener, WorkerLog};

use crate::room::{PATIENCE, Room, millis};

/// A language with a kit, and how its hook receives a command.
pub(crate) struct Language {
    pub(crate) program: &'static str,
    script: &'static str,
    /// Hooks that do what the event says: one for every name, and one called `async`.
    source: &'static str,
    pub(crate) pid: &'static str,
    pub(crate) endless: &'static str,
    pub(crate) waits: &'static str,
    pub(crate) until_cancelled: &'static str,
    pub(crate) exits: &'static str,
    pub(crate) killed: &'static str,
    pub(crate) stopped: &'static str,
    pub(crate) fails: &'static str,
    pub(crate) prints: &'static str,
    pub(crate) floods: &'static str,
    pub(crate) helper: &'static str,
    pub(crate) away: &'static str,
    pub(crate) meets: &'static str,
    pub(crate) too_deep: &'static str,
    pub(crate) mark: &'static str,
    /// Has the file that the event names shown by a program that inherits its descriptors.
    pub(crate) shows: &'static str,
}

pub(crate) const PYTHON: Language = Language {
    program: "python3",
    script: "worker.py",
    source: "import asyncio, os, signal, subprocess, sys, time
from lineside_hook import hook, serve

@hook
def check(event, call):
    return {'log': eval(event['do'])}

@hook(name='async')
async def later(event, call):
    return {'log': await eval(event['do'])}

serve()
",
    pid: "os.getpid()",
    endless: "exec('while True: pass')",
    waits: "time.sleep(600)",
    until_cancelled: "exec('while not call.cancelled(): time.sleep(0.001)')",
    exits: "os._exit(7)",
    killed: "os.kill(os.getpid(), signal.SIGKILL)",
    stopped: "os.kill(os.getpid(), signal.SIGSTOP) or time.sleep(600)",
    fails: "int('boom')",
    prints: "print('to be seen') or os.write(1, b'{\"type\":\"answer\",\"id\":1,\"answer\":{\"decision\":\"deny\"}}\\n') and 1",
    floods: "[os.write(to, b'\\x1b[31m\\xff' + b'y' * 5000 + b'\\n') for to in (1, 2) for _ in range(1500)] and 1",
    helper: "subprocess.Popen(['/bin/sleep', '600']) and 1",
    away: "subprocess.Popen(['/bin/sh', '-c', 'sleep 600 & exit'], start_new_session=True).wait() or 1",
    meets: "open(event['mine'], 'w').close() or exec('while not os.path.exists(event[\"other\"]): time.sleep(0.001)') or 1",
    too_deep: "__import__('functools').reduce(lambda inner, _: [inner], range(100000), 1)",
    mark: "os.environ['LINESIDE_RUN'].split(':')[-1]",
    shows: "subprocess.run(['cat', event['file']]) and 1",
};

pub(crate) const NODE: Language = Language {
    program: "node",
    script: "worker.mjs",
    source: "import child from 'node:child_process';
import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { hook, serve } from './lineside-hook.mjs';

const check = async (event, call) => ({ log: await eval(event.do) });
hook(check);
hook('async', check);
void child, fs, sleep;
serve();
",
    pid: "process.pid",
    endless: "(() => { for (;;) {} })()",
    waits: "new Promise(() => {})",
    until_cancelled: "new Promise((done) => call.signal.addEventListener('abort', done))",
    exits: "process.exit(7)",
    killed: "process.kill(process.pid, 'SIGKILL')",
    stopped: "process.kill(process.pid, 'SIGSTOP') && new Promise(() => {})",
    fails: "(() => { throw new Error('boom') })()",
    prints: "(console.log('to be seen'), process.stdout.write('and this\\n'), 1)",
    floods: "(() => { const b = Buffer.alloc(5000, '\\x1b[31m\\xff' + 'y'.repeat(4000) + '\\n', 'latin1');
        for (let i = 0; i < 1500; i++) { fs.writeSync(1, b); fs.writeSync(2, b); } return 1; })()",
    helper: "child.spawn('/bin/sleep', ['600'], { stdio: 'inherit' }) && 1",
    away: "child.spawn('/bin/sh', ['-c', 'sleep 600 & exit'], { detached: true, stdio: 'ignore' }).unref() || 1",
    meets: "(async () => { fs.writeFileSync(event.mine, ''); while (!fs.existsSync(event.other)) await sleep(1); return 1; })()",
    too_deep: "(() => { let v = 1; for (let i = 0; i < 100000; i++) v = [v]; return v; })()",
    mark: "process.env.LINESIDE_RUN.split(':').pop()",
    shows: "child.spawnSync('cat', [event.file], { stdio: 'inherit' }) && 1",
};

/// Patient bounds.
pub(crate) fn bounds() -> HookWorkerBounds {
    HookWorkerBounds { hello: PATIENCE, cancel: millis(500), ..HookWorkerBounds::default() }
}

impl Language {
    /// A worker with the hooks of this language.
    pub(crate) fn worker(&self, room: &Room) -> HookWorker {
        for kit in KITS {
            room.file(kit.file, kit.text, 0o644);
        }
        let script = room.file(self.script, self.source, 0o644);
        program(room, [self.program, script.to_str().unwrap()])
    }

    /// Does something with a worker of this language.
    pub(crate) fn with(&self, test: impl AsyncFnOnce(&Room, &Yard)) {
        let room = Room::enter();
        let worker = self.worker(&room);
        inside(room, worker, test);
    }
}

/// Does the same with each language.
pub(crate) fn with_each(test: impl AsyncFn(&Room, &Yard, &Language)) {
    for language in [&PYTHON, &NODE] {
        language.with(async |room, yard| test(room, yard, language).await);
    }
}

/// What a program without a kit begins with: it has heard the first `hello`.
const RAW: &str = "import json, os, sys, time
def put(text):
    sys.stdout.write(text)
    sys.stdout.flush()
def say(**frame):
    put(json.dumps(frame) + '\\n')
def hear():
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    return json.loads(line)
def calls():
    while True:
        frame = hear()
        if frame['type'] == 'call' and frame['event'] == 'warm':
            say(type='answer', id=frame['id'], answer={})
        elif frame['type'] == 'call':
            yield frame
        if frame['type'] == 'shutdown':
            sys.exit()
hello = hear()
";

/// A worker without a kit: what it does after it has heard `hello`.
pub(crate) fn raw(room: &Room, source: &str) -> HookWorker {
    let script = room.file("raw.py", &format!("{RAW}{source}\n"), 0o644);
    program(room, ["python3", script.to_str().unwrap()])
}

/// Does something with such a worker.
pub(crate) fn with_raw(source: &str, test: impl AsyncFnOnce(&Room, &Yard)) {
    with_raw_in(source, bounds(), test);
}

pub(crate) fn with_raw_in(source: &str, bounds: HookWorkerBounds, test: impl AsyncFnOnce(&Room, &Yard)) {
    let room = Room::enter();
    let worker = HookWorker { bounds, ..raw(&room, source) };
    inside(room, worker, test);
}

fn program<const N: usize>(room: &Room, argv: [&str; N]) -> HookWorker {
    let reach = WorkerReach::Program {
        program: Program::argv(argv),
        environment: Environment { set: room.mark(), ..Environment::default() },
        working_directory: None,
    };
    HookWorker { reach, content: String::new(), start: WorkerStart::OnUse, bounds: bounds() }
}

pub(crate) fn inside(room: Room, worker: HookWorker, test: impl AsyncFnOnce(&Room, &Yard)) {
    room.block_on(async {
        let yard = Yard::keep(worker, Containment::new());
        test(&room, &yard).await;
        yard.worker.shutdown().await;
        assert_eq!(room.processes(), [""; 0], "dead when the worker has been shut down");
    });
    room.leave();
}

/// A worker and what it said.
pub(crate) struct Yard {
    pub(crate) worker: HookWorkerClient,
    logs: Arc<Mutex<Vec<WorkerLog>>>,
}

impl Yard {
    pub(crate) fn keep(worker: HookWorker, containment: Containment) -> Self {
        let (listener, logs) = listening();
        Self { worker: HookWorkerClient::new(worker, listener, containment), logs }
    }

    pub(crate) async fn ask(&self, event: Value) -> WorkerEnded {
        self.within(PATIENCE, event).await
    }

    pub(crate) async fn within(&self, timeout: Duration, event: Value) -> WorkerEnded {
        self.worker
            .call(HookCall {
                environment: Propagation::none(),
                hook: "check".to_owned(),
                event: event.to_string(),
                timeout,
                tree: None,
            })
            .await
    }

    /// A worker without a kit runs.
    pub(crate) async fn warm(&self) {
        assert_eq!(self.ask(json!("warm")).await, answered("{}"));
    }

    /// Has the hook of a kit do this.
    pub(crate) async fn have(&self, what: &str) -> WorkerEnded {
        self.ask(json!({ "do": what })).await
    }

    /// What the hook of a kit said when it did this.
    pub(crate) async fn said(&self, what: &str) -> Value {
        match self.have(what).await {
            WorkerEnded::Answered(text) => {
                lineside_core::json::from_str::<Value>(&text).unwrap()["log"].take()
            }
            other => panic!("{other:?}"),
        }
    }

    /// It answers, if need be a new one.
    pub(crate) async fn answers(&self) {
        assert_eq!(self.have("1").await, answered("{\"log\":1}"));
    }

    /// Whether there is a line of this source with this in it.
    pub(crate) fn has_line(&self, from: LogSource, part: &str) -> bool {
        self.logs.lock().unwrap().iter().any(|log| match log {
            WorkerLog::Line { source, text, .. } => *source == from && text.contains(part),
            _ => false,
        })
    }

    /// Waits for such a line.
    pub(crate) async fn line(&self, from: LogSource, part: &str) {
        while !self.has_line(from, part) {
            tokio::time::sleep(millis(1)).await;
        }
    }

    pub(crate) fn logs(&self) -> Vec<WorkerLog> {
        self.logs.lock().unwrap().clone()
    }
}

pub(crate) fn listening() -> (WorkerListener, Arc<Mutex<Vec<WorkerLog>>>) {
    let logs: Arc<Mutex<Vec<WorkerLog>>> = Arc::default();
    let heard = Arc::clone(&logs);
    (WorkerListener::new(move |log| heard.lock().unwrap().push(log)), logs)
}

pub(crate) fn answered(text: &str) -> WorkerEnded {
    WorkerEnded::Answered(text.to_owned())
}

/// The kind and the message of a failure.
pub(crate) fn failed(ended: WorkerEnded) -> (FailureKind, String) {
    match ended {
        WorkerEnded::Failed { kind, message, .. } => (kind, message),
        other => panic!("{other:?}"),
    }
}
