//! What becomes of the fields of a document.

use lineside_core::Timestamp;
use lineside_core::json::{Map, Value, json};

use super::{Incoming, decoded, read};
use crate::hosts::program::Host;
use crate::hosts::serve::{HostCall, Reading};

fn incoming(host: Host, document: &Value) -> Incoming {
    let stdin = document.to_string().into_bytes();
    match crate::hosts::serve::read(HostCall { host, event: None, stdin }) {
        Reading::Event(arrival) => read(&arrival),
        Reading::Answer(answer) => panic!("it was answered: {answer:?}"),
    }
}

/// A call of a tool with these fields beside it.
fn tool(host: Host, fields: Value) -> Incoming {
    let name = if host == Host::Gemini { "BeforeTool" } else { "PreToolUse" };
    let mut document = Map::from_iter([("hook_event_name".to_owned(), name.into())]);
    document.insert("tool_name".to_owned(), "Bash".into());
    let Value::Object(fields) = fields else { panic!() };
    document.extend(fields);
    incoming(host, &document.into())
}

#[test]
fn ho_7_the_time_is_a_text_or_milliseconds_and_anything_else_stays() {
    let at_point = |name: &str, timestamp: Value| {
        let document = json!({"hook_event_name": name, "tool_name": "Bash", "tool_input": {}, "tool_response": "",
            "timestamp": timestamp});
        let incoming = incoming(Host::Claude, &document);
        (incoming.time, incoming.extra.get("timestamp").cloned())
    };
    let at = |timestamp| at_point("PostToolUse", timestamp);
    let second = Timestamp::from_millisecond(1_767_225_600_123);
    assert!(second.is_some());
    assert_eq!(at(json!("2026-01-01T00:00:00.123Z")), (second, None));
    assert_eq!(at(json!(1_767_225_600_123_u64)), (second, None));
    for other in [json!("soon"), json!(1.5), json!(true), json!([])] {
        assert_eq!(at(other.clone()), (None, Some(other)));
    }
    // What is still to be decided happens now: a limit would not end by a time that stands still.
    let said = json!("2026-01-01T00:00:00.123Z");
    for name in ["PreToolUse", "UserPromptSubmit", "Stop", "SubagentStop"] {
        assert_eq!(at_point(name, said.clone()), (None, Some(said.clone())), "{name}");
    }
    // Cursor's are those of a plugin of its own.
    let cursor = json!({"hook_event_name": "postToolUse", "tool_name": "Shell", "tool_input": {},
        "tool_output": "", "timestamp": said});
    let cursor = incoming(Host::Cursor, &cursor);
    assert_eq!((cursor.time, cursor.extra.contains_key("timestamp")), (None, true));
}

#[test]
fn ho_7_the_session_and_the_agent_are_those_that_the_document_names() {
    let of = |fields: Value| {
        let incoming = tool(Host::Claude, fields);
        let agent =
            incoming.agent.map(|agent| (agent.id.to_string(), agent.role.map(|role| role.to_string())));
        (incoming.root, agent)
    };
    let inside = |id: &str, role: Option<&str>| Some((id.to_owned(), role.map(str::to_owned)));
    for (fields, root, agent) in [
        (json!({"session_id": "s"}), "s", None),
        (json!({"session_id": "", "sessionId": "t"}), "t", None),
        (json!({"session_id": 1}), "unnamed", None),
        (json!({}), "unnamed", None),
        (json!({"session_id": "s", "agent_id": "a", "agent_type": "x"}), "s", inside("a", Some("x"))),
        (json!({"session_id": "s", "agent_id": "a", "parent_agent_id": "p"}), "s", inside("a", None)),
        (json!({"session_id": "s", "agentId": "a", "agentType": "x"}), "s", inside("a", Some("x"))),
        // Without an agent nothing is above it.
        (json!({"session_id": "s", "agent_id": "", "parent_agent_id": "p"}), "s", None),
    ] {
        assert_eq!(of(fields.clone()), (root.to_owned(), agent), "{fields}");
    }
}

#[test]
fn ho_9_an_input_that_is_no_object_becomes_one() {
    for (input, expected) in [
        (json!({"command": "ls"}), json!({"command": "ls"})),
        (json!("{\"command\": \"ls\"}"), json!({"command": "ls"})),
        (json!("ls"), json!({"input": "ls"})),
        (json!("[1]"), json!({"input": "[1]"})),
        (json!([1]), json!({"input": [1]})),
    ] {
        let incoming = tool(Host::Claude, json!({"tool_input": input}));
        assert_eq!(incoming.payload.value("tool_input"), Some(&expected), "{input}");
    }
}

#[test]
fn what_a_point_must_have_and_the_document_has_not_is_empty() {
    let incoming = incoming(Host::Claude, &json!({"hook_event_name": "PreToolUse", "tool_name": 7, "x": 1}));
    assert_eq!(incoming.payload.text("tool_name"), Some(""));
    assert_eq!(incoming.payload.value("tool_input"), Some(&Value::Null));
    assert_eq!(Value::from(incoming.extra), json!({"x": 1, "tool_name": 7}));
}

#[test]
fn ho_9_the_text_of_an_error_is_its_message() {
    let error = |error: Value| {
        let document = json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {},
            "error": error});
        let incoming = incoming(Host::Claude, &document);
        (incoming.payload.text("error").map(str::to_owned), incoming.extra.get("error").cloned())
    };
    assert_eq!(error(json!("no")), (Some("no".to_owned()), None));
    for (object, text) in [
        (json!({"message": "no", "code": 1}), "no"),
        (json!({"code": 1}), r#"{"code":1}"#),
        (json!({"message": 1}), r#"{"message":1}"#),
        (json!(7), "7"),
    ] {
        assert_eq!(error(object.clone()), (Some(text.to_owned()), Some(object)));
    }
}

#[test]
fn ho_8_the_subagent_that_an_event_is_about_is_no_agent_of_it() {
    let document = json!({"hook_event_name": "SubagentStop", "session_id": "s", "agent_id": "a",
        "agent_type": "x", "parent_agent_id": "p"});
    let incoming = incoming(Host::Claude, &document);
    assert_eq!((incoming.root.as_str(), incoming.agent), ("s", None));
    assert_eq!((incoming.child.as_deref(), incoming.child_name.as_deref()), (Some("a"), Some("x")));
    assert!(!incoming.extra.contains_key("agent_type"), "{:?}", incoming.extra);
    // What is no name was not read.
    let document = json!({"hook_event_name": "SubagentStop", "agent_id": "a", "agent_type": 7});
    assert_eq!(self::incoming(Host::Claude, &document).extra.get("agent_type"), Some(&json!(7)));
}

#[test]
fn ho_4_an_event_that_no_table_has_has_a_point_of_its_own() {
    let point = |event: &str| incoming(Host::Gemini, &json!({"hook_event_name": event})).point.name;
    let long = format!("Long{}", "a".repeat(80));
    for (event, name) in [
        ("SomethingNew", "something_new"),
        ("some-thing", "some_thing"),
        ("a_B", "a_b"),
        ("HTTPCall", "h_t_t_p_call"),
        ("x1Y", "x1_y"),
        (&long, &long[..64].to_lowercase()),
    ] {
        assert_eq!(point(event), format!("x.gemini.on_{name}"));
    }
}

#[test]
fn what_the_host_says_of_earlier_blocks_and_of_tasks_is_taken_in() {
    let stop = |fields: Value| {
        let mut document = Map::from_iter([("hook_event_name".to_owned(), "Stop".into())]);
        let Value::Object(fields) = fields else { panic!() };
        document.extend(fields);
        incoming(Host::Claude, &document.into())
    };
    assert_eq!(stop(json!({"stop_hook_active": true})).stop_flag, Some(true));
    assert_eq!(stop(json!({"stopHookActive": false})).stop_flag, Some(false));
    assert_eq!(stop(json!({"stop_hook_active": "true"})).stop_flag, None);
    assert_eq!(stop(json!({"loop_count": 2})).loops, Some(2));
    let tasks = json!([{"id": "a"}, {"id": 1}, {}, "b", {"id": "c"}]);
    assert_eq!(stop(json!({"background_tasks": tasks})).tasks, ["a", "c"]);
}

#[test]
fn ho_7_the_directories_of_cursor_are_its_own() {
    let of = |cwd: &str, roots: Value| {
        let document = json!({"hook_event_name": "beforeShellExecution", "conversation_id": "c", "session_id": "s",
            "command": "ls", "cwd": cwd, "workspace_roots": roots});
        let incoming = incoming(Host::Cursor, &document);
        assert_eq!(incoming.root, "c");
        assert_eq!(incoming.payload.value("tool_input"), Some(&json!({"command": "ls", "cwd": cwd})));
        assert!(!incoming.extra.contains_key("cwd"));
        (incoming.cwd, incoming.project_root, incoming.extra.contains_key("workspace_roots"))
    };
    let path = |path: &str| Some(path.to_owned());
    assert_eq!(of("/a", json!(["/r"])), (path("/a"), path("/r"), false));
    assert_eq!(of("", json!(["/r"])), (path("/r"), path("/r"), false));
    assert_eq!(of("/a", json!(["/r", "/s"])), (path("/a"), path("/r"), true));
    assert_eq!(of("/a", json!([])), (path("/a"), None, true));
}

#[test]
fn ho_9_a_start_is_a_startup_unless_the_host_names_another_source() {
    let source = |source: Value| {
        let document = json!({"hook_event_name": "SessionStart", "session_id": "s", "source": source});
        let incoming = incoming(Host::Claude, &document);
        (incoming.payload.text("source").map(str::to_owned), incoming.extra.contains_key("source"))
    };
    let is = |text: &str, stays: bool| (Some(text.to_owned()), stays);
    assert_eq!(source(json!("new")), is("startup", false));
    assert_eq!(source(json!("resume")), is("resume", false));
    assert_eq!(source(Value::Null), is("startup", true));
    assert_eq!(source(json!(1)), is("startup", true));
}

#[test]
fn a_text_that_must_be_filled_stays_where_it_is_not() {
    let reason = |instructions: &str| {
        let document = json!({"hook_event_name": "PreCompact", "session_id": "s", "trigger": "manual",
            "custom_instructions": instructions});
        let incoming = incoming(Host::Claude, &document);
        (
            incoming.payload.text("reason").map(str::to_owned),
            incoming.extra.contains_key("custom_instructions"),
        )
    };
    assert_eq!(reason("short"), (Some("short".to_owned()), false));
    assert_eq!(reason(""), (None, true));
}

#[test]
fn ho_7_copilot_names_its_model_in_one_of_its_forms() {
    let model = |event: &str| {
        let document = json!({"hook_event_name": event, "sessionId": "s", "tool_name": "bash", "model": "m"});
        let incoming = incoming(Host::Copilot, &document);
        (incoming.model.is_some(), incoming.extra.contains_key("model"))
    };
    assert_eq!(model("preToolUse"), (false, true));
    assert_eq!(model("PreToolUse"), (true, false));
    let claude = incoming(Host::Claude, &json!({"hook_event_name": "postToolUse", "model": "m"}));
    assert!(claude.model.is_some());
}

#[test]
fn ho_10_what_is_read_into_no_field_stays_beside_the_payload() {
    let extra = |host: Host, document: Value| Value::from(incoming(host, &document).extra);
    let stop = |event: &str| json!({"hook_event_name": event, "stop_hook_active": true, "x": 1});
    assert_eq!(extra(Host::Claude, stop("Stop")), json!({"x": 1}));
    assert_eq!(extra(Host::Claude, stop("SubagentStop")), json!({"stop_hook_active": true, "x": 1}));
    let of_point = json!({"hook_event_name": "TaskCreated", "task_id": "t", "x": 1});
    let read = incoming(Host::Claude, &of_point);
    assert_eq!(read.point.name, "x.claude.before_task_create");
    let interrupt = json!({"hook_event_name": "Interrupt", "x": 1});
    assert_eq!(extra(Host::Codex, interrupt), json!({"x": 1}));
    let selection = json!({"hook_event_name": "BeforeToolSelection", "x": 1});
    assert_eq!(extra(Host::Gemini, selection), json!({"x": 1}));
}

#[test]
fn a_field_that_a_point_must_have_is_false_where_it_says_yes_or_no() {
    for (point, field, expected) in [
        ("before_stop", "stop_active", json!(false)),
        ("after_agent", "success", json!(false)),
        ("before_compact", "kind", json!("auto")),
        ("after_tool_batch", "tool_calls", json!([])),
    ] {
        let mut extra = Map::new();
        let payload = decoded(lineside_points::find(point).unwrap(), Map::new(), &mut extra);
        assert_eq!(payload.to_json().get(field), Some(&expected), "{point}");
    }
}

#[test]
fn an_event_without_a_name_has_the_point_of_the_unknown() {
    let call = HostCall { host: Host::Gemini, event: Some(String::new()), stdin: b"{}".to_vec() };
    match crate::hosts::serve::read(call) {
        Reading::Event(arrival) => assert_eq!(read(&arrival).point.name, "x.gemini.on_unknown"),
        Reading::Answer(answer) => panic!("{answer:?}"),
    }
}

#[test]
fn the_session_of_an_arrival_is_known_before_it_is_read() {
    let root = |host: Host, document: Value| {
        let stdin = document.to_string().into_bytes();
        match crate::hosts::serve::read(HostCall { host, event: None, stdin }) {
            Reading::Event(arrival) => arrival.root().into_owned(),
            Reading::Answer(answer) => panic!("{answer:?}"),
        }
    };
    let inside = |event: &str| json!({"hook_event_name": event, "session_id": "a", "agent_id": "a", "parent_agent_id": "p", "sessionId": ""});
    assert_eq!(root(Host::Copilot, inside("PreToolUse")), "p");
    assert_eq!(root(Host::Copilot, inside("SubagentStop")), "a");
    assert_eq!(root(Host::Codex, json!({"hook_event_name": "Stop", "thread-id": "t"})), "t");
    assert_eq!(root(Host::Codex, json!({"hook_event_name": "Stop"})), "unnamed");
    // What stands behind a `/` is a subagent, which a host does not choose by the id of a session.
    assert_eq!(root(Host::Claude, json!({"hook_event_name": "Stop", "session_id": "a/b"})), "a%2Fb");
}

#[test]
fn ho_10_what_stays_is_handed_on_as_it_was_written() {
    let stdin = br#"{"hook_event_name": "Stop", "note": "caf\u00e9", "n": 1.50}"#.to_vec();
    let call = HostCall { host: Host::Claude, event: None, stdin };
    let Reading::Event(arrival) = crate::hosts::serve::read(call) else { panic!("it is an event") };
    let written = read(&arrival).as_written();
    assert_eq!(written.spelling("note"), Some(r#""caf\u00e9""#));
    assert_eq!(written.get("note"), Some(&json!("café")));
}

#[test]
fn ho_9_a_time_is_a_number_and_anything_else_stays() {
    let took = |duration: Value| {
        let document = json!({"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {},
            "tool_response": "", "duration_ms": duration});
        let incoming = incoming(Host::Claude, &document);
        (incoming.payload.to_json().get("duration_ms").cloned(), incoming.extra.get("duration_ms").cloned())
    };
    assert_eq!(took(json!(5)), (Some(json!(5)), None));
    assert_eq!(took(json!("5")), (None, Some(json!("5"))));
    // It stays under the name that its host has for it.
    let document = json!({"hook_event_name": "postToolUse", "tool_name": "Shell", "tool_input": {},
        "tool_output": "", "duration": "soon"});
    let cursor = incoming(Host::Cursor, &document);
    assert_eq!(cursor.extra.get("duration"), Some(&json!("soon")));
    assert_eq!((cursor.extra.get("duration_ms"), cursor.payload.value("duration_ms")), (None, None));
}

#[test]
fn an_arrival_is_an_end_where_a_session_is_over_by_it() {
    let is_end = |event: &str| {
        let stdin = json!({"hook_event_name": event, "session_id": "s"}).to_string().into_bytes();
        let call = HostCall { host: Host::Claude, event: None, stdin };
        let Reading::Event(arrival) = crate::hosts::serve::read(call) else { panic!("it is an event") };
        arrival.is_end()
    };
    assert!(is_end("SessionEnd"));
    for other in ["SessionStart", "Stop", "SubagentStop", "OfNoPoint"] {
        assert!(!is_end(other), "{other}");
    }
}
