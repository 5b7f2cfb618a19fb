//! The events, hook by hook.

use lineside_core::json::{Value, json};
use lineside_core::{AnyEvent, Model};

use super::of;
use crate::openclaw::catalogue;
use crate::openclaw::samples::{event, of as with_source, with_extra};

const TIME: i64 = 1_772_360_430_040;

fn told(hook: &str, event: &AnyEvent) -> Value {
    of(catalogue::find(hook).unwrap().kind, event).into()
}

fn check(hook: &str, point: &str, payload: Value, expected: &Value) {
    assert_eq!(told(hook, &event(point, payload)), *expected, "{hook}");
}

#[test]
fn before_an_agents_turn() {
    // OC-38
    check("before_agent_start", "before_agent", json!({}), &json!({ "prompt": "" }));
    check("before_prompt_build", "before_agent", json!({}), &json!({ "prompt": "", "messages": [] }));
    let payload = json!({ "prompt": "p", "messages": [1] });
    check("before_agent_start", "before_agent", payload, &json!({ "prompt": "p", "messages": [1] }));
}

#[test]
fn around_a_tool_call() {
    // OC-38
    let call = json!({ "tool_name": "exec", "tool_input": { "a": 1 }, "tool_call_id": "t", "paths": ["x"] });
    let expected = json!({
        "toolName": "exec", "params": { "a": 1 }, "runId": "s1:7", "toolCallId": "t", "derivedPaths": ["x"],
    });
    check("before_tool_call", "before_tool", call, &expected);
    let text = json!({ "tool_name": "exec", "tool_input": "ls", "paths": [] });
    let expected = json!({ "toolName": "exec", "params": {}, "runId": "s1:7" });
    check("before_tool_call", "before_tool", text, &expected);
    let done = json!({ "tool_name": "exec", "tool_output": null, "duration_ms": 5 });
    let expected = json!({ "toolName": "exec", "params": {}, "runId": "s1:7", "durationMs": 5 });
    check("after_tool_call", "after_tool", done, &expected);
    let done = json!({ "tool_name": "exec", "tool_output": [1] });
    let expected = json!({ "toolName": "exec", "params": {}, "runId": "s1:7", "result": [1] });
    check("after_tool_call", "after_tool", done, &expected);
    let failed = json!({ "tool_name": "exec", "tool_input": {}, "error": "exit 1" });
    let expected = json!({ "toolName": "exec", "params": {}, "runId": "s1:7", "error": "exit 1" });
    check("after_tool_call", "after_tool_error", failed, &expected);
    let kept = json!({ "tool_name": "exec", "tool_output": "x" });
    check(
        "tool_result_persist",
        "before_result_append",
        kept,
        &json!({ "toolName": "exec", "isSynthetic": false }),
    );
}

#[test]
fn before_an_agent_stops() {
    // OC-38
    let stop = event("before_stop", json!({ "stop_active": true, "output": "done" }));
    let full = with_source(&stop, |source| {
        source.cwd = Some("/w".into());
        source.model = Some(Model { selected: Some("gpt".into()), running: None });
    });
    assert_eq!(
        told("before_agent_finalize", &full),
        json!({
            "runId": "s1:7", "sessionId": "s1", "sessionKey": "agent:main:s1", "turnId": "7", "provider": "unknown",
            "model": "gpt", "cwd": "/w", "stopHookActive": true, "lastAssistantMessage": "done",
        })
    );
    let bare = told("before_agent_finalize", &event("before_stop", json!({ "stop_active": false })));
    assert!(bare.get("lastAssistantMessage").is_none() && bare.get("provider").is_none());
}

#[test]
fn a_session_begins_and_ends() {
    // OC-38
    let session = json!({ "sessionId": "s1", "sessionKey": "agent:main:s1" });
    check("session_start", "before_session", json!({ "source": "startup" }), &session);
    let resumed = told("session_start", &event("before_session", json!({ "source": "resume" })));
    assert_eq!(resumed["resumedFrom"], "s1");
    let fork = event("before_session", json!({ "source": "fork" }));
    let fork = with_source(&fork, |source| source.parent_session = Some("s0".into()));
    assert_eq!(told("session_start", &fork)["resumedFrom"], "s0");
    for (reason, expected) in [
        ("idle", "idle"),
        ("clear", "reset"),
        ("exit", "shutdown"),
        ("logout", "shutdown"),
        ("other", "unknown"),
    ] {
        let ended = told("session_end", &event("after_session", json!({ "reason": reason })));
        assert_eq!((&ended["reason"], &ended["messageCount"]), (&json!(expected), &json!(0)));
    }
    let stats = json!({ "reason": "new", "stats": { "message_count": 4, "duration_ms": 50 } });
    let ended = told("session_end", &event("after_session", stats));
    assert_eq!((&ended["messageCount"], &ended["durationMs"]), (&json!(4), &json!(50)));
}

#[test]
fn an_agent_has_ended() {
    // OC-38
    let payload = json!({ "success": false, "error": "e", "duration_ms": 9 });
    let expected =
        json!({ "runId": "s1:7", "messages": [], "success": false, "error": "e", "durationMs": 9 });
    check("agent_end", "after_agent", payload, &expected);
}

#[test]
fn around_a_model_call() {
    // OC-38
    let messages = json!([{ "role": "user", "content": [{ "type": "text", "text": "q" }] }, { "role": "assistant", "content": "a" }]);
    let payload = json!({ "model": "m", "messages": messages, "tools": [1] });
    check(
        "llm_input",
        "before_model",
        payload,
        &json!({
            "runId": "s1:7", "sessionId": "s1", "provider": "unknown", "model": "m", "historyMessages": messages,
            "prompt": "q", "imagesCount": 0, "tools": [1],
        }),
    );
    let payload =
        json!({ "model": "p/m", "output": "a", "usage": { "input_tokens": 1, "output_tokens": 2 } });
    check(
        "llm_output",
        "after_model",
        payload,
        &json!({
            "runId": "s1:7", "sessionId": "s1", "provider": "p", "model": "m", "resolvedRef": "p/m",
            "assistantTexts": ["a"], "lastAssistant": { "role": "assistant", "content": "a" },
            "usage": { "input": 1, "output": 2, "total": 3 },
        }),
    );
    let bare = told("llm_output", &event("after_model", json!({ "model": "m" })));
    assert_eq!(bare["assistantTexts"], json!([]));
    assert!(["resolvedRef", "lastAssistant", "usage"].iter().all(|name| bare.get(*name).is_none()));
}

#[test]
fn a_subagent_comes_and_goes() {
    // OC-38
    let child = json!({ "child_session": "s2", "agent_type": "r", "task": "look" });
    check(
        "subagent_spawned",
        "before_subagent",
        child,
        &json!({
            "childSessionKey": "agent:r:subagent:s2", "agentId": "r", "label": "look", "mode": "run",
            "threadRequested": false, "runId": "s2",
        }),
    );
    let ended = |error: Option<&str>| {
        told("subagent_ended", &event("after_subagent", json!({ "child_session": "s2", "error": error })))
    };
    assert_eq!(
        ended(None),
        json!({
            "targetSessionKey": "agent:main:subagent:s2", "targetKind": "subagent", "reason": "subagent-complete",
            "outcome": "ok", "runId": "s2", "endedAt": TIME,
        })
    );
    let failed = ended(Some("e"));
    assert_eq!(
        (&failed["reason"], &failed["outcome"], &failed["error"]),
        (&json!("subagent-error"), &json!("error"), &json!("e"))
    );
}

#[test]
fn around_a_compaction() {
    // OC-38
    let payload = json!({ "kind": "auto", "usage": { "input_tokens": 9 }, "messages": [1, 2] });
    check(
        "before_compaction",
        "before_compact",
        payload,
        &json!({ "messageCount": 2, "messages": [1, 2], "tokenCount": 9 }),
    );
    let payload = json!({ "kind": "auto", "usage_after": 8 });
    check(
        "after_compaction",
        "after_compact",
        payload,
        &json!({ "messageCount": 0, "tokenCount": 8, "compactedCount": 0 }),
    );
}

#[test]
fn messages_and_the_service() {
    // OC-38
    let of_session = json!({ "sessionKey": "agent:main:s1", "runId": "s1:7" });
    let with = |fields: Value| {
        let mut all = fields.as_object().unwrap().clone();
        all.extend(of_session.as_object().unwrap().clone());
        Value::from(all)
    };
    let content = || json!({ "content": "x" });
    check(
        "message_received",
        "on_message_received",
        content(),
        &with(json!({ "from": "", "content": "x", "timestamp": TIME })),
    );
    check(
        "message_sent",
        "on_message_sent",
        content(),
        &with(json!({ "to": "", "content": "x", "success": true })),
    );
    check("message_sending", "before_message_send", content(), &json!({ "to": "", "content": "x" }));
    check("gateway_start", "on_service_start", json!({}), &json!({ "port": 0 }));
    check("gateway_stop", "on_service_stop", json!({ "reason": "r", "port": 1 }), &json!({ "reason": "r" }));
}

#[test]
fn the_host_completes_and_replaces_only_constants() {
    // OC-39
    let extra = json!({ "openclaw": { "event": {
        "compactedCount": 3, "imagesCount": 2, "success": false, "messageCount": 9, "toolKind": "k", "nothing": null,
    } } });
    let compact = with_extra(&event("after_compact", json!({ "kind": "auto" })), extra.clone());
    let compact = told("after_compaction", &compact);
    assert_eq!(
        (&compact["compactedCount"], &compact["messageCount"], &compact["toolKind"]),
        (&json!(3), &json!(0), &json!("k"))
    );
    assert!(compact.get("nothing").is_none());
    let sent = with_extra(&event("on_message_sent", json!({ "content": "" })), extra.clone());
    assert_eq!(told("message_sent", &sent)["success"], false);
    let input = with_extra(&event("before_model", json!({ "model": "m" })), extra.clone());
    assert_eq!(told("llm_input", &input)["imagesCount"], 2);
    let ended = with_extra(&event("after_agent", json!({ "success": true })), extra);
    assert_eq!(told("agent_end", &ended)["success"], true);
}
