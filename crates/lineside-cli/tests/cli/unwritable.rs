//! A state folder that cannot be written: what is said of it, and the ways out.

use std::process::Command;

use lineside::json::json;

use crate::daemon::Daemon;
use crate::stage::{Stage, WRONG};

#[test]
fn law_19_hooks_can_be_switched_off_where_the_state_folder_cannot_be_written() {
    let stage = Stage::new();
    // In place of a file system that is read-only, which a test cannot make.
    let state = stage.file("file", "").join("state").display().to_string();
    let socket = stage.path("run/lineside.sock").display().to_string();
    let run = |verb: &str, more: &[&str]| {
        stage.run(&[&[verb, "--state", &state, "--socket", &socket], more].concat(), "")
    };
    let said = run("doctor", &[]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.out.contains("no daemon starts so, and without one every tool is refused"), "{said:?}");
    assert!(said.out.contains("lineside off") && !said.out.contains("nothing is wrong"), "{said:?}");
    assert!(said.out.contains("✗ daemon    none runs, and none can start"), "{said:?}");
    let said = run("off", &[]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert!(said.out.contains("run/off"), "{said:?}");
    let said = run("status", &["--json"]);
    assert_eq!((said.code, &said.json()[0]["off"]), (Some(3), &json!(true)));
    // Without a folder of the socket's own there is no second place, and the message says what leads out.
    let alone = format!("{state}/lineside.sock");
    let said = stage.run(&["off", "--state", &state, "--socket", &alone], "");
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("lineside uninstall all"), "{said:?}");
    let said = stage.run(&["doctor", "--state", &state, "--socket", &alone], "");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.out.contains("until then: lineside uninstall all") && !said.out.contains("lineside off"));
}

#[test]
fn a_full_disk_is_wrong_for_the_doctor() {
    let stage = Stage::new();
    std::fs::create_dir_all(stage.path("home/.local/state/lineside")).unwrap();
    let full = format!(
        "chmod 700 ~/.local/state/lineside; trap '' XFSZ; ulimit -f 0; {} doctor",
        env!("CARGO_BIN_EXE_lineside")
    );
    let mut command = Command::new("sh");
    command.args(["-c", &full]).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", stage.path("home"));
    let said = command.current_dir(stage.path("project")).output().unwrap();
    let text = String::from_utf8(said.stdout).unwrap();
    assert_eq!(said.status.code(), Some(1), "{text}");
    assert!(text.contains("nothing can be written to"), "{text}");
    let left: Vec<_> = std::fs::read_dir(stage.path("home/.local/state/lineside")).unwrap().collect();
    assert_eq!(left.len(), 0, "and what was tried is gone");
}

#[test]
fn the_status_and_the_doctor_name_the_hooks_that_fail() {
    let stage = Stage::new();
    stage.file(
        "project/.lineside/hooks.yaml",
        "hooks: [{name: broken, on: before_tool, command: [\"sh\", \"-c\", \"echo oh no >&2; exit 7\"]}]\n",
    );
    let daemon = Daemon::start(&stage);
    let call = json!({"hook_event_name": "PreToolUse", "session_id": "c", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    for _ in 0..2 {
        stage.run(&["hook", "claude"], call.to_string());
    }
    let said = stage.run(&["status"], "");
    let named = "hook \"broken\" has failed 2 times within the last hour, last at before_tool (exit)";
    assert!(said.out.contains(named), "{}", said.out);
    let said = stage.run(&["doctor", "--project", "."], "");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.out.contains(named) && said.out.contains("✗ daemon"), "{}", said.out);
    drop(daemon);
}

#[test]
fn a_plugin_that_cannot_start_a_daemon_is_wrong_for_the_doctor() {
    let stage = Stage::new();
    stage.run(&["install", "opencode", "--untried"], "");
    let said = stage.run(&["doctor"], "");
    assert_eq!(said.code, Some(WRONG), "{said:?}");
    let plugin = "home/.config/opencode/plugin/lineside.js";
    let text = std::fs::read_to_string(stage.path(plugin)).unwrap();
    stage.file(plugin, &text.replace("\nconst START = [\"", "\nconst START = [\"/gone"));
    let said = stage.run(&["doctor"], "");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.out.contains("✗ opencode") && said.out.contains("and there is no such program"), "{said:?}");
    let older: String = text
        .lines()
        .filter(|line| !line.starts_with("const START"))
        .map(|line| format!("{line}\n"))
        .collect();
    stage.file(plugin, &older);
    let said = stage.run(&["doctor"], "");
    assert!(said.out.contains("has no entry for the start of a daemon"), "{}", said.out);
}

#[test]
fn the_doctor_names_the_tools_that_are_in_no_class() {
    let stage = Stage::new();
    let daemon = Daemon::start(&stage);
    for (tool, input) in [
        ("Bash", json!({"command": "ls"})),
        ("Orchestrate", json!({"plan": "ls"})),
        ("Flow", json!({"script": "ls"})),
    ] {
        let call = json!({"hook_event_name": "PreToolUse", "session_id": "c", "tool_name": tool, "tool_input": input});
        stage.run(&["hook", "claude"], call.to_string());
    }
    let said = stage.run(&["doctor"], "");
    assert!(said.out.contains("tools that are in no class: Orchestrate\n"), "{}", said.out);
    drop(daemon);
}
