//! `{ "$text": [ part, … ] }`, which may stand wherever a string may, and `$CASE`, which stands for the directory of
//! the case.

use anyhow::{Result, bail};
use lineside::json::{Map, Value};

use super::fields::Fields;

/// The most that a text may come to.
const LONGEST: usize = 64 << 20;

/// The key of a long text.
const TEXT: &str = "$text";

/// Puts every long text in its place.
///
/// # Errors
/// One that is no list of parts, or comes to more than 64 MiB.
pub(super) fn expand(value: Value) -> Result<Value> {
    match value {
        Value::Object(map) if map.contains_key(TEXT) => text(&Value::Object(map)).map(Value::String),
        Value::Object(map) => {
            let mut expanded = Map::new();
            for (key, value) in map {
                expanded.insert(key, expand(value)?);
            }
            Ok(Value::Object(expanded))
        }
        Value::Array(items) => Ok(Value::Array(items.into_iter().map(expand).collect::<Result<_>>()?)),
        other => Ok(other),
    }
}

fn text(value: &Value) -> Result<String> {
    let mut fields = Fields::of("a $text", value)?;
    let parts: Vec<Value> = fields.required(TEXT)?;
    fields.finish()?;
    let mut whole = String::new();
    for part in &parts {
        let (times, of) = match part {
            Value::String(text) => (1, text.clone()),
            part => {
                let mut fields = Fields::of("a part of a $text", part)?;
                let repeated = (fields.required("times")?, fields.required::<String>("of")?);
                fields.finish()?;
                repeated
            }
        };
        let fits = of.len().checked_mul(times).is_some_and(|more| whole.len() + more <= LONGEST);
        if !fits {
            bail!("a $text comes to more than {LONGEST} bytes");
        }
        whole.push_str(&of.repeat(times));
    }
    Ok(whole)
}

/// Writes the directory of the case in the place of `$CASE` in every string; keys stay.
pub(super) fn in_directory(value: &mut Value, directory: &str) {
    match value {
        Value::String(text) if text.contains("$CASE") => *text = text.replace("$CASE", directory),
        Value::Array(items) => items.iter_mut().for_each(|item| in_directory(item, directory)),
        Value::Object(map) => map.values_mut().for_each(|value| in_directory(value, directory)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use lineside::json::json;

    use super::*;

    #[test]
    fn parts_are_joined_wherever_they_stand() {
        let value = json!({"a": [{"$text": ["x", {"times": 3, "of": "yz"}]}], "b": {"$text": []}});
        assert_eq!(expand(value).unwrap(), json!({"a": ["xyzyzyz"], "b": ""}));
    }

    #[test]
    fn a_text_is_bounded_and_exact() {
        let refused = |value: Value| expand(value).unwrap_err().to_string();
        let huge = json!({"$text": [{"times": usize::MAX, "of": "xy"}]});
        assert_eq!(refused(huge), "a $text comes to more than 67108864 bytes");
        assert_eq!(
            refused(json!({"$text": "x"})),
            "`$text` of a $text: invalid type: string \"x\", expected a sequence"
        );
        assert_eq!(refused(json!({"$text": [], "k": 1})), "unknown key `k` in a $text; known are $text");
    }

    #[test]
    fn the_directory_is_written_into_values() {
        let mut value = json!({"$CASE": ["$CASE/a:$CASE", 1]});
        in_directory(&mut value, "/t");
        assert_eq!(value, json!({"$CASE": ["/t/a:/t", 1]}));
    }
}
