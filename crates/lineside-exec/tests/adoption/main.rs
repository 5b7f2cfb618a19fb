//! A program that is the parent of orphans. It stays that for as long as it runs, so these tests are a program of
//! their own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code, reason = "the tests of runs need more of it")]
#[path = "../processes/room.rs"]
mod room;

use std::fs;
use std::process::{Command, Stdio};

use lineside_core::invocation::{Exit, Leaked, Leftovers};
use lineside_exec::{Containment, Runner};
use rustix::process::{WaitOptions, wait};

use crate::room::{Room, children, eventually};

fn adopting() -> Containment {
    Containment::new().adopting_orphans().unwrap()
}

#[test]
fn p03_a_killed_daemon_is_reaped() {
    let room = Room::enter();
    let [go, away] = ["go", "away"].map(|name| room.text(name));
    let daemon = ["leave-group", "quiet-helper", "touch", &away, "sleep", "end"];
    let mut hook = room.hook(["await", &go, "quiet-helper"]);
    hook.program.argv.extend(daemon.into_iter().chain(["await", &away]).map(Into::into));
    let ended = room.run_held(&adopting(), &hook);
    assert_eq!((ended.exit, ended.leaked), (Exit::Code(0), Leaked::Killed));
    assert_eq!(children(), [""; 0], "no zombie of it");
    room.leave();
}

#[test]
fn p03_orphans_that_died_early_are_reaped() {
    let room = Room::enter();
    // They are not waited for, and the shell becomes a program that knows of no children.
    let wait = format!("while ! [ -e {} ]; do sleep 0.01; done", room.text("go"));
    let line = format!("{wait}; true & setsid true & (env -i setsid true &) ; exec sleep 0.1");
    let ended = room.run_held(&adopting(), &room.command(&["/bin/sh", "-c", &line]));
    assert_eq!((ended.exit, ended.leaked), (Exit::Code(0), Leaked::Nothing));
    assert_eq!(children(), [""; 0], "no zombie of them");
    room.leave();
}

#[test]
fn p03_an_orphan_that_was_left_is_reaped_when_it_ends() {
    let room = Room::enter();
    let [go, away, done] = ["go", "away", "done"].map(|name| room.text(name));
    let daemon = ["leave-group", "quiet-helper", "touch", &away, "await", &done, "end"];
    let mut hook = room.hook(["await", &go, "quiet-helper"]);
    hook.program.argv.extend(daemon.into_iter().chain(["await", &away]).map(Into::into));
    hook.limits.leftovers = Leftovers::Leave;
    room.block_on(async {
        let runner = Runner::contained(adopting());
        let made = async { fs::write(&go, "").unwrap() };
        let (ended, ()) = tokio::join!(biased; runner.run(&hook), made);
        assert_eq!((ended.exit, ended.leaked), (Exit::Code(0), Leaked::Left));
        assert!(!children().is_empty(), "it is ours now");
        fs::write(&done, "").unwrap();
        while !children().is_empty() {
            tokio::task::yield_now().await;
            tokio::time::sleep(room::millis(1)).await;
        }
    });
    room.leave();
}

#[test]
fn p03_children_and_orphans_of_somebody_else_are_left_to_them() {
    let room = Room::enter();
    let containment = adopting();
    let mut own = Command::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
    // An unrelated orphan, which has exited already.
    let mut other = Command::new("/bin/sh").args(["-c", "true & exec sleep 0"]).spawn().unwrap();
    assert!(other.wait().unwrap().success());
    let ended = room.run_in(&containment, &room.hook(["quiet-helper", "sleep", "end", "exit", "0"]));
    assert_eq!((ended.exit, ended.leaked), (Exit::Code(0), Leaked::Killed));
    drop(own.stdin.take());
    assert!(own.wait().unwrap().success(), "its status was not taken");
    eventually("the orphan is there to be waited for", || {
        matches!(wait(WaitOptions::NOHANG), Ok(Some(_)) | Err(rustix::io::Errno::CHILD))
    });
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
    room.leave();
}
