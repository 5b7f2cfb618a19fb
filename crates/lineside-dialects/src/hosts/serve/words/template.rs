//! Templates of answers: what stands in their places, and how several of them become one document.

use lineside_core::json::{Map, Value};

/// What stands in the places of a template.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Filling<'a> {
    /// `$E`
    pub(super) event: &'a str,
    /// `$R`, and `$r` where it is not empty
    pub(super) reason: &'a str,
    /// `$X`
    pub(super) context: &'a str,
    /// `$N`
    pub(super) notices: &'a str,
    /// `$V`
    pub(super) value: Option<&'a Value>,
}

/// The document of a template.
pub(super) fn fill(template: &str, filling: &Filling<'_>) -> Map {
    filled(lineside_core::json::from_str(template).unwrap_or_default(), filling)
}

fn filled(document: Map, filling: &Filling<'_>) -> Map {
    document.into_iter().filter_map(|(name, value)| Some((name, place(value, filling)?))).collect()
}

fn place(value: Value, filling: &Filling<'_>) -> Option<Value> {
    match value {
        Value::String(text) => match text.as_str() {
            "$E" => Some(filling.event.into()),
            "$R" => Some(filling.reason.into()),
            "$r" => (!filling.reason.is_empty()).then(|| filling.reason.into()),
            "$X" => Some(filling.context.into()),
            "$N" => Some(filling.notices.into()),
            "$V" => Some(filling.value.cloned().unwrap_or_default()),
            _ => Some(text.into()),
        },
        Value::Array(items) => Some(items.into_iter().filter_map(|item| place(item, filling)).collect()),
        Value::Object(members) => Some(filled(members, filling).into()),
        other => Some(other),
    }
}

/// The texts that are joined and not replaced where two documents have them.
const JOINED: [(&str, &str); 4] = [
    ("additionalContext", "\n\n"),
    ("additional_context", "\n\n"),
    ("systemMessage", "\n"),
    ("user_message", "\n"),
];

/// Adds a document to another one: members of objects one by one, a later value in place of an earlier one.
pub(super) fn merge(into: &mut Map, from: Map) {
    for (name, value) in from {
        match (into.get_mut(&name), value) {
            (Some(Value::Object(known)), Value::Object(more)) if is_frame(&name) => merge(known, more),
            (Some(Value::String(known)), Value::String(more)) if *known != more => {
                match JOINED.iter().find(|(joined, _)| *joined == name) {
                    Some((_, between)) => *known = format!("{known}{between}{more}"),
                    None => *known = more,
                }
            }
            (_, value) => {
                into.insert(name, value);
            }
        }
    }
}

/// The objects that several words write into.
fn is_frame(name: &str) -> bool {
    matches!(name, "hookSpecificOutput" | "decision")
}
