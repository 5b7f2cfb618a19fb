//! What a hook leaves behind when it exits in time.

use std::time::Duration;

use lineside_core::invocation::{Exit, Leaked, Leftovers};

use crate::room::{Room, eventually, millis};

#[test]
fn p02_a_helper_that_holds_the_pipes_delays_nobody() {
    let room = Room::enter();
    let hook = room.hook(["helper", "sleep", "end", "say", "decision"]);
    let ended = room.run(&hook);
    assert_eq!(ended.exit, Exit::Code(0));
    assert_eq!(ended.stdout.bytes, b"decision");
    assert_eq!(ended.leaked, Leaked::Killed);
    assert!(ended.took >= hook.limits.leak_grace && ended.took < millis(2_500), "{:?}", ended.took);
    room.leave();
}

#[test]
fn p02_a_helper_may_be_left_alone() {
    let room = Room::enter();
    let done = room.text("done");
    let mut hook = room.hook(["helper", "await", &done, "end", "say", "decision"]);
    hook.limits.leftovers = Leftovers::Leave;
    let ended = room.run(&hook);
    assert_eq!(ended.exit, Exit::Code(0));
    assert_eq!(ended.leaked, Leaked::Left);
    assert_eq!(room.processes().len(), 1);
    std::fs::write(done, "").unwrap();
    room.leave();
}

#[test]
fn p02_a_helper_without_pipes_is_found_as_well() {
    let room = Room::enter();
    let mut hook = room.hook(["quiet-helper", "sleep", "end", "exit", "3"]);
    hook.limits.leak_grace = Duration::from_secs(30);
    let ended = room.run(&hook);
    assert_eq!(ended.exit, Exit::Code(3));
    assert_eq!(ended.leaked, Leaked::Killed);
    assert!(ended.took < millis(2_500), "its pipes were at their end: {:?}", ended.took);
    room.leave();
}

#[test]
fn p02_a_helper_of_the_weakest_priority_does_not_hide() {
    let room = Room::enter();
    let [nice, done] = ["nice", "done"].map(|name| room.text(name));
    let steps = ["quiet-helper", "be-nice", "touch", &nice, "await", &done, "end", "await", &nice];
    let mut hook = room.hook(steps);
    hook.limits.leftovers = Leftovers::Leave;
    assert_eq!(room.run(&hook).leaked, Leaked::Left);
    std::fs::write(&done, "").unwrap();
    eventually("the helper stayed", || room.processes().is_empty());

    for file in [&nice, &done] {
        std::fs::remove_file(file).unwrap();
    }
    hook.limits.leftovers = Leftovers::Kill;
    assert_eq!(room.run(&hook).exit, Exit::Code(0));
    room.leave();
}

#[test]
fn p02_what_comes_within_the_leak_grace_still_counts() {
    let room = Room::enter();
    let mut hook = room.hook(["helper", "await-orphaned", "say", "late", "end", "say", "early "]);
    hook.limits.leak_grace = Duration::from_secs(30);
    let ended = room.run(&hook);
    assert_eq!(ended.exit, Exit::Code(0));
    assert_eq!(ended.stdout.bytes, b"early late");
    room.leave();
}

#[test]
fn p02_without_leak_grace_everything_written_before_the_exit_counts() {
    let room = Room::enter();
    let mut hook = room.hook(["helper", "sleep", "end", "say", "decision"]);
    hook.limits.leak_grace = Duration::ZERO;
    let ended = room.run(&hook);
    assert_eq!(ended.stdout.bytes, b"decision");
    assert_eq!(ended.leaked, Leaked::Killed);
    room.leave();
}

#[test]
fn p02_the_deadline_bounds_the_leak_grace() {
    let room = Room::enter();
    let mut hook = room.hook(["helper", "sleep", "end", "say", "decision"]);
    hook.limits.timeout = millis(600);
    hook.limits.leak_grace = Duration::from_secs(30);
    let ended = room.run(&hook);
    assert_eq!(ended.exit, Exit::Code(0), "the process itself was in time");
    assert_eq!(ended.stdout.bytes, b"decision");
    assert!(ended.took < millis(2_500), "{:?}", ended.took);
    room.leave();
}
