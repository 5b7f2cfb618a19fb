//! The outputs: capped, counted, never in the hook's way.

use lineside_core::invocation::Exit;

use crate::room::{Room, millis};

const MEBIBYTE: usize = 1 << 20;

#[test]
fn p05_a_flood_is_cut_counted_and_costs_no_memory() {
    let room = Room::enter();
    let mut hook = room.hook(["flood", "128", "flood-errors", "64", "exit", "2"]);
    hook.limits.stdout_bytes = 1_000_000;
    hook.limits.stderr_bytes = 1_000;
    let before = peak_memory();
    let ended = room.run(&hook);
    let grown = peak_memory() - before;
    assert_eq!(ended.exit, Exit::Code(2));
    assert_eq!(ended.stdout.bytes.len(), 1_000_000);
    assert_eq!(ended.stdout.dropped, (128 * MEBIBYTE - 1_000_000) as u64);
    assert!(ended.stdout.bytes.starts_with(b"\x1b[31m\xff\x00y\n"));
    assert_eq!(ended.stderr.bytes.len(), 1_000);
    assert_eq!(ended.stderr.dropped, (64 * MEBIBYTE - 1_000) as u64);
    assert!(grown < 8 * MEBIBYTE, "grew by {grown}");
    room.leave();
}

#[test]
fn p05_a_hook_may_say_much_before_it_reads() {
    let room = Room::enter();
    let mut hook = room.hook(["flood", "8", "flood-errors", "8", "count"]);
    hook.stdin = vec![b'x'; MEBIBYTE];
    hook.limits.stdout_bytes = 16 * MEBIBYTE;
    let ended = room.run(&hook);
    assert_eq!(ended.exit, Exit::Code(0));
    assert!(ended.stdout.bytes.ends_with(b"1048576"));
    room.leave();
}

#[test]
fn p05_an_endless_flood_ends_at_the_deadline() {
    let room = Room::enter();
    for argv in [["/usr/bin/yes", "y"], ["/bin/sh", "-c"]] {
        let mut argv = argv.to_vec();
        if argv[1] == "-c" {
            argv.push("yes >&2 & yes");
        }
        let mut hook = room.command(&argv);
        hook.limits.timeout = millis(300);
        hook.limits.stdout_bytes = 10;
        let ended = room.run(&hook);
        assert_eq!(ended.exit, Exit::TimedOut { after: millis(300) });
        assert_eq!(ended.stdout.bytes, b"y\ny\ny\ny\ny\n");
        assert!(ended.stdout.is_cut());
    }
    room.leave();
}

#[test]
fn p05_a_limit_of_nothing_keeps_nothing() {
    let room = Room::enter();
    let mut hook = room.hook(["say", "four", "complain", "five!"]);
    hook.limits.stdout_bytes = 0;
    let ended = room.run(&hook);
    assert_eq!((ended.stdout.bytes.len(), ended.stdout.dropped), (0, 4));
    assert_eq!((ended.stderr.bytes.as_slice(), ended.stderr.dropped), (b"five!".as_slice(), 0));
    room.leave();
}

fn peak_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}
