//! What a hook reads of an event.

use std::sync::Arc;

use lineside_core::envelope::{Extra, Source};
use lineside_core::json::{Value, from_slice, json};
use lineside_core::{AnyEvent, Envelope};

use super::super::samples::Room;
use super::{Document, child_id, project_root};
use crate::handler::Call;
use crate::hosts::table::{Field, Kind, fact, field, read};
use crate::hosts::tools::Column;
use crate::samples::{event, of_source, with_extra};

fn of(point: &str, payload: Value) -> AnyEvent {
    event(point, payload, Source::root("s"))
}

fn prompt() -> AnyEvent {
    of("before_prompt", json!({"prompt": "p"}))
}

/// What the only hook of a file reads.
fn document(file: &str, text: &str, event: &AnyEvent) -> Value {
    let dialect = file.trim_start_matches("home/.").split('/').next().unwrap();
    match Room::new(&[(file, text)]).handler(dialect).prepare(event).unwrap() {
        Call::Command(invocation) => from_slice(&invocation.stdin).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn of_claude(name: &str, event: &AnyEvent) -> Value {
    let text = format!(
        "{{\"hooks\": {{\"{name}\": [{{\"hooks\": [{{\"type\": \"command\", \"command\": \"true\"}}]}}]}}}}"
    );
    document("home/.claude/settings.json", &text, event)
}

#[test]
fn ho_8_the_id_of_a_subagent_is_what_stands_behind_its_parents_session() {
    let event = prompt();
    for (session, id) in [("s/a", "a"), ("s/a/b", "a/b"), ("t/a", "t/a"), ("sx", "sx"), ("s", "s")] {
        assert_eq!(child_id(&event, session), id);
    }
}

#[test]
fn ho_11_what_the_host_has_sent_comes_before_what_is_usual_and_behind_what_is_read() {
    let event = with_extra(&prompt(), json!({"known": 1, "prompt": "other", "more": [1]}));
    let mut document = Document::default();
    document.put_known(&event, "known", 2);
    document.put_known(&event, "usual", 3);
    document.put("prompt", "p");
    let compact = String::from_utf8(document.compact(&event)).unwrap();
    assert_eq!(compact, r#"{"known":1,"usual":3,"prompt":"p","more":[1]}"#);
    let alone = Document::default().compact(&prompt());
    assert_eq!(String::from_utf8(alone).unwrap(), "{}");
}

#[test]
fn a_path_is_an_object_within_an_object() {
    let mut document = Document::default();
    document.put("c", 1);
    for (path, value) in [("a.b.d", 1), ("a.b.e", 2), ("f", 3), ("c.g", 4)] {
        document.put_at(path, json!(value));
    }
    assert_eq!(Value::from(document.0), json!({"c": 1, "a": {"b": {"d": 1, "e": 2}}, "f": 3}));
}

#[test]
fn cl_26_a_hook_reads_whose_event_it_is() {
    let own = of_claude("UserPromptSubmit", &prompt());
    assert_eq!((own.get("agent_id"), own.get("prompt")), (None, Some(&json!("p"))));
    let inside = of_source(&prompt(), |source| {
        source.depth = 1;
        source.agent.id = "a".into();
        source.agent.role = Some("x".into());
    });
    let inside = of_claude("UserPromptSubmit", &inside);
    assert_eq!((inside.get("agent_id"), inside.get("agent_type")), (Some(&json!("a")), Some(&json!("x"))));
    let stopped = of("after_subagent", json!({"child_session": "s/c", "agent_type": "x", "output": "o"}));
    let read = of_claude("SubagentStop", &with_extra(&stopped, json!({"stop_hook_active": true})));
    assert_eq!((read.get("agent_id"), read.get("stop_hook_active")), (Some(&json!("c")), Some(&json!(true))));
    let read = of_claude("SubagentStop", &stopped);
    assert_eq!(read.get("stop_hook_active"), Some(&json!(false)));
    let stop = of("before_stop", json!({"stop_active": true}));
    assert_eq!(of_claude("Stop", &stop).get("stop_hook_active"), Some(&json!(true)));
}

#[test]
fn a_point_of_one_vendor_is_read_as_it_is() {
    crate::hosts::declare_points();
    let created = of("x.claude.before_task_create", json!({"task_id": "t", "x": {"y": 1}}));
    let read = of_claude("TaskCreated", &created);
    assert_eq!((read.get("task_id"), read.get("x")), (Some(&json!("t")), Some(&json!({"y": 1}))));
}

#[test]
fn what_a_host_always_says_alike_is_not_read() {
    let text = r#"{"version": 1, "hooks": {"sessionStart": [{"command": "true"}]}}"#;
    let start = of("before_session", json!({"source": "resume"}));
    assert_eq!(document("home/.cursor/hooks.json", text, &start).get("source"), None);
}

#[test]
fn ho_16_a_tool_of_another_host_has_both_names() {
    let call = of("before_tool", json!({"tool_name": "run_shell_command", "tool_input": {"command": "ls"}}));
    let read = of_claude("PreToolUse", &call);
    assert_eq!(
        (read.get("tool_name"), read.get("host_tool_name")),
        (Some(&json!("Bash")), Some(&json!("run_shell_command")))
    );
    let own = of("before_tool", json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}));
    assert_eq!(of_claude("PreToolUse", &own).get("host_tool_name"), None);
}

#[test]
fn each_kind_of_field_is_written_in_its_way() {
    const FIELDS: &[Field] = &[
        field("same", &["a.same", "other"]),
        read("own", &["own"], Kind::Own(|_| None)),
        read("fixed", &["fixed"], Kind::Fixed("x")),
        read("null", &["null"], Kind::Null),
        read("true", &["true"], Kind::True),
        read("parsed", &["parsed"], Kind::Parsed),
        read("flag", &["a.flag"], Kind::Flag("interrupt")),
        read("no_flag", &["a.no_flag"], Kind::Flag("interrupt")),
        read("items", &["items"], Kind::Items(&[("ours", "theirs"), ("more", "other")])),
        read("object", &[], Kind::Members(&[("x", "y"), ("absent", "z")])),
        field("absent", &["absent"]),
    ];
    crate::hosts::declare_points();
    let row = fact("TaskCreated", "x.claude.before_task_create", FIELDS);
    let event = of(
        "x.claude.before_task_create",
        json!({"same": 1, "own": 2, "fixed": 3, "null": 4, "true": 5, "parsed": {"p": [6]}, "flag": "interrupt",
            "no_flag": "error", "items": [{"ours": 7, "kept": 8}, 9], "object": {"x": 10, "w": 11}}),
    );
    let mut document = Document::default();
    document.fields(&row, Column::Claude, &event);
    document.own_fields(&row, &event);
    let expected = json!({"a": {"same": 1, "flag": true, "no_flag": false}, "parsed": "{\"p\":[6]}",
        "items": [{"theirs": 7, "kept": 8}, 9], "y": 10});
    assert_eq!(Value::from(document.0), expected);
}

#[test]
fn a_project_has_its_root_or_else_the_directory_of_the_event() {
    let (none, cwd) = (prompt(), of_source(&prompt(), |source| source.cwd = Some("/p/x".into())));
    let both = of_source(&cwd, |source| source.project_root = Some("/p".into()));
    assert_eq!([&none, &cwd, &both].map(|event| project_root(event).into_owned()), ["", "/p/x", "/p"]);
}

#[test]
fn ho_10_what_was_sent_stands_as_it_was_written() {
    let Value::Object(fields) = json!({"n": 1.5, "m": "x"}) else { panic!() };
    let extra = Extra::from(fields).spelled("n", "1.50");
    let envelope = Envelope { extra: Some(Arc::new(extra)), ..prompt().envelope().clone() };
    let event = prompt().with_envelope(envelope);
    let compact = |document: Document| String::from_utf8(document.compact(&event)).unwrap();
    assert_eq!(compact(Document::default()), r#"{"n":1.50,"m":"x"}"#);
    let (mut before, mut instead) = (Document::default(), Document::default());
    before.put("a", 1);
    assert_eq!(compact(before), r#"{"a":1,"n":1.50,"m":"x"}"#);
    instead.put("n", 2);
    assert_eq!(compact(instead), r#"{"n":2,"m":"x"}"#);
}

#[test]
fn the_mark_of_a_tool_of_mcp_is_not_read_where_the_event_says_as_much() {
    let call = of("before_tool", json!({"tool_name": "MCP:search", "tool_input": {"q": "x"}}));
    let read = |event: &str| {
        let text = format!("{{\"version\": 1, \"hooks\": {{\"{event}\": [{{\"command\": \"true\"}}]}}}}");
        document("home/.cursor/hooks.json", &text, &call).get("tool_name").cloned()
    };
    assert_eq!(read("beforeMCPExecution"), Some(json!("search")));
    assert_eq!(read("preToolUse"), Some(json!("MCP:search")));
}
