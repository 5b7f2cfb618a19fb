//! The end of a worker (OC-60, OC-69, OC-80).

use lineside_core::failure::FailureKind;
use lineside_core::json::json;
use lineside_core::worker::WorkerEnded;
use lineside_exec::LogSource;

use crate::room::{Room, current_thread, eventually, millis};
use crate::set::{Set, guard, returned, spec};

const SLOW: &str = "module.exports = (api) => { process.on('exit', () => console.log('bye bye'));
    require('child_process').spawn('/bin/sleep', ['1000'], { stdio: 'inherit' });
    api.on('before_tool_call', async (e) => { console.log('begun');
        await new Promise((done) => setTimeout(done, e.params.ms)); return { params: { done: true } }; }); };";

fn closed(ended: WorkerEnded) {
    let WorkerEnded::Failed { kind, .. } = ended else { panic!("{ended:?}") };
    assert_eq!(kind, FailureKind::Closed);
}

/// OC-60, OC-69, OC-80: calls under way finish, and the whole group ends.
#[test]
fn a_shutdown_lets_the_calls_under_way_finish() {
    let room = Room::enter();
    let mut spec = spec(&room, &[("a", SLOW)]);
    spec.bounds.shutdown = millis(4000);
    room.block_on(async {
        let set = Set::start(spec).await;
        let (fast, slow) = (set.guard("a", json!({ "ms": 200 })), set.guard("a", json!({ "ms": 60_000 })));
        let end = async {
            set.said(LogSource::Frame, "begun").await;
            set.worker.shutdown().await;
            closed(set.guard("a", json!({})).await);
        };
        let (fast, slow, ()) = tokio::join!(fast, slow, end);
        assert_eq!(fast, returned(json!({ "params": { "done": true } })));
        closed(slow);
        assert!(set.has_line(LogSource::Frame, "bye bye"));
        set.worker.shutdown().await;
    });
    room.leave();
}

/// OC-69: a worker that does not hear is killed after its grace.
#[test]
fn a_worker_that_does_not_stop_is_killed() {
    let room = Room::enter();
    let loops = "module.exports = (api) => { api.on('before_tool_call', () => { console.log('begun'); for (;;) {} }); };";
    let mut spec = spec(&room, &[("a", loops)]);
    spec.bounds.shutdown = millis(200);
    room.block_on(async {
        let set = Set::start(spec).await;
        let call = set.guard("a", json!({}));
        let end = async {
            set.said(LogSource::Frame, "begun").await;
            set.worker.shutdown().await;
        };
        let (ended, ()) = tokio::join!(call, end);
        closed(ended);
    });
    room.leave();
}

#[test]
fn dropping_a_worker_kills_its_group() {
    let room = Room::enter();
    let spec = spec(&room, &[("a", SLOW)]);
    current_thread().block_on(async {
        let set = Set::start(spec).await;
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

/// The start is dropped while a plugin loads; and a runtime goes down under a worker.
#[test]
fn nothing_outlives_a_start_that_was_dropped_or_its_runtime() {
    let room = Room::enter();
    let hangs = spec(&room, &[("a", "require('fs').writeFileSync('$ROOM/ready', ''); for (;;) {}")]);
    let slow = spec(&room, &[("b", SLOW)]);
    let ready = room.path("ready");
    current_thread().block_on(async {
        tokio::select! {
            _ = Set::start(hangs) => panic!("started"),
            () = crate::room::made(&ready) => {}
        }
    });
    let set = current_thread().block_on(Set::start(slow));
    eventually("processes stayed", || room.processes().is_empty());
    let ended = current_thread().block_on(set.ask(guard("b", json!({}))));
    closed(ended);
    room.leave();
}
