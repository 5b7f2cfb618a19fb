//! An event to the envelope that a hook reads on its standard input (CH-27, CH-28).

use lineside_core::AnyEvent;
use lineside_core::json::{Map, Value, json};

use super::data::Data;
use super::points::ChordPoint;

/// The envelope without its `data`.
pub(super) fn envelope(point: &ChordPoint, event: &AnyEvent) -> Map {
    let envelope = event.envelope();
    let source = &envelope.source;
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    put("point", json!(point.name));
    put("timestamp", json!(envelope.time_text()));
    put("session_id", json!(source.root_session.as_str()));
    if let Some(turn) = envelope.turn.filter(|turn| *turn != 0) {
        put("turn_id", json!(turn));
    }
    put("agent_id", json!(source.agent.id));
    put("agent_kind", json!(source.agent.kind.as_str()));
    let model = source.model.as_ref();
    for (name, value) in [
        ("project_root", source.project_root.as_deref()),
        ("selected_model", model.and_then(|model| model.selected.as_deref())),
        ("running_model", model.and_then(|model| model.running.as_deref())),
    ] {
        if let Some(value) = value {
            put(name, json!(value));
        }
    }
    fields
}

/// One line of compact JSON without a line break.
pub(super) fn text(mut envelope: Map, data: Data) -> Vec<u8> {
    envelope.insert("data".to_owned(), Value::Object(data));
    // A JSON value always has a text.
    lineside_core::json::to_vec(&envelope).unwrap_or_default()
}
