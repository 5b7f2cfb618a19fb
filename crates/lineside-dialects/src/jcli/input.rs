//! An event to what a hook reads: its fields, and the line that stands on its standard input (JC-13, JC-25).

use std::path::Path;

use lineside_core::AnyEvent;
use lineside_core::json::{Map, Value, json};

use super::events::Event;
use crate::payload_field::payload_field;

/// The fields that an event may have, in their order.
const FIELDS: [&str; 9] = [
    "messages", "system_prompt", "model", "user_input", "assistant_output", "tool_name", "tool_arguments",
    "tool_result", "tool_error",
];

/// Who reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    /// The hook.
    pub(super) name: &'a str,
    /// Its folder; absent for a hook that the host has registered.
    pub(super) folder: Option<&'a Path>,
    /// The event that it is run for.
    pub(super) event: &'static Event,
    /// The working directory.
    pub(super) cwd: &'a Path,
}

/// One line of JSON with a line feed.
pub(super) fn line(reader: &Reader<'_>, event: &AnyEvent) -> String {
    let mut fields = fields(reader, event);
    let mut lineside = event.envelope().to_json(event.point().name);
    lineside.insert("hook".into(), json!(reader.name));
    lineside.insert("hook_dir".into(), json!(folder(reader.folder)));
    fields.insert("lineside".into(), Value::Object(lineside));
    let mut line = Value::Object(fields).to_string();
    line.push('\n');
    line
}

/// The path of a hook folder as a text; empty where there is none (JC-6).
pub(super) fn folder(folder: Option<&Path>) -> String {
    folder.map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The fields but `lineside`, each only when it has a value.
pub(super) fn fields(reader: &Reader<'_>, event: &AnyEvent) -> Map {
    let mut fields = Map::new();
    fields.insert("event".into(), json!(reader.event.name));
    for field in FIELDS {
        let source = reader.event.readable.iter().find(|(name, _)| *name == field);
        if let Some(value) = source.and_then(|(_, source)| read(event, field, source)) {
            fields.insert(field.into(), value);
        }
    }
    fields.insert("session_id".into(), json!(event.envelope().source.session.as_str()));
    fields.insert("cwd".into(), json!(reader.cwd.to_string_lossy()));
    fields
}

fn read(event: &AnyEvent, field: &str, source: &'static str) -> Option<Value> {
    if field == "model" {
        return model(event).map(|model| json!(model));
    }
    let value = payload_field(event, source)?;
    match (field, value) {
        ("messages", Value::Array(messages)) => Some(Value::Array(messages.clone())),
        ("messages", _) => None,
        // A text even if the tool's input is one.
        ("tool_arguments", input) => Some(Value::String(input.to_string())),
        (_, Value::String(text)) => Some(Value::String(text.clone())),
        (_, other) => Some(Value::String(other.to_string())),
    }
}

/// The model: that of the payload, else the running one, else the selected one (JC-12).
pub(super) fn model(event: &AnyEvent) -> Option<&str> {
    let payload = || payload_field(event, "model").and_then(Value::as_str);
    let envelope = || {
        let model = event.envelope().source.model.as_ref()?;
        model.running.as_deref().or(model.selected.as_deref())
    };
    event.payload().text("model").or_else(payload).filter(|model| !model.is_empty()).or_else(envelope)
}

#[cfg(test)]
mod tests;
