//! `lineside run` with many sessions: they do not wait for each other, each keeps its order, and what is printed is in
//! the order of decisions or of the input. Hooks wait for files, so nothing here depends on how fast anything is.

use std::io::{BufRead as _, BufReader, Write as _};

use lineside::json::{Value, json};

use crate::daemon::Daemon;
use crate::stage::{Stage, shell, timeless};

fn event(session: &str, command: &str) -> String {
    let event = json!({"point": "before_tool", "session": session,
        "payload": {"tool_name": "Shell", "tool_input": {"command": command}}});
    format!("{event}\n")
}

/// A guard that lets `slow` wait until what it writes to a pipe is read.
fn gated() -> Stage {
    let stage = Stage::new();
    stage.hook("guard", "trigger: before_tool", "grep -q slow && echo waits > gate || true");
    mkfifo(&stage, "project/gate");
    stage
}

fn mkfifo(stage: &Stage, path: &str) {
    assert!(std::process::Command::new("mkfifo").arg(stage.path(path)).status().unwrap().success());
}

fn session_of(line: &str) -> String {
    lineside::json::from_str::<Value>(line).unwrap()["session"].as_str().unwrap().to_owned()
}

#[test]
fn a_session_does_not_wait_for_the_slow_hook_of_another() {
    let stage = gated();
    let mut child = stage.command(&["run", "--project", "."]).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let events = event("a", "slow") + &event("a", "ls") + &event("b", "ls") + &event("c", "ls");
    input.write_all(events.as_bytes()).unwrap();
    let mut line = || {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        session_of(&line)
    };
    let mut first = [line(), line()];
    first.sort();
    assert_eq!(first, ["b", "c"]);
    assert_eq!(std::fs::read_to_string(stage.path("project/gate")).unwrap(), "waits\n");
    assert_eq!([line(), line()], ["a", "a"]);
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn with_the_order_of_the_input_sessions_still_run_at_the_same_time() {
    let stage = gated();
    stage.hook("after", "trigger: before_tool\npriority: 1", "grep -q last && echo ran > ran || true");
    mkfifo(&stage, "project/ran");
    let mut child = stage.command(&["run", "--project", ".", "--ordered"]).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all((event("a", "slow") + &event("b", "ls") + &event("b", "last")).as_bytes()).unwrap();
    drop(input);
    // The last event runs while the first one has no decision yet.
    assert_eq!(std::fs::read_to_string(stage.path("project/ran")).unwrap(), "ran\n");
    assert_eq!(std::fs::read_to_string(stage.path("project/gate")).unwrap(), "waits\n");
    let said = stage.said(child);
    assert_eq!(said.field("session"), ["a", "b", "b"], "{said:?}");
    assert_eq!(said.field("seq"), [1, 1, 2]);
}

#[test]
fn a_line_that_is_refused_late_does_not_bring_decisions_out_of_the_order_of_the_input() {
    let stage = gated();
    let mut child = stage.command(&["run", "--project", ".", "--ordered"]).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let bad = "{\"point\": \"on_idle\", \"session\": \"x\", \"parent_session\": \"x\"}\n";
    input.write_all((event("a", "slow") + bad + &event("b", "ls")).as_bytes()).unwrap();
    drop(input);
    assert_eq!(std::fs::read_to_string(stage.path("project/gate")).unwrap(), "waits\n");
    let said = stage.said(child);
    assert_eq!((said.code, said.field("session")), (Some(1), vec![json!("a"), json!("b")]), "{said:?}");
}

#[test]
fn a_subagent_begins_after_what_came_before_it_above() {
    let stage = Stage::new();
    stage.hook("opens", "trigger: subagent_start", "cat > /dev/null; echo x > ../opened");
    stage.hook(
        "checks",
        "trigger: before_tool",
        "cat > /dev/null; test -e ../opened || { echo early >&2; exit 2; }",
    );
    let begins = json!({"point": "before_subagent", "session": "top",
        "payload": {"child_session": "sub", "agent_type": "reviewer"}});
    let said = stage.run(&["run", "--project", "."], format!("{begins}\n") + &event("sub", "ls"));
    assert_eq!(said.field("verdict"), ["continue", "continue"], "{said:?}");
}

#[test]
fn one_event_at_a_time_is_one_at_a_time() {
    let stage = Stage::new();
    let alone = "cat > /dev/null; mkdir ../alone || { echo 'not alone' >&2; exit 2; }; rmdir ../alone";
    stage.hook("alone", "trigger: before_tool", alone);
    let events: String = (0..12).map(|number| event(&format!("s{number}"), "ls")).collect();
    let said = stage.run(&["run", "--project", ".", "--at-once", "1"], events);
    assert!(said.field("verdict").iter().all(|verdict| verdict == "continue"), "{said:?}");
    assert_eq!(said.json().len(), 12);
}

#[test]
fn what_is_printed_to_nowhere_is_lost() {
    let stage = Stage::new();
    stage.hook("leaves", "trigger: before_tool", "cat > /dev/null; echo x > ran");
    let run = |command: &str| {
        let mut shell_command = std::process::Command::new("sh");
        let arguments = ["-c", command, env!("CARGO_BIN_EXE_lineside")];
        shell_command.args(arguments).current_dir(stage.path("project")).env("HOME", stage.path("home"));
        shell_command.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = shell_command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(shell("ls").as_bytes()).unwrap();
        let said = stage.said(child);
        std::fs::remove_file(stage.path("project/ran")).unwrap();
        let is_lost = said.err.contains("every decision is lost") && said.err.contains("lost: 1 decision;");
        assert_eq!(said.code, Some(i32::from(is_lost)), "{command}: {said:?}");
        is_lost
    };
    // As shells close it, and as programs give the null device to their children.
    for nowhere in [">&-", "1<>/dev/null"] {
        assert!(run(&format!("exec \"$0\" run --project . {nowhere}")), "{nowhere}");
        assert!(!run(&format!("exec \"$0\" run --project . --quiet {nowhere}")), "{nowhere}");
    }
    assert!(!run("exec \"$0\" run --project . > /dev/null"));
    let _daemon = Daemon::start(&stage);
    assert!(run("exec \"$0\" run --daemon >&-"));
    assert!(!run("exec \"$0\" run --daemon > /dev/null"));
    let said = stage.run(&["run", "--project", ".", "--quiet"], shell("ls"));
    assert_eq!((said.code, said.out.as_str()), (Some(0), ""));
}

#[test]
fn ten_thousand_sessions_that_end_together_lose_no_signal() {
    let event =
        |number| format!("{{\"point\": \"on_idle\", \"session\": \"s{number}\", \"payload\": {{}}}}\n");
    let events: String = (0..10_000).map(event).collect();
    let said = Stage::new().run(&["run", "--quiet"], events);
    assert_eq!(timeless(&said.err), "10000 events: 10000 continue; 0 hooks in force; [time]\n");
    assert_eq!(said.code, Some(0));
}

#[test]
fn what_a_hook_should_not_say_is_remarked_in_its_decision() {
    let stage = Stage::new();
    stage.hook("guard", "trigger: before_tool", "cat > /dev/null; echo '{\"decison\": \"deny\"}'");
    let remark = "unknown key `decison` in its answer, did you mean `decision`?";
    let said = stage.run(&["run", "--project", "."], shell("ls"));
    assert_eq!(said.json()[0]["remarks"], lineside::json::json!([{"hook": "guard", "text": remark}]));
    let said = stage.run(&["run", "--project", ".", "--pretty"], shell("ls"));
    assert!(said.out.contains("remark     guard: unknown key `decison`"), "{}", said.out);
}

#[test]
fn what_the_end_waits_for_is_told() {
    let stage = Stage::new();
    stage.hook("bg", "trigger: before_tool\nasync: true", "cat > /dev/null; echo waits > gate");
    mkfifo(&stage, "project/gate");
    let mut child = stage.command(&["run", "--project", "."]).spawn().unwrap();
    child.stdin.take().unwrap().write_all(shell("ls").as_bytes()).unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    assert_eq!(line, "waiting for 1 background hook: bg; Ctrl-C ends them now\n");
    assert_eq!(std::fs::read_to_string(stage.path("project/gate")).unwrap(), "waits\n");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn what_a_hook_has_started_is_told_with_what_it_survives() {
    let stage = Stage::new();
    stage.hook("bg", "trigger: before_tool\nasync: true", "cat > /dev/null");
    let accepted = |arguments: &[&str]| {
        let said = stage.run(arguments, shell("ls"));
        (said.json()[0]["accepted"].clone(), said.json()[0]["hooks"].clone())
    };
    let (told, _) = accepted(&["run", "--project", "."]);
    assert_eq!(told, json!([{"hook": "bg", "as": "started", "durability": "memory"}]));
    let path = stage.path("kept");
    let path = path.to_str().unwrap();
    let (told, hooks) = accepted(&["run", "--project", ".", "--journal", path, "--receipts"]);
    assert_eq!(told, json!([{"hook": "bg", "as": "started", "job": 1, "durability": "disk"}]));
    assert_eq!((&hooks[0]["started"], &hooks[0]["durability"]), (&json!(true), &json!("disk")));
    let (told, _) = accepted(&["run", "--project", ".", "--journal", path, "--durability", "process"]);
    assert_eq!(told[0]["durability"], "process");
}

#[test]
fn a_full_disk_is_told_in_the_decision_on_standard_error_and_by_the_exit_status() {
    let stage = Stage::new();
    stage.hook("bg", "trigger: before_tool\nasync: true", "cat > /dev/null");
    let path = stage.path("kept");
    let path = path.to_str().unwrap();
    // Makes the folder, so that the limit meets records and not the beginning of a file.
    assert_eq!(stage.run(&["run", "--journal", path], "").code, Some(0));
    let mut command = std::process::Command::new("sh");
    // No file may grow beyond a few blocks: as far as writing goes, the disk is full then.
    let limited = "trap '' XFSZ; ulimit -f 24; exec \"$0\" run --project . --journal \"$1\" --receipts | cat";
    command.args(["-c", limited, env!("CARGO_BIN_EXE_lineside"), path]).current_dir(stage.path("project"));
    command.stdin(std::process::Stdio::piped());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let events: String = (0..300).map(|number| event(&format!("s{}", number % 8), "ls")).collect();
    child.stdin.take().unwrap().write_all(events.as_bytes()).unwrap();
    let said = stage.said(child);
    let lines = said.json();
    assert_eq!(lines.len(), 300, "guards go on deciding: {}", said.err);
    let unkept = lines.iter().filter(|line| line["accepted"][0]["durability"] != "disk").count();
    assert!(unkept > 0, "the limit was not reached");
    for line in &lines {
        let (claim, run) = (&line["accepted"][0], &line["hooks"][0]);
        assert_eq!(claim["durability"] == "disk", claim["why"].is_null(), "{claim}");
        assert_eq!(claim["why"], run["unavailable"], "{line}");
    }
    assert!(said.err.contains("error: background work is not kept any more: "), "{}", said.err);
    assert!(said.err.contains(&format!("{unkept} background runs not kept")), "{}", said.err);
}
