//! The deadline: what happens at it, and when the run is over after it.

use std::time::Duration;

use lineside_core::invocation::{Ended, Ending, Exit, Leaked};

use crate::room::{Room, grace, millis};

fn timed_out(ended: &Ended, after: Duration) {
    assert_eq!(ended.exit, Exit::TimedOut { after });
    assert!(ended.took >= after, "{:?}", ended.took);
}

#[test]
fn p01_a_sleeping_hook_ends_at_its_deadline() {
    let room = Room::enter();
    let mut hook = room.hook(["say", "so far", "sleep"]);
    hook.limits.timeout = millis(300);
    hook.limits.ending = grace(Duration::from_secs(5));
    let ended = room.run(&hook);
    timed_out(&ended, millis(300));
    assert!(ended.took < millis(2_500), "it had no need for its grace: {:?}", ended.took);
    assert_eq!(ended.stdout.bytes, b"so far");
    assert_eq!(ended.leaked, Leaked::Nothing);
    room.leave();
}

#[test]
fn p01_a_hook_that_ignores_sigterm_is_killed_after_its_grace() {
    let room = Room::enter();
    let mut hook = room.hook(["ignore-term", "say", "so far", "sleep"]);
    hook.limits.timeout = millis(500);
    hook.limits.ending = grace(millis(200));
    let ended = room.run(&hook);
    timed_out(&ended, millis(500));
    assert!(ended.took >= millis(700), "{:?}", ended.took);
    assert_eq!(ended.stdout.bytes, b"so far");
    room.leave();
}

#[test]
fn p01_a_hook_that_stopped_itself_hears_sigterm() {
    let room = Room::enter();
    let mut hook = room.hook(["stop", "sleep"]);
    hook.limits.timeout = millis(300);
    hook.limits.ending = grace(Duration::from_secs(5));
    let ended = room.run(&hook);
    timed_out(&ended, millis(300));
    assert!(ended.took < millis(2_500), "it was woken: {:?}", ended.took);
    room.leave();
}

#[test]
fn p01_ending_kill_leaves_no_time_to_clean_up() {
    let room = Room::enter();
    let mut hook = room.command(&["/bin/sh", "-c", "trap 'echo cleaned' TERM; while :; do sleep 0.01; done"]);
    hook.limits.timeout = millis(300);
    hook.limits.ending = Ending::Kill;
    let ended = room.run(&hook);
    timed_out(&ended, millis(300));
    assert_eq!(ended.stdout.bytes, b"");
    room.leave();
}

#[test]
fn p01_a_timeout_is_one_whatever_the_hook_says_then() {
    let room = Room::enter();
    let line = "trap 'echo late; exit 0' TERM; echo early; while :; do sleep 0.01; done";
    let mut hook = room.command(&["/bin/sh", "-c", line]);
    hook.limits.timeout = millis(500);
    hook.limits.ending = grace(Duration::from_secs(5));
    let ended = room.run(&hook);
    timed_out(&ended, millis(500));
    assert_eq!(ended.stdout.bytes, b"early\nlate\n");
    room.leave();
}

#[test]
fn p01_the_grace_is_the_whole_groups() {
    let room = Room::enter();
    let ready = room.text("ready");
    let mut hook =
        room.hook(["quiet-helper", "ignore-term", "touch", &ready, "sleep", "end", "await", &ready, "sleep"]);
    hook.limits.timeout = millis(500);
    hook.limits.ending = grace(millis(200));
    let ended = room.run(&hook);
    timed_out(&ended, millis(500));
    assert!(ended.took >= millis(700), "{:?}", ended.took);
    assert_eq!(ended.leaked, Leaked::Killed);
    room.leave();
}

#[test]
fn p01_each_member_of_the_group_is_asked_to_end_once() {
    let room = Room::enter();
    let [heard, ready] = ["heard", "ready"].map(|name| room.text(name));
    let member = format!("trap 'echo once >> {heard}' TERM; touch {ready}; while :; do sleep 0.01; done");
    let line = format!("sh -c \"$0\" & while ! [ -e {ready} ]; do sleep 0.01; done; exec sleep 600");
    let mut hook = room.command(&["/bin/sh", "-c", &line, &member]);
    hook.limits.timeout = millis(500);
    hook.limits.ending = grace(millis(300));
    timed_out(&room.run(&hook), millis(500));
    assert_eq!(std::fs::read_to_string(heard).unwrap(), "once\n");
    room.leave();
}

#[test]
fn p01_nobody_who_holds_the_pipes_delays_the_end() {
    let room = Room::enter();
    let escaped = room.text("escaped");
    let mut hook = room.hook([
        "helper", "leave-group", "ignore-term", "touch", &escaped, "sleep", "end", "await", &escaped, "sleep",
    ]);
    hook.limits.timeout = millis(300);
    hook.limits.ending = grace(millis(100));
    hook.limits.leak_grace = Duration::from_secs(30);
    let ended = room.run(&hook);
    timed_out(&ended, millis(300));
    assert!(ended.took < millis(2_500), "{:?}", ended.took);
    assert_eq!(ended.leaked, Leaked::Killed);
    assert_eq!(room.processes(), [""; 0], "the helper that has left the group as well");
    room.leave();
}
