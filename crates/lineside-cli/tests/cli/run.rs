//! `lineside run`: decisions, trust, receipts, and its life in a pipe.

use std::io::{BufRead as _, BufReader, Write as _};

use lineside::json::{Value, json};

use crate::stage::{Stage, shell, timeless};

const DENY: &str = "grep -q forbidden && { echo 'not that' >&2; exit 2; } || exit 0";

fn guarded() -> Stage {
    let stage = Stage::new();
    stage.hook("guard", "trigger: before_tool", DENY);
    stage
}

#[test]
fn a_decision_says_what_was_decided_about_what() {
    let stage = guarded();
    let said = stage.run(&["run", "--project", "."], shell("ls") + &shell("forbidden"));
    assert_eq!((said.code, said.field("verdict")), (Some(0), vec![json!("continue"), json!("block")]));
    let blocked = &said.json()[1];
    assert_eq!(
        (&blocked["reason"], &blocked["by"], &blocked["seq"], &blocked["session"]),
        (&json!("not that"), &json!("guard"), &json!(2), &json!("s1"))
    );
    assert_eq!(blocked["payload"], json!({"tool_name": "Shell", "tool_input": {"command": "forbidden"}}));
    assert_eq!(blocked["payload_sha256"].as_str().unwrap().len(), 64);
    assert_eq!((&blocked["context"], &blocked["notices"]), (&json!([]), &json!([])));
    assert_eq!(timeless(&said.err), "2 events: 1 continue, 1 block; 1 hook in force; [time]\n");
}

#[test]
fn what_hooks_give_is_printed() {
    let stage = Stage::new();
    let answer = r#"{"modified_input": {"command": "ls -l"}, "additional_context": "look twice"}"#;
    stage.hook("amends", "trigger: before_tool", &format!("cat >/dev/null\necho '{answer}'"));
    stage.hook("breaks", "trigger: before_tool\npriority: 1", "exit 1");
    let said = stage.run(&["run", "--project", "."], shell("ls"));
    let decision = &said.json()[0];
    assert_eq!(
        decision["context"],
        json!([{"role": "system", "text": "look twice", "hook": "amends"}]),
        "{said:?}"
    );
    assert_eq!(decision["changed"], json!(["tool_input"]));
    assert_eq!(decision["payload"]["tool_input"], json!({"command": "ls -l"}));
    assert_eq!(
        (&decision["failed"][0]["hook"], &decision["failed"][0]["kind"]),
        (&json!("breaks"), &json!("exit"))
    );
    assert!(said.err.contains("; 1 hook failure; "), "{}", said.err);
}

#[test]
fn nothing_of_a_project_runs_before_it_is_named() {
    let stage = guarded();
    let note = "note: 1 hook of the project is not trusted and will not be started; look at what they run: lineside trust\n";
    for arguments in [&["run"][..], &["run", "--project", ".", "--untrusted"]] {
        let said = stage.run(arguments, shell("forbidden"));
        assert_eq!((said.code, said.field("verdict")), (Some(0), vec![json!("continue")]));
        assert_eq!(said.field("untrusted"), [json!(["guard"])], "the decision itself says so");
        assert!(said.err.starts_with(note), "{}", said.err);
    }
}

#[test]
fn a_receipt_is_the_whole_of_it() {
    let said = guarded().run(&["run", "--project", ".", "--receipts"], shell("forbidden"));
    let receipt = &said.json()[0];
    assert_eq!(receipt["hooks"][0]["hook"], "guard");
    assert_eq!(receipt["hooks"][0]["said"], "block");
    assert!(
        receipt["took_us"].as_u64().is_some()
            && receipt["payload"].is_object()
            && receipt["changes"].is_array()
    );
}

#[test]
fn it_answers_line_by_line() {
    let stage = guarded();
    let mut child = stage.command(&["run", "--project", "."]).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for (command, verdict) in [("ls", "continue"), ("forbidden", "block"), ("pwd", "continue")] {
        input.write_all(shell(command).as_bytes()).unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let decision: Value = lineside::json::from_str(&line).unwrap();
        assert_eq!(decision["verdict"], verdict);
    }
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn background_hooks_come_to_their_end() {
    let stage = Stage::new();
    stage.hook("bg", "trigger: before_tool\nasync: true", "cat >/dev/null\nsleep 0.3\necho done > done.txt");
    let said = stage.run(&["run", "--project", "."], shell("ls"));
    assert_eq!(said.code, Some(0));
    assert_eq!(std::fs::read_to_string(stage.path("project/done.txt")).unwrap(), "done\n");
}

#[test]
fn a_background_hook_that_failed_is_named_at_the_end() {
    let stage = Stage::new();
    stage.hook("bg", "trigger: before_tool\nasync: true", "cat >/dev/null\necho no disk >&2\nexit 3");
    // Its failure stands in the decision after it, which need not be read.
    let events = shell("ls") + &shell("pwd") + &shell("id");
    let said = stage.run(&["run", "--project", ".", "--quiet"], events);
    assert_eq!(said.code, Some(0));
    let lines: Vec<&str> = said.err.lines().filter(|line| line.starts_with("background hook")).collect();
    assert_eq!(lines.len(), 1, "{said:?}");
    assert!(lines[0].starts_with("background hook bg failed 3 times, at last: exit status 3"), "{said:?}");
}

#[test]
fn a_reader_that_leaves_ends_it() {
    let stage = guarded();
    let mut child = stage.command(&["run", "--project", "."]).spawn().unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    input.write_all(shell("ls").as_bytes()).unwrap();
    let said = stage.said(child);
    assert_eq!(said.code, Some(128 + 13));
    assert_eq!(
        timeless(&said.err),
        "1 event: 1 continue; 1 hook in force; lost: 1 decision; the reader of standard output has gone; [time]\n"
    );
}

#[test]
fn people_get_rows_and_pipes_get_json() {
    let stage = guarded();
    let said = stage.run(&["run", "--project", ".", "--pretty"], shell("ls") + &shell("forbidden"));
    let rows: Vec<&str> = said.out.lines().map(|row| row.split_at(6).1).collect();
    assert!(rows[0].starts_with("✓ s1         before_tool      Shell ls "), "{said:?}");
    assert!(rows[1].starts_with("✗ s1         before_tool      Shell forbidden "), "{said:?}");
    assert_eq!(rows[2].trim(), "block      not that");
    assert!(rows[3].trim().starts_with("by         .agents/hooks/guard/HOOK.md:2, "), "{said:?}");
    assert!(!said.out.contains('\u{1b}'));
    let said = stage.run(&["run", "--pretty"], shell("forbidden"));
    assert!(said.out.ends_with("\n        untrusted  guard: its project is not trusted\n"), "{said:?}");
    let mut command = stage.command(&["run", "--project", ".", "--pretty"]);
    let mut child = command.env("LC_ALL", "C").spawn().unwrap();
    child.stdin.take().unwrap().write_all(shell("é").as_bytes()).unwrap();
    let said = stage.said(child);
    assert!(said.out.is_ascii() && said.out.contains("+ s1 ") && said.out.contains("\\u{e9}"), "{said:?}");
}

#[test]
fn a_key_that_is_not_known_is_a_warning_once() {
    let stage = Stage::new();
    let event = "{\"point\": \"on_idle\", \"sesion\": \"s2\", \"payload\": {}}\n";
    let said = stage.run(&["run"], event.repeat(3));
    assert_eq!((said.code, said.json().len()), (Some(0), 3));
    let warning = "warning: stdin:1: unknown key `sesion` at on_idle; the nearest is `session`\n";
    assert_eq!(timeless(&said.err), format!("{warning}3 events: 3 continue; 0 hooks in force; [time]\n"));
}

#[test]
fn a_hook_that_does_not_load_is_told_first() {
    let stage = Stage::new();
    stage.hook("typo", "trigger: before_toll", "exit 0");
    let said = stage.run(&["run", "--project", "."], shell("ls"));
    assert_eq!(said.code, Some(0));
    insta::assert_snapshot!(timeless(&said.err));
}

#[test]
fn nothing_to_read_is_no_success() {
    let stage = Stage::new();
    let said = stage.run(&["run", "absent.jsonl"], "");
    assert_eq!(said.code, Some(2));
    assert_eq!(said.err, "lineside: failed to open absent.jsonl: No such file or directory (os error 2)\n");
    let said = stage.run(&["run", "--project", "nowhere"], "");
    assert_eq!(said.err, "lineside: cannot use nowhere as project: No such file or directory (os error 2)\n");
    let said = stage.run(&["run", "--dialect", "agenthoks"], "");
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("unknown dialect `agenthoks`"), "{}", said.err);
}
