//! Workers that end unasked (OC-54, OC-64 to OC-67).

use lineside_core::failure::FailureKind;
use lineside_core::json::json;
use lineside_core::worker::{CallClass, Repeat, WorkerCall, WorkerEnded, WorkerScript};
use lineside_exec::WorkerLog;

use crate::room::{Room, millis};
use crate::set::{Set, call, failed, guard, returned, spec, with, with_spec, within};

const DIES: &str = "module.exports = (api) => { let n = 0; api.on('before_tool_call', (e) => { n += 1;
    if (e.params.die) { process.kill(process.pid, 'SIGKILL'); return new Promise(() => {}); }
    while (e.params.spin) {}
    return { params: { n } }; }); };";
const FINE: &str =
    "module.exports = (api) => { api.on('before_tool_call', () => ({ params: { ok: 1 } })); };";

async fn die(set: &Set) -> (FailureKind, String) {
    failed(set.guard("a", json!({ "die": true })).await)
}

/// OC-54, OC-64, OC-66: the call fails, the next one finds a new worker with new state.
#[test]
fn a_worker_that_was_killed_is_started_again_at_once() {
    with(&[("a", DIES)], async |_, set| {
        assert_eq!(set.guard("a", json!({})).await, returned(json!({ "params": { "n": 1 } })));
        let message = "the worker was ended by signal 9".to_owned();
        assert_eq!(die(set).await, (FailureKind::Signal, message));
        assert_eq!(set.guard("a", json!({})).await, returned(json!({ "params": { "n": 1 } })));
        assert!(set.logs().iter().any(|log| matches!(log, WorkerLog::Restarted(_))));
    });
}

/// OC-64, OC-65: an endless loop costs its time and the grace, once; what was sent behind it is answered.
#[test]
fn a_stuck_worker_is_killed_and_what_had_not_started_is_sent_once_more() {
    with(&[("a", DIES), ("b", FINE)], async |_, set| {
        let spins = set.ask(within(millis(500), guard("a", json!({ "spin": true }))));
        let beside = async {
            tokio::task::yield_now().await;
            set.guard("b", json!({})).await
        };
        let (spins, beside) = tokio::join!(spins, beside);
        assert_eq!(failed(spins), (FailureKind::Timeout, "timed out after 500ms".to_owned()));
        assert_eq!(beside, returned(json!({ "params": { "ok": 1 } })));
    });
}

/// OC-64, OC-65: what had started beside it fails, and is not sent again.
#[test]
fn what_had_started_beside_a_stuck_call_fails_with_signal() {
    let waits = "module.exports = (api) => { api.on('before_tool_call', () => new Promise(() => {})); };";
    with(&[("a", DIES), ("b", waits)], async |_, set| {
        let beside = set.guard("b", json!({}));
        let spins = async {
            tokio::task::yield_now().await;
            set.ask(within(millis(500), guard("a", json!({ "spin": true })))).await
        };
        let (beside, spins) = tokio::join!(beside, spins);
        let message = "the worker was killed: it did not answer".to_owned();
        assert_eq!(failed(beside), (FailureKind::Signal, message));
        assert_eq!(failed(spins).0, FailureKind::Timeout);
    });
}

/// OC-57: the time of a call covers a restart, and a call that could not be started in time was not.
#[test]
fn a_call_behind_an_endless_loop_has_its_own_time() {
    with(&[("a", DIES), ("b", FINE)], async |_, set| {
        let spins = set.ask(within(millis(500), guard("a", json!({ "spin": true }))));
        let beside = async {
            tokio::task::yield_now().await;
            set.ask(within(millis(100), guard("b", json!({})))).await
        };
        let (_, beside) = tokio::join!(spins, beside);
        let message = "timed out after 100ms".to_owned();
        assert_eq!(beside, WorkerEnded::Failed { kind: FailureKind::Timeout, message, started: false });
    });
}

/// OC-67: told again before any other call, until it ends.
#[test]
fn what_is_to_be_repeated_is_told_first_after_a_restart() {
    let service = "const fs = require('fs'); const out = (s) => fs.appendFileSync('$ROOM/out', s + '\\n');
        module.exports = (api) => { api.on('gateway_start', (e) => out('start ' + e.port)); api.on('gateway_stop', () => out('stop'));
        api.on('before_tool_call', (e) => { if (e.params.die) process.kill(process.pid, 'SIGKILL'); else out('tool'); return e.params.die && new Promise(() => {}); }); };";
    with(&[("a", service)], async |room, set| {
        let told = |hook: &str, repeat| WorkerCall {
            repeat,
            ..call("a", hook, CallClass::Void, json!({ "port": 7 }))
        };
        set.ask(told("gateway_start", Repeat::AfterRestart)).await;
        die(set).await;
        set.guard("a", json!({})).await;
        set.ask(told("gateway_stop", Repeat::Ends)).await;
        die(set).await;
        set.guard("a", json!({})).await;
        let out = std::fs::read_to_string(room.path("out")).unwrap();
        assert_eq!(out, "start 7\nstart 7\ntool\nstop\ntool\n");
    });
}

/// OC-54, OC-66: handlers are known by name, whatever their number, and those that are gone are closed.
#[test]
fn a_plugin_that_fails_to_load_on_a_restart_is_closed() {
    let once = format!(
        "const fs = require('fs'); if (fs.existsSync('$ROOM/mark')) throw Error('again'); fs.writeFileSync('$ROOM/mark', ''); {FINE}"
    );
    with(&[("once", &once), ("a", DIES)], async |_, set| {
        assert_eq!(set.guard("once", json!({})).await, returned(json!({ "params": { "ok": 1 } })));
        die(set).await;
        let ended = set.guard("once", json!({})).await;
        let message = "the handler is gone".to_owned();
        assert_eq!(ended, WorkerEnded::Failed { kind: FailureKind::Closed, message, started: false });
        assert_eq!(set.guard("a", json!({})).await, returned(json!({ "params": { "n": 1 } })));
    });
}

/// OC-66: after the fifth end every call fails at once, and one notice says so.
#[test]
fn a_worker_that_ends_again_and_again_is_given_up_for_a_while() {
    with(&[("a", DIES)], async |_, set| {
        for _ in 0..5 {
            assert_eq!(die(set).await.0, FailureKind::Signal);
        }
        let gave_up = || set.logs().iter().filter(|log| matches!(log, WorkerLog::GaveUp { .. })).count();
        for _ in 0..3 {
            let ended = set.ask(within(millis(5000), guard("a", json!({})))).await;
            let WorkerEnded::Failed { kind, started, .. } = ended else { panic!("{ended:?}") };
            assert_eq!((kind, started), (FailureKind::Spawn, false));
        }
        assert_eq!(gave_up(), 1);
    });
}

/// OC-68: a heap that is full ends the worker and nothing else.
#[test]
fn a_plugin_that_eats_its_heap_ends_the_worker() {
    let eats = "module.exports = (api) => { api.on('before_tool_call', (e) => { const all = [];
        while (e.params.eat) all.push(new Array(100000).fill(all.length)); return { params: {} }; }); };";
    with_spec(
        |room| {
            let mut spec = spec(room, &[("a", eats)]);
            spec.program.argv[1] = "--max-old-space-size=40".into();
            spec
        },
        async |_, set| {
            let ended = set.ask(within(millis(25_000), guard("a", json!({ "eat": true })))).await;
            assert_eq!(failed(ended).0, FailureKind::Signal);
            assert_eq!(set.guard("a", json!({})).await, returned(json!({ "params": {} })));
        },
    );
}

/// OC-57: a call that finds the next worker hanging before its first frame waits its own time and no longer.
#[test]
fn a_call_waits_for_a_worker_that_hangs_at_its_start_no_longer_than_its_own_time() {
    let once = "import fs from 'node:fs';
        import readline from 'node:readline';
        let token;
        const say = (frame) => process.stdout.write(JSON.stringify({ token, ...frame }) + '\\n');
        readline.createInterface({ input: process.stdin }).on('line', (line) => {
            const frame = JSON.parse(line);
            if (frame.type === 'hello') {
                const mark = `${frame.projectRoot}/begun`;
                if (fs.existsSync(mark)) return;
                fs.writeFileSync(mark, '');
                token = frame.token;
                say({ type: 'hello', protocol: 1 });
            }
            const handler = { kind: 'hook', handler: 1, hook: 'before_tool_call', priority: 0 };
            if (frame.type === 'load') {
                say({ type: 'loaded', id: frame.id, plugin: { id: 'a' }, registrations: [handler] });
            }
            if (frame.type === 'call') {
                say({ type: 'started', id: frame.id });
                process.exit(1);
            }
        });";
    let room = Room::enter();
    let spec = spec(&room, &[("a", FINE)]);
    let files: &'static [(&str, &str)] = Box::leak(Box::new([("it.mjs", once)]));
    room.block_on(async {
        let set = Set::start_script(spec, &WorkerScript { entry: "it.mjs", files }).await;
        let first = set.guard("a", json!({})).await;
        assert!(matches!(first, WorkerEnded::Failed { kind: FailureKind::Exit, .. }), "{first:?}");
        let waits = set.ask(within(millis(300), guard("a", json!({})))).await;
        let WorkerEnded::Failed { kind, message, started } = waits else { panic!("{waits:?}") };
        let timed_out = (FailureKind::Timeout, "timed out after 300ms".to_owned(), false);
        assert_eq!((kind, message, started), timed_out);
        set.worker.shutdown().await;
    });
    room.leave();
}
