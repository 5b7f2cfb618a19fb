//! A program that is killed while its hooks run.

use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};

use lineside_exec::Containment;
use rustix::process::{Pid, Signal, kill_process};

use crate::room::{Room, eventually};

/// A program that runs so many hooks that sleep.
fn program(room: &Room, hooks: usize) -> Child {
    let mut program = Command::new(env!("CARGO_BIN_EXE_lineside-misbehave"));
    program.args(["run-hooks", &hooks.to_string(), "600000", "sleep"]).envs(room.mark());
    program.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
}

/// Where the numbers of processes are ours.
fn space() -> u64 {
    std::fs::metadata("/proc/self/ns/pid").unwrap().ino()
}

#[test]
fn p07_what_a_killed_program_left_behind_is_ended_by_the_next() {
    let room = Room::enter();
    let mut program = program(&room, 50);
    eventually("50 hooks run", || room.processes().len() == 51);
    assert_eq!(Containment::end_orphans(), 0, "the hooks of a program that runs are not touched");
    assert_eq!(room.processes().len(), 51);

    kill_process(Pid::from_child(&program), Signal::KILL).unwrap();
    assert!(!program.wait().unwrap().success());
    assert_eq!(room.processes().len(), 50);
    // Another start on this machine may be quicker.
    assert!(Containment::end_orphans() <= 50);
    eventually("orphans stayed", || room.processes().is_empty());
    room.leave();
}

#[test]
fn p07_a_forged_mark_names_nobody_who_is_signalled() {
    let room = Room::enter();
    let mut stranger = Command::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
    // The number of the stranger, and another start than its own.
    let mark = format!("{}-1-{}.0-k1", stranger.id(), space());
    let mut forger = Command::new("/bin/cat");
    let mut forger =
        forger.env("LINESIDE_RUN", mark).envs(room.mark()).stdin(Stdio::piped()).spawn().unwrap();
    eventually("the forger runs", || room.processes().len() == 1);
    assert!(Containment::end_orphans() <= 1);
    assert!(!forger.wait().unwrap().success(), "who wears it is ended");
    drop(stranger.stdin.take());
    assert!(stranger.wait().unwrap().success(), "whom it names is not");
    room.leave();
}

#[test]
fn p07_leftovers_that_were_to_stay_are_no_orphans() {
    let room = Room::enter();
    let mut left = Command::new("/bin/cat");
    let mark = format!("1-1-{}.0-l1", space());
    let mut left = left.env("LINESIDE_RUN", mark).envs(room.mark()).stdin(Stdio::piped()).spawn().unwrap();
    eventually("it runs", || room.processes().len() == 1);
    assert_eq!(Containment::end_orphans(), 0);
    drop(left.stdin.take());
    assert!(left.wait().unwrap().success());
    room.leave();
}

/// Whether that program is gone cannot be seen from here.
#[test]
fn p07_a_mark_of_another_container_is_none_of_ours() {
    let room = Room::enter();
    let mark = format!("1-1-{}.0-k1", space() + 1);
    let mut other = Command::new("/bin/cat");
    let mut other = other.env("LINESIDE_RUN", mark).envs(room.mark()).stdin(Stdio::piped()).spawn().unwrap();
    eventually("it runs", || room.processes().len() == 1);
    assert_eq!(Containment::end_orphans(), 0);
    drop(other.stdin.take());
    assert!(other.wait().unwrap().success());
    room.leave();
}
