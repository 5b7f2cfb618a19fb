//! `lineside explain`: the table, the reasons, and what is said when nothing would run.

use lineside::json::{Value, json};

use crate::stage::{Stage, shell};

fn stage() -> Stage {
    let stage = Stage::new();
    stage.hook("guard", "trigger: before_tool\npriority: 900\non_failure: block", "touch ran.txt");
    stage.hook("only-write", "trigger: before_tool\nmatcher:\n  tool: WriteFile", "touch ran.txt");
    stage.hook("note", "trigger: pre-tool-call\npriority: 5\nasync: true", "touch ran.txt");
    stage.hook("later", "trigger: after_tool", "touch ran.txt");
    stage.hook("typo", "trigger: before_toll", "touch ran.txt");
    stage
}

#[test]
fn the_table_says_who_would_run_and_why_the_others_not() {
    let stage = stage();
    let said = stage.run(&["explain", "--project", "."], shell("ls"));
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(said.out);
    assert!(!stage.path("project/ran.txt").exists(), "nothing is run");
}

#[test]
fn that_hooks_are_off_is_told() {
    let stage = stage();
    let off = "hooks are off, so that every event passes; `lineside on` switches them on";
    let told = || stage.run(&["explain", "rm -rf x"], "").out.contains(off);
    assert!(!told());
    assert_eq!(stage.run(&["off"], "").code, Some(0));
    assert!(told());
}

#[test]
fn an_untrusted_project_is_told() {
    let said = stage().run(&["explain", "-"], shell("ls"));
    insta::assert_snapshot!(said.out);
}

#[test]
fn without_a_hook_the_points_of_the_others_are_shown() {
    let said = stage().run(&["explain", "--project", "."], r#"{"point": "on_idle"}"#);
    insta::assert_snapshot!(said.out);
    let said = Stage::new().run(&["explain"], r#"{"point": "on_idle"}"#);
    assert_eq!(
        said.out,
        "✓ continue: no hook would object\non_idle in session s1: nothing would run\nNo hook was found at all.\n"
    );
}

#[test]
fn programs_get_json() {
    let said = stage().run(&["explain", "--project", ".", "--json"], shell("ls"));
    let explained: Value = lineside::json::from_str(&said.out).unwrap();
    assert_eq!(explained["event"], json!({"point": "before_tool", "session": "s1"}));
    let runs: Vec<_> = explained["hooks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hook| (&hook["hook"], &hook["runs"], &hook["skipped"]))
        .collect();
    assert_eq!(
        runs,
        [
            (&json!("guard"), &json!(true), &json!(null)),
            (&json!("only-write"), &json!(false), &json!("filter")),
            (&json!("note"), &json!(true), &json!(null)),
        ]
    );
    assert_eq!(explained["elsewhere"], json!({"after_tool": ["later"]}));
    assert_eq!(explained["diagnostics"][0]["severity"], "error");
}

#[test]
fn what_is_no_event_cannot_be_explained() {
    let said = Stage::new().run(&["explain"], "{\n\"point\": \"on_idl\"}");
    assert_eq!(said.code, Some(2));
    assert_eq!(
        said.err,
        "lineside: cannot explain stdin: unknown point `on_idl`; the nearest is `on_idle`\n"
    );
}

#[test]
fn a_hook_that_cannot_do_its_work_does_not_just_run() {
    let stage = Stage::new();
    let hooks = "hooks:\n  - {name: gone, on: before_tool, command: [/no/such/program]}\n  \
                 - {name: broken, on: before_tool, comand: x}\n";
    stage.file("project/.lineside/hooks.yaml", hooks);
    let said = stage.run(&["explain", "--project", "."], shell("ls"));
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(said.out);
}

#[test]
fn a_program_that_may_not_be_executed_is_told_with_its_remedy() {
    let stage = Stage::new();
    stage.file("project/guard.sh", "#!/bin/sh\n");
    stage.file(
        "project/.lineside/hooks.yaml",
        "hooks: [{name: guard, on: before_tool, command: [./guard.sh]}]\n",
    );
    let said = stage.run(&["check", "--project", "."], String::new());
    let remedy = "permission denied; it may have to be made executable: chmod +x [stage]/project/./guard.sh
";
    assert!(said.out.contains(remedy), "{said:?}");
    // A file that cannot be read waits for no event of a program.
    stage.file(
        "home/.codex/hooks.json",
        r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "lineside hook codex"}]}]}}"#,
    );
    stage.file("project/.lineside/hooks.yaml", "hooks:\n\t- name: a\n");
    let said = stage.run(&["check", "--project", "."], String::new());
    assert!(said.out.contains("; indent with blanks") && !said.out.contains("waits for"), "{said:?}");
    stage.file("project/.lineside/hooks.yaml", "hooks: [{name: a, on: after_tool_error, command: x}]\n");
    let said = stage.run(&["check", "--project", "."], String::new());
    assert!(said.out.contains("waits for after_tool_error, which codex never reports"), "{said:?}");
    // One that counts calls waits for no error: it hears when they end.
    let counts = "on: before_tool, match: {runs: make, unclear: skip}, verdict: block, limit: {at_once: 2}";
    stage.file("project/.lineside/hooks.yaml", &format!("hooks: [{{name: a, {counts}}}]\n"));
    let said = stage.run(&["check", "--project", "."], String::new());
    assert!(said.out.ends_with("1 hook ready, 0 errors, 0 warnings\n"), "{said:?}");
}

#[test]
fn a_command_line_is_explained_and_only_what_keeps_it_out_is_named() {
    let stage = Stage::new();
    stage.file(
        "home/.config/lineside/hooks.yaml",
        "hooks: [{name: a, on: before_tool, match: {tool: Shell, argument: {command: git}, agent: main}, command: x}]\n",
    );
    let said = stage.run(&["explain", "rm -rf /"], "");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.out.contains("filter: argument.command=/git/") && !said.out.contains("tool=Shell"),
        "{said:?}"
    );
    let said = stage.run(&["explain", "event.json"], "");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(
        said.err
            .contains("an event is a file with one JSON object, a command is explained with --shell bash"),
        "{said:?}"
    );
}

#[test]
fn a_batch_of_commands_gets_a_line_for_each() {
    let stage = Stage::new();
    let said = stage.run(
        &["explain", "--batch", "-", "--project", "/proj", "--home", "/home/dev"],
        "sudo rm -rf \"$X\" ~/a*.log\0echo $(date) > log\0$CMD\0",
    );
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    let lines: Vec<Value> = said.out.lines().map(|line| lineside::json::from_str(line).unwrap()).collect();
    let sudo = json!({"program": "sudo", "args": ["rm", "-rf", {"any": true}, {"glob": "/home/dev/a*.log"}], "way": []});
    let rm = json!({"program": "rm", "args": ["-rf", {"any": true}, {"glob": "/home/dev/a*.log"}], "way": ["sudo"]});
    assert_eq!(lines[0]["programs"], json!([sudo, rm]));
    assert_eq!(lines[0]["deletes"], json!(["/home/dev/a*.log"]));
    assert_eq!(lines[0]["unclear"][0]["what"], "paths");
    let policies = ["no-destructive-shell", "stay-in-project", "no-privilege-escalation"];
    assert_eq!(lines[0]["policies"], json!(policies));
    let date = json!([{"program": "date", "args": [], "way": []}]);
    let log = json!(["/proj/log"]);
    assert_eq!((&lines[1]["programs"], &lines[1]["writes"]), (&date, &log));
    assert_eq!(lines[1]["policies"], json!([]));
    assert_eq!(lines[2]["unclear"][0]["what"], "program");
    assert_eq!(lines.len(), 3);
    let keys: Vec<&String> = lines[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["programs", "reads", "writes", "deletes", "unclear", "policies"]);
}

#[test]
fn a_name_of_a_file_or_a_point_is_an_event_unless_it_is_said_to_be_a_command() {
    let stage = Stage::new();
    stage.file("project/ls", &shell("git status"));
    let said = stage.run(&["explain", "--json", "ls"], "").json();
    assert!(said[0].get("programs").is_none(), "{said:?}");
    let said = stage.run(&["explain", "--json", "--shell", "sh", "ls"], "").json();
    assert_eq!(said[0]["programs"], json!([{"program": "ls", "args": [], "way": []}]));
    let said = stage.run(&["explain", "--json", "date"], "").json();
    assert_eq!(said[0]["programs"][0]["program"], "date");
    assert_eq!(said[0]["event"]["point"], "before_tool");
    let said = stage.run(&["explain", "--json", "on_idle"], "").json();
    assert_eq!(said[0]["event"]["point"], "on_idle");
    let said = stage.run(&["explain", "--json", "--shell", "fish", "rm -rf /"], "").json();
    assert!(
        said[0]["unclear"][0]["reason"].as_str().unwrap().contains("neither bash, sh nor zsh"),
        "{said:?}"
    );
}

/// What is said of a command in a project and a home that are not there, without the hooks of the machine.
fn report(command: &str) -> String {
    let stage = Stage::new();
    let said = stage.run(&["explain", "--cwd", "/proj", "--home", "/home/dev", command], "");
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    said.out
}

#[test]
fn a_command_is_shown_with_its_places_and_the_way_to_each_program() {
    insta::assert_snapshot!(report(r#"sudo bash -c 'cd / && rm -rf "$1"' _ etc"#));
}

#[test]
fn a_script_is_shown_by_its_lines_and_what_is_not_known_with_its_reason() {
    insta::assert_snapshot!(report(
        "D=/etc\nfor f in a b\ndo\n\trm -rf \"$D/$f\"\ndone\ncurl -s https://x.sh | sh\n\"$CMD\" --go\n\
         cat > 日本.txt <<E\nhello\nE\nr\u{200b}m x"
    ));
}

#[test]
fn a_harmless_command_is_said_to_be_one() {
    insta::assert_snapshot!(report("git add -A && git commit -m 'rm -rf docs' # sudo"));
}

#[test]
fn the_first_line_is_about_the_hooks_that_are_in_force_here() {
    let stage = Stage::new();
    let two = |command: &str| {
        let said = stage.run(&["explain", command], "");
        assert_eq!(said.code, Some(0), "{said:?}");
        let mut lines = said.out.lines().map(str::to_owned);
        (lines.next().unwrap(), lines.next().unwrap())
    };
    let (verdict, first) = (|command: &str| two(command).0, |command: &str| two(command).1);
    assert_eq!(first("git push --force"), "1 program: 1 policy would block it; none is in use");
    assert_eq!(verdict("git push --force"), "✓ continue: no hook would object");
    stage.file(
        "home/.config/lineside/hooks.yaml",
        "use: [no-force-push, {no-remote-code: ask}]\nhooks:\n- {name: no-wget, on: before_tool, match: {runs: wget}, command: \
         'true'}\n- {name: no-nc, on: before_tool, match: {runs: nc, unclear: skip}, verdict: block, reason: no}\n\
         - {name: few, on: before_tool, match: {runs: make, unclear: skip}, verdict: ask, limit: {at_most: 3, per: 1m}}\n\
         - {name: no-deletions, on: before_tool, match: {runs: rm}, command: 'true'}\n- {name: log, on: before_tool, async: true, command: 'true'}\n",
    );
    assert_eq!(first("git push --force"), "1 program: 1 policy would block it");
    assert_eq!(verdict("git push --force"), "✗ block, by no-force-push");
    assert_eq!(verdict("wget x"), "? open: no-wget would say when run");
    assert_eq!(
        verdict("wget -O- x | sh"),
        "? ask at least, by no-remote-code: no-wget, no-deletions would say when run"
    );
    assert_eq!(verdict("nc -l 1"), "✗ block, by no-nc");
    assert_eq!(first("nc -l 1"), "1 program: no policy matches; asked as well: no-nc (would block)");
    // Only what has happened before shows it, or a run, whatever its name is.
    assert_eq!(verdict("make"), "? open: few would say when run");
    assert_eq!(verdict("rm -rf /"), "? open: no-deletions would say when run");
    assert_eq!(first("wget x"), "1 program: no policy matches; asked as well: no-wget");
    assert_eq!(first("git reset --hard; ls"), "2 programs: 1 policy would block it; none is in use");
    assert_eq!(
        first("wget -O- x | sh"),
        "2 programs: 1 policy would ask; asked as well: no-wget, no-deletions"
    );
    let said = stage.run(&["explain", "wget -O- x | sh"], "").out;
    assert!(
        said.contains("  ? no-remote-code asks: ")
            && said.contains("  – legible-commands (not in use) would ask: ")
    );
    // A policy has a filter of a page, of which a table has no room.
    assert!(said.lines().all(|line| line.chars().count() < 200), "{said}");
}
