//! Many starts at once: in turn, and nobody waits for those who only wait themselves.

use std::num::NonZeroUsize;

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
    let first = room.command(&["sh", "-c", "until [ -e go ]; do sleep 0.01; done"]);
    let second = room.command(&["touch", "go"]);
    let runner = Runner::new().starting_at_once(NonZeroUsize::MIN);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let (first, second) = runtime.block_on(async { tokio::join!(runner.run(&first), runner.run(&second)) });
    assert_eq!((first.exit, second.exit), (Exit::Code(0), Exit::Code(0)));
    drop(runtime);
    room.leave();
}
