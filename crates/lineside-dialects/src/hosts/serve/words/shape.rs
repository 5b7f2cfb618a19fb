//! A result that keeps the shape that its host expects, with another text (CL-9).

use lineside_core::json::Value;

/// The keys under which a text of a result stands.
const TEXTS: [&str; 8] = ["stdout", "stderr", "content", "output", "text", "result", "body", "message"];

/// The result with a new text, or with a new value that has a shape of its own; `None` where it has no text that
/// could be replaced.
pub(super) fn fitted(result: &Value, new: &Value) -> Option<Value> {
    let text = match new {
        Value::String(text) => text.clone(),
        Value::Object(_) => return Some(new.clone()),
        Value::Array(_) if result.is_array() => return Some(new.clone()),
        other => other.to_string(),
    };
    match result {
        Value::String(_) => Some(Value::String(text)),
        Value::Object(_) | Value::Array(_) => {
            let mut result = result.clone();
            let mut next = Some(text);
            replace(&mut result, &mut next);
            next.is_none().then_some(result)
        }
        _ => None,
    }
}

/// The first text leaf becomes the new text, every other one empty.
fn replace(value: &mut Value, next: &mut Option<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                match member {
                    Value::String(text) if TEXTS.contains(&name.as_str()) => {
                        *text = next.take().unwrap_or_default();
                    }
                    Value::String(_) => {}
                    other => replace(other, next),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, next)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use lineside_core::json::{Value, json};

    use super::fitted;

    #[test]
    fn the_examples_of_the_page_hold() {
        for (result, new, expected) in [
            (json!("ok"), json!("gone"), Some(json!("gone"))),
            (
                json!({"stdout": "k=1", "stderr": "w", "interrupted": false, "isImage": false}),
                json!("gone"),
                Some(json!({"stdout": "gone", "stderr": "", "interrupted": false, "isImage": false})),
            ),
            (
                json!({"type": "text", "file": {"filePath": "/a", "content": "k"}}),
                json!("gone"),
                Some(json!({"type": "text", "file": {"filePath": "/a", "content": "gone"}})),
            ),
            (json!({"filePath": "/a", "success": true}), json!("gone"), None),
            (json!({"stdout": "a"}), json!({"stdout": "b"}), Some(json!({"stdout": "b"}))),
            (Value::Null, json!("gone"), None),
            (
                json!([{"type": "text", "text": "k"}, {"type": "text", "text": "l"}]),
                json!("gone"),
                Some(json!([{"type": "text", "text": "gone"}, {"type": "text", "text": ""}])),
            ),
            (json!([{"text": "k"}]), json!([]), Some(json!([]))),
            (json!(["k"]), json!("gone"), None),
            (json!("ok"), json!([1]), Some(json!("[1]"))),
            (json!({"text": "a"}), json!([1]), Some(json!({"text": "[1]"}))),
            (
                json!({"content": [{"type": "text", "text": "a"}, {"text": "b"}], "note": "c"}),
                json!("gone"),
                Some(json!({"content": [{"type": "text", "text": "gone"}, {"text": ""}], "note": "c"})),
            ),
            (json!({"text": "a"}), json!(7), Some(json!({"text": "7"}))),
            (json!({"text": 1, "note": "a"}), json!("gone"), None),
        ] {
            assert_eq!(fitted(&result, &new), expected, "{result}");
        }
    }
}
