//! An event from the JSON that it was written as: the way back from `AnyEvent::to_json`.
//!
//! For events that this library has written itself, in a journal or to a hook; what others write is read with more
//! patience elsewhere.

use std::sync::Arc;

use lineside_core::Timestamp;
use lineside_core::envelope::Cause;
use lineside_core::json::{Map, Value};
use lineside_core::payload::DecodePayloadError;
use lineside_core::{Agent, AnyEvent, Envelope, EventId, Model, SessionId, Source};
use serde::de::DeserializeOwned;

use crate::UnknownPointError;

/// Why JSON is not an event that was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadEventError {
    /// A field of the envelope is absent or of another type.
    #[error("the event has no `{0}`, or one that cannot be read")]
    Envelope(&'static str),
    /// The point is not in the catalogue.
    #[error("the event is of an unknown point")]
    Point(#[from] UnknownPointError),
    /// The payload is not one of the point.
    #[error("the event has another payload than its point")]
    Payload(#[from] DecodePayloadError),
}

/// Reads an event; its cause, which is written without it, is this deep in a line of events.
///
/// # Errors
/// It is not an event as this library writes one.
pub fn read_event(json: &Map, depth: u8) -> Result<AnyEvent, ReadEventError> {
    let name = |name: &'static str| -> Result<Option<Arc<str>>, ReadEventError> {
        Ok(optional::<String>(json, name)?.map(Arc::from))
    };
    let point = crate::find(text(json, "point")?)?;
    let time: Timestamp = text(json, "time")?.parse().map_err(|_| ReadEventError::Envelope("time"))?;
    let cause = match json.get("cause") {
        Some(_) => Some(Cause { event: id(json, "cause")?, depth }),
        None => None,
    };
    let source = Source {
        session: text(json, "session")?.into(),
        root_session: text(json, "root_session")?.into(),
        parent_session: name("parent_session")?.map(SessionId::from),
        depth: optional(json, "depth")?.unwrap_or_default(),
        agent: optional::<Agent>(json, "agent")?.ok_or(ReadEventError::Envelope("agent"))?,
        project_root: name("project_root")?,
        cwd: name("cwd")?,
        model: optional::<Model>(json, "model")?,
        host: name("host")?,
        traceparent: name("traceparent")?,
        connection: name("connection")?,
        // Its process and its time are not written, and no hook is asked anew.
        attribution: None,
        border: 0,
    };
    let envelope = Envelope {
        id: id(json, "id")?,
        time,
        seq: optional(json, "seq")?.unwrap_or_default(),
        source: Arc::new(source),
        cause,
        turn: optional(json, "turn")?,
        extra: json.get("extra").and_then(Value::as_object).map(|extra| Arc::new(extra.clone().into())),
    };
    let payload = json.get("payload").and_then(Value::as_object).cloned();
    let payload = (point.decode)(point, payload.ok_or(ReadEventError::Envelope("payload"))?)?;
    Ok(AnyEvent::new(envelope, payload))
}

fn text<'a>(json: &'a Map, name: &'static str) -> Result<&'a str, ReadEventError> {
    json.get(name).and_then(Value::as_str).ok_or(ReadEventError::Envelope(name))
}

fn id(json: &Map, name: &'static str) -> Result<EventId, ReadEventError> {
    text(json, name)?.parse().map_err(|_| ReadEventError::Envelope(name))
}

/// A field that may be absent.
fn optional<T: DeserializeOwned>(json: &Map, name: &'static str) -> Result<Option<T>, ReadEventError> {
    match json.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => T::deserialize(value).map(Some).map_err(|_| ReadEventError::Envelope(name)),
    }
}

#[cfg(test)]
mod tests {
    use lineside_core::json::json;

    use super::*;

    #[test]
    fn an_event_is_read_as_it_was_written() {
        let text = json!({
            "id": "019a0000-0000-7000-8000-000000000001", "point": "before_tool", "time": "2026-03-02T08:14:00.500Z",
            "seq": 7, "session": "s2", "root_session": "s0", "parent_session": "s1", "depth": 2,
            "cause": "019a0000-0000-7000-8000-000000000002", "agent": {"id": "r", "kind": "subagent", "type": "r"},
            "turn": 3, "project_root": "/p", "cwd": "/p/q", "model": {"running": "m"}, "host": "h",
            "traceparent": "t", "connection": "socket:1",
            "payload": {"tool_name": "Shell", "tool_input": {"command": "ls"}}, "extra": {"x": 1},
        });
        let Value::Object(fields) = &text else { panic!() };
        let event = read_event(fields, 2).unwrap();
        assert_eq!(Value::Object(event.to_json()), text);
        assert_eq!(event.to_text(), text.to_string());
        assert_eq!(event.envelope().cause.unwrap().depth, 2);
        for absent in ["id", "point", "time", "session", "root_session", "agent", "payload"] {
            let mut fields = fields.clone();
            fields.remove(absent);
            assert!(read_event(&fields, 0).is_err(), "{absent}");
        }
    }
}
