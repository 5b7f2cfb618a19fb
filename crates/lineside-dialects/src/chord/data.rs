//! An event to Chord's `data` (CH-14 to CH-16).

use lineside_core::AnyEvent;
use lineside_core::json::{Map, Value, json};

use super::points::Kind;
use crate::payload_field::payload_field;

/// The fields of `data`.
pub(super) type Data = Map;

/// The `data` of an event as it stands.
pub(super) fn of(kind: Kind, event: &AnyEvent) -> Data {
    let payload = event.payload_json();
    let mut data = Fields { payload, event: Some(event), out: Map::new() };
    let source = &event.envelope().source;
    match kind {
        Kind::SessionStart => {
            data.same("source");
            data.put("session_id", json!(source.session.as_str()));
            data.put_if("cwd", source.cwd.as_deref().map(|cwd| json!(cwd)));
        }
        Kind::SessionEnd => {
            data.or("reason", "reason", || json!(""));
            data.same("stats");
            data.put("session_id", json!(source.session.as_str()));
        }
        Kind::BeforeLlmCall => {
            data.same("model");
            data.or("messages", "messages", || json!([]));
            let count = if has_other_messages(event) { None } else { data.get("message_count") };
            let length = data.length("messages").unwrap_or_default();
            data.put("message_count", count.cloned().unwrap_or_else(|| json!(length)));
            data.same("system_prompt");
            data.same("tools");
        }
        Kind::AfterLlmCall => {
            for name in ["model", "usage"] {
                data.same(name);
            }
            for name in ["input_tokens", "output_tokens"] {
                let tokens =
                    payload.get("usage").and_then(|usage| usage.get(name)).filter(|one| !one.is_null());
                data.put_if(name, tokens.cloned());
            }
            for name in ["stop_reason", "output", "error"] {
                data.same(name);
            }
        }
        Kind::ToolCall => {
            data.same("tool_name");
            data.or("args", "tool_input", || json!({}));
            data.from("call_id", "tool_call_id");
            data.same("timeout_ms");
            // Nothing else of this event can have been amended.
            data.paths(event.version() > 0);
        }
        Kind::ToolResult => {
            data.same("tool_name");
            data.from("args", "tool_input");
            data.from("call_id", "tool_call_id");
            data.text("output", "tool_output");
            data.text("result", "tool_output");
            data.or("diff", "diff", || json!(""));
            for name in ["error", "error_kind", "duration_ms"] {
                data.same(name);
            }
            data.paths(false);
        }
        Kind::BeforeToolResultAppend => {
            data.same("tool_name");
            data.from("args", "tool_input");
            data.text("output", "tool_output");
            data.text("context_result", "tool_output");
            let shown = if data.get("display_output").is_some() { "display_output" } else { "tool_output" };
            data.text("display_result", shown);
            data.put("raw_result", json!(text_of(event.original().value("tool_output"))));
            data.same("error");
            data.paths(false);
        }
        Kind::ToolBatchComplete => {
            data.put("tool_calls", Value::Array(elements(payload, "tool_calls", tool_call)));
            data.put("changed_files", Value::Array(elements(payload, "changed_files", changed_file)));
        }
        Kind::BeforeCompress => {
            data.or("reason", "reason", || payload.get("kind").cloned().unwrap_or_default());
            data.kind();
            data.same("usage");
            let length = data.length("messages").map(|length| json!(length));
            data.put_if("message_count", length);
        }
        Kind::AfterCompress => {
            data.from("reason", "kind");
            data.kind();
            for name in ["usage_before", "usage_after", "summary"] {
                data.same(name);
            }
        }
        Kind::Idle => data.put("agent_id", json!(source.agent.id)),
        Kind::WaitConfirm => {
            data.same("tool_name");
            data.from("args", "tool_input");
            data.put_if("args_json", data.get("tool_input").map(|input| json!(input.to_string())));
            data.same("message");
        }
        Kind::WaitQuestion => {
            data.same("question");
            data.or("options", "options", || json!([]));
        }
        Kind::AgentError => {
            data.same("error");
            data.from("message", "error");
            data.same("error_kind");
        }
    }
    let mut out = data.out;
    // What only the host knows stands beside it (CH-16).
    for (name, value) in event.envelope().extra.iter().flat_map(|extra| extra.iter()) {
        if !out.contains_key(name) {
            out.insert(name.clone(), value.clone());
        }
    }
    out
}

/// A string itself, nothing for null, and compact JSON for anything else (CH-14).
pub(super) fn text_of(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Whether a hook has put other messages in place: the number that the host gave is then that of the old ones (CH-46).
fn has_other_messages(event: &AnyEvent) -> bool {
    event.version() > 0 && event.original().to_json().get("messages") != event.payload_json().get("messages")
}

/// Reads fields of a JSON object into another one. What is null counts as absent.
struct Fields<'a> {
    payload: &'a Map,
    /// The event whose payload this is; absent for an element of a list.
    event: Option<&'a AnyEvent>,
    out: Data,
}

impl<'a> Fields<'a> {
    fn get(&self, name: &str) -> Option<&'a Value> {
        match self.event {
            Some(event) => payload_field(event, name),
            None => self.payload.get(name).filter(|value| !value.is_null()),
        }
    }

    fn put(&mut self, name: &str, value: Value) {
        self.out.insert(name.to_owned(), value);
    }

    fn put_if(&mut self, name: &str, value: Option<Value>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    fn same(&mut self, name: &str) {
        self.from(name, name);
    }

    fn from(&mut self, name: &str, field: &str) {
        self.put_if(name, self.get(field).cloned());
    }

    fn or(&mut self, name: &str, field: &str, default: impl FnOnce() -> Value) {
        let value = self.get(field).cloned().unwrap_or_else(default);
        self.put(name, value);
    }

    fn text(&mut self, name: &str, field: &str) {
        self.put(name, Value::String(text_of(self.get(field))));
    }

    fn length(&self, field: &str) -> Option<usize> {
        self.get(field)?.as_array().map(Vec::len)
    }

    fn kind(&mut self) {
        self.same("kind");
        let manual = self.payload.get("kind").and_then(Value::as_str) == Some("manual");
        self.put("manual", json!(manual));
    }

    /// Adds the paths of the call: those that the event lists, or else those in the arguments (CH-15).
    fn paths(&mut self, amended: bool) {
        let listed =
            || self.get("paths").and_then(Value::as_array).filter(|paths| !paths.is_empty()).cloned();
        let named = || Some(named(self.payload.get("tool_input")?)).filter(|paths| !paths.is_empty());
        // What the host says of the paths is about the arguments that are gone (CH-45).
        let paths = if amended { named().or_else(listed) } else { listed().or_else(named) };
        if let Some(paths) = paths {
            self.put_if("path", paths.first().cloned());
            self.put("paths", Value::Array(paths));
        }
    }
}

/// The paths in the arguments of a call: the first text of `path`, `file_path` and `notebook_path`, else those of `paths`
/// (CH-15).
fn named(input: &Value) -> Vec<Value> {
    let is_text = |value: &&Value| value.as_str().is_some_and(|text| !text.is_empty());
    let one =
        ["path", "file_path", "notebook_path"].into_iter().find_map(|key| input.get(key).filter(is_text));
    match one {
        Some(path) => vec![path.clone()],
        None => {
            let list = input.get("paths").and_then(Value::as_array).into_iter().flatten();
            list.filter(is_text).cloned().collect()
        }
    }
}

fn elements(payload: &Map, list: &str, read: fn(Fields<'_>) -> Data) -> Vec<Value> {
    let elements = payload.get(list).and_then(Value::as_array).into_iter().flatten();
    elements
        .filter_map(Value::as_object)
        .map(|payload| Value::Object(read(Fields { payload, event: None, out: Map::new() })))
        .collect()
}

fn tool_call(mut call: Fields<'_>) -> Data {
    call.from("call_id", "tool_call_id");
    call.same("tool_name");
    call.from("args", "tool_input");
    call.text("output", "tool_output");
    call.text("result", "tool_output");
    call.or("error", "error", || json!(""));
    call.paths(false);
    call.out
}

fn changed_file(mut file: Fields<'_>) -> Data {
    file.same("path");
    let path: Vec<Value> = file.get("path").cloned().into_iter().collect();
    file.put("paths", Value::Array(path));
    file.same("tool_name");
    file.from("tool", "tool_name");
    file.or("is_new", "is_new", || json!(false));
    file.or("is_deleted", "is_deleted", || json!(false));
    file.or("diff", "diff", || json!(""));
    file.out
}

#[cfg(test)]
mod tests;
