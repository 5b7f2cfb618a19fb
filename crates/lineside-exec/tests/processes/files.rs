//! The files of a run.

use std::fs;
use std::path::{Path, PathBuf};

use lineside_core::invocation::{EventFile, Exit, Invocation};
use lineside_exec::Runner;

use crate::room::{Room, current_thread, grace, made, millis, not_started};

fn shell(room: &Room, line: &str) -> Invocation {
    let mut hook = room.command(&["/bin/sh", "-c", line]);
    let file = |variable: &str, bytes: &[u8]| EventFile { variable: variable.into(), bytes: bytes.to_vec() };
    hook.files = vec![file("WHOLE_FILE", &vec![b'x'; 300_000]), file("OTHER_FILE", b"a\0b")];
    hook
}

fn gone(path: &str) {
    let path = Path::new(path);
    assert!(path.is_absolute() && !path.exists(), "{}", path.display());
    let directory = path.parent().unwrap();
    assert!(!directory.exists(), "{}", directory.display());
}

#[test]
fn a_file_is_there_for_the_run_and_only_for_the_user() {
    let room = Room::enter();
    let line = "wc -c < $WHOLE_FILE; wc -c < $OTHER_FILE; stat -c %a $WHOLE_FILE $OTHER_FILE; \
                stat -c %a $(dirname $WHOLE_FILE); echo $WHOLE_FILE";
    let mut hook = shell(&room, line);
    hook.environment.set.push(("WHOLE_FILE".into(), "/stale".into()));
    let text = room.run(&hook).stdout.trimmed_text();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[..5], ["300000", "3", "600", "600", "700"]);
    gone(lines[5]);
    room.leave();
}

#[test]
fn the_files_of_two_runs_are_not_the_same() {
    let room = Room::enter();
    let hook = shell(&room, "echo $OTHER_FILE");
    let paths = [(); 2].map(|()| room.run(&hook).stdout.trimmed_text());
    assert_ne!(paths[0], paths[1]);
    room.leave();
}

#[test]
fn files_go_after_a_deadline_and_a_start_that_failed() {
    let room = Room::enter();
    let mut hook = shell(&room, "echo $WHOLE_FILE; sleep 30");
    hook.limits.timeout = millis(300);
    hook.limits.ending = grace(millis(100));
    let ended = room.run(&hook);
    assert!(matches!(ended.exit, Exit::TimedOut { .. }), "{ended:?}");
    gone(&ended.stdout.trimmed_text());
    hook.program.argv = vec!["/nowhere/hook".into()];
    assert!(not_started(room.run(&hook)).contains("/nowhere/hook"));
    room.leave();
}

#[test]
fn files_stay_until_a_dropped_run_has_ended() {
    let room = Room::enter();
    let (ready, told) = (room.text("ready"), room.text("told"));
    let line = format!(
        "trap 'wc -c < $WHOLE_FILE > {told}; echo $WHOLE_FILE >> {told}; exit' TERM; touch {ready}; \
         while :; do sleep 0.05; done"
    );
    let mut hook = shell(&room, &line);
    hook.limits.ending = grace(millis(5000));
    current_thread().block_on(async {
        let runner = Runner::new();
        let ready = PathBuf::from(&ready);
        tokio::select! {
            ended = runner.run(&hook) => panic!("ended: {ended:?}"),
            () = made(&ready) => {}
        }
        runner.drain().await;
    });
    let told = fs::read_to_string(told).unwrap();
    let (count, path) = told.split_once('\n').unwrap();
    assert_eq!(count, "300000");
    gone(path.trim());
    room.leave();
}
