//! JSON with what a good diagnostic needs: the line of every key and value, and the keys that occur twice.
//!
//! The text is one JSON value, at most [`DEEPEST`] levels deep. What a value should be is asked elsewhere; JSON whose
//! lines do not matter is read with `lineside_core::json` alone.

mod located;

use lineside_core::json::{DEEPEST, Error, Number, Reader};

/// A document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document {
    /// Its value.
    pub(crate) root: Node,
    /// Keys that an object has more than once: each but the first, in the order of the text.
    pub(crate) duplicates: Vec<DuplicateKey>,
}

/// A value and its line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// The line on which it begins, counted from 1.
    pub(crate) line: u32,
    /// The value.
    pub(crate) content: Content,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    /// `null`.
    Null,
    /// `true`, `false`.
    Boolean(bool),
    /// A number, with its digits as they are written.
    Number(Number),
    /// A text.
    Text(String),
    /// An array.
    List(Vec<Node>),
    /// An object, its entries in order; of a key that occurs twice, both.
    Object(Vec<Entry>),
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    /// The key.
    pub(crate) key: String,
    /// The line of the key.
    pub(crate) line: u32,
    /// The value.
    pub(crate) value: Node,
}

/// A key that occurs twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DuplicateKey {
    /// The key.
    pub(crate) key: String,
    /// The line of the occurrence that is one too many.
    pub(crate) line: u32,
}

impl Node {
    /// The text, if it is one.
    #[must_use]
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The entries, if it is an object.
    #[must_use]
    pub(crate) fn entries(&self) -> Option<&[Entry]> {
        match &self.content {
            Content::Object(entries) => Some(entries),
            _ => None,
        }
    }

    /// The last entry of that key, if it is an object that has one.
    #[must_use]
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries()?.iter().rfind(|entry| entry.key == key)
    }

    /// The flag under that key, if it is an object that has one.
    #[must_use]
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        match self.entry(key)?.value.content {
            Content::Boolean(flag) => Some(flag),
            _ => None,
        }
    }

    /// Whether it is null.
    #[must_use]
    pub(crate) fn is_null(&self) -> bool {
        self.content == Content::Null
    }

    /// The value as a person would name it in a message: a scalar as JSON, anything else by its shape.
    #[must_use]
    pub(crate) fn label(&self) -> String {
        match &self.content {
            Content::Null => "null".to_owned(),
            Content::Boolean(value) => value.to_string(),
            Content::Number(number) => number.to_string(),
            Content::Text(text) => lineside_core::json::Value::from(text.as_str()).to_string(),
            Content::List(_) => "[…]".to_owned(),
            Content::Object(_) => "{…}".to_owned(),
        }
    }
}

/// Reads a document.
///
/// # Errors
/// What is not exactly one JSON value within the bound. The error has the line where reading stopped.
pub(crate) fn read(text: &str) -> Result<Document, Error> {
    located::Located::document(text.as_bytes(), Reader::new(text.as_bytes(), DEEPEST)?)
}

/// The line at which reading stopped, counted from 1.
pub(crate) fn line_of(error: &Error) -> u32 {
    error.line().and_then(|line| u32::try_from(line).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests;
