//! The texts of a document as its host wrote them, where that is not how they are written here (HO-10).

use lineside_core::json::{Map, Value};

use crate::raw_object::RawObject;

/// The fields of a document whose JSON has escapes that are not written here, each with its JSON: compact, and with the
/// escapes as they came.
pub(super) fn spellings(stdin: &[u8], document: &Map) -> Vec<(String, String)> {
    // Numbers keep their digits by themselves.
    if !stdin.contains(&b'\\') {
        return Vec::new();
    }
    let Ok(fields) = serde_json::from_slice::<RawObject>(stdin) else { return Vec::new() };
    let values = fields.by_name();
    let spelling = |(name, value): (&String, &Value)| {
        let json = values.get(name.as_str())?.last()?.get();
        if !json.contains('\\') {
            return None;
        }
        let json = compact(json);
        let written = value.to_string();
        (json != written).then(|| (name.clone(), json))
    };
    document.iter().filter_map(spelling).collect()
}

/// JSON without the white space between its tokens.
fn compact(json: &str) -> String {
    let mut written = String::with_capacity(json.len());
    let (mut in_text, mut is_escaped) = (false, false);
    for character in json.chars() {
        if !in_text && matches!(character, ' ' | '\t' | '\r' | '\n') {
            continue;
        }
        written.push(character);
        if character == '"' && !is_escaped {
            in_text = !in_text;
        }
        is_escaped = in_text && character == '\\' && !is_escaped;
    }
    written
}

#[cfg(test)]
mod tests {
    use lineside_core::json::{Map, from_slice};

    use super::spellings;

    fn check(document: &str, expected: &[(&str, &str)]) {
        let read: Map = from_slice(document.as_bytes()).unwrap();
        let found = spellings(document.as_bytes(), &read);
        let found: Vec<(&str, &str)> = found.iter().map(|(name, json)| (&**name, &**json)).collect();
        assert_eq!(found, expected, "{document}");
    }

    #[test]
    fn what_is_written_as_it_would_be_here_is_not_kept() {
        check(r#"{"a": "x\ny", "b": 1.50, "c": "café"}"#, &[]);
    }

    #[test]
    fn escapes_stay_and_white_space_between_tokens_goes() {
        check(
            r#"{"a": "caf\u00e9", "b": ["\/", { "c" : "\\ \" \u0041" }], "d": "\\"}"#,
            &[("a", r#""caf\u00e9""#), ("b", r#"["\/",{"c":"\\ \" \u0041"}]"#)],
        );
    }
}
