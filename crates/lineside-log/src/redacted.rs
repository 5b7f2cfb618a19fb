//! Payloads and texts on their way into the store: without secrets, and no longer than there is room for.

use std::borrow::Cow;

use lineside_core::json::{self, Value, json};
use lineside_redact::{REDACTED, redact, redact_head};

/// The longest text within a payload, and the longest payload, in bytes. A longer text is cut, a longer payload left out.
const LONGEST_TEXT: usize = 16 << 10;
const LONGEST_PAYLOAD: usize = 256 << 10;

/// The longest name of a tool, which is kept in memory as well.
const LONGEST_NAME: usize = 512;

/// The longest reason, message or detail.
const LONGEST_REMARK: usize = 4 << 10;

/// As much of the name of a tool as is kept; the payload has all of it.
pub(crate) fn name(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LONGEST_NAME)).unwrap_or_default()
}

/// The only field of a payload that was left out.
pub(crate) const LEFT_OUT: &str = "left_out_bytes";

/// Whether a text of a payload was cut.
pub(crate) fn is_cut(text: &str) -> bool {
    let length = text.strip_suffix(" bytes)").and_then(|text| text.rsplit_once("… ("));
    length.is_some_and(|(_, digits)| digits.parse::<usize>().is_ok_and(|length| length > LONGEST_TEXT))
}

/// A payload as compact JSON without its secrets.
pub(crate) fn payload(text: &str) -> Cow<'_, str> {
    let is_plain = |text: &str| matches!(redact(text), Cow::Borrowed(_));
    // Words of a list stand beside one another as in a line.
    let is_plain_in_lists =
        || !text.contains("[\"") || is_plain(&text.replace(":[\"", ":\"").replace("\",\"", " "));
    let has_escapes = text.contains('\\');
    if text.len() <= LONGEST_TEXT && !has_escapes && is_plain(text) && is_plain_in_lists() {
        return Cow::Borrowed(text);
    }
    let Ok(mut value) = json::from_str::<Value>(text) else { return Cow::Borrowed("{}") };
    clean(&mut value);
    let text = value.to_string();
    if text.len() <= LONGEST_PAYLOAD {
        return Cow::Owned(text);
    }
    Cow::Owned(json!({ (LEFT_OUT): text.len() }).to_string())
}

/// A value of an amendment, as [`payload`].
pub(crate) fn value(value: &Value) -> String {
    let mut value = value.clone();
    clean(&mut value);
    let text = value.to_string();
    if text.len() <= LONGEST_PAYLOAD { text } else { json!({ (LEFT_OUT): text.len() }).to_string() }
}

/// A reason or a message.
pub(crate) fn remark(text: &str) -> String {
    if text.len() <= LONGEST_REMARK {
        return redact(text).into_owned();
    }
    format!("{}… ({} bytes)", redact_head(text, LONGEST_REMARK), text.len())
}

/// Takes secrets out of the texts in a value, one by one, so that it stays a value.
fn clean(value: &mut Value) {
    match value {
        Value::String(text) => {
            let length = text.len();
            if length > LONGEST_TEXT {
                *text = format!("{}… ({length} bytes)", redact_head(text, LONGEST_TEXT));
            } else if let Cow::Owned(changed) = redact(text) {
                *text = changed;
            }
        }
        Value::Array(values) => {
            values.iter_mut().for_each(clean);
            // A secret that nothing but the program and the option before it give away, as in the words of a command.
            for place in 1..values.len() {
                let text = |at: usize| values[at].as_str().unwrap_or_default();
                let (option, word) = (text(place - 1), text(place));
                if !option.starts_with('-') && !word.starts_with('-') {
                    continue;
                }
                let before = if place > 1 { format!("{} {option} ", text(0)) } else { format!("{option} ") };
                if let Cow::Owned(line) = redact(&format!("{before}{word}"))
                    && let Some(cleaned) = line.strip_prefix(&before).filter(|cleaned| *cleaned != word)
                {
                    values[place] = json!(cleaned);
                }
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                let named = |value: &mut Value| {
                    let before = value.clone();
                    clean(value);
                    // A secret that nothing but its name gives away.
                    let is_scalar = matches!(value, Value::String(_) | Value::Number(_));
                    if is_scalar && *value == before {
                        let pair = json!({ (name): before }).to_string();
                        if matches!(redact(&pair), Cow::Owned(_)) {
                            *value = json!(REDACTED);
                        }
                    }
                };
                match field {
                    Value::Array(values) if values.iter().all(|value| !value.is_object()) => {
                        values.iter_mut().for_each(named);
                        clean(field);
                    }
                    field => named(field),
                }
            }
            let is_secret = |name: &str| matches!(redact(name), Cow::Owned(_));
            if fields.iter().any(|(name, _)| is_secret(name)) {
                for (name, field) in std::mem::take(fields) {
                    // Those of several secrets stand apart.
                    let mut name = redact(&name).into_owned();
                    while fields.contains_key(&name) {
                        name.push('\'');
                    }
                    fields.insert(name, field);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_without_secrets_is_not_copied_and_one_with_secrets_stays_json() {
        let plain = r#"{"tool_input":{"command":"ls -l"}}"#;
        assert!(matches!(payload(plain), Cow::Borrowed(text) if text == plain));
        for (before, after) in [
            (r#"{"command":"curl -H 'cookie: a=1' https://x"}"#, "a=1"),
            (r#"{"command":"cookie: a=12345678 \"x\"","n":1}"#, "a=12345678"),
            (r#"{"a":{"password":"hunter2"}}"#, "hunter2"),
            (r#"{"a":["-----BEGIN PRIVATE KEY-----\nMIIEvQ","b"],"c":"kept"}"#, "MIIEvQ"),
            (r#"{"api_key":123456789012}"#, "123456789012"),
            (r#"{"content":"x\nghp_0123456789abcdefABCD\n"}"#, "456789abcdefABCD"),
            (r#"{"content":"x\n\tTOKEN=abcd1234efgh"}"#, "abcd1234efgh"),
            (r#"{"command":"cd x\nmysql -phunter2 db"}"#, "hunter2"),
            (r#"{"api_key":["hunter2hunter2","b"]}"#, "hunter2hunter2"),
            (r#"{"command":["mysql","--password","hunter2hunter2","db"]}"#, "hunter2hunter2"),
            (r#"{"command":["mysql","-phunter2hunter2","db"]}"#, "hunter2hunter2"),
            (r#"{"command":["curl","-s","-u","me:hunter2hunter2","https://x"]}"#, "hunter2hunter2"),
            (r#"{"command":"mysql -u root -phunter2 db"}"#, "hunter2"),
            (r#"{"a":{"ghp_0123456789abcdefABCD":1,"b":2}}"#, "ghp_0123456789abcdefABCD"),
            (r#"{"ghp_0123456789abcdefABCD":{"ghp_1123456789abcdefABCD":"x"}}"#, "456789abcdefABCD"),
        ] {
            let text = payload(before);
            assert!(!text.contains(after) && text.contains(REDACTED), "{text}");
            json::from_str::<Value>(&text).unwrap();
        }
        assert!(payload(r#"{"a":["-----BEGIN PRIVATE KEY-----\nMIIEvQ","b"],"c":"kept"}"#).contains("kept"));
    }

    #[test]
    fn what_is_too_long_is_cut_or_left_out_and_stays_json() {
        let long = json!({"content": "x".repeat(100_000), "path": "a"}).to_string();
        let cut = payload(&long);
        assert!(cut.len() < 20_000 && cut.contains("(100000 bytes)") && cut.contains("\"path\":\"a\""));
        let many = json!({"all": vec!["x".repeat(10_000); 40]}).to_string();
        assert!(payload(&many).contains("left_out_bytes"));
        assert!(remark(&"y".repeat(10_000)).contains("(10000 bytes)"));
    }
}
