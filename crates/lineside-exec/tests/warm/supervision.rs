//! When a worker is started and ended, and what becomes of its calls.

use lineside_core::Propagation;
use lineside_core::failure::FailureKind;
use lineside_core::json::json;
use lineside_core::worker::{HookCall, HookWorker, HookWorkerBounds, WorkerEnded, WorkerStart};
use lineside_exec::{Containment, HookWorkerClient};

use crate::room::{PATIENCE, Room, millis};
use crate::yard::{Yard, answered, bounds, failed, inside, raw, with_each, with_raw, with_raw_in};

/// Answers each call with its process.
const PID: &str = "say(type='hello', protocol=2)
for call in calls(): say(type='answer', id=call['id'], answer={'log': os.getpid()})";

#[test]
fn a_worker_without_calls_is_ended_and_started_again_by_the_next_one() {
    for language in [&crate::yard::PYTHON, &crate::yard::NODE] {
        let room = Room::enter();
        let bounds = HookWorkerBounds { idle: Some(millis(50)), ..bounds() };
        let worker = HookWorker { bounds, ..language.worker(&room) };
        inside(room, worker, async |room, yard| {
            let first = yard.said(language.pid).await;
            while !room.processes().is_empty() {
                tokio::time::sleep(millis(1)).await;
            }
            assert_ne!(yard.said(language.pid).await, first, "another process");
        });
    }
}

#[test]
fn a_worker_with_a_call_is_not_idle() {
    let bounds = HookWorkerBounds { idle: Some(millis(20)), ..bounds() };
    let waits = "say(type='hello', protocol=2)
for call in calls():
    time.sleep(0.2)
    say(type='answer', id=call['id'], answer={'log': os.getpid()})";
    with_raw_in(waits, bounds, async |_, yard| {
        assert!(matches!(yard.ask(json!({})).await, WorkerEnded::Answered(_)));
    });
}

#[test]
fn a_worker_that_is_started_ahead_is_there_before_its_first_call_and_after_its_end() {
    let room = Room::enter();
    let worker = HookWorker { start: WorkerStart::Ahead, ..raw(&room, PID) };
    inside(room, worker, async |room, yard| {
        while room.processes().is_empty() {
            tokio::time::sleep(millis(1)).await;
        }
        let first = yard.ask(json!({})).await;
        let WorkerEnded::Answered(said) = &first else { panic!("{first:?}") };
        let said: lineside_core::json::Value = lineside_core::json::from_str(said).unwrap();
        let pid = i32::try_from(said["log"].as_i64().unwrap()).unwrap();
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(pid).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
        let again = || room.processes().iter().any(|path| !path.ends_with(&format!("/{pid}")));
        while !again() {
            tokio::time::sleep(millis(1)).await;
        }
        assert_ne!(yard.ask(json!({})).await, first, "another process");
    });
}

#[test]
fn calls_beyond_the_queue_fail_at_once() {
    let bounds = HookWorkerBounds { in_flight: 2, queue: 3, ..bounds() };
    let waits = "say(type='hello', protocol=2)
for call in calls(): pass";
    with_raw_in(waits, bounds, async |_, yard| {
        yard.warm().await;
        let long = || yard.within(PATIENCE, json!({}));
        let sent = async { tokio::join!(long(), long()) };
        let others = async {
            while yard.worker.under_way() < 2 {
                tokio::time::sleep(millis(1)).await;
            }
            // They are polled in this order, and each takes its place.
            let waiting = async { tokio::join!(long(), long(), long()) };
            let beyond = async { long().await };
            tokio::select! {
                biased;
                ended = waiting => panic!("{ended:?}"),
                ended = beyond => ended,
            }
        };
        let dropped = tokio::select! {
            ended = sent => panic!("{ended:?}"),
            ended = others => ended,
        };
        assert_eq!(dropped, WorkerEnded::Dropped);
        assert_eq!((yard.worker.under_way(), yard.worker.dropped()), (0, 1));
    });
}

#[test]
fn a_worker_gets_no_more_calls_at_a_time_than_it_says() {
    let counts = "say(type='hello', protocol=2, concurrency=1)
import select
for call in calls():
    more = select.select([sys.stdin], [], [], 0.05)[0]
    say(type='answer', id=call['id'], answer={'log': len(more)})";
    with_raw(counts, async |_, yard| {
        let ask = || yard.ask(json!({}));
        let (a, b, c) = tokio::join!(ask(), ask(), ask());
        for ended in [a, b, c] {
            assert_eq!(ended, answered("{\"log\": 0}"), "nothing else was there to be read");
        }
    });
}

#[test]
fn what_was_not_sent_goes_to_the_next_worker_and_what_was_sent_fails() {
    let dies = "say(type='hello', protocol=2, concurrency=1)
for call in calls():
    if call['event']['n'] == 1: os._exit(9)
    say(type='answer', id=call['id'], answer={'log': call['event']['n']})";
    with_raw(dies, async |_, yard| {
        let ask = |n| yard.ask(json!({ "n": n }));
        let (one, two, three) = tokio::join!(ask(1), ask(2), ask(3));
        assert_eq!(failed(one).0, FailureKind::Exit);
        assert_eq!((two, three), (answered("{\"log\": 2}"), answered("{\"log\": 3}")));
    });
}

#[test]
fn a_worker_that_does_not_say_that_it_is_there_is_ended_and_its_calls_fail() {
    let bounds = HookWorkerBounds { silence: millis(50), pong: millis(100), ..bounds() };
    let deaf = "say(type='hello', protocol=2)
for call in calls(): pass";
    with_raw_in(deaf, bounds, async |_, yard| {
        let (kind, why) = failed(yard.ask(json!({})).await);
        assert_eq!(
            (kind, why.contains("did not say that it is there")),
            (FailureKind::Signal, true),
            "{why}"
        );
    });
}

#[test]
fn a_kit_says_that_it_is_there_while_its_functions_wait() {
    for language in [&crate::yard::PYTHON, &crate::yard::NODE] {
        let room = Room::enter();
        // Far more pings than answers fit into the time of the call.
        let bounds = HookWorkerBounds { silence: millis(10), pong: PATIENCE, ..bounds() };
        let worker = HookWorker { bounds, ..language.worker(&room) };
        inside(room, worker, async |_, yard| {
            let before = yard.said(language.pid).await;
            let waits = json!({ "do": language.until_cancelled });
            assert_eq!(failed(yard.within(millis(300), waits).await).0, FailureKind::Timeout);
            assert_eq!(yard.said(language.pid).await, before);
        });
    }
}

#[test]
fn a_worker_that_does_not_obey_takes_its_other_calls_with_it() {
    with_each(async |_, yard, language| {
        yard.answers().await;
        let stuck = yard.within(millis(200), json!({ "do": language.endless }));
        let beside = yard.ask(json!({ "do": language.waits }));
        let (stuck, beside) = tokio::join!(stuck, beside);
        assert_eq!((failed(stuck).0, failed(beside).0), (FailureKind::Timeout, FailureKind::Signal));
        yard.answers().await;
    });
}

#[test]
fn the_time_of_a_call_covers_the_start_of_its_worker() {
    let bounds = HookWorkerBounds { hello: PATIENCE, ..bounds() };
    with_raw_in("time.sleep(600)", bounds, async |_, yard| {
        let (kind, why) = failed(yard.within(millis(100), json!({})).await);
        assert_eq!((kind, why.as_str()), (FailureKind::Timeout, "timed out after 100ms"));
    });
}

#[test]
fn a_shutdown_lets_the_calls_under_way_finish() {
    with_each(async |room, yard, language| {
        yard.answers().await;
        let meets = json!({ "do": language.meets, "mine": room.text("begun"), "other": room.text("go") });
        let ends = async {
            crate::room::made(&room.path("begun")).await;
            let go = async { drop(room.file("go", "", 0o644)) };
            tokio::join!(biased; yard.worker.shutdown(), go)
        };
        let (ended, _) = tokio::join!(yard.ask(meets), ends);
        assert_eq!(ended, answered("{\"log\":1}"));
    });
}

#[test]
fn a_retired_worker_ends_with_the_last_call_that_has_it() {
    let room = Room::enter();
    let waits = "while not os.path.exists(sys.argv[1]): time.sleep(0.001)
say(type='hello', protocol=2, concurrency=1)
for call in calls(): say(type='answer', id=call['id'], answer={'log': os.getpid()})";
    let worker = raw(&room, &waits.replace("sys.argv[1]", &format!("{:?}", room.text("go"))));
    room.block_on(async {
        let yard = Yard::keep(worker, Containment::new());
        let (first, second) = (yard.worker.clone(), yard.worker.clone());
        let retired = std::cell::OnceCell::new();
        let retires = async {
            while room.processes().is_empty() {
                tokio::time::sleep(millis(1)).await;
            }
            retired.set(yard.worker.retire()).unwrap();
            drop(room.file("go", "", 0o644));
        };
        let (one, two, ()) = tokio::join!(biased; ask(first), ask(second), retires);
        assert!(
            matches!((&one, &two), (WorkerEnded::Answered(one), WorkerEnded::Answered(two)) if one == two)
        );
        let retired = retired.into_inner().unwrap();
        while !retired.is_over() {
            tokio::time::sleep(millis(1)).await;
        }
        assert_eq!(room.processes(), [""; 0]);
    });
    room.leave();
}

/// A call that has a worker for itself.
async fn ask(worker: HookWorkerClient) -> WorkerEnded {
    let (hook, event) = ("check".to_owned(), "{}".to_owned());
    worker
        .call(HookCall { environment: Propagation::none(), hook, event, timeout: PATIENCE, tree: None })
        .await
}
