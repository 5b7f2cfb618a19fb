//! Each row of the tables of FL-10.

use std::collections::BTreeMap;
use std::path::Path;

use lineside_core::json::json;
use lineside_core::{Agent, AgentKind};

use super::super::samples::{event, event_of};
use super::*;

fn texts(hook_type: &str, event: &AnyEvent, previews: Previews) -> BTreeMap<&'static str, String> {
    let hook_type = HookType::find(hook_type).unwrap();
    let all = of(hook_type, event, Path::new("/here"), previews);
    let set: Vec<_> = all.iter().map(|variable| variable.name).collect();
    assert_eq!(set, names(hook_type).collect::<Vec<_>>());
    all.into_iter().map(|one| (one.name, String::from_utf8_lossy(&one.value).into_owned())).collect()
}

fn check(hook_type: &str, point: &str, payload: lineside_core::json::Value, expected: &[(&str, &str)]) {
    let mut got = texts(hook_type, &event(point, payload), Previews::Cut);
    for common in
        ["HOOK_TYPE", "PROJECT_ROOT", "PLATFORM", "ARCH", "CWD", "SESSION_ID", "AGENT_ID", "AGENT_KIND"]
    {
        got.remove(common).unwrap();
    }
    let got: Vec<_> = got.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(got, expected, "{hook_type}");
}

#[test]
fn every_type_has_the_variables_of_all() {
    // FL-10, FL-46
    let event = event_of("before_tool", json!({"tool_name": "T", "tool_input": {}}), |source| {
        source.session = "s2".into();
        source.project_root = Some("/p".into());
        source.agent = Agent { id: "r1".into(), kind: AgentKind::Subagent, role: Some("reviewer".into()) };
    });
    let got = texts("pre_tool_use", &event, Previews::Cut);
    for (name, value) in [
        ("HOOK_TYPE", "pre_tool_use"),
        ("PROJECT_ROOT", "/p"),
        ("CWD", "/here"),
        ("SESSION_ID", "s2"),
        ("AGENT_ID", "r1"),
        ("AGENT_KIND", "subagent"),
    ] {
        assert_eq!(got[name], value);
    }
    assert!(!got["PLATFORM"].is_empty() && !got["ARCH"].is_empty());
    let bare = event_of("before_tool", json!({"tool_name": "T", "tool_input": {}}), |_| {});
    assert_eq!(texts("pre_tool_use", &bare, Previews::Cut)["PROJECT_ROOT"], "");
}

#[test]
fn tools_have_name_input_and_output() {
    // FL-10
    let input = json!({"tool_name": "Bash", "tool_input": {"b": "é/\u{7f}\n\"", "a": 1.50}});
    let text = "{\"b\":\"é/\u{7f}\\n\\\"\",\"a\":1.5}";
    check("pre_tool_use", "before_tool", input, &[("TOOL_NAME", "Bash"), ("TOOL_INPUT", text)]);
    check(
        "pre_tool_use",
        "before_tool",
        json!({"tool_name": "Ping", "tool_input": null}),
        &[("TOOL_NAME", "Ping"), ("TOOL_INPUT", "{}")],
    );
    for (output, expected) in
        [(json!("a\nb"), "a\nb"), (json!(null), ""), (json!([1, null]), "[1,null]"), (json!(true), "true")]
    {
        check(
            "post_tool_use",
            "after_tool",
            json!({"tool_name": "T", "tool_output": output}),
            &[
                ("TOOL_NAME", "T"),
                ("TOOL_INPUT", "{}"),
                ("TOOL_OUTPUT", expected),
                ("TOOL_IS_ERROR", "false"),
            ],
        );
    }
    check(
        "post_tool_use_failure",
        "after_tool_error",
        json!({"tool_name": "T", "tool_input": [], "error": "exit 1"}),
        &[("TOOL_NAME", "T"), ("TOOL_INPUT", "[]"), ("TOOL_OUTPUT", "exit 1"), ("TOOL_IS_ERROR", "true")],
    );
    check(
        "permission_request",
        "before_permission",
        json!({"tool_name": "T", "tool_input": {}, "reason": "writes"}),
        &[("TOOL_NAME", "T"), ("PERMISSION_REASON", "writes"), ("TOOL_INPUT", "{}")],
    );
    check(
        "permission_denied",
        "on_permission_denied",
        json!({"tool_name": "T"}),
        &[("TOOL_NAME", "T"), ("PERMISSION_REASON", "")],
    );
}

#[test]
fn what_an_event_lacks_is_empty_or_zero() {
    // FL-10
    check("session_start", "before_session", json!({"source": "fork"}), &[("SESSION_SOURCE", "fork")]);
    check("session_end", "after_session", json!({"reason": "exit"}), &[("SESSION_REASON", "exit")]);
    check("user_prompt_submit", "before_prompt", json!({"prompt": "p"}), &[("PROMPT", "p")]);
    for (payload, count) in [
        (json!({"model": "m", "message_count": 12, "messages": [1]}), "12"),
        (json!({"model": "m", "messages": [1, 2]}), "2"),
        (json!({"model": "m"}), "0"),
    ] {
        check(
            "pre_sampling",
            "before_model",
            payload,
            &[("MODEL", "m"), ("TURN", "7"), ("MESSAGE_COUNT", count)],
        );
    }
    check(
        "post_sampling",
        "after_model",
        json!({"model": "m", "error": "503"}),
        &[
            ("MODEL", "m"),
            ("TURN", "7"),
            ("INPUT_TOKENS", "0"),
            ("OUTPUT_TOKENS", "0"),
            ("STOP_REASON", ""),
            ("RESPONSE_PREVIEW", ""),
        ],
    );
    check(
        "post_sampling",
        "after_model",
        json!({"model": "m", "output": {"a": 1}, "usage": {"input_tokens": 10, "output_tokens": 20}, "stop_reason": "end_turn"}),
        &[
            ("MODEL", "m"),
            ("TURN", "7"),
            ("INPUT_TOKENS", "10"),
            ("OUTPUT_TOKENS", "20"),
            ("STOP_REASON", "end_turn"),
            ("RESPONSE_PREVIEW", "{\"a\":1}"),
        ],
    );
    let stop = json!({"stop_active": true, "reason": "done"});
    check("stop", "before_stop", stop, &[("STOP_ACTIVE", "true"), ("STOP_REASON", "done")]);
    let stop = json!({"stop_active": false});
    check("stop", "before_stop", stop, &[("STOP_ACTIVE", "false"), ("STOP_REASON", "")]);
}

#[test]
fn the_other_types_have_the_fields_of_their_points() {
    // FL-10
    check(
        "pre_compact",
        "before_compact",
        json!({"kind": "micro", "reason": "90 %"}),
        &[("COMPACT_KIND", "micro"), ("COMPACT_REASON", "90 %")],
    );
    check(
        "post_compact",
        "after_compact",
        json!({"kind": "auto", "summary": "S"}),
        &[("COMPACT_KIND", "auto"), ("COMPACT_SUMMARY", "S")],
    );
    check(
        "notification",
        "on_notification",
        json!({"message": "low", "level": "warning"}),
        &[
            ("MESSAGE", "low"),
            ("LEVEL", "warning"),
            ("NOTIFICATION_MESSAGE", "low"),
            ("NOTIFICATION_LEVEL", "warning"),
        ],
    );
    check(
        "config_change",
        "on_config_change",
        json!({"path": "c.json", "keys": ["a", "b"]}),
        &[("CONFIG_PATH", "c.json"), ("CONFIG_KEYS", "a,b")],
    );
    check("config_change", "on_config_change", json!({}), &[("CONFIG_PATH", ""), ("CONFIG_KEYS", "")]);
    let task = json!({"task_id": "t1", "description": "tidy"});
    check("task_created", "on_task_created", task, &[("TASK_ID", "t1"), ("TASK_DESCRIPTION", "tidy")]);
    check(
        "task_completed",
        "on_task_completed",
        json!({"task_id": "t1", "result": {"ok": true}}),
        &[("TASK_ID", "t1"), ("TASK_DESCRIPTION", ""), ("TASK_RESULT", "{\"ok\":true}")],
    );
}

#[test]
fn a_preview_is_cut_between_bytes_and_a_function_gets_it_whole() {
    // FL-10, FL-35
    let output = "厂".repeat(200);
    let event = event("after_model", json!({"model": "m", "output": output}));
    let hook_type = HookType::find("post_sampling").unwrap();
    let preview = |previews| {
        let all = of(hook_type, &event, Path::new("/"), previews);
        all.into_iter().find(|one| one.name == "RESPONSE_PREVIEW").unwrap().value.into_owned()
    };
    assert_eq!(preview(Previews::Cut), output.as_bytes()[..500]);
    assert_eq!(preview(Previews::Whole), output.as_bytes());
}
