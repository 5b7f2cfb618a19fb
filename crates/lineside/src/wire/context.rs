//! A message for an agent's context as JSON.

use lineside_core::ContextMessage;
use lineside_core::json::{Map, Value};

/// A message: `id`, `hook`, `dialect`, `point`, `event`, `session`, `role`, `key?`, `text`, `cut?`.
#[must_use]
pub fn message(message: &ContextMessage) -> Map {
    match lineside_core::json::to_value(message) {
        Ok(Value::Object(fields)) => fields,
        // Its fields are strings and numbers, which JSON has.
        _ => Map::new(),
    }
}
