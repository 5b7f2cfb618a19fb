//! An event to what a hook reads on its standard input (AH-42 to AH-45).

use lineside_core::AnyEvent;
use lineside_core::envelope::Envelope;
use lineside_core::json::{Layout, Map, Value, json};

use super::identity::Identity;
use super::matcher::seen;
use super::triggers::Kind;
use crate::hosts::Seen;

/// One line of JSON with a line feed.
pub(super) fn text(hook: &Identity, event: &AnyEvent, work_dir: &str) -> String {
    let envelope = event.envelope();
    let mut fields = Map::new();
    // What every event has comes first (AH-43),
    fields.insert("event_type".into(), json!(hook.trigger_as_written));
    fields.insert("timestamp".into(), Value::String(timestamp(envelope)));
    fields.insert("session_id".into(), json!(envelope.source.session.as_str()));
    fields.insert("work_dir".into(), json!(work_dir));
    // then what is of this one (AH-44),
    event_fields(hook.trigger.kind, envelope, event.payload_json(), &mut fields);
    if let Some(Seen { name, host_name: Some(host_name) }) = seen(event) {
        presented(&mut fields, name, host_name);
    }
    // and last what lineside adds (AH-45).
    let mut context = envelope.to_json(event.point().name);
    context.insert("hook".into(), json!(&*hook.name));
    context.insert("hook_dir".into(), json!(hook.folder.to_string_lossy()));
    fields.insert("context".into(), Value::Object(context));
    let mut line = fields.to_text(Layout::Spaced);
    line.push('\n');
    line
}

/// The name of a tool in the words of this format, followed by that of the program that calls it (HO-16).
fn presented(fields: &mut Map, name: &str, host_name: &str) {
    let renamed = std::mem::take(fields).into_iter().flat_map(|(field, value)| {
        if field == "tool_name" {
            vec![(field, json!(name)), ("host_tool_name".to_owned(), json!(host_name))]
        } else {
            vec![(field, value)]
        }
    });
    *fields = renamed.collect();
}

/// With a numeric offset instead of `Z`.
fn timestamp(envelope: &Envelope) -> String {
    let time = envelope.time_text();
    format!("{}+00:00", time.strip_suffix('Z').unwrap_or(&time))
}

fn event_fields(kind: Kind, envelope: &Envelope, payload: &Map, out: &mut Map) {
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            out.insert(name.to_owned(), value);
        }
    };
    let get = |name: &str| payload.get(name).cloned();
    match kind {
        Kind::SessionStart => {
            let model = envelope.source.model.as_ref();
            let model = model.and_then(|model| model.running.as_ref().or(model.selected.as_ref()));
            put("model", Some(model.map_or(Value::Null, |name| json!(&**name))));
            put("args", Some(json!({})));
            put("source", get("source"));
        }
        Kind::SessionEnd => {
            let stats = payload.get("stats");
            let figure = |name: &str| stats.and_then(|stats| stats.get(name));
            let seconds = figure("duration_seconds").and_then(whole);
            let milliseconds = figure("duration_ms").and_then(whole);
            put("duration_seconds", seconds.or(milliseconds.map(|ms| ms.div_euclid(1000))).map(Value::from));
            put("total_steps", figure("total_steps").cloned());
            put("exit_reason", get("reason"));
            put("stats", get("stats"));
        }
        Kind::BeforeAgent => put("prompt", get("prompt")),
        Kind::AfterAgent | Kind::AfterStop => {
            for name in ["success", "error", "duration_ms", "output"] {
                put(name, get(name));
            }
        }
        Kind::BeforeTool | Kind::AfterTool | Kind::AfterToolFailure => {
            put("tool_name", get("tool_name"));
            // A host that has no tool input gives null for the one that it must give.
            put("tool_input", get("tool_input").filter(|input| !input.is_null()));
            put("tool_use_id", get("tool_call_id"));
            match kind {
                Kind::AfterTool => {
                    put("tool_output", get("tool_output"));
                    put("error", Some(Value::Null));
                    put("duration_ms", get("duration_ms"));
                    put("diff", get("diff"));
                }
                Kind::AfterToolFailure => {
                    put("tool_output", Some(Value::Null));
                    put("error", get("error"));
                    put("error_kind", get("error_kind"));
                }
                _ => {}
            }
            put("paths", get("paths"));
        }
        Kind::SubagentStart | Kind::SubagentStop => {
            put("subagent_name", get("agent_type"));
            put("subagent_type", get("agent_type"));
            if kind == Kind::SubagentStart {
                put("task_description", get("task").or_else(|| get("prompt")));
                put("prompt", get("prompt"));
                put("child_session_id", get("child_session"));
            } else {
                put("child_session_id", get("child_session"));
                put("output", get("output"));
                put("error", get("error"));
            }
        }
        Kind::PreCompact => {
            for name in ["kind", "reason", "usage"] {
                put(name, get(name));
            }
        }
        Kind::PostCompact => {
            for name in ["kind", "summary", "usage_before", "usage_after"] {
                put(name, get(name));
            }
        }
        Kind::BeforeStop => {
            put("stop_reason", Some(get("reason").unwrap_or_else(|| json!("no_tool_calls"))));
            let message = get("output").map(|output| json!({"role": "assistant", "content": output}));
            put("final_message", Some(message.unwrap_or_default()));
            put("stop_active", get("stop_active"));
        }
    }
}

/// A number rounded down.
fn whole(value: &Value) -> Option<i64> {
    if let Some(integer) = value.as_i64() {
        return Some(integer);
    }
    let floor = value.as_f64()?.floor();
    // Beyond this a float has no seconds to speak of.
    if floor.abs() < 1e15 { format!("{floor:.0}").parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use lineside_core::json::{Value, json};

    use crate::agenthooks::samples::{event, hook};

    /// The fields between `work_dir` and `context`, as they are written.
    fn check(trigger: &str, payload: Value, expected: &str) {
        let hook = hook(trigger);
        let point = hook.identity.trigger.point.name;
        let text = super::text(&hook.identity, &event(point, payload), "/w");
        let start = format!(
            "{{\"event_type\": \"{trigger}\", \"timestamp\": \"2026-03-01T10:20:30.040+00:00\", \
             \"session_id\": \"s1\", \"work_dir\": \"/w\", "
        );
        let rest = text.strip_prefix(&start).unwrap_or_else(|| panic!("{text}"));
        let (fields, context) = rest.rsplit_once("\"context\": ").unwrap();
        assert_eq!(fields, expected, "{trigger}");
        let context = context.strip_suffix("}\n").unwrap();
        let context: Value = lineside_core::json::from_str(context).unwrap();
        assert_eq!(context["point"], point);
        assert_eq!(context["hook"], "h");
        assert_eq!(context["hook_dir"], "/hooks/h");
        assert_eq!(context.get("payload"), None);
    }

    #[test]
    fn each_trigger_has_its_fields_in_their_order() {
        // AH-42 to AH-45
        check(
            "session_start",
            json!({"source": "resume"}),
            "\"model\": \"kimi-k2\", \"args\": {}, \"source\": \"resume\", ",
        );
        check(
            "post-session",
            json!({"reason": "user_exit", "stats": {"duration_ms": 3999, "total_steps": 25}}),
            "\"duration_seconds\": 3, \"total_steps\": 25, \"exit_reason\": \"user_exit\", \
             \"stats\": {\"duration_ms\": 3999, \"total_steps\": 25}, ",
        );
        check(
            "session_end",
            json!({"reason": "x", "stats": {"duration_seconds": 7.9, "duration_ms": 1}}),
            "\"duration_seconds\": 7, \"exit_reason\": \"x\", \
             \"stats\": {\"duration_seconds\": 7.9, \"duration_ms\": 1}, ",
        );
        check("session_end", json!({"reason": "x"}), "\"exit_reason\": \"x\", ");
        check("before_agent", json!({"prompt": "hi, you"}), "\"prompt\": \"hi, you\", ");
        check("before_agent", json!({}), "");
        for trigger in ["after_agent", "post-agent-turn-stop"] {
            check(
                trigger,
                json!({"success": false, "error": "e", "duration_ms": 5, "output": "o"}),
                "\"success\": false, \"error\": \"e\", \"duration_ms\": 5, \"output\": \"o\", ",
            );
        }
        check(
            "pre-tool-call",
            json!({"tool_name": "Shell", "tool_input": {"b": 1, "a": [1, 2.50]}, "tool_call_id": "t", "paths": ["p"]}),
            "\"tool_name\": \"Shell\", \"tool_input\": {\"b\": 1, \"a\": [1, 2.5]}, \
             \"tool_use_id\": \"t\", \"paths\": [\"p\"], ",
        );
        check(
            "after_tool",
            json!({"tool_name": "Shell", "tool_output": {"code": 0, "lines": ["a", null]}, "duration_ms": 7, "diff": "d"}),
            "\"tool_name\": \"Shell\", \"tool_output\": {\"code\": 0, \"lines\": [\"a\", null]}, \
             \"error\": null, \"duration_ms\": 7, \"diff\": \"d\", ",
        );
        check(
            "after_tool_failure",
            json!({"tool_name": "Shell", "tool_input": {"c": "x"}, "error": "no", "error_kind": "io"}),
            "\"tool_name\": \"Shell\", \"tool_input\": {\"c\": \"x\"}, \"tool_output\": null, \
             \"error\": \"no\", \"error_kind\": \"io\", ",
        );
        check(
            "subagent_start",
            json!({"agent_type": "coder", "prompt": "p", "child_session": "c1"}),
            "\"subagent_name\": \"coder\", \"subagent_type\": \"coder\", \"task_description\": \"p\", \
             \"prompt\": \"p\", \"child_session_id\": \"c1\", ",
        );
        check(
            "subagent_stop",
            json!({"agent_type": "coder", "child_session": "c1", "output": "o"}),
            "\"subagent_name\": \"coder\", \"subagent_type\": \"coder\", \"child_session_id\": \"c1\", \"output\": \"o\", ",
        );
        check(
            "pre_compact",
            json!({"kind": "auto", "usage": {"t": 1}}),
            "\"kind\": \"auto\", \"usage\": {\"t\": 1}, ",
        );
        check(
            "post_compact",
            json!({"kind": "auto", "summary": "s", "usage_before": 9, "usage_after": 1}),
            "\"kind\": \"auto\", \"summary\": \"s\", \"usage_before\": 9, \"usage_after\": 1, ",
        );
        check(
            "before_stop",
            json!({"output": "done", "stop_active": false}),
            "\"stop_reason\": \"no_tool_calls\", \
             \"final_message\": {\"role\": \"assistant\", \"content\": \"done\"}, \"stop_active\": false, ",
        );
        check(
            "before_stop",
            json!({"stop_active": true, "reason": "max_steps"}),
            "\"stop_reason\": \"max_steps\", \"final_message\": null, \"stop_active\": true, ",
        );
    }
}
