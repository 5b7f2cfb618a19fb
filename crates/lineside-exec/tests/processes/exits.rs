//! How a process can exit, and what else a run tells.

use std::time::Duration;

use lineside_core::invocation::{Exit, Leaked};
use lineside_exec::Runner;

use crate::room::{Room, eventually};

#[test]
fn p10_every_exit_code_is_told() {
    let room = Room::enter();
    for code in [0, 1, 2, 3, 126, 127, 255] {
        let ended = room.run(&room.hook(["exit", &code.to_string()]));
        assert_eq!(ended.exit, Exit::Code(code));
        assert_eq!(ended.leaked, Leaked::Nothing);
        assert!(ended.took > Duration::ZERO);
    }
    room.leave();
}

#[test]
fn p10_a_signal_is_no_exit_code() {
    let room = Room::enter();
    for (name, number) in [("SEGV", 11), ("KILL", 9), ("TERM", 15)] {
        let ended = room.run(&room.hook(["say", "so far", "die", name]));
        assert_eq!(ended.exit, Exit::Signal(number));
        assert_eq!(ended.stdout.bytes, b"so far");
    }
    room.leave();
}

#[test]
fn p10_silence_is_an_exit_like_any_other() {
    let room = Room::enter();
    let ended = room.run(&room.command(&["/bin/true"]));
    assert_eq!(ended.exit, Exit::Code(0));
    assert_eq!((ended.stdout.bytes.len(), ended.stderr.bytes.len()), (0, 0));
    room.leave();
}

#[test]
fn many_runs_at_the_same_time_do_not_disturb_each_other() {
    let room = Room::enter();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let runner = Runner::new();
        let runs: Vec<_> = (0..40)
            .map(|number: u8| {
                let mut hook = room.hook(["echo", "exit", &number.to_string()]);
                hook.stdin = format!("hook {number}").into_bytes();
                let runner = runner.clone();
                tokio::spawn(async move { (hook.stdin.clone(), runner.run(&hook).await) })
            })
            .collect();
        for (number, run) in (0..).zip(runs) {
            let (stdin, ended) = run.await.unwrap();
            assert_eq!(ended.exit, Exit::Code(number));
            assert_eq!(ended.stdout.bytes, stdin);
        }
    });
    drop(runtime);
    eventually("processes stayed", || room.processes().is_empty());
    room.leave();
}
