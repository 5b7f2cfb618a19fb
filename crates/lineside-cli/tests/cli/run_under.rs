//! `lineside run -- COMMAND`: any program under a session of its own.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};

use lineside::json::{Value, json};

use crate::daemon::Daemon;
use crate::stage::{Said, Stage};

/// A daemon with a hook that refuses deletions.
fn guarded(stage: &Stage) -> Daemon<'_> {
    stage.hook("guard", "trigger: before_tool", "grep -q 'rm -rf' && exit 2; true");
    Daemon::start(stage)
}

/// The arguments of `lineside run` for a line of the shell.
fn under(line: &str) -> [&str; 5] {
    ["run", "--", "sh", "-c", line]
}

/// As a program without our library does it.
const OPEN_AND_DELETE: &str = r#"
ask() {
  curl --silent --unix-socket "$LINESIDE_SOCKET" -H 'Content-Type: application/json' \
    -H "Lineside-Grant: $LINESIDE_GRANT" "http://lineside/v1/$1" -d "$2"; echo
}
ask sessions '{"id": "curl"}' | grep -o '"parent":"[^"]*"'
ask events '{"point": "before_tool", "session": "curl", "payload": {"tool_name": "Shell", "tool_input": {"command": "rm -rf /"}}}' |
  grep -o '"verdict":"[^"]*"'
echo "$LINESIDE_SESSION"
"#;

fn sessions(stage: &Stage) -> Vec<Value> {
    let socket = stage.path("home/.local/state/lineside/lineside.sock");
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--unix-socket"]).arg(socket).arg("http://lineside/v1/sessions");
    let listed: Value = lineside::json::from_slice(&curl.output().unwrap().stdout).unwrap();
    listed["sessions"].as_array().unwrap().clone()
}

#[test]
fn what_a_command_starts_is_below_its_session_and_the_session_ends_with_it() {
    let stage = Stage::new();
    let _daemon = guarded(&stage);
    let said = stage.run(&under(OPEN_AND_DELETE), "");
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    let lines: Vec<&str> = said.out.lines().collect();
    let own = lines[2];
    assert!(own.starts_with("run-"), "{said:?}");
    assert_eq!(lines[..2], [format!("\"parent\":\"{own}\"").as_str(), "\"verdict\":\"block\""]);
    let open = sessions(&stage);
    assert!(open.iter().all(|session| session["id"] != own), "{open:?}");
}

#[test]
fn a_run_of_an_agent_program_below_which_no_session_came_says_so() {
    let stage = Stage::new();
    let _daemon = guarded(&stage);
    let program = stage.file("bin/codex", "#!/bin/sh\neval \"$1\"\n");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let program = program.to_str().unwrap();
    let said = stage.run(&["run", "--", program, ":"], "");
    assert!(
        said.code == Some(0) && said.err.contains("no call of an agent program came from below"),
        "{said:?}"
    );
    let said = stage.run(&["run", "--", program, OPEN_AND_DELETE], "");
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    assert_eq!(stage.run(&under(":"), "").err, "", "no agent program");
}

#[test]
fn a_command_within_a_command_is_a_child() {
    let stage = Stage::new();
    let _daemon = guarded(&stage);
    let inner = format!(
        "{} run -- sh -c 'echo $LINESIDE_SESSION'; echo $LINESIDE_SESSION",
        env!("CARGO_BIN_EXE_lineside")
    );
    let said = stage.run(&under(&inner), "");
    let ids: Vec<&str> = said.out.lines().collect();
    assert!(ids.len() == 2 && ids[0] != ids[1], "{said:?}");
    let depth = stage.run(
        &under(&format!(
            "{} run -- sh -c 'curl --silent --unix-socket $LINESIDE_SOCKET http://lineside/v1/sessions/$LINESIDE_SESSION'",
            env!("CARGO_BIN_EXE_lineside")
        )),
        "",
    );
    assert_eq!(depth.json()[0]["depth"], json!(1), "{depth:?}");
    assert_eq!(depth.json()[0]["host"], json!("lineside run"));
}

#[test]
fn exit_codes_are_passed_on() {
    let stage = Stage::new();
    let _daemon = guarded(&stage);
    for (line, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("exit 255", 255)] {
        assert_eq!(stage.run(&under(line), "").code, Some(code), "{line}");
    }
    let said = stage.run(&["run", "--", "no-such-program"], "");
    assert_eq!(said.code, Some(127), "{said:?}");
    assert!(said.err.contains("no-such-program"), "{said:?}");
    let said = stage.run(&["run", "--", "."], "");
    assert_eq!(said.code, Some(126), "{said:?}");
    assert!(sessions(&stage).is_empty());
}

#[test]
fn signals_reach_the_command() {
    let stage = Stage::new();
    let _daemon = guarded(&stage);
    for (name, line, code) in [
        ("TERM", "trap 'echo got; exit 9' TERM; echo ready; while :; do sleep 0.01; done", 9),
        ("INT", "trap 'echo got; exit 8' INT; echo ready; while :; do sleep 0.01; done", 8),
        ("HUP", "trap 'echo got; exit 6' HUP; echo ready; while :; do sleep 0.01; done", 6),
        ("TERM", "echo ready; exec sleep 1000", 143),
    ] {
        // A session of its own, so that no terminal is its own.
        let mut child = Command::new("setsid")
            .arg(env!("CARGO_BIN_EXE_lineside"))
            .args(under(line))
            .env("HOME", stage.path("home"))
            .env_remove("XDG_RUNTIME_DIR")
            .env_remove("XDG_STATE_HOME")
            .current_dir(stage.path("project"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut ready = String::new();
        out.read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n");
        kill(&child, name);
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{name}: {rest}");
    }
    assert!(sessions(&stage).is_empty());
}

fn kill(child: &Child, name: &str) {
    assert!(Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap().success());
}

/// A command whose daemon takes connections and answers nothing.
fn unanswered(stage: &Stage, socket: &str) -> (UnixListener, Child) {
    let socket = stage.path(socket);
    let listener = UnixListener::bind(&socket).unwrap();
    let mut command = stage.command(&under("echo started"));
    let child = command.env("LINESIDE_SOCKET", &socket).spawn().unwrap();
    (listener, child)
}

#[test]
fn a_command_whose_daemon_does_not_answer_is_not_started_and_can_be_interrupted() {
    let stage = Stage::new();
    let (_listener, child) = unanswered(&stage, "mute");
    let said = stage.said(child);
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
    assert!(said.err.contains("does not answer within 5 s; the command was not started"), "{said:?}");
    let (listener, child) = unanswered(&stage, "mute too");
    // Its request is here, so that signals are its own affair.
    let (mut asked, _) = listener.accept().unwrap();
    asked.read_exact(&mut [0; 4]).unwrap();
    kill(&child, "INT");
    let said = stage.said(child);
    assert_eq!((said.code, said.out.as_str()), (Some(130), ""), "{said:?}");
}

#[test]
fn without_a_daemon_nothing_is_started_and_the_remedy_is_told() {
    let stage = Stage::new();
    let said: Said = stage.run(&under("echo started"), "");
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""));
    assert!(said.err.contains("lineside serve") && said.err.contains("was not started"), "{said:?}");
    // While hooks are off, there is nothing that a session would be for.
    stage.run(&["off"], "");
    let said = stage.run(&under("echo started ${LINESIDE_SESSION:-alone}"), "");
    assert_eq!((said.code, said.out.as_str()), (Some(0), "started alone\n"));
    assert!(said.err.contains("hooks are off"), "{said:?}");
}

#[test]
fn the_commands_of_the_page_of_inheritance_do_what_it_says() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/inheritance.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks: Vec<&str> =
        page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(blocks.len(), 1);
    let stage = Stage::new();
    let _daemon = guarded(&stage);
    let line = blocks[0].replace("lineside run", concat!(env!("CARGO_BIN_EXE_lineside"), " run"));
    let mut shell = Command::new("sh");
    shell.args(["-ec", &line]).env("HOME", stage.path("home")).current_dir(stage.path("project"));
    let said = stage.said(shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let opened = &said.json()[0];
    assert!(opened["parent"].as_str().unwrap().starts_with("run-"), "{said:?}");
    assert_eq!(opened["environment"]["LINESIDE_SESSION"], json!("child"));
}

#[test]
fn a_grant_of_a_session_that_is_over_starts_nothing() {
    let stage = Stage::new();
    let _daemon = guarded(&stage);
    let said = stage.run(&under("echo $LINESIDE_SOCKET; echo $LINESIDE_GRANT"), "");
    let lines: Vec<&str> = said.out.lines().collect();
    let mut command = stage.command(&under("echo started"));
    let socket = stage.path("home/.local/state/lineside/lineside.sock");
    command.env("LINESIDE_SOCKET", socket).env("LINESIDE_GRANT", lines[1]);
    let said = stage.said(command.spawn().unwrap());
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
    assert!(said.err.contains("a grant ends with its session") && !said.err.contains("lsg_"), "{said:?}");
}

#[test]
fn a_project_that_is_named_is_one_whose_hooks_hold_or_the_command_is_not_started() {
    let stage = Stage::new();
    stage.hook("guard", "trigger: before_tool", "exit 2");
    let named = ["run", "--project", ".", "--", "touch", "ran"];
    let daemon = Daemon::start_with(&stage, &["serve"]);
    let said = stage.run(&named, "");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(
        said.err.contains("the hooks of [stage]/project do not run: they were never trusted"),
        "{said:?}"
    );
    assert!(said.err.contains("lineside trust [stage]/project; the command was not started"), "{said:?}");
    assert!(!stage.path("project/ran").exists());
    // A hook that is not trusted is not in force.
    let status = stage.run(&["status"], "");
    assert!(status.out.contains("  hooks     0 in force"), "{status:?}");
    drop(daemon);
    let _daemon = Daemon::start(&stage);
    assert_eq!(stage.run(&named, "").code, Some(0));
    assert!(stage.path("project/ran").exists());
}
