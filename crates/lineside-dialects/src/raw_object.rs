//! A JSON object whose fields are read one by one from their source, so that nothing beside a field, however odd, can
//! undo it.
//!
//! What a field should be is asked elsewhere.

use std::collections::HashMap;
use std::fmt;

use lineside_core::invocation::Captured;
use lineside_core::json::{Map, Value, read_strict};
use lineside_core::{Failure, FailureKind};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::text::{in_one_line, truncated};

/// The fields of an object in order, each as it is written.
#[derive(Debug, Clone)]
pub(crate) struct RawObject(Vec<(String, Box<RawValue>)>);

impl RawObject {
    /// The values of a field that are not null, which is as good as absent.
    pub(crate) fn all(&self, name: &str) -> impl DoubleEndedIterator<Item = &RawValue> {
        #[cfg(test)]
        tests::WALKED.with(|walked| walked.set(walked.get() + self.0.len()));
        self.0
            .iter()
            .filter(move |(field, value)| field == name && value.get() != "null")
            .map(|(_, value)| &**value)
    }

    /// The values of each field that are not null, in order: for a caller that wants every name, as one walk through the fields
    /// for each of them is long where there are many.
    pub(crate) fn by_name(&self) -> HashMap<&str, Vec<&RawValue>> {
        let mut values: HashMap<&str, Vec<&RawValue>> = HashMap::new();
        for (name, value) in self.0.iter().filter(|(_, value)| value.get() != "null") {
            values.entry(name).or_default().push(value);
        }
        values
    }

    /// Whether one who takes some value of a field may find none: it is not there, or one of its values is null.
    pub(crate) fn may_lack(&self, name: &str) -> bool {
        let mut written = self.0.iter().filter(|(field, _)| field == name).peekable();
        written.peek().is_none() || written.any(|(_, value)| value.get() == "null")
    }

    /// The names of the fields, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Whether a field is there twice.
    #[must_use]
    pub(crate) fn has_doubles(&self) -> bool {
        let mut names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// All values of a field whose name is this one but for the case of ASCII letters.
    pub(crate) fn all_ignoring_case(&self, name: &str) -> impl Iterator<Item = &RawValue> {
        self.0.iter().filter(move |(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }

    /// The last value of a field whose name is this one but for the case of ASCII letters, and that is not null.
    #[must_use]
    pub(crate) fn last_ignoring_case(&self, name: &str) -> Option<&RawValue> {
        let (_, value) = self.0.iter().rfind(|(field, _)| field.eq_ignore_ascii_case(name))?;
        (value.get() != "null").then_some(value)
    }

    /// The value of a field that may be there once; absent when it is null.
    ///
    /// # Errors
    /// It is there twice and could mean either.
    pub(crate) fn one(&self, name: &str) -> Result<Option<&RawValue>, Unreadable> {
        let written = self.0.iter().filter(|(field, _)| field == name).count();
        if written > 1 {
            Err(Unreadable(format!("`{name}` occurs twice")))
        } else {
            Ok(self.all(name).next())
        }
    }
}

/// Why output cannot be read, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unreadable(pub(crate) String);

impl Unreadable {
    /// Not all of it was kept.
    pub(crate) fn cut(output: &Captured) -> Self {
        Self(format!("longer than the limit of {} bytes", output.bytes.len()))
    }

    /// The value of a field is of another type.
    pub(crate) fn of_type(field: &str, expected: &str) -> Self {
        Self(format!("`{field}` is not {expected}"))
    }

    /// The value of a field is none of these words.
    pub(crate) fn of_word(field: &str, value: &(impl fmt::Display + ?Sized), expected: &str) -> Self {
        let value = truncated(&in_one_line(&value.to_string()), 100);
        Self(format!("`{field}` is {value}, not {expected}"))
    }
}

impl From<ReadObjectError> for Unreadable {
    fn from(error: ReadObjectError) -> Self {
        Self(error.to_string())
    }
}

impl From<Unreadable> for Failure {
    fn from(error: Unreadable) -> Self {
        Self::new(FailureKind::Output, format!("unreadable output: {error}"))
    }
}

/// The object that a text is, without a key that occurs twice at any depth.
///
/// # Errors
/// It is another value, which is not as expected, or none.
pub(crate) fn strict(field: &str, text: &str, expected: &str) -> Result<Map, Unreadable> {
    match read_strict(text.as_bytes()) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Unreadable::of_type(field, expected)),
        Err(error) => Err(Unreadable(format!("`{field}`: {error}"))),
    }
}

/// Reads a text that is expected to be an object.
///
/// # Errors
/// It is another JSON value, or none.
pub(crate) fn read(text: &str) -> Result<RawObject, ReadObjectError> {
    if !text.starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok() {
        return Err(ReadObjectError::NoObject);
    }
    serde_json::from_str(text).map_err(|error| ReadObjectError::Broken(error.to_string()))
}

/// Why a text is not an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReadObjectError {
    /// It is not JSON.
    #[error("not a JSON object: {0}")]
    Broken(String),
    /// It is another JSON value.
    #[error("a JSON value that is not an object")]
    NoObject,
}

/// A string, if the value is one; what is no text in it is replaced.
#[must_use]
pub(crate) fn string(value: &RawValue) -> Option<String> {
    value.get().starts_with('"').then(|| serde_json::from_str::<Lossy>(value.get()).ok())?.map(|text| text.0)
}

/// A JSON string. One half of a surrogate pair is JSON and no text; it becomes replacement characters.
struct Lossy(String);

impl<'de> Deserialize<'de> for Lossy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Lossy;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E>(self, text: &str) -> Result<Lossy, E> {
                Ok(Lossy(text.to_owned()))
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Lossy, E> {
                Ok(Lossy(String::from_utf8_lossy(bytes).into_owned()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = RawObject;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawObject, A::Error> {
                let mut fields = Vec::new();
                while let Some((Lossy(name), value)) = map.next_entry()? {
                    fields.push((name, value));
                }
                Ok(RawObject(fields))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    use super::{RawObject, string};

    thread_local! {
        /// How many fields were looked at for one name.
        pub(crate) static WALKED: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn each_field_is_read_from_its_own_source() {
        let object: RawObject =
            serde_json::from_str(r#"{"a": "x", "b": null, "c": 1e999, "a": "\ud800", "d": "é"}"#).unwrap();
        let texts: Vec<_> = object.all("a").map(string).collect();
        assert_eq!(texts.first(), Some(&Some("x".to_owned())));
        assert!(texts.last().unwrap().as_ref().unwrap().starts_with('\u{fffd}'));
        assert_eq!(object.one("a").unwrap_err().to_string(), "`a` occurs twice");
        assert!(object.one("b").unwrap().is_none());
        assert_eq!(object.one("c").unwrap().map(|value| (value.get(), string(value))), Some(("1e999", None)));
        assert_eq!(object.one("d").unwrap().and_then(string).as_deref(), Some("é"));
        assert!(serde_json::from_str::<RawObject>("[]").is_err());
    }

    #[test]
    fn doubled_fields_are_found_whatever_lies_between() {
        let has = |text: &str| serde_json::from_str::<RawObject>(text).unwrap().has_doubles();
        assert!(has(r#"{"a": 1, "b": 2, "\u0061": 3}"#) && has(r#"{"a": null, "a": null}"#));
        assert!(!has(r#"{"a": {"b": 1}, "b": 2, "A": 3}"#) && !has("{}"));
    }

    #[test]
    fn the_last_field_of_a_name_counts_where_case_does_not() {
        let object: RawObject =
            serde_json::from_str(r#"{"a": 1, "A": 2, "a": 3, "b": 4, "B": null}"#).unwrap();
        let last = |name| object.last_ignoring_case(name).map(serde_json::value::RawValue::get);
        assert_eq!((last("A"), last("b"), last("c")), (Some("3"), None, None));
    }
}
