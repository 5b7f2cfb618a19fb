//! Many starts at once: one after another, and no start waits for a hook that only waits.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use lineside_core::invocation::Exit;
use lineside_exec::Runner;
use tokio::runtime::Builder;

use crate::room::{Room, millis, not_started};

#[test]
fn d10_who_gets_no_turn_in_its_time_was_not_started_and_says_why() {
    let room = Room::enter();
    let (first, mut second) = (room.command(&["sleep", "60"]), room.command(&["true"]));
    second.limits.timeout = millis(10);
    // The clock jumps to the next thing to do: the second is out of time long before the turn of the first ends.
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let runner = Runner::new().starting_at_once(NonZeroUsize::MIN);
    let (first, second) = runtime.block_on(async { tokio::join!(runner.run(&first), runner.run(&second)) });
    assert!(matches!(first.exit, Exit::TimedOut { .. }), "{first:?}");
    let why = not_started(second);
    assert!(why.starts_with("overloaded: waited 1") && why.ends_with("of which there are 1"), "{why}");
    drop(runtime);
    room.leave();
}

#[test]
fn d10_those_who_only_wait_hold_nobody_up() {
    let room = Room::enter();
    let first =
        room.command(&["sh", "-c", &format!("until [ -e {} ]; do sleep 0.01; done", room.text("go"))]);
    let second = room.command(&["touch", &room.text("go")]);
    let runner = Runner::new().starting_at_once(NonZeroUsize::MIN);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let (first, second) = runtime.block_on(async { tokio::join!(runner.run(&first), runner.run(&second)) });
    assert_eq!((first.exit, second.exit), (Exit::Code(0), Exit::Code(0)));
    drop(runtime);
    room.leave();
}

#[test]
fn what_a_run_needs_before_it_starts_is_asked_for_in_its_turn_and_the_program_starts_after_it() {
    let room = Room::enter();
    let started = room.path("started");
    let hook = room.command(&["touch", &room.text("started")]);
    room.block_on(async {
        let runner = Runner::new();
        let (ready, waits) = tokio::sync::oneshot::channel::<()>();
        let asked = Arc::new(AtomicBool::new(false));
        let is_asked = Arc::clone(&asked);
        let on_turn = async move {
            is_asked.store(true, Ordering::SeqCst);
            waits.await.unwrap();
        };
        let mut run = std::pin::pin!(runner.run_with(&hook, on_turn, None));
        assert!(std::future::poll_fn(|cx| Poll::Ready(run.as_mut().poll(cx))).await.is_pending());
        assert!(asked.load(Ordering::SeqCst) && !started.exists());
        ready.send(()).unwrap();
        assert_eq!(run.await.exit, Exit::Code(0));
        assert!(started.exists());
    });
    room.leave();
}

#[test]
fn a_run_that_does_not_get_what_it_needs_in_its_time_is_not_started() {
    let room = Room::enter();
    // The start finds that it does not exist.
    let mut hook = room.command(&[&room.text("nothing")]);
    hook.limits.timeout = millis(10);
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let ended = runtime.block_on(Runner::new().run_with(&hook, std::future::pending::<()>(), None));
    assert_eq!(ended.exit, Exit::TimedOut { after: millis(10) });
    drop(runtime);
    room.leave();
}
