//! The contexts, hook by hook.

use lineside_core::Model;
use lineside_core::json::{Value, json};

use super::of;
use crate::openclaw::catalogue;
use crate::openclaw::samples::{event, of as with_source, with_extra};

fn context(hook: &str, event: &lineside_core::AnyEvent) -> Value {
    of(catalogue::find(hook).unwrap().kind, event).into()
}

#[test]
fn an_agents_context_has_its_model_when_the_envelope_has_one() {
    // OC-37
    let plain = event("before_model", json!({ "model": "a/b" }));
    let expected =
        json!({ "runId": "s1:7", "agentId": "main", "sessionKey": "agent:main:s1", "sessionId": "s1" });
    assert_eq!(context("llm_input", &plain), expected);
    let full = with_source(&plain, |source| {
        source.model = Some(Model { selected: Some("x/y".into()), running: None });
        source.project_root = Some("/p".into());
        source.traceparent = Some("00-t-s-01".into());
    });
    assert_eq!(
        context("llm_input", &full),
        json!({
            "runId": "s1:7", "trace": { "traceId": "t", "spanId": "s", "traceFlags": "01" }, "agentId": "main",
            "sessionKey": "agent:main:s1", "sessionId": "s1", "workspaceDir": "/p", "modelProviderId": "a",
            "modelId": "b",
        })
    );
}

#[test]
fn each_kind_of_hook_has_its_own_context() {
    // OC-37
    let call = json!({ "tool_name": "exec", "tool_input": {}, "tool_call_id": "t1" });
    for (hook, point, payload, expected) in [
        (
            "before_tool_call",
            "before_tool",
            call,
            json!({
                "agentId": "main", "sessionKey": "agent:main:s1", "sessionId": "s1", "runId": "s1:7",
                "toolName": "exec", "toolCallId": "t1",
            }),
        ),
        (
            "tool_result_persist",
            "before_result_append",
            json!({ "tool_name": "exec", "tool_output": "" }),
            json!({ "agentId": "main", "sessionKey": "agent:main:s1", "toolName": "exec" }),
        ),
        (
            "session_end",
            "after_session",
            json!({ "reason": "exit" }),
            json!({ "agentId": "main", "sessionId": "s1", "sessionKey": "agent:main:s1" }),
        ),
        (
            "subagent_spawned",
            "before_subagent",
            json!({ "child_session": "s2", "agent_type": "r" }),
            json!({
                "runId": "s2", "childSessionKey": "agent:r:subagent:s2", "requesterSessionKey": "agent:main:s1",
            }),
        ),
        (
            "message_sent",
            "on_message_sent",
            json!({ "content": "x" }),
            json!({ "channelId": "unknown", "sessionKey": "agent:main:s1", "runId": "s1:7" }),
        ),
        ("gateway_start", "on_service_start", json!({ "port": 1 }), json!({ "port": 1 })),
    ] {
        assert_eq!(context(hook, &event(point, payload)), expected, "{hook}");
    }
}

#[test]
fn a_message_tells_its_trace_in_parts_too() {
    // OC-37
    let sent = event("on_message_sent", json!({ "content": "x", "channel": "irc" }));
    let traced = with_source(&sent, |source| source.traceparent = Some("00-t-s-00".into()));
    let context = context("message_sent", &traced);
    let parts = ["channelId", "traceId", "spanId"].map(|name| context[name].as_str());
    assert_eq!(parts, [Some("irc"), Some("t"), Some("s")]);
}

#[test]
fn the_host_adds_and_never_replaces() {
    // OC-39
    let call = event("before_tool", json!({ "tool_name": "exec", "tool_input": {} }));
    let ctx = json!({ "requester": { "x": 1 }, "sessionId": "forged", "gone": null, "abortSignal": 1 });
    let context = context("before_tool_call", &with_extra(&call, json!({ "openclaw": { "ctx": ctx } })));
    assert_eq!((&context["requester"], &context["sessionId"]), (&json!({ "x": 1 }), &json!("s1")));
    assert!(context.get("gone").is_none() && context.get("abortSignal").is_none());
}
