//! A JSON value as YAML that people read: mappings and lists in blocks, texts plain where that is safe.

use lineside::json::{Value, to_string};

/// A value as a document.
pub(super) fn document(value: &Value) -> String {
    let mut text = String::new();
    block(value, 0, &mut text);
    text
}

/// The value in lines of their own, at this indentation, the first of which has been begun already.
fn block(value: &Value, indent: usize, text: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (number, (name, value)) in fields.iter().enumerate() {
                if number > 0 {
                    *text += &" ".repeat(indent);
                }
                *text += &scalar(name);
                *text += ":";
                below(value, indent + 2, text);
            }
        }
        Value::Array(values) if !values.is_empty() => {
            for (number, value) in values.iter().enumerate() {
                if number > 0 {
                    *text += &" ".repeat(indent);
                }
                *text += "- ";
                block(value, indent + 2, text);
            }
        }
        Value::String(plain) => *text += &format!("{}\n", scalar(plain)),
        other => *text += &format!("{other}\n"),
    }
}

/// The value behind a key.
fn below(value: &Value, indent: usize, text: &mut String) {
    let is_block = match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(values) => !values.is_empty(),
        _ => false,
    };
    if is_block {
        *text += "\n";
        *text += &" ".repeat(indent);
    } else {
        *text += " ";
    }
    block(value, indent, text);
}

/// A text, in double quotes unless it can stand without: JSON's escapes are those of YAML.
fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|char: char| char.is_ascii_alphabetic())
        && text.chars().all(|char| char.is_ascii_alphanumeric() || "_-./".contains(char))
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .contains(&&*text.to_ascii_lowercase());
    if is_plain { text.to_owned() } else { to_string(text).unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use lineside::dialects::yaml_value;
    use lineside::json::json;

    use super::*;

    #[test]
    fn what_is_written_reads_as_the_same_value() {
        let value = json!({
            "dialect": "native", "empty": {}, "none": [], "on": "no", "n": [1, -2.5, null, true],
            "cases": [{"id": "a.b", "steps": [{"publish": {"x y": "a: b #c\n\té\u{1}\"\\"}}, []]}, [["x"], {}]],
        });
        let text = document(&value);
        assert_eq!(yaml_value(&text).unwrap_or_else(|error| panic!("{error}\n{text}")), value);
        assert!(text.starts_with("dialect: native\n") && text.contains("  - id: a.b\n"), "{text}");
    }
}
