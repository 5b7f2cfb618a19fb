//! Values that are made of an event and have no field of their own (OC-37).

use lineside_core::json::{Map, Value, json};
use lineside_core::{AgentKind, AnyEvent, Envelope};

/// The key of the session of an event.
pub(super) fn session_key(envelope: &Envelope) -> String {
    let source = &envelope.source;
    match source.agent.kind {
        AgentKind::Main => format!("agent:{}:{}", source.agent.id, source.session),
        AgentKind::Subagent => {
            let agent = source.agent.role.as_ref().unwrap_or(&source.agent.id);
            format!("agent:{agent}:subagent:{}", source.session)
        }
    }
}

/// The key of the session of a subagent that an event is about.
pub(super) fn child_key(event: &AnyEvent) -> Option<String> {
    let payload = event.payload();
    let agent = payload.text("agent_type").unwrap_or(&event.envelope().source.agent.id);
    Some(format!("agent:{agent}:subagent:{}", payload.text("child_session")?))
}

/// The run of an event, if it belongs to a turn.
pub(super) fn run_id(envelope: &Envelope) -> Option<String> {
    Some(format!("{}:{}", envelope.source.session, envelope.turn?))
}

/// A model by its provider and its name there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ModelName {
    pub(super) provider: String,
    pub(super) id: String,
    /// Both, when it was written with both.
    pub(super) whole: Option<String>,
}

/// The model of an event: that of its payload, else the running one, else the selected one.
pub(super) fn model(event: &AnyEvent) -> Option<ModelName> {
    let envelope = event.envelope().source.model.as_ref();
    let written = event
        .payload()
        .text("model")
        .or_else(|| envelope?.running.as_deref())
        .or_else(|| envelope?.selected.as_deref())?;
    Some(match written.split_once('/') {
        Some((provider, id)) => {
            ModelName { provider: provider.to_owned(), id: id.to_owned(), whole: Some(written.to_owned()) }
        }
        None => ModelName { provider: "unknown".to_owned(), id: written.to_owned(), whole: None },
    })
}

/// The text in a message or a part of one.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter(|part| part.get("type").is_some_and(|kind| kind == "text"));
            let texts: Vec<&str> = texts.filter_map(|part| part.get("text")?.as_str()).collect();
            texts.join("\n")
        }
        Value::Object(fields) => fields.get("content").map(text).unwrap_or_default(),
        _ => String::new(),
    }
}

/// The trace of an event, out of its `traceparent`.
pub(super) fn trace(envelope: &Envelope) -> Option<Map> {
    let parts: Vec<&str> = envelope.source.traceparent.as_deref()?.split('-').collect();
    let [_, trace, span, flags, ..] = parts.as_slice() else {
        return None;
    };
    match json!({ "traceId": trace, "spanId": span, "traceFlags": flags }) {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lineside_core::json::json;
    use lineside_core::{Agent, AnyEvent, Model};

    use super::{child_key, model, run_id, session_key, text, trace};
    use crate::openclaw::samples::{event, of};

    #[test]
    fn a_session_key_tells_subagents_apart() {
        // OC-37, OC-45
        let main = event("before_tool", json!({ "tool_name": "x", "tool_input": {} }));
        assert_eq!(session_key(main.envelope()), "agent:main:s1");
        assert_eq!(run_id(main.envelope()).as_deref(), Some("s1:7"));
        let child = of(&main, |source| source.agent = Agent::subagent("reviewer"));
        assert_eq!(session_key(child.envelope()), "agent:reviewer:subagent:s1");
        let mut without = main.envelope().clone();
        without.turn = None;
        assert_eq!(run_id(&without), None);
        let spawned = event("before_subagent", json!({ "child_session": "s2" }));
        assert_eq!(child_key(&spawned).as_deref(), Some("agent:main:subagent:s2"));
    }

    #[test]
    fn a_model_is_split_at_its_first_slash() {
        // OC-37
        let with = |selected: Option<&str>, running: Option<&str>| -> AnyEvent {
            let event = event("after_agent", json!({ "success": true }));
            let model = Model { selected: selected.map(Arc::from), running: running.map(Arc::from) };
            of(&event, |source| source.model = Some(model))
        };
        let names = |event: &AnyEvent| model(event).map(|model| (model.provider, model.id, model.whole));
        let name = |a: &str, b: &str| Some((a.to_owned(), b.to_owned(), Some(format!("{a}/{b}"))));
        assert_eq!(names(&with(Some("a/b/c"), None)), name("a", "b/c"));
        assert_eq!(names(&with(Some("a/b"), Some("x/y"))), name("x", "y"));
        assert_eq!(names(&with(Some("b"), None)), Some(("unknown".to_owned(), "b".to_owned(), None)));
        assert_eq!(names(&with(None, None)), None);
        assert_eq!(names(&event("before_model", json!({ "model": "m/n" }))), name("m", "n"));
    }

    #[test]
    fn text_is_found_in_every_shape_of_a_message() {
        // OC-37
        for (value, expected) in [
            (json!("a"), "a"),
            (
                json!([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]),
                "a\nb",
            ),
            (json!({"role": "user", "content": [{"type": "text", "text": "c"}]}), "c"),
            (json!({"content": "d"}), "d"),
            (json!(7), ""),
            (json!({}), ""),
        ] {
            assert_eq!(text(&value), expected, "{value}");
        }
    }

    #[test]
    fn a_trace_is_taken_apart() {
        // OC-37
        let event = event("after_agent", json!({ "success": true }));
        assert_eq!(trace(event.envelope()), None);
        let traced = of(&event, |source| source.traceparent = Some("00-t-s-01".into()));
        let expected = json!({ "traceId": "t", "spanId": "s", "traceFlags": "01" });
        assert_eq!(trace(traced.envelope()), expected.as_object().cloned());
    }
}
