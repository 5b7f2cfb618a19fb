//! A document as a tree: the values of YAML and of JSON with what a good diagnostic needs, their lines and how they are
//! written.
//!
//! Each reader fills it; what a value should be is asked elsewhere.

use std::sync::Arc;

use lineside_core::json::{Number, Value};

/// The most values of a document, with its keys; those behind aliases count each time.
pub(crate) const MOST_NODES: usize = 100_000;

/// What is wrong with a document that has more.
pub(crate) const TOO_MANY: &str = "it has more than 100000 values";

/// A value and its line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// The line on which it begins, counted from 1.
    pub(crate) line: u32,
    /// The value.
    pub(crate) content: Content,
    /// The text between double quotes, quotes included, where YAML has a backslash in it.
    pub(crate) quoted: Option<Arc<str>>,
    /// A plain scalar of YAML, or a number of JSON, as it is written.
    pub(crate) plain: Option<Arc<str>>,
}

/// A value in the core schema of YAML.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    /// `null`, and in YAML `~` and nothing.
    Null,
    /// `true`, `false`.
    Boolean(bool),
    /// An integer; one beyond the bounds of the type stands at the nearest bound.
    Integer(i128),
    /// Any other number.
    Float(f64),
    /// A text.
    Text(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, its keys in order; of a key that occurs twice, both.
    Mapping(Vec<Entry>),
}

/// A key and its value.
pub(crate) type Entry = (Node, Node);

/// A key that occurs twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DuplicateKey {
    /// The key.
    pub(crate) key: String,
    /// The line of the occurrence that is one too many.
    pub(crate) line: u32,
}

impl Node {
    /// A value that is no scalar of YAML.
    pub(crate) fn new(line: u32, content: Content) -> Self {
        Self { line, content, quoted: None, plain: None }
    }

    /// A number of JSON, which keeps its digits.
    pub(crate) fn of_number(line: u32, number: &Number) -> Self {
        let float = || Content::Float(number.as_f64().unwrap_or(f64::INFINITY));
        let content = number.as_i128().map_or_else(float, Content::Integer);
        Self { plain: Some(number.to_string().into()), ..Self::new(line, content) }
    }

    /// The text, if it is one.
    #[must_use]
    pub(crate) fn text(&self) -> Option<&str> {
        if let Content::Text(text) = &self.content { Some(text) } else { None }
    }

    /// The flag, if it is one.
    #[must_use]
    pub(crate) fn boolean(&self) -> Option<bool> {
        if let Content::Boolean(flag) = self.content { Some(flag) } else { None }
    }

    /// The integer, if it is one.
    #[must_use]
    pub(crate) fn integer(&self) -> Option<i128> {
        if let Content::Integer(number) = self.content { Some(number) } else { None }
    }

    /// The number with its digits as they are written, if it is one of JSON.
    #[must_use]
    pub(crate) fn number(&self) -> Option<Number> {
        let is_number = matches!(self.content, Content::Integer(_) | Content::Float(_));
        self.plain.as_deref().filter(|_| is_number)?.parse().ok()
    }

    /// The items, if it is a list.
    #[must_use]
    pub(crate) fn list(&self) -> Option<&[Self]> {
        if let Content::List(items) = &self.content { Some(items) } else { None }
    }

    /// The keys and their values, if it is a mapping.
    #[must_use]
    pub(crate) fn mapping(&self) -> Option<&[Entry]> {
        if let Content::Mapping(entries) = &self.content { Some(entries) } else { None }
    }

    /// The last entry of that key, if it is a mapping that has one.
    #[must_use]
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.mapping()?.iter().rfind(|(name, _)| name.text() == Some(key))
    }

    /// The value of the last entry of that key, if it is a mapping that has one.
    #[must_use]
    pub(crate) fn value(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|(_, value)| value)
    }

    /// Whether it is null.
    #[must_use]
    pub(crate) fn is_null(&self) -> bool {
        self.content == Content::Null
    }

    /// A scalar that is not null as it is written, its quotes taken off: `0x1F`, `1.50`, `yes`.
    #[must_use]
    pub(crate) fn written(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            Content::Boolean(_) | Content::Integer(_) | Content::Float(_) => self.plain.as_deref(),
            Content::Null | Content::List(_) | Content::Mapping(_) => None,
        }
    }

    /// Whether it is a scalar without quotes.
    #[must_use]
    pub(crate) fn is_plain(&self) -> bool {
        self.plain.is_some()
    }

    /// A scalar as a person would name it in a message; anything else by its shape.
    #[must_use]
    pub(crate) fn label(&self) -> String {
        match &self.content {
            Content::Null => "null".to_owned(),
            Content::Boolean(value) => value.to_string(),
            Content::Integer(value) => value.to_string(),
            Content::Float(value) => value.to_string(),
            Content::Text(text) => text.clone(),
            Content::List(_) => "[…]".to_owned(),
            Content::Mapping(_) => "{…}".to_owned(),
        }
    }

    /// The same for a value of JSON, a scalar as it is written there.
    #[must_use]
    pub(crate) fn json_label(&self) -> String {
        match &self.content {
            Content::Text(text) => Value::from(text.as_str()).to_string(),
            _ => self.plain.as_deref().map_or_else(|| self.label(), str::to_owned),
        }
    }
}
