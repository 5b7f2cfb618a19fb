//! What a call of a kept worker costs beyond a line that goes to a process of the same kind and back, and what a hook
//! costs in a warm worker and as a process for each event.
//!
//! `cargo bench -p lineside-exec --bench worker` ends with lines `RATIO name value target`, of medians of interleaved
//! samples: what a noisy machine does to one kind of call it does to the other as well.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

use std::process::Stdio;
use std::time::{Duration, Instant};

use criterion::Criterion;
use lineside_core::Propagation;
use lineside_core::invocation::{Environment, Exit, Invocation, Limits, Program};
use lineside_core::json::{Value, json};
use lineside_core::worker::{
    CallClass, HandlerKey, HookCall, HookWorker, HookWorkerBounds, Repeat, WorkerBounds, WorkerCall,
    WorkerEnded, WorkerPlugin, WorkerReach, WorkerSpec, WorkerStart,
};
use lineside_exec::{Containment, HookWorkerClient, KITS, Runner, Worker, WorkerListener};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::runtime::{Builder, Runtime};

#[path = "../../lineside-dialects/src/openclaw/script.rs"]
mod script;

const HANDLERS: u32 = 10;
const ROUNDS: usize = 2000;
const TARGET: f64 = 3.0;

/// The least that answers a line with a line of JSON.
const ECHO: &str = "let rest = ''; process.stdin.on('data', (data) => { rest += data; let at;
    while ((at = rest.indexOf('\\n')) >= 0) { const { id } = JSON.parse(rest.slice(0, at)); rest = rest.slice(at + 1);
    process.stdout.write(JSON.stringify({ id, value: { params: { id } } }) + '\\n'); } });";

const PLUGIN: &str = "module.exports = (api) => { for (let i = 0; i < 10; i++)
    api.on('before_tool_call', (e) => ({ params: { command: e.params.command } })); };";

/// The same in Python.
const PYTHON_ECHO: &str = "import json, sys
for line in sys.stdin:
    frame = json.loads(line)
    sys.stdout.write(json.dumps({'id': frame['id'], 'value': {'params': {'id': frame['id']}}}) + '\\n')
    sys.stdout.flush()";

/// Hooks that answer something.
const PYTHON: &str = "from lineside_hook import hook, serve
@hook
def check(event):
    return {'decision': 'allow', 'reason': event['params']['command']}
serve()";
const NODE: &str = "import { hook, serve } from './lineside-hook.mjs';
hook((event) => ({ decision: 'allow', reason: event.params.command }));
serve();";

/// Processes that are started to be compared with.
const PROCESSES: usize = 40;

fn main() {
    let mut criterion = Criterion::default().sample_size(30).configure_from_args();
    let single = Builder::new_current_thread().enable_all().build().unwrap();
    let multi = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let room = tempfile::tempdir().unwrap();
    std::fs::write(room.path().join("ten.cjs"), PLUGIN).unwrap();

    let worker = single.block_on(start(room.path()));
    let mut group = criterion.benchmark_group("worker");
    group.bench_function("call", |b| b.to_async(&single).iter(|| call(&worker, 1)));
    group.bench_function("ten_calls", |b| b.to_async(&single).iter(|| ten(&worker)));
    group.finish();
    criterion.final_summary();
    single.block_on(worker.shutdown());

    warm("python", "python3", &single, room.path());
    warm("node", "node", &single, room.path());
    compare("current_thread", &single, room.path());
    compare("multi_thread", &multi, room.path());
}

async fn start(room: &std::path::Path) -> Worker {
    let load = json!({ "id": "ten", "root": room, "entry": room.join("ten.cjs"), "loader": "import" });
    let Value::Object(load) = load else { unreachable!() };
    let plugin = WorkerPlugin { id: "ten".to_owned(), load, content: String::new() };
    let second = Duration::from_secs(1);
    let spec = WorkerSpec {
        program: Program::argv(["node", "--max-old-space-size=512"]),
        environment: Environment::default(),
        working_directory: None,
        hello: lineside_core::json::Map::new(),
        plugins: vec![plugin],
        bounds: WorkerBounds {
            hello: second * 5,
            load: second * 10,
            cancel: second,
            shutdown: second * 2,
            frame: 32 << 20,
            untold: 1024,
        },
    };
    let (worker, ready) = Worker::start(spec, &script::SCRIPT, WorkerListener::default()).await;
    ready.unwrap();
    worker
}

fn event() -> Value {
    json!({ "toolName": "exec", "params": { "command": "cargo build --workspace" } })
}

fn ctx() -> Value {
    json!({ "agentId": "main", "sessionId": "s1", "sessionKey": "agent:main:s1", "toolName": "exec" })
}

async fn call(worker: &Worker, nth: u32) {
    let handler = HandlerKey { plugin: "ten".to_owned(), hook: "before_tool_call".to_owned(), nth };
    let (class, timeout, repeat) = (CallClass::Modifying, Duration::from_secs(15), Repeat::No);
    let call = WorkerCall { handler, class, event: event(), ctx: ctx(), timeout, repeat };
    let ended = worker.call(call).await;
    assert!(matches!(ended, WorkerEnded::Returned(Some(_))), "{ended:?}");
}

/// As a dispatch does it: one after the other.
async fn ten(worker: &Worker) {
    for nth in 1..=HANDLERS {
        call(worker, nth).await;
    }
}

/// The usual code with tokio.
struct Echo {
    _child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Echo {
    fn start(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { _child: child, input, output: BufReader::new(output) }
    }

    async fn call(&mut self) {
        let line = json!({ "type": "call", "id": 1, "event": event(), "ctx": ctx() }).to_string() + "\n";
        self.input.write_all(line.as_bytes()).await.unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).await.unwrap();
        let answer: Value = lineside_core::json::from_str(&answer).unwrap();
        assert_eq!(answer["id"], json!(1));
    }
}

fn compare(kind: &str, runtime: &Runtime, room: &std::path::Path) {
    let worker = runtime.block_on(start(room));
    let mut echo = runtime.block_on(async { Echo::start("node", &["-e", ECHO]) });
    let mut samples: [Vec<Duration>; 3] = Default::default();
    for round in 0..ROUNDS {
        // Each takes each place in turn, so that none always follows the same other.
        for place in 0..samples.len() {
            let which = (round + place) % samples.len();
            let began = Instant::now();
            match which {
                0 => runtime.block_on(echo.call()),
                1 => runtime.block_on(call(&worker, 1)),
                _ => runtime.block_on(ten(&worker)),
            }
            samples[which].push(began.elapsed());
        }
    }
    runtime.block_on(worker.shutdown());
    let [echo, one, ten] = samples.map(median);
    println!("{kind}: echo {echo:?}, call {one:?}, ten calls {ten:?}");
    let ratio = |name: &str, time: Duration, base: Duration, target: &str| {
        println!("RATIO {kind}/{name} {:.3} {target}", time.as_secs_f64() / base.as_secs_f64());
    };
    ratio("worker_call/echo", one, echo, &format!("{TARGET:.2}"));
    ratio("ten_worker_calls/ten_echoes", ten, echo * HANDLERS, &format!("{TARGET:.2}"));
}

/// The same function: in a worker with the kit, behind the least that echoes lines, and in a process for each event.
fn warm(language: &str, program: &'static str, runtime: &Runtime, room: &std::path::Path) {
    for kit in KITS {
        std::fs::write(room.join(kit.file), kit.text).unwrap();
    }
    let (file, source, echo) = match language {
        "python" => ("hook.py", PYTHON, ["-c", PYTHON_ECHO]),
        _ => ("hook.mjs", NODE, ["-e", ECHO]),
    };
    let script = room.join(file);
    std::fs::write(&script, source).unwrap();
    let reach = WorkerReach::Program {
        program: Program::argv([program.into(), script.clone().into_os_string()]),
        environment: Environment::default(),
        working_directory: None,
    };
    let (start, bounds) = (WorkerStart::Ahead, HookWorkerBounds::default());
    let worker = HookWorker { reach, content: String::new(), start, bounds };
    let mut echo = runtime.block_on(async { Echo::start(program, &echo) });
    let runner = Runner::new();
    let argv = [program.into(), script.into_os_string()];
    let plain = Invocation {
        program: Program::argv(argv),
        stdin: event().to_string().into_bytes(),
        environment: Environment::default(),
        files: Vec::new(),
        working_directory: None,
        limits: Limits::default(),
    };
    let worker = runtime
        .block_on(async { HookWorkerClient::new(worker, WorkerListener::default(), Containment::new()) });
    runtime.block_on(hook(&worker));
    let mut samples: [Vec<Duration>; 2] = Default::default();
    for round in 0..ROUNDS {
        for place in 0..samples.len() {
            let which = (round + place) % samples.len();
            let began = Instant::now();
            match which {
                0 => runtime.block_on(echo.call()),
                _ => runtime.block_on(hook(&worker)),
            }
            samples[which].push(began.elapsed());
        }
    }
    let mut processes = Vec::new();
    for _ in 0..PROCESSES {
        let began = Instant::now();
        let ended = runtime.block_on(runner.run(&plain));
        processes.push(began.elapsed());
        assert_eq!(ended.exit, Exit::Code(0), "{ended:?}");
        let began = Instant::now();
        runtime.block_on(hook(&worker));
        samples[1].push(began.elapsed());
    }
    runtime.block_on(async {
        worker.shutdown().await;
        runner.drain().await;
    });
    let ([echo, warm], process) = (samples.map(median), median(processes));
    println!("{language}: echo {echo:?}, warm hook {warm:?}, process for each event {process:?}");
    let ratio = |name: &str, time: Duration, base: Duration, target: &str| {
        println!("RATIO {language}/{name} {:.3} {target}", time.as_secs_f64() / base.as_secs_f64());
    };
    ratio("warm_hook/echo", warm, echo, "<=1.5");
    ratio("process_for_each_event/warm_hook", process, warm, ">=100");
}

async fn hook(worker: &HookWorkerClient) {
    let (hook, timeout) = ("check".to_owned(), Duration::from_secs(15));
    let ended = worker
        .call(HookCall {
            environment: Propagation::none(),
            hook,
            event: event().to_string(),
            timeout,
            tree: None,
        })
        .await;
    assert!(matches!(ended, WorkerEnded::Answered(_)), "{ended:?}");
}

fn median(mut samples: Vec<Duration>) -> Duration {
    samples.sort_unstable();
    samples[samples.len() / 2]
}
