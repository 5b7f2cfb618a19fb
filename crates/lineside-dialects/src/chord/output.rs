//! Standard output to the one object in it, and its keys by their types (CH-37).

use std::fmt;

use lineside_core::invocation::Captured;
use lineside_core::json::Value;
use serde_json::value::RawValue;

use crate::raw_object::{RawObject, Unreadable, string};

/// The object that a hook has printed, if it has.
#[derive(Debug, Clone, Default)]
pub(super) struct Reply(Option<RawObject>);

impl Reply {
    /// What a hook has printed; nothing is an object without keys.
    pub(super) fn read(stdout: &Captured) -> Result<Self, Unreadable> {
        if stdout.is_cut() {
            return Err(Unreadable(format!("longer than {} bytes", stdout.bytes.len())));
        }
        let text = String::from_utf8_lossy(&stdout.bytes);
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let text = whole_characters(&text);
        let wrong = |what: &str| Err(Unreadable(what.to_owned()));
        let mut object = None;
        let mut only_nulls = true;
        let mut values = serde_json::Deserializer::from_str(&text).into_iter::<&RawValue>();
        while let Some(value) = values.next() {
            let value = value.map_err(not_json)?.get();
            let rest = text.get(values.byte_offset()..).unwrap_or_default();
            if !(rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n'])) {
                return wrong("values that no white space separates");
            }
            only_nulls &= value == "null";
            match value.chars().next() {
                Some('[') => return wrong("an array"),
                Some('{') if object.is_some() => return wrong("more than one object"),
                Some('{') => object = Some(serde_json::from_str::<RawObject>(value).map_err(not_json)?),
                _ => {}
            }
        }
        match object {
            Some(object) => Ok(Self(Some(object))),
            None if only_nulls => Ok(Self::default()),
            None => wrong("no object"),
        }
    }

    /// The value of a key. Its case does not matter, the last one counts, and null is as good as absent. What is
    /// not asked for may be nested as deeply as it likes.
    pub(super) fn value(&self, key: &str) -> Result<Option<Value>, Unreadable> {
        let value = self.0.as_ref().and_then(|object| object.last_ignoring_case(key));
        value.map(|value| lineside_core::json::from_str(value.get()).map_err(not_json)).transpose()
    }

    /// Whether a key is there with this text, be it for the first or for the last time.
    pub(super) fn has(&self, key: &str, text: &str) -> bool {
        let object = self.0.iter();
        let mut values = object.flat_map(|object| object.all_ignoring_case(key));
        values.any(|value| string(value).as_deref() == Some(text))
    }

    /// The value of a key that is a string.
    pub(super) fn string(&self, key: &'static str) -> Result<Option<String>, Unreadable> {
        match self.value(key)? {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(Unreadable::of_word(key, &other, "a string")),
        }
    }

    /// The value of a key that is a boolean; false when it is absent.
    pub(super) fn boolean(&self, key: &'static str) -> Result<bool, Unreadable> {
        match self.value(key)? {
            None => Ok(false),
            Some(Value::Bool(value)) => Ok(value),
            Some(other) => Err(Unreadable::of_word(key, &other, "a boolean")),
        }
    }
}

fn not_json(error: impl fmt::Display) -> Unreadable {
    Unreadable(format!("not JSON: {error}"))
}

/// With the escapes of halves of surrogate pairs, which are JSON and no characters, as U+FFFD.
fn whole_characters(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let length = match unit(escape) {
            Some(0xD800..=0xDBFF) if matches!(escape.get(6..).and_then(unit), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                out.push_str("\\ufffd");
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            Some(_) => 6,
            // The character that is escaped may be a backslash.
            None => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        let (escape, behind) = escape.split_at_checked(length).unwrap_or((escape, ""));
        out.push_str(escape);
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// The number of an escape such as `\ud83d`.
fn unit(escape: &str) -> Option<u32> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        u32::from_str_radix(digits, 16).ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
