//! An object that is written field by field, without a value for the whole of it.

use serde::Serialize;

use super::{Layout, Writer};
use crate::json::map::Map;
use crate::json::to_value::to_value;
use crate::json::value::Value;

/// Takes the fields of an object, one after another: as values, in a [`Map`], or as text, in an [`ObjectText`]. The
/// caller gives each name once.
pub trait Fields {
    /// Adds a field; a value that has no JSON becomes `null`.
    fn put<T: Serialize + ?Sized>(&mut self, name: &str, value: &T);

    /// Adds a field that is there as a value or as JSON on one line, whichever is needed.
    fn put_either<'a>(&mut self, name: &str, value: impl FnOnce() -> Value, text: impl FnOnce() -> &'a str);
}

impl Fields for Map {
    fn put<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) {
        self.insert(name.to_owned(), to_value(value).unwrap_or_default());
    }

    fn put_either<'a>(&mut self, name: &str, value: impl FnOnce() -> Value, _: impl FnOnce() -> &'a str) {
        self.insert(name.to_owned(), value());
    }
}

impl Fields for ObjectText {
    fn put<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) {
        self.name(name);
        let start = self.writer.out.len();
        if value.serialize(&mut self.writer).is_err() {
            self.writer.out.truncate(start);
            self.writer.out.push_str("null");
        }
    }

    fn put_either<'a>(&mut self, name: &str, _: impl FnOnce() -> Value, text: impl FnOnce() -> &'a str) {
        self.put_json(name, text());
    }
}

/// The text of an object, on one line without blanks, to which [`Fields`] are added one after another.
///
/// ```
/// use lineside_core::json::{Fields as _, ObjectText};
///
/// let mut object = ObjectText::new();
/// object.put("name", "a \"b\"");
/// object.put_json("list", "[1,2]");
/// assert_eq!(object.end(), r#"{"name":"a \"b\"","list":[1,2]}"#);
/// ```
#[derive(Debug)]
pub struct ObjectText {
    writer: Writer,
    empty: bool,
}

impl Default for ObjectText {
    fn default() -> Self {
        Self::new()
    }
}

impl ObjectText {
    /// An object without fields.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(512)
    }

    /// The same with room for this many bytes of text, which is enough or grows.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        let mut writer = Writer { out: String::with_capacity(bytes), layout: Layout::Compact, depth: 0 };
        writer.open('{');
        Self { writer, empty: true }
    }

    /// Adds a field whose value is JSON already, on one line.
    pub fn put_json(&mut self, name: &str, value: &str) {
        self.name(name);
        self.writer.out.push_str(value);
    }

    /// The text of the whole object.
    #[must_use]
    pub fn end(mut self) -> String {
        self.writer.close('}', self.empty);
        self.writer.out
    }

    fn name(&mut self, name: &str) {
        self.writer.separate(self.empty);
        self.empty = false;
        self.writer.quoted(name);
        self.writer.colon();
    }
}
