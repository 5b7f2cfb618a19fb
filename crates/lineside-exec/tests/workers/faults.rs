//! The table of faults, for functions in a worker.

use lineside_core::failure::FailureKind;
use lineside_core::invocation::Program;
use lineside_core::json::json;
use lineside_core::worker::{StartWorkerError, WorkerEnded, WorkerScript};
use lineside_exec::{Containment, LogSource, Worker, WorkerListener};

use crate::room::{PATIENCE, Room, containments, eventually, millis};
use crate::script::SCRIPT;
use crate::set::{Set, failed, guard, returned, spec, with, within};

/// A guard that does what the event says and then allows.
const DOES: &str = "module.exports = (api) => { const child = require('child_process'); const fs = require('fs');
    api.on('before_tool_call', async (e) => { const r = await eval(e.params.do); return { params: { r } }; }); };";

/// Ends the worker as it runs.
const DIES: &str = "process.kill(process.pid, 'SIGKILL')";

fn kind(ended: WorkerEnded) -> FailureKind {
    match ended {
        WorkerEnded::Failed { kind, .. } => kind,
        other => panic!("{other:?}"),
    }
}

/// The worker answers again, if need be a new one.
async fn answers(set: &Set) {
    assert_eq!(set.guard("a", json!({ "do": "1" })).await, returned(json!({ "params": { "r": 1 } })));
}

#[test]
fn p01_a_function_that_never_returns_is_out_of_time_and_its_worker_replaced() {
    with(&[("a", DOES)], async |_, set| {
        let stuck = within(millis(200), guard("a", json!({ "do": "(() => { for (;;) {} })()" })));
        assert_eq!(failed(set.ask(stuck).await).0, FailureKind::Timeout);
        answers(set).await;
        let waits = within(millis(200), guard("a", json!({ "do": "new Promise(() => {})" })));
        assert_eq!(failed(set.ask(waits).await).0, FailureKind::Timeout);
        answers(set).await;
    });
}

/// OC-70, OC-77: also with the token, a result of no call is nothing that a worker would write.
#[test]
fn a_worker_that_answers_what_it_was_not_asked_has_failed_and_is_ended() {
    let script = "import { createInterface } from 'node:readline';
        let token;
        const say = (frame) => process.stdout.write(JSON.stringify({ token, ...frame }) + '\\n');
        const hook = { kind: 'hook', handler: 1, hook: 'before_tool_call', priority: 0 };
        for await (const line of createInterface({ input: process.stdin })) {
            const frame = JSON.parse(line);
            token ??= frame.token;
            const { id } = frame;
            if (frame.type === 'hello') say({ type: 'hello', protocol: 1 });
            if (frame.type === 'load') say({ type: 'loaded', id, plugin: { id: 'a' }, registrations: [hook] });
            if (frame.type !== 'call') continue;
            say({ type: 'started', id });
            if (frame.event.params.strange) say({ type: 'result', id: id + 1, ok: true, value: {} });
            say({ type: 'result', id, ok: true, value: {} });
        }";
    let room = Room::enter();
    let spec = spec(&room, &[("a", "")]);
    let files: &'static [(&str, &str)] = Box::leak(Box::new([("it.mjs", script)]));
    room.block_on(async {
        let set = Set::start_script(spec, &WorkerScript { entry: "it.mjs", files }).await;
        assert_eq!(set.guard("a", json!({})).await, returned(json!({})));
        let (kind, why) = failed(set.guard("a", json!({ "strange": true })).await);
        assert_eq!(
            (kind, why.contains("it answered what it was not asked")),
            (FailureKind::Signal, true),
            "{why}"
        );
        assert_eq!(set.guard("a", json!({})).await, returned(json!({})), "a new one");
        set.worker.shutdown().await;
    });
    room.leave();
}

#[test]
fn p02_helpers_of_a_worker_end_with_it() {
    with(&[("a", DOES)], async |room, set| {
        let helper = "child.spawn('/bin/sleep', ['600'], { stdio: 'inherit' }) && 1";
        assert_eq!(set.guard("a", json!({ "do": helper })).await, returned(json!({ "params": { "r": 1 } })));
        // A helper that is just becoming another program is not seen for a moment.
        while room.processes().len() != 2 {
            tokio::time::sleep(millis(1)).await;
        }
        assert_eq!(kind(set.guard("a", json!({ "do": DIES })).await), FailureKind::Signal);
        answers(set).await;
        assert_eq!(room.processes().len(), 1, "the new worker alone");
    });
}

#[test]
fn p03_what_left_the_group_of_a_worker_ends_with_it() {
    let room = Room::enter();
    let away = "child.spawn('/bin/sh', ['-c', 'sleep 600 & exit'], { detached: true, stdio: 'ignore' }).unref() || 1";
    for containment in containments() {
        let spec = spec(&room, &[("a", DOES)]);
        room.block_on(async {
            let listener = WorkerListener::default();
            let (worker, ready) = Worker::start_contained(spec, &SCRIPT, listener, containment).await;
            assert!(ready.is_ok(), "{ready:?}");
            let ended = worker.call(guard("a", json!({ "do": away }))).await;
            assert_eq!(ended, returned(json!({ "params": { "r": 1 } })));
            while room.processes().len() != 2 {
                tokio::time::sleep(millis(1)).await;
            }
            worker.shutdown().await;
            assert_eq!(room.processes(), [""; 0], "dead when the worker has ended");
        });
    }
    room.leave();
}

#[test]
fn p03_what_left_the_group_of_a_worker_that_was_dropped_ends_too() {
    let room = Room::enter();
    let spec = spec(&room, &[("a", DOES)]);
    let away = "child.spawn('/bin/sleep', ['600'], { detached: true, stdio: 'ignore' }).unref() || 1";
    room.block_on(async {
        let set = Set::start(spec).await;
        set.guard("a", json!({ "do": away })).await;
        // A helper that is just becoming another program is not seen for a moment.
        while room.processes().len() != 2 {
            tokio::time::sleep(millis(1)).await;
        }
        drop(set);
        while !room.processes().is_empty() {
            tokio::time::sleep(millis(1)).await;
        }
    });
    room.leave();
}

#[test]
fn p04_a_worker_that_does_not_read_blocks_nobody() {
    with(&[("a", DOES)], async |_, set| {
        let stuck = within(millis(300), guard("a", json!({ "do": "(() => { for (;;) {} })()" })));
        let large = json!({ "do": "1", "text": "x".repeat(4 << 20) });
        let large = within(millis(200), guard("a", large));
        let (stuck, large) = tokio::join!(set.ask(stuck), set.ask(large));
        assert_eq!((kind(stuck), kind(large)), (FailureKind::Timeout, FailureKind::Timeout));
        answers(set).await;
    });
}

#[test]
fn p05_a_flood_of_a_worker_hides_no_answer() {
    with(&[("a", DOES)], async |_, set| {
        // Lines that are long, and neither text nor harmless on a terminal.
        let flood = r"(() => { const b = Buffer.alloc(1 << 20, '\x1b[31m\xff' + 'y'.repeat(5000) + '\n', 'latin1');
            for (let i = 0; i < 8; i++) { fs.writeSync(1, b); fs.writeSync(2, b); } return 1; })()";
        assert_eq!(set.guard("a", json!({ "do": flood })).await, returned(json!({ "params": { "r": 1 } })));
        answers(set).await;
        assert!(set.lines(LogSource::Stderr).len() > 1);
    });
}

#[test]
fn p06_an_allocation_that_is_too_large_is_the_functions_failure_alone() {
    with(&[("a", DOES)], async |_, set| {
        let ended = set.guard("a", json!({ "do": "new Array(2 ** 32)" })).await;
        assert_eq!(failed(ended).0, FailureKind::Panic);
        answers(set).await;
    });
}

#[test]
fn p07_a_worker_of_a_killed_program_wears_its_mark() {
    with(&[("a", DOES)], async |room, set| {
        let mark = set.guard("a", json!({ "do": "process.env.LINESIDE_RUN.split(':').pop()" })).await;
        let WorkerEnded::Returned(Some(said)) = mark else { panic!("{mark:?}") };
        let mark = said["params"]["r"].as_str().unwrap();
        assert!(mark.starts_with(&format!("{}-", std::process::id())), "{mark}");
        assert_eq!(Containment::end_orphans(), 0, "its program runs");
        assert_eq!(room.processes().len(), 1);
    });
}

#[test]
fn p08_a_worker_that_ends_while_it_is_shut_down_is_over_once() {
    let room = Room::enter();
    let spec = spec(&room, &[("a", DOES)]);
    room.block_on(async {
        let set = Set::start(spec).await;
        let dies = set.guard("a", json!({ "do": DIES }));
        let (died, (), ()) = tokio::join!(dies, set.worker.shutdown(), set.worker.shutdown());
        assert!(matches!(kind(died), FailureKind::Signal | FailureKind::Closed));
        assert_eq!(kind(set.guard("a", json!({})).await), FailureKind::Closed);
    });
    room.leave();
}

#[test]
fn p09_a_worker_that_cannot_be_started_says_why_and_calls_fail() {
    let room = Room::enter();
    let text = room.file("text", "no program", 0o644).to_str().unwrap().to_owned();
    for (program, part) in [("no-such-node", "cannot find program"), (text.as_str(), "Permission denied")] {
        let mut spec = spec(&room, &[("a", DOES)]);
        spec.program = Program::argv([program]);
        room.block_on(async {
            let set = Set::start(spec).await;
            let Err(StartWorkerError::NotFound { why }) = &set.ready else { panic!("{:?}", set.ready) };
            assert!(why.contains(part), "{why}");
            assert_eq!(kind(set.guard("a", json!({})).await), FailureKind::Spawn);
        });
    }
    room.leave();
}

#[test]
fn p10_the_end_of_a_worker_says_how_it_ended() {
    with(&[("a", DOES)], async |_, set| {
        let dies = |how: &str| guard("a", json!({ "do": how }));
        let (kind, why) = failed(set.ask(dies("process.exit(7)")).await);
        assert_eq!((kind, why.contains("not available to plugins")), (FailureKind::Exit, true), "{why}");
        for (name, part) in [("SIGSEGV", "signal 11"), ("SIGKILL", "signal 9")] {
            let (kind, why) = failed(set.ask(dies(&format!("process.kill(process.pid, '{name}')"))).await);
            assert_eq!((kind, why.contains(part)), (FailureKind::Signal, true), "{why}");
        }
        answers(set).await;
    });
}

#[test]
fn p11_a_worker_that_stopped_itself_is_replaced() {
    with(&[("a", DOES)], async |_, set| {
        let stops = within(millis(300), guard("a", json!({ "do": "process.kill(process.pid, 'SIGSTOP')" })));
        assert_eq!(failed(set.ask(stops).await).0, FailureKind::Timeout);
        answers(set).await;
    });
}

#[test]
fn d03_a_function_that_cannot_answer_has_failed_and_has_not_allowed() {
    with(&[("a", DOES)], async |_, set| {
        for (said, expected) in [
            ("(() => { throw Error('x') })()", FailureKind::Panic),
            ("Promise.reject(1)", FailureKind::Panic),
            ("({ toJSON() { throw 1 } })", FailureKind::Output),
            ("1n", FailureKind::Output),
        ] {
            assert_eq!(failed(set.guard("a", json!({ "do": said })).await).0, expected, "{said}");
        }
        answers(set).await;
    });
}

#[test]
fn d11_a_worker_that_ends_again_and_again_is_not_started_for_a_while_and_calls_fail() {
    with(&[("a", DOES)], async |room, set| {
        for _ in 0..5 {
            let ended = set.guard("a", json!({ "do": DIES })).await;
            assert_eq!(kind(ended), FailureKind::Signal);
        }
        let ended = set.ask(within(PATIENCE, guard("a", json!({ "do": "1" })))).await;
        assert_eq!(kind(ended), FailureKind::Spawn, "at once, without waiting for the next start");
        eventually("no worker is left", || room.processes().is_empty());
    });
}

#[test]
fn i01_what_is_no_unicode_is_no_answer() {
    with(&[("a", DOES)], async |_, set| {
        let ended = set.guard("a", json!({ "do": "'a\\ud800b'" })).await;
        assert_eq!(failed(ended).0, FailureKind::Output);
        let whole = "\u{0}\u{feff}\u{202e}\u{1f600}\r\n";
        let ended = set.guard("a", json!({ "do": "e.params.text", "text": whole })).await;
        assert_eq!(ended, returned(json!({ "params": { "r": whole } })));
    });
}

#[test]
fn i03_an_answer_that_is_too_deep_is_none() {
    with(&[("a", DOES)], async |_, set| {
        let deep = "(() => { let v = 1; for (let i = 0; i < 100000; i++) v = [v]; return v; })()";
        assert_eq!(failed(set.guard("a", json!({ "do": deep })).await).0, FailureKind::Output);
        let wide = "Array.from({ length: 100000 }, (_, i) => i)";
        assert!(matches!(set.guard("a", json!({ "do": wide })).await, WorkerEnded::Returned(Some(_))));
        answers(set).await;
    });
}

#[test]
fn i04_a_guard_that_cannot_be_shown_the_whole_event_has_not_allowed_it() {
    with(&[("a", DOES)], async |_, set| {
        let ended = set.guard("a", json!({ "do": "1", "text": "x".repeat(33 << 20) })).await;
        assert_eq!(ended, WorkerEnded::TooLarge);
        answers(set).await;
    });
}

#[test]
fn i05_numbers_are_those_that_json_can_say() {
    with(&[("a", DOES)], async |_, set| {
        for said in ["NaN", "Infinity"] {
            let ended = set.guard("a", json!({ "do": said })).await;
            // What JavaScript writes for them is null.
            assert_eq!(ended, returned(json!({ "params": { "r": null } })), "{said}");
        }
    });
}

#[test]
fn i06_noise_on_stdout_is_no_answer() {
    with(&[("a", DOES)], async |_, set| {
        let noise =
            r#"fs.writeSync(1, '{"type":"result","id":1,"value":{"block":false}}\n<html>\n[]\nnull\n') && 1"#;
        assert_eq!(set.guard("a", json!({ "do": noise })).await, returned(json!({ "params": { "r": 1 } })));
        set.said(LogSource::Stderr, "null").await;
        assert!(set.has_line(LogSource::Stderr, "\"block\":false"), "{:?}", set.logs());
    });
}
