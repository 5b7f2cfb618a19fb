//! Templates of answers: what stands in their places, and how several of them become one document.

use lineside_core::json::{Map, Value};

/// What stands in the places of a template.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Filling<'a> {
    /// `$E`
    pub(super) event: &'a str,
    /// `$R`, and `$r` where it is not empty
    pub(super) reason: &'a str,
    /// `$X`; in the words of a verdict the reason as context
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

#[cfg(test)]
mod tests {
    use lineside_core::json::{Map, Value, from_str, json};

    use super::{Filling, fill, merge};

    fn map(value: &str) -> Map {
        from_str(value).unwrap()
    }

    #[test]
    fn each_place_has_its_value_and_an_empty_reason_may_leave_no_place() {
        let value = json!({"a": [1]});
        let full = Filling { event: "e", reason: "r", context: "x", notices: "n", value: Some(&value) };
        let template = r#"{"e": "$E", "o": {"R": "$R", "l": ["$r", "$X", "$N", "$V", "$", "t", 1]}}"#;
        let expected = json!({"e": "e", "o": {"R": "r", "l": ["r", "x", "n", {"a": [1]}, "$", "t", 1]}});
        assert_eq!(Value::from(fill(template, &full)), expected);
        let expected = json!({"e": "", "o": {"R": "", "l": ["", "", null, "$", "t", 1]}});
        assert_eq!(Value::from(fill(template, &Filling::default())), expected);
    }

    #[test]
    fn documents_become_one_and_texts_for_people_are_joined() {
        for (into, from, expected) in [
            (r#"{"a": 1}"#, r#"{"b": 2}"#, r#"{"a": 1, "b": 2}"#),
            (r#"{"a": "x"}"#, r#"{"a": "y"}"#, r#"{"a": "y"}"#),
            (r#"{"systemMessage": "x"}"#, r#"{"systemMessage": "y"}"#, r#"{"systemMessage": "x\ny"}"#),
            (r#"{"user_message": "x"}"#, r#"{"user_message": "x"}"#, r#"{"user_message": "x"}"#),
            (
                r#"{"hookSpecificOutput": {"a": 1, "additionalContext": "x"}}"#,
                r#"{"hookSpecificOutput": {"b": 2, "additionalContext": "y"}}"#,
                r#"{"hookSpecificOutput": {"a": 1, "additionalContext": "x\n\ny", "b": 2}}"#,
            ),
            (r#"{"decision": {"a": 1}}"#, r#"{"decision": {"b": 2}}"#, r#"{"decision": {"a": 1, "b": 2}}"#),
            (
                r#"{"updatedInput": {"a": 1}}"#,
                r#"{"updatedInput": {"b": 2}}"#,
                r#"{"updatedInput": {"b": 2}}"#,
            ),
            (r#"{"decision": "x"}"#, r#"{"decision": {"b": 2}}"#, r#"{"decision": {"b": 2}}"#),
        ] {
            let mut document = map(into);
            merge(&mut document, map(from));
            assert_eq!(document, map(expected), "{into} {from}");
        }
    }
}
