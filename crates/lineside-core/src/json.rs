//! JSON: a value that keeps the digits of its numbers and the order of its objects, a strict parser, a writer, and the
//! way between values and types.
//!
//! The value is our own because `serde_json` keeps either only under features that change how *every* crate of a program
//! reads JSON. Numbers keep their text as it was written, objects the order of their keys. Within this module a
//! [`Value`] goes through [serde](https://serde.rs) unchanged, wherever it stands in a type, unless serde buffers it:
//! below `#[serde(flatten)]`, and in enums that are untagged or tagged within. There, in other formats and in
//! `serde_json` itself, a number is what fits into `u64`, `i64` or `f64`: `1.10` is `1.1`.
//!
//! ```
//! use lineside_core::json::{self, Value, json};
//!
//! let value: Value = json::from_str(r#"{"price": 1.10, "amount": 123456789012345678901234567890}"#)?;
//! assert_eq!(value.to_string(), r#"{"price":1.10,"amount":123456789012345678901234567890}"#);
//! assert_eq!(value["price"].as_f64(), Some(1.1));
//! assert_eq!(json!({"list": [1, null, "two"]})["list"][2], "two");
//! # Ok::<(), json::Error>(())
//! ```

mod value;
mod convert;
mod index;
mod map;
mod number;
mod digits;
mod error;
mod read;
mod text;
mod write;
mod to_value;
mod from_value;
mod literal;

pub use digits::AtMost;
pub use error::Error;
pub use from_value::from_value;
pub use index::Index;
pub use literal::__json as json;
#[doc(hidden)]
pub use literal::literal;
pub use map::Map;
pub use number::{Number, ParseNumberError};
pub use read::Reader;
pub use to_value::to_value;
pub use value::Value;
pub use write::{Fields, Layout, ObjectText};

use serde::{Deserialize, Serialize};

/// The deepest nesting that [`read_strict`] takes.
pub const DEEPEST: u8 = 64;

/// The deepest nesting that is read at all.
const DEEPEST_OF_ALL: u8 = 127;

/// Reads one JSON value strictly: no key twice in an object, at most [`DEEPEST`] levels.
///
/// ```
/// use lineside_core::json::{json, read_strict};
///
/// let value = read_strict(br#"{"verdict": "block"}"#)?;
/// assert_eq!(value, json!({"verdict": "block"}));
/// assert!(read_strict(br#"{"verdict": "allow", "verdict": "block"}"#).is_err());
/// # Ok::<_, lineside_core::json::Error>(())
/// ```
///
/// # Errors
/// Anything that is not exactly one JSON value in UTF-8, a key that occurs twice in an object, more than 64 levels.
/// The message gives line and column, counted from 1.
pub fn read_strict(text: &[u8]) -> Result<Value, Error> {
    read_strict_within(text, DEEPEST)
}

/// Reads one JSON value strictly, with another bound for its depth: what is wrapped is deeper than what it wraps.
/// More than 127 levels are never read.
///
/// ```
/// use lineside_core::json::read_strict_within;
///
/// assert!(read_strict_within(b"[[1]]", 2).is_ok());
/// assert!(read_strict_within(b"[[[1]]]", 2).is_err());
/// ```
///
/// # Errors
/// Those of [`read_strict`].
pub fn read_strict_within(text: &[u8], deepest: u8) -> Result<Value, Error> {
    read::strict(text, deepest.min(DEEPEST_OF_ALL))
}

/// Reads a type from JSON text. Of a key that occurs twice in a free object the last value counts.
///
/// ```
/// use lineside_core::json::{Map, from_str};
///
/// let map: Map = from_str(r#"{"command": "ls"}"#)?;
/// assert_eq!(map["command"], "ls");
/// # Ok::<_, lineside_core::json::Error>(())
/// ```
///
/// # Errors
/// What is not exactly one JSON value of at most 127 levels and of that type. The message gives line and column, counted
/// from 1.
pub fn from_str<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, Error> {
    from_slice(text.as_bytes())
}

/// Reads a type from JSON text in UTF-8. Of a key that occurs twice in a free object the last value counts.
///
/// ```
/// use lineside_core::json::{Map, from_slice};
///
/// let map: Map = from_slice(br#"{"command": "ls"}"#)?;
/// assert_eq!(map["command"], "ls");
/// assert!(from_slice::<Map>(b"[]").is_err());
/// # Ok::<_, lineside_core::json::Error>(())
/// ```
///
/// # Errors
/// Those of [`from_str`], and what is not UTF-8.
pub fn from_slice<'de, T: Deserialize<'de>>(text: &'de [u8]) -> Result<T, Error> {
    read::typed(text, DEEPEST_OF_ALL)
}

/// Writes a type as JSON on one line without blanks.
///
/// ```
/// use lineside_core::json::to_string;
///
/// assert_eq!(to_string(&("before_tool", 7))?, r#"["before_tool",7]"#);
/// # Ok::<_, lineside_core::json::Error>(())
/// ```
///
/// # Errors
/// A type that has no JSON: keys of maps that are neither texts, numbers nor booleans, or an error of the type itself.
/// Numbers that are not finite become `null`.
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    write::text(value, Layout::Compact)
}

/// Writes a type as the bytes of JSON on one line without blanks.
///
/// # Errors
/// Those of [`to_string`].
pub fn to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, Error> {
    to_string(value).map(String::into_bytes)
}

/// Whether `found` holds for some string value within `value`, at any depth; keys are not values.
///
/// ```
/// use lineside_core::json::{any_string, json};
///
/// let input = json!({"edits": [{"path": "src/lib.rs"}, {"path": ".env"}]});
/// assert!(any_string(&input, &mut |text| text == ".env"));
/// ```
pub fn any_string(value: &Value, found: &mut dyn FnMut(&str) -> bool) -> bool {
    match value {
        Value::String(text) => found(text),
        Value::Array(items) => items.iter().any(|item| any_string(item, found)),
        Value::Object(fields) => fields.values().any(|item| any_string(item, found)),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
