//! A terminal that shows ASCII alone: every command keeps to it, whatever the names of files and hooks.

use crate::daemon::Daemon;
use crate::stage::{Stage, shell};

#[test]
fn in_a_locale_without_unicode_every_command_prints_ascii() {
    let stage = Stage::new();
    let script = "cat > /dev/null; echo 'zurück: 中' >&2; exit 2";
    stage.hook("wächter", "trigger: before_tool", script);
    stage.hook("spät", "trigger: before_tool\nasync: true", "cat > /dev/null; exit 3");
    stage.hook("wrong", "trigger: nirgendwö", "exit 0");
    stage.file(
        "project/größe/hooks/hooks.json",
        r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./ö"}]}]}}"#,
    );
    stage.file("project/ö.cases.json", r#"{"dialect": "ö", "cases": []}"#);
    stage.file("project/ä.jsonl", &shell("ls ü"));
    let config = stage.path("home/kö").to_str().unwrap().to_owned();
    let commands: &[&[&str]] = &[
        &["run", "--project", ".", "--pretty", "ä.jsonl"],
        &["run", "--project", ".", "--quiet", "ä.jsonl", "--journal", "jö"],
        &["run", "nichts-dä.jsonl"],
        &["explain", "--project", ".", "ä.jsonl"],
        &["explain", "-"],
        &["list", "--project", "."],
        &["check", "--project", "."],
        &["jobs", "--journal", "jö"],
        &["jobs", "show", "1", "--journal", "jö"],
        &["jobs", "drop", "1", "--journal", "jö"],
        &["test", "."],
        &["demo", "--fast"],
        &["demo", "--fast", "gemini-cli"],
        &["demo", "--fast", "ö"],
        &["serve", "--install-unit", "--dry-run"],
        &["status"],
        &["off"],
        &["status"],
        &["on"],
        &["reload"],
        &["stop"],
        &["install", "claude", "--dry-run", "--project", "größe"],
        &["uninstall", "claude", "--dry-run", "--project", "größe"],
        &["import", "claude", "--plugin", "größe"],
        &["import", "claude", "--plugin", "größe", "--remove"],
        &["hosts", "--project", "größe"],
        &["doctor", "--project", "größe"],
        &["help"],
        &["run", "--help"],
        &["rün"],
    ];
    let check = |arguments: &[&str]| {
        let mut command = stage.command(arguments);
        command.env("LC_ALL", "C").env("XDG_CONFIG_HOME", &config);
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        let (out, err) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(out.is_ascii() && err.is_ascii(), "{arguments:?}: {out}\n{err}");
        assert!(!(out.is_empty() && err.is_empty()), "{arguments:?} prints nothing");
    };
    commands.iter().for_each(|arguments| check(arguments));
    let _daemon = Daemon::start(&stage);
    for arguments in [
        &["status"][..],
        &["reload"],
        &["list", "--daemon"],
        &["explain", "--daemon", "ä.jsonl"],
        &["run", "--daemon", "--quiet", "ä.jsonl"],
        &["stop"],
    ] {
        check(arguments);
    }
}
