//! What an amendment has changed: the lines of text that went and those that came.

use lineside::json::Value;

/// The lines before and after, without those that both have.
pub(crate) fn difference(before: &Value, after: &Value) -> (Vec<String>, Vec<String>) {
    let (before, after) = (lines(before, after), lines(after, before));
    let only = |these: &[String], those: &[String]| {
        these.iter().filter(|line| !those.contains(line)).cloned().collect::<Vec<_>>()
    };
    (only(&before, &after), only(&after, &before))
}

/// The lines of a text; of an object, those of the fields in which it differs from another one.
fn lines(value: &Value, other: &Value) -> Vec<String> {
    match value {
        Value::String(text) => text.lines().map(str::to_owned).collect(),
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, field)| other.get(name.as_str()) != Some(field))
            .flat_map(|(name, field)| lines(field, other.get(name.as_str()).unwrap_or(&Value::Null)))
            .collect(),
        Value::Null => Vec::new(),
        other => vec![other.to_string()],
    }
}

#[cfg(test)]
mod tests {
    use lineside::json::json;

    use super::difference;

    #[test]
    fn only_what_differs_is_told() {
        let (before, after) = difference(&json!("a\nold\nb"), &json!("a\nnew\nb"));
        assert_eq!((before, after), (vec!["old".to_owned()], vec!["new".to_owned()]));
        let (before, after) =
            difference(&json!({"command": "x", "cwd": "/"}), &json!({"command": "y", "cwd": "/"}));
        assert_eq!((before, after), (vec!["x".to_owned()], vec!["y".to_owned()]));
    }
}
