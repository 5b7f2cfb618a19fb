//! Edits of texts: what they make of files as people have them, and that they can be taken back byte for byte.

use proptest::prelude::*;

use super::super::entry::{Kind, Program, wanted};
use super::*;
use crate::hosts::program::{HOSTS, Host};

const JSON: Form = Form { syntax: Syntax::Json, version: None };
const TOML: Form = Form { syntax: Syntax::Toml, version: None };

fn entries(host: Host) -> Vec<Wanted> {
    wanted(host, Kind::Usual, &Program::new("lineside").unwrap(), &[]).unwrap()
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
    edit.text
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
    assert_eq!(edit.text, "[[hooks]]\nevent = \"Stop\"\ncommand = \"lineside hook kimi\" # c\ntimeout = 9\n");
}

#[test]
fn our_entries_go_and_everything_else_stays_as_it_is_now() {
    let mut edit = add(Some("{\n  \"a\": 1\n}\n"), JSON, &two(Host::Codex)).unwrap();
    // The user adds a hook beside ours, and one within our group.
    edit.text = edit.text.replacen(
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
    let events = |host, kind| {
        let program = Program::new("lineside").unwrap();
        wanted(host, kind, &program, &[]).unwrap().iter().map(|entry| entry.event).collect::<Vec<_>>()
    };
    let counts = HOSTS.map(|host| (host.name(), events(host, Kind::Usual).len()));
    assert_eq!(
        counts,
        [
            ("claude", 20),
            ("codex", 11),
            ("copilot", 13),
            ("cursor", 11),
            ("gemini", 7),
            ("kimi", 13),
            ("qwen", 8)
        ]
    );
    assert_eq!(events(Host::Kimi, Kind::KimiCode).len(), 17);
    assert!(!events(Host::Claude, Kind::Usual).contains(&"WorktreeCreate"));
}

#[test]
fn an_element_is_the_one_of_the_page() {
    let of = |host: Host, event: &str, program: &str| {
        let program = Program::new(program).unwrap();
        let all = wanted(host, Kind::Usual, &program, &[event.to_owned()]).unwrap();
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
        ("SessionStart", false),
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
    assert_eq!(of(Host::Codex, "SessionEnd", "lineside"), PRE.replace("60}", "3}"));
    assert_eq!(
        of(Host::Gemini, "BeforeTool", "/a b/lineside"),
        r#"{"hooks":[{"name":"lineside","type":"command","command":"'/a b/lineside' hook gemini","timeout":60000}]}"#
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
    let error = wanted(Host::Codex, Kind::Usual, &Program::new("lineside").unwrap(), &["PreTool".to_owned()])
        .unwrap_err();
    assert_eq!(error.to_string(), "codex has no event `PreTool`; the nearest is `PreToolUse`");
    assert!(Program::new("/usr/bin/other").is_none());
}

#[test]
fn a_created_file_has_the_entries_alone() {
    let edit = add(None, Form { version: Some(1), ..JSON }, &two(Host::Codex)).unwrap();
    assert_eq!(
        edit.text,
        format!(
            "{{\n  \"version\": 1,\n  \"hooks\": {{\n    \"PreToolUse\": [\n      {PRE}\n    ],\n    \"Stop\": [\n      {PRE}\n    ]\n  }}\n}}\n"
        )
    );
    assert!(is_nothing(&remove(&edit.text, Syntax::Json, &edit.made).unwrap(), Syntax::Json));
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
fn a_file_has_nothing_in_it_when_all_of_it_is_ours() {
    for (text, syntax, expected) in [
        ("{}", Syntax::Json, true),
        ("{\"version\": 1, \"hooks\": {}}", Syntax::Json, true),
        ("{\"hooks\": []}", Syntax::Json, true),
        ("{\"hooks\": {\"Stop\": []}}", Syntax::Json, false),
        ("{\"hooks\": [1]}", Syntax::Json, false),
        ("{\"a\": 1}", Syntax::Json, false),
        ("{} // c", Syntax::Json, false),
        ("{} /* c */", Syntax::Json, false),
        ("{", Syntax::Json, false),
        ("", Syntax::Toml, true),
        ("# c", Syntax::Toml, false),
    ] {
        assert_eq!(is_nothing(text, syntax), expected, "{text}");
    }
}

#[test]
fn what_is_not_ours_is_seen_to_have_changed() {
    let of = |text: &str| rest(&read(text, Syntax::Json).unwrap(), Syntax::Json);
    for other in ["{\"a\": 2}", "{\"b\": 1}", "{}", "{\"a\": 1, \"hooks\": {\"Stop\": 1}}"] {
        assert_ne!(of("{\"a\": 1}"), of(other), "{other}");
    }
    assert_eq!(of("{\"a\": 1}"), of(&format!("{{\"a\": 1, \"hooks\": {{\"Stop\": [{PRE}], \"X\": []}}}}")));
}

/// What stands between the tokens of a file.
fn gap() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => Just(String::new()),
        3 => Just(" ".to_owned()),
        3 => Just("\n  ".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => Just(" // c, ]}\"\n".to_owned()),
        1 => Just("/* c, ]}\" */".to_owned()),
    ]
}

fn comma() -> impl Strategy<Value = String> {
    prop_oneof![3 => Just(String::new()), 1 => Just(",".to_owned())]
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("1".to_owned()),
        Just("null".to_owned()),
        Just("\"é \\\" // [\"".to_owned()),
        Just("-0.50e3".to_owned())
    ]
}

fn handler() -> impl Strategy<Value = String> {
    let command = prop_oneof![3 => Just("mine"), 1 => Just("lineside hook codex"), 1 => Just("'/old path/lineside' hook codex")];
    (command, gap())
        .prop_map(|(command, gap)| format!("{{\"type\":{gap}\"command\", \"command\": \"{command}\"}}"))
}

/// Items between brackets, with a comma at the end or not.
fn listed(open: char, close: char, items: Vec<String>, gaps: &[String], last: &str) -> String {
    let mut text = String::from(open);
    let mut gaps = gaps.iter().cycle();
    let mut gap = || gaps.next().cloned().unwrap_or_default();
    let count = items.len();
    for (index, item) in items.into_iter().enumerate() {
        text.push_str(&gap());
        text.push_str(&item);
        text.push_str(&gap());
        text.push_str(if index + 1 < count { "," } else { last });
    }
    text.push_str(&gap());
    text.push(close);
    text
}

prop_compose! {
    fn group()(handlers in prop::collection::vec(handler(), 0..3), gaps in prop::collection::vec(gap(), 1..6), last in comma())
        -> String {
        let list = listed('[', ']', handlers, &gaps, &last);
        format!("{{\"matcher\": \"x\", \"hooks\": {list}}}")
    }
}

prop_compose! {
    fn event(name: &'static str)(groups in prop::collection::vec(group(), 0..3), gaps in prop::collection::vec(gap(), 1..6), last in comma())
        -> String {
        format!("\"{name}\":{}", listed('[', ']', groups, &gaps, &last))
    }
}

prop_compose! {
    fn settings()(
        scalars in prop::collection::vec(scalar(), 0..3),
        hooks in prop::option::of((prop::option::of(event("Stop")), prop::option::of(event("Other")), prop::option::of(event("PreToolUse")))),
        at in any::<prop::sample::Index>(),
        gaps in prop::collection::vec(gap(), 1..9), last in comma(), bom in any::<bool>(), end in gap(),
    ) -> String {
        let mut members: Vec<String> = scalars.iter().enumerate().map(|(n, value)| format!("\"k{n}\": {value}")).collect();
        if let Some((a, b, c)) = hooks {
            let events: Vec<String> = [a, b, c].into_iter().flatten().collect();
            let list = listed('{', '}', events, &gaps, if gaps.len() > 4 { "," } else { "" });
            let list = if list.ends_with(",}") && list.len() < 4 { "{}".to_owned() } else { list };
            members.insert(at.index(members.len() + 1), format!("\"hooks\":{list}"));
        }
        let text = listed('{', '}', members, &gaps, &last);
        format!("{}{text}{end}", if bom { "\u{feff}" } else { "" })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn what_was_inserted_is_taken_back_byte_for_byte(text in settings()) {
        let Ok(root) = read(&text, Syntax::Json) else { return Err(TestCaseError::reject("not JSON")) };
        let all = entries(Host::Codex);
        let edit = add(Some(&text), JSON, &all).unwrap();
        if edit.inserted.is_empty() {
            // Something was replaced, or nothing was to do.
            prop_assert!(text.contains("lineside"));
        } else {
            prop_assert_eq!(reverted(&edit.text, &edit.inserted), Some(text.clone()));
        }
        prop_assert_eq!(&add(Some(&edit.text), JSON, &all).unwrap().text, &edit.text);
        let removed = remove(&edit.text, Syntax::Json, &edit.made).unwrap();
        prop_assert_eq!(rest(&read(&removed, Syntax::Json).unwrap(), Syntax::Json), rest(&root, Syntax::Json));
        prop_assert_eq!(&remove(&removed, Syntax::Json, &[]).unwrap(), &removed);
    }

    #[test]
    fn tables_are_taken_back_byte_for_byte(
        before in prop::collection::vec(prop_oneof![Just("a = 1"), Just("# c"), Just(""), Just("b = [1,\n 2]")], 0..4),
        hooks in prop::collection::vec(prop_oneof![Just("mine"), Just("lineside hook kimi"), Just("/old/lineside hook kimi")], 0..3),
        form in 0..3_usize, last in any::<bool>(), crlf in any::<bool>(),
    ) {
        let mut before = before;
        before.dedup();
        let mut seen = Vec::new();
        before.retain(|line| !line.contains('=') || (!seen.contains(line) && { seen.push(*line); true }));
        let mut text = before.join("\n");
        if !text.is_empty() { text.push('\n'); }
        let inline: Vec<_> = hooks.iter().map(|command| format!("{{event = \"Stop\", command = \"{command}\"}}")).collect();
        match form {
            0 => hooks.iter().for_each(|command| text.push_str(&format!("\n[[hooks]]\nevent = \"Stop\" # d\ncommand = \"{command}\"\n"))),
            1 => text.push_str(&format!("hooks = [{}] # e\n", inline.join(", "))),
            _ => text.push_str(&format!("hooks = [ # f\n  {}\n]\n[t]\nx = 1\n", inline.join(", # g\n  "))),
        }
        let mut text = if last { text.trim_end_matches('\n').to_owned() } else { text };
        if crlf { text = text.replace('\n', "\r\n"); }
        let all = entries(Host::Kimi);
        let edit = add(Some(&text), TOML, &all).unwrap();
        if !edit.inserted.is_empty() {
            prop_assert_eq!(reverted(&edit.text, &edit.inserted), Some(text.clone()));
        }
        prop_assert_eq!(&add(Some(&edit.text), TOML, &all).unwrap().text, &edit.text);
        let removed = remove(&edit.text, Syntax::Toml, &edit.made).unwrap();
        prop_assert_eq!(rest(&read(&removed, Syntax::Toml).unwrap(), Syntax::Toml), rest(&read(&text, Syntax::Toml).unwrap(), Syntax::Toml));
    }
}
