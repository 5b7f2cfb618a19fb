//! JSON at the rim: reading it strictly, and looking for strings in it.
//!
//! Strict means: one value and nothing else, no duplicate key, at most 64 levels deep. What is read is kept exactly:
//! numbers keep their digits, objects their order.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The deepest nesting that is read.
pub const DEEPEST: u8 = 64;

/// Reads one JSON value strictly.
///
/// # Errors
/// Anything that is not exactly one JSON value in UTF-8, a key that occurs twice in an object, more than 64 levels.
/// The message gives line and column, counted from 1.
pub fn read_strict(text: &[u8]) -> Result<Value, serde_json::Error> {
    read_strict_within(text, DEEPEST)
}

/// Reads one JSON value strictly, with another bound for its depth: what is wrapped is deeper than what it wraps.
/// More than 126 levels are never read.
///
/// # Errors
/// Those of [`read_strict`].
pub fn read_strict_within(text: &[u8], deepest: u8) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = Strict { depth: 0, deepest }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Whether `found` holds for some string value within `value`, at any depth; keys are not values.
pub fn any_string(value: &Value, found: &mut dyn FnMut(&str) -> bool) -> bool {
    match value {
        Value::String(text) => found(text),
        Value::Array(items) => items.iter().any(|item| any_string(item, found)),
        Value::Object(fields) => fields.values().any(|item| any_string(item, found)),
        _ => false,
    }
}

#[derive(Clone, Copy)]
struct Strict {
    depth: u8,
    deepest: u8,
}

impl Strict {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth >= self.deepest {
            return Err(E::custom(format_args!("nested more than {} levels deep", self.deepest)));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(inner)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            // Numbers with all their digits arrive as a map with this one key.
            if key == NUMBER {
                let digits: String = entries.next_value()?;
                return digits.parse::<Number>().map(Value::Number).map_err(A::Error::custom);
            }
            if map.contains_key(&key) {
                return Err(A::Error::custom(format_args!("duplicate key `{key}`")));
            }
            let value = entries.next_value_seed(inner)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// How serde_json hands over a number whose digits it has kept (feature `arbitrary_precision`).
const NUMBER: &str = "$serde_json::private::Number";

#[cfg(test)]
mod tests {
    use super::{read_strict, read_strict_within};

    fn check(text: &str, expected: Result<&str, &str>) {
        match (read_strict(text.as_bytes()), expected) {
            (Ok(value), Ok(expected)) => assert_eq!(value.to_string(), expected),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (got, expected) => panic!("{text}: {got:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn values_are_kept_exactly() {
        check(
            "{\"b\":1,\"a\":[1e999,-0,9007199254740993,1.10]}",
            Ok("{\"b\":1,\"a\":[1e+999,-0,9007199254740993,1.10]}"),
        );
        check(" \"\\u00e9\" ", Ok("\"é\""));
    }

    #[test]
    fn what_is_ambiguous_is_refused() {
        check("{\"decision\":\"deny\",\"decision\":\"allow\"}", Err("duplicate key `decision`"));
        check("{} {}", Err("trailing characters"));
        check("{\"a\":", Err("EOF"));
        check("\"\\ud800\"", Err("hex escape"));
        check(&format!("{}{}", "[".repeat(65), "]".repeat(65)), Err("64 levels"));
        check(
            &format!("{}1{}", "[".repeat(64), "]".repeat(64)),
            Ok(&format!("{}1{}", "[".repeat(64), "]".repeat(64))),
        );
        assert!(read_strict(b"\"\xff\"").is_err());
        assert!(read_strict("[".repeat(100_000).as_bytes()).is_err());
        assert!(read_strict_within(b"{\"a\":[1]}", 2).is_ok());
        assert!(read_strict_within(b"{\"a\":[[1]]}", 2).is_err());
    }
}
