//! Ctrl-C: what runs is ended, what is lost is said.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::stage::{Stage, shell, timeless};

fn interrupt(child: &Child) {
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
}

/// Waits for a file, as long as a loaded machine may take.
fn wait_for(file: &Path) -> String {
    let start = Instant::now();
    loop {
        match std::fs::read_to_string(file) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ if start.elapsed() > Duration::from_secs(20) => panic!("{} does not come", file.display()),
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn is_alive(pid: &str) -> bool {
    Command::new("kill").args(["-0", pid]).stderr(std::process::Stdio::null()).status().unwrap().success()
}

#[test]
fn the_event_under_way_is_given_up_and_counted() {
    let stage = Stage::new();
    stage.hook("slow", "trigger: before_tool", "echo $$ > pid\nexec sleep 60");
    let mut child = stage.command(&["run", "--project", "."]).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(shell("ls").as_bytes()).unwrap();
    let pid = wait_for(&stage.path("project/pid"));
    let start = Instant::now();
    interrupt(&child);
    let said = stage.said(child);
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!((said.code, said.out.as_str()), (Some(130), ""));
    assert_eq!(timeless(&said.err), "0 events; 1 hook in force; lost: 1 decision; interrupted; [time]\n");
    assert!(!is_alive(&pid));
}

#[test]
fn background_hooks_are_cut_short_and_counted() {
    let stage = Stage::new();
    stage.hook("bg", "trigger: before_tool\nasync: true", "echo $$ > pid\nexec sleep 60");
    let mut child = stage.command(&["run", "--project", "."]).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    input.write_all(shell("ls").as_bytes()).unwrap();
    output.read_line(&mut String::new()).unwrap();
    let pid = wait_for(&stage.path("project/pid"));
    interrupt(&child);
    let said = stage.said(child);
    assert_eq!(said.code, Some(130));
    assert_eq!(
        timeless(&said.err),
        "background hook bg failed: still running when the session closed\n1 event: 1 continue; 1 hook in force; lost: 1 background hook; interrupted; [time]\n"
    );
    assert!(!is_alive(&pid));
}

#[test]
fn a_session_that_is_closing_is_cut_short_and_counted() {
    let stage = Stage::new();
    stage.hook("bg", "trigger: session_end\nasync: true", "echo $$ > pid\nexec sleep 60");
    let mut child = stage.command(&["run", "--project", "."]).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"{\"point\":\"after_session\",\"payload\":{\"reason\":\"x\"}}\n").unwrap();
    let pid = wait_for(&stage.path("project/pid"));
    interrupt(&child);
    let said = stage.said(child);
    assert_eq!(said.code, Some(130));
    assert!(said.err.contains("lost: 1 background hook; interrupted"), "{}", said.err);
    assert!(!is_alive(&pid));
}

#[test]
fn cases_that_run_are_ended_with_their_hooks() {
    let stage = Stage::new();
    let pid = stage.path("pid");
    let script = format!("#!/bin/sh\necho $$ > {}\nexec sleep 60\n", pid.display());
    let suite = serde_json::json!({"dialect": "agenthooks", "cases": [{"id": "slow", "title": "slow",
        "files": {
            "project/.agents/hooks/a/HOOK.md": "---\nname: a\ndescription: d\ntrigger: before_tool\n---\n",
            "project/.agents/hooks/a/scripts/run.sh": {"text": script, "mode": "755"},
        },
        "steps": [{"publish": {"point": "before_tool", "payload": {"tool_name": "x", "tool_input": {}}}}]}]});
    stage.file("project/slow.cases.json", &suite.to_string());
    let child =
        stage.command(&["test", "slow.cases.json"]).env("TMPDIR", stage.path("home")).spawn().unwrap();
    let pid = wait_for(&pid);
    interrupt(&child);
    let said = stage.said(child);
    assert_eq!(said.code, Some(130));
    assert!(!is_alive(&pid));
    let left: Vec<_> = std::fs::read_dir(stage.path("home")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
