//! The value.

use super::index::Index;
use super::map::Map;
use super::number::Number;

/// A JSON value. Numbers keep their digits, objects the order of their keys.
///
/// Equality ignores the order of keys, and tells numbers apart that are written differently: `1.0` is not `1`.
///
/// ```
/// use lineside_core::json::{Value, from_str};
///
/// let value: Value = from_str(r#"{"b": 1.0, "a": 123456789012345678901234567890}"#)?;
/// assert_eq!(value.to_string(), r#"{"b":1.0,"a":123456789012345678901234567890}"#);
/// assert_eq!(value["b"].as_f64(), Some(1.0));
/// # Ok::<_, lineside_core::json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    String(String),
    /// A list.
    Array(Vec<Value>),
    /// An object.
    Object(Map),
}

impl Value {
    /// The value of a key of an object, or the item at a place of a list; nothing if it is neither or has no such one.
    ///
    /// ```
    /// use lineside_core::json::json;
    ///
    /// let input = json!({"edits": [{"path": "src/lib.rs"}]});
    /// assert_eq!(input.get("edits").and_then(|edits| edits.get(0)), Some(&json!({"path": "src/lib.rs"})));
    /// assert_eq!(input.get("path"), None);
    /// ```
    pub fn get<I: Index>(&self, index: I) -> Option<&Self> {
        index.find(self)
    }

    /// Like [`get`](Self::get), to change it.
    pub fn get_mut<I: Index>(&mut self, index: I) -> Option<&mut Self> {
        index.find_mut(self)
    }

    /// The value that a [JSON pointer](https://www.rfc-editor.org/rfc/rfc6901) such as `/list/0` leads to.
    ///
    /// ```
    /// use lineside_core::json::json;
    ///
    /// let input = json!({"edits": [{"path": "src/lib.rs"}]});
    /// assert_eq!(input.pointer("/edits/0/path"), Some(&json!("src/lib.rs")));
    /// ```
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<&Self> {
        if pointer.is_empty() {
            return Some(self);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self, |value, token| {
            let token = token.replace("~1", "/").replace("~0", "~");
            match value {
                Self::Object(fields) => fields.get(&token),
                Self::Array(items) => items.get(place(&token)?),
                _ => None,
            }
        })
    }

    /// The value itself; `null` takes its place.
    ///
    /// ```
    /// use lineside_core::json::{Value, json};
    ///
    /// let mut input = json!({"content": "a long text"});
    /// assert_eq!(input["content"].take(), "a long text");
    /// assert_eq!(input["content"], Value::Null);
    /// ```
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// Whether it is `null`.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether it is a boolean.
    #[must_use]
    pub const fn is_boolean(&self) -> bool {
        matches!(self, Self::Bool(_))
    }

    /// Whether it is a number.
    #[must_use]
    pub const fn is_number(&self) -> bool {
        matches!(self, Self::Number(_))
    }

    /// Whether it is a text.
    #[must_use]
    pub const fn is_string(&self) -> bool {
        matches!(self, Self::String(_))
    }

    /// Whether it is a list.
    #[must_use]
    pub const fn is_array(&self) -> bool {
        matches!(self, Self::Array(_))
    }

    /// Whether it is an object.
    #[must_use]
    pub const fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    /// The boolean.
    #[must_use]
    pub const fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The number.
    #[must_use]
    pub const fn as_number(&self) -> Option<&Number> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The number, if it is an integer from 0 to 2⁶⁴ − 1.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// The number, if it is an integer from −2⁶³ to 2⁶³ − 1.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// The finite number that is nearest to what is written.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number()?.as_f64()
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The items of a list.
    #[must_use]
    pub const fn as_array(&self) -> Option<&Vec<Self>> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The items of a list, to change them.
    pub const fn as_array_mut(&mut self) -> Option<&mut Vec<Self>> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The entries of an object.
    #[must_use]
    pub const fn as_object(&self) -> Option<&Map> {
        match self {
            Self::Object(fields) => Some(fields),
            _ => None,
        }
    }

    /// The entries of an object, to change them.
    pub const fn as_object_mut(&mut self) -> Option<&mut Map> {
        match self {
            Self::Object(fields) => Some(fields),
            _ => None,
        }
    }
}

/// A place in a list, written without a sign or zeros before it.
fn place(token: &str) -> Option<usize> {
    let plain = token == "0" || token.starts_with(|first: char| matches!(first, '1'..='9'));
    if plain { token.parse().ok() } else { None }
}
