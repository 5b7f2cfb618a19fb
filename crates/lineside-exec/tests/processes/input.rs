//! The input: written whole, and need not be read.

use lineside_core::invocation::{Exit, Leaked};

use crate::room::{Room, millis};

const MEBIBYTE: usize = 1 << 20;

#[test]
fn p04_a_hook_that_never_reads_ends_at_its_deadline() {
    let room = Room::enter();
    let mut hook = room.hook(["say", "decision", "sleep"]);
    hook.stdin = vec![b'x'; MEBIBYTE];
    hook.limits.timeout = millis(300);
    let ended = room.run(&hook);
    assert_eq!(ended.exit, Exit::TimedOut { after: millis(300) });
    assert_eq!(ended.stdout.bytes, b"decision");
    room.leave();
}

#[test]
fn p04_a_hook_that_exits_without_reading_has_done_nothing_wrong() {
    let room = Room::enter();
    for size in [1, MEBIBYTE] {
        let mut hook = room.hook(["say", "decision", "exit", "0"]);
        hook.stdin = vec![b'x'; size];
        let ended = room.run(&hook);
        assert_eq!(ended.exit, Exit::Code(0));
        assert_eq!(ended.stdout.bytes, b"decision");
        assert_eq!(ended.leaked, Leaked::Nothing);
    }
    room.leave();
}

#[test]
fn p04_a_hook_that_closes_its_input_has_done_nothing_wrong() {
    let room = Room::enter();
    let mut hook = room.command(&["/bin/sh", "-c", "head -c 10; exec 0<&-; echo; echo decision"]);
    hook.stdin = vec![b'x'; MEBIBYTE];
    let ended = room.run(&hook);
    assert_eq!(ended.exit, Exit::Code(0));
    assert_eq!(ended.stdout.bytes, b"xxxxxxxxxx\ndecision\n");
    room.leave();
}

#[test]
fn p04_input_and_output_move_at_the_same_time() {
    let room = Room::enter();
    let mut hook = room.hook(["echo"]);
    hook.stdin = (0..4 * MEBIBYTE).map(|at| (at % 251) as u8).collect();
    hook.limits.stdout_bytes = 4 * MEBIBYTE;
    let ended = room.run(&hook);
    assert_eq!(ended.exit, Exit::Code(0));
    assert!(ended.stdout.bytes == hook.stdin, "every byte, in order");
    assert_eq!(ended.stdout.dropped, 0);
    room.leave();
}

#[test]
fn an_empty_input_is_at_its_end() {
    let room = Room::enter();
    let ended = room.run(&room.hook(["count"]));
    assert_eq!(ended.stdout.bytes, b"0");
    room.leave();
}
