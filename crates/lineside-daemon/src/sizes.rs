//! How much memory a JSON value holds, about: for bounds in bytes, not for accounts.

use lineside::json::{Map, Value};

/// What a value costs beside its text.
const ENTRY: usize = 48;

/// The bytes of an object, about.
pub(crate) fn object(fields: &Map) -> usize {
    fields.iter().map(|(name, field)| ENTRY + name.len() + value(field)).sum()
}

fn value(one: &Value) -> usize {
    match one {
        Value::Null | Value::Bool(_) | Value::Number(_) => ENTRY,
        Value::String(text) => ENTRY + text.len(),
        Value::Array(items) => ENTRY + items.iter().map(value).sum::<usize>(),
        Value::Object(fields) => ENTRY + object(fields),
    }
}
