//! Signals that end the command: what runs is ended, what is lost is said, and what a kill has left is ended by the next.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::daemon::Daemon;
use crate::stage::{Stage, shell, timeless};

fn interrupt(child: &Child) {
    signal(child, "INT");
}

fn signal(child: &Child, name: &str) {
    let kill = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
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
    // The hook may have begun before its event's decision was printed.
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut String::new()).unwrap();
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
    let suite = lineside::json::json!({"dialect": "agenthooks", "cases": [{"id": "slow", "title": "slow",
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

/// A worker that has started a program in a session of its own, which does not end with its input.
const WORKER: &str = "import os, subprocess
from lineside_hook import hook, serve

@hook
def check(event):
    child = subprocess.Popen(['sleep', '600'], start_new_session=True)
    for name, pid in ('worker', os.getpid()), ('child', child.pid):
        with open(name, 'w') as file:
            file.write(f'{pid}\\n')

serve()
";

/// A project with a command, a hook that no publisher waits for, and a worker with a child that has left it. The command runs
/// without end.
fn busy() -> (Stage, Child, [String; 4]) {
    let stage = Stage::new();
    let kit = stage.run(&["kit", "python"], "").out;
    stage.file("project/lineside_hook.py", &kit);
    stage.file("project/worker.py", WORKER);
    stage.file(
        "project/.lineside/hooks.yaml",
        "hooks:
- {name: background, on: before_tool, priority: 3, async: true, command: echo $$ > background; exec sleep 600}
- {name: worker, on: before_tool, priority: 2, worker: {program: [python3, worker.py]}}
- {name: command, on: before_tool, priority: 1, command: echo $$ > command; exec sleep 600}
",
    );
    // The process that runs this test may ignore a signal.
    let lineside = stage.command(&["run", "--project", "."]);
    let mut command = Command::new("env");
    command.arg("--default-signal=INT,TERM,HUP,QUIT").arg(lineside.get_program()).args(lineside.get_args());
    command.env_clear().envs(lineside.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(stage.path("project"));
    let pipe = std::process::Stdio::piped;
    let mut child = command.stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(shell("ls").as_bytes()).unwrap();
    let pids = ["background", "worker", "child", "command"]
        .map(|name| wait_for(&stage.path(&format!("project/{name}"))));
    assert!(pids.iter().all(|pid| is_alive(pid)));
    (stage, child, pids)
}

/// A process that was killed may be there for a moment longer.
fn ends(pids: &[String]) {
    let start = Instant::now();
    while pids.iter().any(|pid| is_alive(pid)) {
        assert!(start.elapsed() < Duration::from_secs(20), "alive: {pids:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn each_signal_that_ends_the_command_ends_its_hooks_and_workers() {
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129), ("QUIT", 131)] {
        let (stage, child, pids) = busy();
        signal(&child, name);
        let said = stage.said(child);
        assert_eq!(said.code, Some(code), "{name}: {}", said.err);
        assert!(said.err.contains("interrupted"), "{name}: {}", said.err);
        ends(&pids);
    }
}

#[test]
fn a_signal_that_is_ignored_stays_so() {
    let stage = Stage::new();
    let lineside = stage.command(&["run"]);
    let mut command = Command::new("env");
    command.arg("--ignore-signal=HUP").arg(lineside.get_program()).args(lineside.get_args());
    command.env_clear().envs(lineside.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(stage.path("project"));
    let pipe = std::process::Stdio::piped;
    let mut child = command.stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(shell("ls").as_bytes()).unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut String::new()).unwrap();
    signal(&child, "HUP");
    input.write_all(shell("ls").as_bytes()).unwrap();
    output.read_line(&mut String::new()).unwrap();
    drop(input);
    assert_eq!(stage.said(child).code, Some(0));
}

/// One that is loaded without end, and has started a program.
#[test]
fn a_command_that_only_lists_ends_the_plugins_that_it_loads() {
    let stage = Stage::new();
    stage.file(
        "project/.openclaw/plugins/p/openclaw.plugin.json",
        "{\"id\": \"p\", \"configSchema\": {\"type\": \"object\"}}",
    );
    stage.file(
        "project/.openclaw/plugins/p/index.mjs",
        "import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
writeFileSync('worker', process.pid + '\\n');
writeFileSync('child', child.pid + '\\n');
await new Promise(() => setInterval(() => {}, 1000));
",
    );
    let child = stage.command(&["list", "--project", "."]).spawn().unwrap();
    let pids = ["worker", "child"].map(|name| wait_for(&stage.path(&format!("project/{name}"))));
    signal(&child, "TERM");
    assert_eq!(stage.said(child).code, Some(143));
    ends(&pids);
}

#[test]
fn what_a_killed_command_has_left_is_ended_by_the_next_one() {
    let (stage, mut child, pids) = busy();
    child.kill().unwrap();
    child.wait().unwrap();
    // The worker ends with its input; the others may go on for ten minutes.
    let said = stage.run(&["run", "--project", "."], "");
    assert_eq!(said.code, Some(0), "{}", said.err);
    ends(&pids);
}

/// Waits until a program catches `SIGINT` itself.
fn wait_for_handler(child: &Child) {
    let status = format!("/proc/{}/status", child.id());
    let start = Instant::now();
    loop {
        let text = std::fs::read_to_string(&status).unwrap();
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        if u64::from_str_radix(caught.trim(), 16).unwrap() & 0b10 != 0 {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "SIGINT is not caught");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_command_that_waits_for_its_input_ends_at_once() {
    let stage = Stage::new();
    assert!(Command::new("mkfifo").arg(stage.path("project/events")).status().unwrap().success());
    let _daemon = Daemon::start(&stage);
    for arguments in [
        &["explain"][..],
        &["explain", "events"],
        &["run"],
        &["run", "events"],
        &["run", "--daemon"],
        &["run", "--daemon", "events"],
    ] {
        let mut child = stage.command(arguments).spawn().unwrap();
        // Held open, so that the end of the input does not come.
        let input = child.stdin.take().unwrap();
        wait_for_handler(&child);
        interrupt(&child);
        let start = Instant::now();
        let code = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status.code();
            }
            if start.elapsed() > Duration::from_secs(20) {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("{arguments:?} goes on after SIGINT");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        assert_eq!(code, Some(130), "{arguments:?}");
        drop(input);
    }
}
