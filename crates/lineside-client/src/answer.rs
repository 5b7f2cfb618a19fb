//! What a hook says, as lineside's own format has it.

use std::time::Duration;

use lineside_core::json::{Map, Value, json};
use lineside_core::{Answer, Append, Said};

/// The answer of an interceptor. The levels of notices, and what only formats of others have, do not travel.
pub(crate) fn written(said: Said) -> Value {
    let Answer { verdict, amendment, context, notices, .. } = said.into();
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
    put("verdict", json!(verdict.strength()));
    if let Some(reason) = verdict.reason() {
        put("reason", json!(reason.as_str()));
    }
    if !amendment.is_empty() {
        put("amend", Value::Object(amendment.fields().clone()));
    }
    if !context.is_empty() {
        put("context", context.iter().map(message).collect());
    }
    if !notices.is_empty() {
        let texts: Vec<&str> = notices.iter().map(|notice| notice.text.as_str()).collect();
        put("notice", json!(texts.join("\n")));
    }
    Value::Object(map)
}

fn message(append: &Append) -> Value {
    let mut map = Map::new();
    map.insert("text".to_owned(), json!(append.text));
    map.insert("role".to_owned(), json!(append.role));
    if let Some(key) = &append.key {
        map.insert("key".to_owned(), json!(key));
    }
    if let Some(expires) = append.expires {
        map.insert("expires_ms".to_owned(), json!(millis(expires).max(1)));
    }
    Value::Object(map)
}

/// A time in milliseconds.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
