//! Edits of texts: what they make of files as people have them, and that they can be taken back byte for byte.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use lineside_core::json::Value;

use super::super::entry::{Program, wanted};
use super::*;
use crate::hosts::program::{HOSTS, Host};
use crate::hosts::quirks::{FileKind, REFUSAL};

mod any_text;
mod left;

const JSON: Form = Form { syntax: Syntax::Json, version: None };
const TOML: Form = Form { syntax: Syntax::Toml, version: None };

fn entries(host: Host) -> Vec<Wanted> {
    wanted(host, FileKind::Usual, &Program::new("lineside").unwrap(), &[]).unwrap()
}

/// Two entries, so that the whole text can be looked at.
fn two(host: Host) -> Vec<Wanted> {
    entries(host).into_iter().filter(|entry| ["PreToolUse", "Stop"].contains(&entry.event)).collect()
}

fn added(text: &str, host: Host) -> String {
    let form = if host == Host::Kimi { TOML } else { JSON };
    let edit = add(Some(text), form, &two(host)).unwrap();
    assert_eq!(reverted(&edit.text, &edit.inserted).as_deref(), Some(text), "taken back");
    let again = add(Some(&edit.text), form, &two(host)).unwrap();
    assert_eq!(again.text, edit.text, "a second time");
    let removed = remove(&edit.text, form.syntax, &edit.made).unwrap();
    let (before, after) = (read(text, form.syntax), read(&removed, form.syntax));
    if let (Ok(before), Ok(after)) = (before, after) {
        assert_eq!(rest(&before, form.syntax), rest(&after, form.syntax), "removed");
    }
    unclosed(&edit.text)
}

/// A text without what closes a gate when the program of its entry cannot run.
fn unclosed(text: &str) -> String {
    let quoted = Value::from(REFUSAL).to_string();
    text.replace(quoted.trim_matches('"'), "").replace(" || exit 2", "")
}

#[test]
fn an_entry_at_a_gate_refuses_with_a_reason_when_its_program_is_gone_or_killed() {
    // HO-63, HO-73, QW-8
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("lineside");
    let run = |line: &str| {
        let output = Command::new("/bin/sh").args(["-c", line]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let wanted = |host| {
        let entries =
            wanted(host, FileKind::Usual, &Program::new(program.to_str().unwrap()).unwrap(), &[]).unwrap();
        let line = |entry: Wanted| {
            let root = read(&format!("{{\"a\": {}}}", entry.handler), Syntax::Json).ok()?;
            Some((entry.event, root.member("a")?.value.text("command")?.to_owned()))
        };
        entries.into_iter().filter_map(line).collect::<Vec<_>>()
    };
    for host in [Host::Codex, Host::Gemini, Host::Qwen] {
        for (event, line) in wanted(host) {
            let is_gate = matches!(
                event,
                "PreToolUse" | "BeforeTool" | "UserPromptSubmit" | "BeforeAgent" | "PermissionRequest"
            );
            std::fs::remove_file(&program).ok();
            let (gone, told) = run(&line);
            assert_eq!(
                (gone == Some(2), told.contains("denied")),
                (is_gate, is_gate),
                "{host} {event}: {told}"
            );
            for (script, status) in [("kill -9 $$", Some(2)), ("exit 0", Some(0))] {
                std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
                std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
                let (code, told) = run(&line);
                let status = if is_gate || status == Some(0) { status } else { Some(137) };
                assert_eq!(
                    (code, told.contains("denied")),
                    (status, code == Some(2)),
                    "{host} {event}: {told}"
                );
            }
        }
    }
    let kimi = entries(Host::Kimi).into_iter().find(|entry| entry.event == "PreToolUse").unwrap();
    assert!(kimi.table().contains("\"lineside hook kimi || exit 2\""), "{}", kimi.table());
}

const PRE: &str = r#"{"hooks":[{"type":"command","command":"lineside hook codex","timeout":60}]}"#;

#[test]
fn entries_follow_the_indentation_of_their_surroundings() {
    let tabs = "{\n\t\"model\": \"x\" // mine\n}\n";
    assert_eq!(
        added(tabs, Host::Codex),
        format!(
            "{{\n\t\"model\": \"x\", // mine\n\t\"hooks\": {{\n\t\t\"PreToolUse\": [\n\t\t\t{PRE}\n\t\t],\n\t\t\"Stop\": [\n\t\t\t{PRE}\n\t\t]\n\t}}\n}}\n"
        )
    );
    let crlf = "\u{feff}{\r\n    \"a\": [1, 2,],\r\n    /* c */\r\n}";
    assert_eq!(
        added(crlf, Host::Codex),
        format!(
            "\u{feff}{{\r\n    \"a\": [1, 2,],\r\n    /* c */\r\n    \"hooks\": {{\r\n        \"PreToolUse\": [\r\n            {PRE}\r\n        ],\r\n        \"Stop\": [\r\n            {PRE}\r\n        ]\r\n    }},\r\n}}"
        )
    );
    assert_eq!(
        added(r#"{"a":1}"#, Host::Codex),
        format!(r#"{{"a":1,"hooks":{{"PreToolUse":[{PRE}],"Stop":[{PRE}]}}}}"#)
    );
    assert_eq!(
        added("{}", Host::Codex),
        format!(
            "{{\n  \"hooks\": {{\n    \"PreToolUse\": [\n      {PRE}\n    ],\n    \"Stop\": [\n      {PRE}\n    ]\n  }}\n}}"
        )
    );
}

#[test]
fn an_element_is_appended_to_the_list_of_its_event() {
    // CX-24, HO-60
    let text = "{\n  \"hooks\": {\n    \"Stop\": [],\n    \"PreToolUse\": [\n      { \"hooks\": [] } // one\n      // two\n    ]\n  }\n}\n";
    assert_eq!(
        added(text, Host::Codex),
        format!(
            "{{\n  \"hooks\": {{\n    \"Stop\": [\n      {PRE}\n    ],\n    \"PreToolUse\": [\n      {{ \"hooks\": [] }}, // one\n      // two\n      {PRE}\n    ]\n  }}\n}}\n"
        )
    );
}

#[test]
fn tables_are_put_at_the_end_after_an_empty_line() {
    let entry =
        |event| format!("[[hooks]]\nevent = \"{event}\"\ncommand = \"lineside hook kimi\"\ntimeout = 60");
    let both = format!("{}\n\n{}", entry("PreToolUse"), entry("Stop"));
    assert_eq!(added("a = 1 # c\n", Host::Kimi), format!("a = 1 # c\n\n{both}\n"));
    assert_eq!(
        added("[t]\r\na = 1", Host::Kimi),
        format!("[t]\r\na = 1\n\n{both}").replace("\r\n", "\n").replace('\n', "\r\n")
    );
    assert_eq!(added("", Host::Kimi), format!("{both}\n"));
    let inline = "hooks = []\n[t]\na = 1\n";
    assert_eq!(
        added(inline, Host::Kimi),
        "hooks = [\n  {event = \"PreToolUse\", command = \"lineside hook kimi\", timeout = 60},\n  {event = \"Stop\", command = \"lineside hook kimi\", timeout = 60}\n]\n[t]\na = 1\n"
    );
    let mine = "[[hooks]]\nevent = \"Stop\"\ncommand = \"mine\"\n";
    assert_eq!(added(mine, Host::Kimi), format!("{mine}\n{both}\n"));
}

#[test]
fn an_entry_of_ours_with_another_command_is_replaced_where_it_stands() {
    // HO-61
    let old = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/old/lineside hook codex"}], "x": 1}, {"hooks": []}]}}"#;
    let stop: Vec<Wanted> = entries(Host::Codex).into_iter().filter(|entry| entry.event == "Stop").collect();
    let edit = add(Some(old), JSON, &stop).unwrap();
    assert_eq!(
        edit.text,
        r#"{"hooks": {"Stop": [{"hooks": [{"type":"command","command":"lineside hook codex","timeout":60}], "x": 1}, {"hooks": []}]}}"#
    );
    assert!(edit.inserted.is_empty(), "it cannot be taken back by what was inserted");
    let old = "[[hooks]]\nevent = \"Stop\"\ncommand = '/old/lineside hook kimi' # c\ntimeout = 9\n";
    let stop: Vec<Wanted> = entries(Host::Kimi).into_iter().filter(|entry| entry.event == "Stop").collect();
    let edit = add(Some(old), TOML, &stop).unwrap();
    assert_eq!(
        edit.text,
        "[[hooks]]\nevent = \"Stop\"\ncommand = \"lineside hook kimi\" # c\ntimeout = 60\n"
    );
}

#[test]
fn an_entry_of_ours_with_too_short_a_time_gets_its_own_and_a_longer_one_stays() {
    // HO-61, and Codex cuts the time of `SessionEnd`.
    let is_looked_at = |entry: &Wanted| ["PreToolUse", "SessionEnd"].contains(&entry.event);
    for (host, form) in [(Host::Kimi, TOML), (Host::Codex, JSON), (Host::Gemini, JSON)] {
        let wanted: Vec<Wanted> = match host {
            Host::Gemini => entries(host).into_iter().filter(|entry| entry.event == "BeforeTool").collect(),
            _ => entries(host).into_iter().filter(is_looked_at).collect(),
        };
        let whole = add(None, form, &wanted).unwrap().text;
        let with = |from: &str, to: &str| {
            let text = whole.replace(from, to);
            assert_ne!(text, whole, "{host} {from}");
            (add(Some(&text), form, &wanted).unwrap().text, text)
        };
        let (equals, unit) = match host {
            Host::Kimi => (" = ", ""),
            Host::Gemini => ("\":", "000"),
            _ => ("\":", ""),
        };
        let time = |time: &str| format!("timeout{equals}{time}");
        let usual = time(&format!("60{unit}"));
        assert_eq!(with(&usual, &time("9")).0, whole, "{host}");
        let (after, before) = with(&usual, &time(&format!("90{unit}")));
        assert_eq!(after, before, "{host}");
        if host == Host::Codex {
            assert_eq!(with(&time("3"), &time("60")).0, whole);
        }
    }
    // One that has none gets its own too, in either way of writing it.
    let wanted = two(Host::Kimi);
    let whole = add(None, TOML, &wanted).unwrap().text;
    assert_eq!(add(Some(&whole.replace("\ntimeout = 60", "")), TOML, &wanted).unwrap().text, whole);
    let whole = add(Some("hooks = []\n"), TOML, &wanted).unwrap().text;
    assert_eq!(add(Some(&whole.replace(", timeout = 60", "")), TOML, &wanted).unwrap().text, whole);
}

#[test]
fn our_entries_go_and_everything_else_stays_as_it_is_now() {
    // HO-62
    let mut edit = add(Some("{\n  \"a\": 1\n}\n"), JSON, &two(Host::Codex)).unwrap();
    // The user adds a hook beside ours, and one within our group.
    edit.text = unclosed(&edit.text).replacen(
        PRE,
        &format!("{{\"hooks\":[{{\"command\":\"mine\"}}]}}, // mine\n      {PRE}"),
        1,
    );
    let stop = edit.text.rfind("{\"type\"").unwrap();
    edit.text.insert_str(stop, "{\"command\":\"too\"}, ");
    assert_eq!(
        remove(&edit.text, Syntax::Json, &edit.made).unwrap(),
        "{\n  \"a\": 1,\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"hooks\":[{\"command\":\"mine\"}]} // mine\n      \n    ],\n    \"Stop\": [\n      {\"hooks\":[{\"command\":\"too\"}]}\n    ]\n  }\n}\n"
    );
    let ours = "[[hooks]]\nevent = \"Stop\"\ncommand = \"lineside hook kimi\"\ntimeout = 60\n";
    let text = format!("a = 1\n\n{ours}\n[[hooks]]\nevent = \"Stop\"\ncommand = \"mine\"\n\n{ours}");
    assert_eq!(
        remove(&text, Syntax::Toml, &[]).unwrap(),
        "a = 1\n\n[[hooks]]\nevent = \"Stop\"\ncommand = \"mine\"\n"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_left_alone_with_the_reason() {
    for (text, form, reason) in [
        ("{\"a\": 1,, }", JSON, "line 1: it is not JSON: "),
        ("{\n\"a\" 1}", JSON, "line 2: it is not JSON: "),
        ("{'a': 1}", JSON, "line 1: it is not JSON: "),
        ("{} {}", JSON, "line 1: it is not JSON: "),
        ("[1]", JSON, "`the file` has the wrong shape: it must be an object"),
        ("{\"hooks\": []}", JSON, "`hooks` has the wrong shape: it must be an object"),
        ("{\"hooks\": {\"Stop\": {}}}", JSON, "`hooks.Stop` has the wrong shape: it must be a list"),
        ("{\"hooks\": {}, \"hooks\": {}}", JSON, "the key `hooks` occurs twice"),
        ("a = = 1", TOML, "line 1: it is not TOML: "),
        ("[hooks]\na = 1", TOML, "`hooks` has the wrong shape: it must be a list"),
    ] {
        let host = if form == TOML { Host::Kimi } else { Host::Codex };
        let error = add(Some(text), form, &two(host)).unwrap_err().to_string();
        assert!(error.starts_with(reason), "{text}: {error}");
    }
    let deep = "[".repeat(100_000);
    assert!(add(Some(&deep), JSON, &two(Host::Codex)).is_err());
    assert!(add(Some(&format!("a = {deep}")), TOML, &two(Host::Kimi)).is_err());
}

#[test]
fn each_host_gets_the_events_of_its_page() {
    // CL-12, CP-12, CU-10, CX-9, GE-8, KI-8, QW-9
    let events = |host, kind| {
        let program = Program::new("lineside").unwrap();
        wanted(host, kind, &program, &[]).unwrap().iter().map(|entry| entry.event).collect::<Vec<_>>()
    };
    let counts = HOSTS.map(|host| (host.name(), events(host, FileKind::Usual).len()));
    assert_eq!(
        counts,
        [
            ("claude", 20),
            ("codex", 11),
            ("copilot", 13),
            ("cursor", 11),
            ("gemini", 7),
            ("kimi", 13),
            ("qwen", 10)
        ]
    );
    assert_eq!(events(Host::Kimi, FileKind::KimiCode).len(), 17);
    assert!(!events(Host::Claude, FileKind::Usual).contains(&"WorktreeCreate"));
}

#[test]
fn an_element_is_the_one_of_the_page() {
    // HO-58, HO-63, HO-71, QW-9
    let of = |host: Host, event: &str, program: &str| {
        let program = Program::new(program).unwrap();
        let all = wanted(host, FileKind::Usual, &program, &[event.to_owned()]).unwrap();
        all.into_iter().find(|entry| entry.event == event).unwrap().element
    };
    let claude = |rest| {
        format!(
            r#"{{"hooks":[{{"type":"command","command":"lineside","args":["hook","claude"],"timeout":60{rest}}}]}}"#
        )
    };
    for (event, closes) in [
        ("PreToolUse", true),
        ("UserPromptSubmit", true),
        ("PermissionRequest", true),
        ("Stop", false),
        ("PreCompact", false),
        ("PostToolUse", false),
        ("ConfigChange", true),
    ] {
        assert_eq!(
            of(Host::Claude, event, "lineside"),
            claude(if closes { r#","onFailure":"block""# } else { "" }),
            "{event}"
        );
    }
    // In a project Copilot runs it too, and drops arguments (CP-26).
    let shared = |event: &str, program: &str| {
        let all = wanted(Host::Claude, FileKind::Shared, &Program::new(program).unwrap(), &[]).unwrap();
        all.into_iter().find(|entry| entry.event == event).unwrap().element
    };
    assert_eq!(
        shared("PreToolUse", "/a b/lineside"),
        r#"{"hooks":[{"type":"command","command":"'/a b/lineside' hook claude --event PreToolUse","timeout":60,"onFailure":"block"}]}"#
    );
    assert_eq!(
        shared("Stop", "lineside"),
        r#"{"hooks":[{"type":"command","command":"lineside hook claude --event Stop","timeout":60}]}"#
    );
    assert_eq!(of(Host::Codex, "SessionEnd", "lineside"), PRE.replace("60}", "3}"));
    assert_eq!(
        of(Host::Gemini, "BeforeTool", "/a b/lineside"),
        r#"{"hooks":[{"name":"lineside","type":"command","command":"'/a b/lineside' hook gemini || sh -c 'echo \"lineside hook failed, so this was denied; repair it with: lineside doctor\" >&2; exit 2'","timeout":60000}]}"#
    );
    assert_eq!(
        of(Host::Cursor, "preToolUse", "lineside"),
        r#"{"command":"lineside hook cursor","timeout":60,"failClosed":true}"#
    );
    assert_eq!(
        of(Host::Cursor, "stop", "lineside"),
        r#"{"command":"lineside hook cursor","timeout":60,"loop_limit":5}"#
    );
    assert_eq!(
        of(Host::Copilot, "preToolUse", "lineside"),
        r#"{"type":"command","command":"lineside hook copilot --event preToolUse","timeoutSec":60}"#
    );
    let beside = wanted(Host::Copilot, FileKind::Beside, &Program::new("lineside").unwrap(), &[]).unwrap();
    assert!(beside.iter().all(|entry| entry.handler.contains(&format!("--event {}@project\"", entry.event))));
    let error =
        wanted(Host::Codex, FileKind::Usual, &Program::default(), &["PreTool".to_owned()]).unwrap_err();
    assert_eq!(error.to_string(), "codex has no event `PreTool`; the nearest is `PreToolUse`");
    assert!(Program::new("/usr/bin/other").is_none());
}

#[test]
fn a_created_file_has_the_entries_alone() {
    let edit = add(None, Form { version: Some(1), ..JSON }, &two(Host::Codex)).unwrap();
    assert_eq!(
        unclosed(&edit.text),
        format!(
            "{{\n  \"version\": 1,\n  \"hooks\": {{\n    \"PreToolUse\": [\n      {PRE}\n    ],\n    \"Stop\": [\n      {PRE}\n    ]\n  }}\n}}\n"
        )
    );
    assert!(is_nothing(
        &remove(&edit.text, Syntax::Json, &edit.made).unwrap(),
        Form { version: Some(1), ..JSON }
    ));
}

#[test]
fn a_file_of_blanks_is_one_that_was_not_there_and_a_line_keeps_its_blanks() {
    let created = add(None, JSON, &two(Host::Codex)).unwrap().text;
    for blank in ["", " \n"] {
        let edit = add(Some(blank), JSON, &two(Host::Codex)).unwrap();
        assert_eq!(edit.text, format!("{blank}{created}"));
        assert_eq!(reverted(&edit.text, &edit.inserted).as_deref(), Some(blank));
    }
    let events = format!(r#""PreToolUse": [{PRE}], "Stop": [{PRE}]"#);
    assert_eq!(added(r#"{"a": 1}"#, Host::Codex), format!(r#"{{"a": 1, "hooks": {{{events}}}}}"#));
    let stop = r#"{"hooks": {"PreToolUse": [], "Stop": [{"hooks": []}]}}"#;
    let expected = format!(r#"{{"hooks": {{"PreToolUse": [{PRE}], "Stop": [{{"hooks": []}}, {PRE}]}}}}"#);
    assert_eq!(added(stop, Host::Codex), expected);
}

#[test]
fn a_new_member_stands_below_the_first_one_of_its_object() {
    let text = "{\n  \"hooks\": {\n       \"Other\": []\n  }\n}\n";
    assert_eq!(
        added(text, Host::Codex),
        format!(
            "{{\n  \"hooks\": {{\n       \"Other\": [],\n       \"PreToolUse\": [\n         {PRE}\n       ],\n       \"Stop\": [\n         {PRE}\n       ]\n  }}\n}}\n"
        )
    );
}

#[test]
fn a_mark_of_the_byte_order_stands_before_toml_as_well() {
    let line =
        |event: &str| format!("{{event = \"{event}\", command = \"lineside hook kimi\", timeout = 60}}");
    let (pre, stop) = (line("PreToolUse"), line("Stop"));
    assert_eq!(
        added("\u{feff}hooks = []\n", Host::Kimi),
        format!("\u{feff}hooks = [\n  {pre},\n  {stop}\n]\n")
    );
    let old =
        "\u{feff}a = 1\n\n[[hooks]]\nevent = \"Stop\"\ncommand = '/old/lineside hook kimi'\ntimeout = 60\n";
    let wanted: Vec<Wanted> = entries(Host::Kimi).into_iter().filter(|entry| entry.event == "Stop").collect();
    let edit = add(Some(old), TOML, &wanted).unwrap();
    assert_eq!(edit.text, old.replace("'/old/lineside hook kimi'", "\"lineside hook kimi\""));
    assert_eq!(remove(&edit.text, Syntax::Toml, &[]).unwrap(), "\u{feff}a = 1\n");
    // A file of blanks has nothing in it.
    let created = add(None, TOML, &two(Host::Kimi)).unwrap().text;
    assert_eq!(added(" \n", Host::Kimi), format!(" \n{}", unclosed(&created)));
}

#[test]
fn a_table_goes_to_the_end_of_its_last_line() {
    let ours = "[[hooks]]\nevent = \"Stop\"\ncommand = \"lineside hook kimi\"\ntimeout = 60";
    for (text, left) in [
        (format!("a = 1\n\n{ours} # c\n\n[t]\n"), "a = 1\n\n[t]\n"),
        (format!("a = 1\n\n{ours}"), "a = 1"),
        (format!("a = 1\n\n{ours}\n"), "a = 1\n"),
        (format!("a = 1\n{ours} # c"), "a = 1"),
    ] {
        assert_eq!(remove(&text, Syntax::Toml, &[]).unwrap(), left, "{text}");
        let (text, left) = (text.replace('\n', "\r\n"), left.replace('\n', "\r\n"));
        assert_eq!(remove(&text, Syntax::Toml, &[]).unwrap(), left, "{text}");
    }
}

#[test]
fn what_was_inserted_is_found_beside_an_edit_of_others_wherever_that_is() {
    let text = r#"{"a": 1, "hooks": {"Stop": [], "PreToolUse": []}, "z": 1}"#;
    let edit = add(Some(text), JSON, &two(Host::Codex)).unwrap();
    assert_eq!(edit.inserted.len(), 2);
    for (from, to) in
        [("\"a\": 1", "\"a\": 12"), ("\"PreToolUse\"", " \"PreToolUse\""), ("\"z\": 1", "\"z\": 12")]
    {
        let elsewhere = edit.text.replacen(from, to, 1);
        let reverted = reverted_elsewhere(&elsewhere, Syntax::Json, &edit.inserted, edit.text.len());
        assert_eq!(reverted.as_deref(), Some(&*text.replacen(from, to, 1)), "{to}");
    }
}
