//! What a case leaves out of a payload: a required field that its hooks do not look at may be absent in a case, and is
//! empty then. `run` refuses such an event, because there it would be a fault of the host.

use std::sync::Arc;
use std::vec::IntoIter;

use lineside::core::payload::DecodePayloadError;
use lineside::core::{Payload, PointInfo};
use lineside::json::{Map, Value, json};
use lineside::wire::Vocabulary;

/// Fills the gaps of an event's payload. An event that cannot be read for another reason stays as it is.
pub(super) fn fill(event: &mut Map, vocabulary: &Vocabulary) {
    let Some(name) = event.get("point").and_then(Value::as_str) else { return };
    let given = match event.get("payload") {
        None => Map::new(),
        Some(Value::Object(given)) => given.clone(),
        Some(_) => return,
    };
    if let Ok(point) = vocabulary.point(name, &given) {
        event.insert("payload".to_owned(), Value::Object(filled(point, given)));
    }
}

/// Every gap gets the first of the empty values, and the next one as long as the point does not take it there.
fn filled(point: &'static PointInfo, mut payload: Map) -> Map {
    let mut gaps: Vec<(&'static str, IntoIter<Value>)> = Vec::new();
    loop {
        let field = match decode(point, &payload) {
            Err(DecodePayloadError::Missing { field, .. }) => {
                gaps.push((field, vec![Value::Null, json!([]), json!(false), json!("")].into_iter()));
                field
            }
            Err(DecodePayloadError::WrongType { field, .. }) => field,
            _ => return payload,
        };
        match gaps.iter_mut().find(|(gap, _)| *gap == field).and_then(|(_, values)| values.next()) {
            Some(value) => payload.insert(field.to_owned(), value),
            None => return payload,
        };
    }
}

fn decode(point: &'static PointInfo, payload: &Map) -> Result<Arc<dyn Payload>, DecodePayloadError> {
    (point.decode)(point, payload.clone())
}

#[cfg(test)]
mod tests {
    use lineside::json::{Value, json};

    use super::filled;

    fn check(point: &str, given: &Value, expected: &Value) {
        let point = lineside::points::find(point).unwrap();
        let Value::Object(given) = given else { panic!("not an object") };
        assert_eq!(&Value::Object(filled(point, given.clone())), expected);
    }

    #[test]
    fn what_is_absent_is_empty() {
        check("before_tool", &json!({"tool_name": "T"}), &json!({"tool_name": "T", "tool_input": null}));
        check("after_tool_batch", &json!({}), &json!({"tool_calls": [], "changed_files": []}));
        check("before_stop", &json!({"output": "x"}), &json!({"output": "x", "stop_active": false}));
        check("after_model", &json!({}), &json!({"model": ""}));
    }
}
