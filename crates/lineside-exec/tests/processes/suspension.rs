//! A program that is stopped while its hook runs.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use crate::room::{Room, eventually, millis};

#[test]
fn p11_a_hook_that_ended_while_we_were_stopped_was_in_time() {
    let room = Room::enter();
    let [ready, go] = ["ready", "go"].map(|name| room.text(name));
    let timeout = millis(2_000);
    let began = Instant::now();
    let mut program = Command::new(env!("CARGO_BIN_EXE_lineside-misbehave"));
    program.args(["run-hooks", "1", &timeout.as_millis().to_string()]);
    program.args(["touch", &ready, "await", &go, "say", "decision"]).envs(room.mark());
    let mut program = program.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let pid = Pid::from_child(&program);
    eventually("the hook runs", || fs::exists(&ready).unwrap());

    kill_process(pid, Signal::STOP).unwrap();
    let state = || fs::read_to_string(format!("/proc/{}/stat", program.id())).unwrap();
    eventually("it was not stopped", || state().rsplit(')').next().unwrap().trim_start().starts_with('T'));
    fs::write(&go, "").unwrap();
    eventually("the hook did not end", || room.processes().len() == 1);
    let in_time = began.elapsed() < timeout;
    // Stopped until its time would have been over.
    eventually("time stands still", || began.elapsed() > timeout + millis(100));
    kill_process(pid, Signal::CONT).unwrap();

    let mut said = String::new();
    program.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(program.wait().unwrap().success());
    if in_time {
        assert_eq!(said, "Code(0) decision\n");
    }
    room.leave();
}
