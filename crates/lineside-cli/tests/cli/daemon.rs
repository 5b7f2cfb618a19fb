//! The daemon and the commands that steer it, as processes.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command};

use lineside::json::{Value, json};

use crate::hook::{given, tool};
use crate::stage::{Said, Stage};

/// A daemon of a stage.
pub(crate) struct Daemon<'a> {
    stage: &'a Stage,
    child: Child,
}

impl<'a> Daemon<'a> {
    /// Starts it, and waits until it is ready.
    pub(crate) fn start(stage: &'a Stage) -> Self {
        Self::start_with(stage, &["serve", "--project", "."])
    }

    pub(crate) fn start_with(stage: &'a Stage, arguments: &[&str]) -> Self {
        let socket = stage.path("home/.local/state/lineside/lineside.sock");
        Self::at(stage, arguments, socket.to_str().unwrap())
    }

    /// Starts it with these arguments, which put its socket there.
    pub(crate) fn at(stage: &'a Stage, arguments: &[&str], socket: &str) -> Self {
        let mut child = stage.command(arguments).spawn().unwrap();
        let mut ready = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut ready).unwrap();
        let expected = format!("ready: {socket}\n");
        if ready != expected {
            child.kill().ok();
            panic!("not ready but {ready:?}: {:?}", child.wait_with_output());
        }
        Self { stage, child }
    }

    /// Kills it, whatever it is doing.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn signal(&self, name: &str) {
        let kill = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(kill.success());
    }

    pub(crate) fn ended(mut self) -> Said {
        let nobody = Command::new("true").spawn().unwrap();
        self.stage.said(std::mem::replace(&mut self.child, nobody))
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn a_private_daemon_ends_with_the_standard_input_that_it_was_given_and_leaves_nothing() {
    let stage = Stage::new();
    let temporary = stage.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let other = stage.path("other");
    // With another home the program begins anew on its way.
    for more in [&[][..], &["--home", other.to_str().unwrap()]] {
        let mut command = stage.command(&[&["serve", "--private"], more].concat());
        let mut child = command.env("TMPDIR", &temporary).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut ready = String::new();
        out.read_line(&mut ready).unwrap();
        let socket = ready.strip_prefix("ready: ").unwrap_or_default().trim_end();
        assert!(socket.starts_with(temporary.to_str().unwrap()), "{ready:?}");
        let said = stage.run(&["status", "--socket", socket], "");
        assert_eq!(said.code, Some(0), "{said:?}");
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
        assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "its folder is gone");
    }
    assert!(!stage.path("home/.local/state/lineside").exists(), "the state of the account is not touched");
}

#[test]
fn settings_that_the_daemon_has_not_read_are_named_with_what_is_wrong() {
    let stage = Stage::new();
    let told = "config.yaml has changed since the daemon started, which reads it then";
    let config = stage.file("home/.config/lineside/config.yaml", "approvals: {wait: 10min}\n");
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    std::fs::File::options().write(true).open(&config).unwrap().set_modified(long_ago).unwrap();
    let _daemon = Daemon::start(&stage);
    let said = stage.run(&["doctor"], "");
    assert!(!said.out.contains(told), "{}", said.out);
    stage.file("home/.config/lineside/config.yaml", "aprovals: {wait: 10min}\n");
    let wrong = "config.yaml:1: unknown key `aprovals`";
    let said = stage.run(&["doctor"], "");
    assert!(said.out.contains(told) && said.out.contains(wrong), "{}", said.out);
    assert!(said.out.contains("-> lineside stop, and the next event starts another"), "{}", said.out);
    let said = stage.run(&["check"], "");
    assert!(said.out.contains(wrong), "{said:?}");
    let observe = "observe:\n  - {name: audit, query: 'verdct:refused', file: ~/a.jsonl}\n";
    stage.file("home/.config/lineside/config.yaml", observe);
    let said = stage.run(&["check"], "");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        said.out.contains("config.yaml:2: observer \"audit\" hears nothing: ") && said.out.contains("verdct"),
        "{said:?}"
    );
}

#[test]
fn a_daemon_that_an_upgrade_has_left_behind_is_named() {
    let stage = Stage::new();
    let program = stage.path("lineside");
    std::fs::copy(env!("CARGO_BIN_EXE_lineside"), &program).unwrap();
    let mut command = Command::new(&program);
    command.args(["serve"]).env_clear().env("HOME", stage.path("home")).current_dir(stage.path("project"));
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let daemon = Daemon { stage: &stage, child };
    let told = "was replaced, and is what that was then";
    for command in ["status", "doctor"] {
        let said = stage.run(&[command], "");
        assert!(!said.out.contains(told), "{}", said.out);
    }
    let newer = stage.path("newer");
    std::fs::copy(&program, &newer).unwrap();
    std::fs::rename(newer, program).unwrap();
    for command in ["status", "doctor"] {
        let said = stage.run(&[command], "");
        assert!(said.out.contains(told) && said.out.contains("lineside stop"), "{}", said.out);
    }
    daemon.kill();
}

fn status(stage: &Stage) -> (Option<i32>, Value) {
    let said = stage.run(&["status", "--json"], "");
    (said.code, said.json().first().cloned().unwrap_or_default())
}

#[test]
fn a_daemon_is_started_looked_at_and_stopped() {
    let stage = Stage::new();
    stage.hook("guard", "trigger: before_tool", "cat >/dev/null");
    let said = stage.run(&["status"], "");
    assert_eq!(said.code, Some(3));
    assert!(said.out.starts_with("no daemon\n"), "{}", said.out);
    let daemon = Daemon::start(&stage);
    let (code, found) = status(&stage);
    assert_eq!((code, &found["status"], &found["hooks"]), (Some(0), &json!("ok"), &json!(1)), "{found}");
    assert_eq!(found["pid"], json!(daemon.child.id()));
    let said = stage.run(&["status"], "");
    assert!(said.out.contains("1 in force, generation 1"), "{}", said.out);
    let said = stage.run(&["stop"], "");
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    let ended = daemon.ended();
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), "lineside: ended with 0 sessions open\n"));
    assert_eq!(status(&stage).0, Some(3));
    assert_eq!(stage.run(&["stop"], "").out, "no daemon runs\n");
}

#[test]
fn a_daemon_has_ended_when_its_process_has_and_not_when_its_socket_is_gone() {
    let stage = Stage::new();
    stage.hook("bg", "trigger: before_tool\nasync: true", "cat >/dev/null\necho began > began\nsleep 1");
    let mut daemon = Daemon::start(&stage);
    given(&stage, stage.command(&["hook", "claude"]), tool("s", "ls").as_bytes());
    let said = stage.run(&["stop"], "");
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert!(daemon.child.try_wait().unwrap().is_some(), "{}", said.out);
}

#[test]
fn law_19_the_switch_works_with_the_daemon_dead_and_the_configuration_broken() {
    let stage = Stage::new();
    stage.file("project/.lineside/hooks.yaml", "hooks: [{");
    assert_eq!(stage.run(&["off"], "").code, Some(0));
    let (code, found) = status(&stage);
    assert_eq!((code, &found["off"]), (Some(3), &json!(true)), "{found}");
    let daemon = Daemon::start(&stage);
    assert_eq!(status(&stage).1["off"], json!(true));
    assert_eq!(stage.run(&["on"], "").out, "hooks are on\n");
    let (code, found) = status(&stage);
    assert_eq!((code, &found["off"]), (Some(1), &json!(false)), "{found}");
    assert!(found["findings"][0]["text"].as_str().unwrap().contains("hooks.yaml"), "{found}");
    daemon.signal("-TERM");
    daemon.ended();
    assert_eq!(stage.run(&["on"], "").out, "hooks were on already\n");
    // With no room on the disk for a single byte.
    let full = format!("trap '' XFSZ; ulimit -f 0; {} off", env!("CARGO_BIN_EXE_lineside"));
    let mut command = Command::new("sh");
    let command = command.args(["-c", &full]).env_clear().env("HOME", stage.path("home"));
    let said = command.current_dir(stage.path("project")).output().unwrap();
    assert_eq!(said.status.code(), Some(0), "{said:?}");
    assert_eq!(status(&stage).1["off"], json!(true));
}

#[test]
fn a_daemon_that_was_killed_is_followed_by_another_and_two_do_not_run() {
    let stage = Stage::new();
    let daemon = Daemon::start(&stage);
    let second = stage.run(&["serve"], "");
    assert_eq!((second.code, second.out.as_str()), (Some(2), ""));
    assert!(second.err.contains(&daemon.child.id().to_string()), "{}", second.err);
    daemon.signal("-KILL");
    daemon.ended();
    assert_eq!(status(&stage).0, Some(3));
    let daemon = Daemon::start(&stage);
    assert_eq!(status(&stage).0, Some(0));
    daemon.signal("-TERM");
    assert_eq!(daemon.ended().code, Some(0));
}

#[test]
fn a_reload_says_what_is_wrong_with_a_file() {
    let stage = Stage::new();
    let (daemon, file) = (Daemon::start(&stage), "home/.config/lineside/hooks.yaml");
    stage.file(file, "hooks: [{name: a, on: befor_tool, command: [\"true\"]}]");
    let said = stage.run(&["reload"], "");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("befor_tool"), "{}", said.err);
    stage.file(file, "hooks: [{name: a, on: before_tool, command: [\"true\"]}]");
    let said = stage.run(&["reload"], "");
    // The daemon may have noticed a change by itself before.
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.starts_with("generation ") && said.out.ends_with(": 1 hook in force\n"), "{said:?}");
    assert_eq!(stage.run(&["stop"], "").code, Some(0));
    daemon.ended();
}

#[test]
fn a_unit_is_shown_before_it_is_written() {
    let stage = Stage::new();
    let said = stage.run(&["serve", "--install-unit", "--dry-run"], "");
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("lineside") && said.out.contains("serve"), "{}", said.out);
    assert!(!stage.path("home/.config").exists());
    assert_eq!(stage.run(&["serve", "--install-unit"], "").code, Some(0));
    // The daemon of the unit is the one that was asked for, in whatever folder it is started.
    let asked = ["serve", "--project", ".", "--dialect", "native", "--drain", "30"];
    let said = stage.run(&[&asked[..], &["--install-unit", "--dry-run"]].concat(), "");
    let words = r#""--dialect" "native" "--drain" "30""#;
    assert!(said.out.contains(words), "{}", said.out);
    // A project is trusted once, and not again by each start.
    assert!(!said.out.contains("--project"), "{}", said.out);
    stage.hook("guard", "trigger: before_tool", "exit 2");
    assert_eq!(stage.run(&["trust", "--list"], "").out, "no project is trusted\n");
    assert_eq!(stage.run(&["serve", "--project", ".", "--install-unit"], "").code, Some(0));
    assert!(stage.run(&["trust", "--list"], "").out.starts_with("[stage]/project  as trusted"));
}

#[test]
fn the_commands_of_the_page_of_the_daemon_do_what_it_says() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/daemon.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks: Vec<&str> =
        page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!((blocks.len(), blocks[0]), (2, "lineside serve --project .\n"));
    let stage = Stage::new();
    stage.file(
        "project/.lineside/hooks.yaml",
        "hooks:\n  - name: no-deletions\n    on: before_tool\n    command: [./guard.sh]\n",
    );
    let guard = stage
        .file("project/guard.sh", "#!/bin/sh\ngrep -q 'rm -rf' && echo '{\"verdict\": \"block\"}' || true\n");
    std::fs::set_permissions(guard, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let daemon = Daemon::start(&stage);
    // A reader may have come from the page of hosts, with the same daemon.
    let hosts = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hosts.md");
    let hosts = std::fs::read_to_string(hosts).unwrap();
    let before = hosts.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let before = before.filter(|block| block.starts_with("curl ")).collect::<String>();
    let mut shell = Command::new("sh");
    shell
        .args(["-ec", &format!("({before}) > /dev/null\n{}", blocks[1])])
        .current_dir(stage.path("project"))
        .env("SOCKET", stage.path("home/.local/state/lineside/lineside.sock"));
    let output = shell.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text} {:?}", String::from_utf8(output.stderr));
    let answers: Vec<Value> =
        serde_json::Deserializer::from_str(&text).into_iter().map(Result::unwrap).collect();
    assert_eq!((&answers[0]["id"], &answers[1]["verdict"]), (&json!("of-curl"), &json!("block")), "{text}");
    assert_eq!(stage.run(&["stop"], "").code, Some(0));
    daemon.ended();
}

#[test]
fn a_daemon_that_trusts_no_project_says_so_to_who_looks_at_it() {
    let stage = Stage::new();
    stage.hook("guard", "trigger: before_tool", "cat >/dev/null");
    let untold = "the hooks of [stage]/project do not run: they were never trusted";
    let said = stage.run(&["doctor"], "");
    assert!(said.code == Some(1) && said.out.contains(untold), "{said:?}");
    assert!(
        said.out.contains("✗ daemon") && said.out.contains("-> lineside trust [stage]/project"),
        "{said:?}"
    );
    let daemon = Daemon::start_with(&stage, &["serve"]);
    assert_eq!(status(&stage).1["here"]["stands"], json!("not trusted"));
    let said = stage.run(&["status"], "");
    assert!(
        said.code == Some(1) && said.out.contains(&format!("  project   ✗ {untold}; lineside trust")),
        "{said:?}"
    );
    let said = stage.run(&["doctor"], "");
    assert!(said.code == Some(1) && said.out.contains(untold), "{said:?}");
    drop(daemon);
    let _daemon = Daemon::start(&stage);
    let said = stage.run(&["status"], "");
    assert!(said.code == Some(0) && said.out.contains("  project   [stage]/project, trusted\n"), "{said:?}");
    assert!(said.out.contains("[stage]/project: trusted, 1 hook in force, 0 sessions open"), "{said:?}");
    assert!(!stage.run(&["doctor"], "").out.contains("do not run"));
    // That it has changed is said once, with the remedy that helps.
    stage.hook("guard", "trigger: before_tool", "cat >/dev/null; true");
    let call = json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": stage.path("project"),
        "tool_name": "Bash", "tool_input": {"command": "ls"}});
    let said = stage.run(&["hook", "claude"], call.to_string());
    assert_eq!(said.code, Some(0), "{said:?}");
    let said = stage.run(&["doctor"], "");
    let times = |text| said.out.matches(text).count();
    assert_eq!((times("not what was trusted"), times("repair")), (1, 0), "{said:?}");
}

#[test]
fn a_guard_refuses_though_the_daemon_has_inherited_that_ends_of_processes_are_ignored() {
    let stage = Stage::new();
    let guard = json!({"name": "guard", "on": "before_tool", "command": "echo 'not this one' >&2; exit 2",
        "on_failure": "continue"});
    stage.file("project/.lineside/hooks.yaml", &json!({"hooks": [guard]}).to_string());
    let command = stage.command(&["serve"]);
    let mut ignoring = Command::new("env");
    ignoring.args(["--ignore-signal=CHLD", env!("CARGO_BIN_EXE_lineside"), "serve", "--project", "."]);
    ignoring.current_dir(stage.path("project")).env_clear();
    ignoring.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    ignoring.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
    let mut child = ignoring.spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    let _daemon = Daemon { stage: &stage, child };
    assert!(ready.starts_with("ready: "), "{ready}");
    let event = json!({"hook_event_name": "PreToolUse", "session_id": "s1", "tool_name": "Bash",
        "tool_input": {"command": "ls"}});
    let said = stage.run(&["hook", "claude"], event.to_string());
    assert!(said.out.contains("not this one") && said.out.contains("deny"), "{said:?}");
}

#[test]
fn without_a_daemon_the_doctor_loads_the_hooks_and_says_which_do_not_hold_and_where() {
    let stage = Stage::new();
    let file = "home/.config/lineside/hooks.yaml";
    for (entry, told, shown) in [
        ("{name: g, on: befor_tool, command: x}", "did you mean `before_tool`?", "──"),
        (
            "{name: g, on: before_tool, command: [no-such-program-here]}",
            "install it or correct the hook",
            "──",
        ),
        (
            "{name: g, on: before_tool, on_failure: continue, command: [no-such-program-here]}",
            "install it",
            "──",
        ),
    ] {
        stage.file(file, &format!("hooks:\n- {entry}\n"));
        let said = stage.run(&["doctor"], "");
        let lines = [
            format!("error: [stage]/{file}:2: "),
            told.to_owned(),
            format!("2 │ - {entry}"),
            shown.to_owned(),
        ];
        assert!(said.code == Some(1) && said.out.contains("✗ daemon"), "{said:?}");
        assert!(lines.iter().all(|line| said.out.contains(line)), "{lines:?}: {}", said.out);
        assert!(said.out.contains("-> repair the file; lineside check has the whole list"), "{said:?}");
    }
    // What may be meant otherwise, and what is watched alone, is nothing that does not hold.
    for entry in [
        "{name: g, on: before_tool, match: {tool: Shell, argument: {comand: x}}, verdict: block}",
        "{name: g, on: after_tool, async: true, command: [no-such-program-here]}",
    ] {
        stage.file(file, &format!("hooks:\n- {entry}\n"));
        let said = stage.run(&["doctor"], "");
        assert!(said.out.contains("note: [stage]/") && said.out.contains("✓ daemon"), "{said:?}");
    }
    stage.file(file, "hooks: []\n");
    assert!(!stage.run(&["doctor"], "").out.contains("hooks.yaml"));
}
