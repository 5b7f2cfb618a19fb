//! The values of one entry by their types (CH-7), each with its finding when it is none.

use std::ops::RangeInclusive;

use crate::chord::findings::{About, Findings, LoadError};
use crate::chord::glob::Glob;
use crate::text::truncated;
use crate::yaml::{Content, Node};

/// The longest value that a finding shows, in characters.
const SHOWN: usize = 100;

/// Reads the keys of one entry.
pub(super) struct Values<'a> {
    pub(super) entries: &'a [(Node, Node)],
    pub(super) about: About<'a>,
    pub(super) findings: &'a mut Findings,
    /// Whether no error was found so far.
    pub(super) sound: bool,
}

impl<'a> Values<'a> {
    /// A key and its value; a value that is null counts as absent (CH-4).
    pub(super) fn get(&self, key: &str) -> Option<&'a (Node, Node)> {
        self.entries.iter().find(|(name, value)| name.written() == Some(key) && !value.is_null())
    }

    /// An error of this entry.
    pub(super) fn error(&mut self, line: u32, error: &LoadError) {
        self.findings.hook_error(line, self.about, error);
        self.sound = false;
    }

    fn wrong(&mut self, line: u32, key: &str, found: &Node, expected: impl Into<String>) {
        let (key, found) = (key.to_owned(), shown(found));
        self.error(line, &LoadError::Value { key, found, expected: expected.into() });
    }

    /// An integer in a range; 0 when it is absent.
    pub(super) fn integer(&mut self, key: &str, range: RangeInclusive<u32>) -> u32 {
        self.integer_if_there(key, range).unwrap_or(0)
    }

    /// An integer in a range.
    pub(super) fn integer_if_there(&mut self, key: &str, range: RangeInclusive<u32>) -> Option<u32> {
        let (name, value) = self.get(key)?;
        let number = match value.content {
            Content::Integer(number) => u32::try_from(number).ok().filter(|number| range.contains(number)),
            _ => None,
        };
        if number.is_none() {
            let expected = format!("an integer from {} to {}", range.start(), range.end());
            self.wrong(name.line, key, value, expected);
        }
        number
    }

    /// A boolean; false when it is absent.
    pub(super) fn boolean(&mut self, key: &str) -> bool {
        let Some((name, value)) = self.get(key) else { return false };
        match &value.content {
            Content::Boolean(value) => *value,
            Content::Text(text) if value.is_plain() && matches!(text.as_str(), "yes" | "on") => true,
            Content::Text(text) if value.is_plain() && matches!(text.as_str(), "no" | "off") => false,
            _ => {
                self.wrong(name.line, key, value, "true or false");
                false
            }
        }
    }

    /// A string.
    pub(super) fn string(&mut self, key: &str) -> Option<&'a str> {
        let (name, value) = self.get(key)?;
        if value.written().is_none() {
            self.wrong(name.line, key, value, "a string");
        }
        value.written()
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Option<T> {
        let (name, value) = self.get(key)?;
        let word = words.iter().find(|(word, _)| value.written() == Some(word)).map(|(_, meaning)| *meaning);
        if word.is_none() {
            self.wrong(name.line, key, value, one_of(words));
        }
        word
    }

    /// A list of strings, each with its line.
    pub(super) fn strings(&mut self, key: &str, expected: &str) -> Option<Vec<(u32, &'a str)>> {
        let (name, value) = self.get(key)?;
        let Content::List(items) = &value.content else {
            self.wrong(name.line, key, value, expected);
            return None;
        };
        let mut strings = Vec::with_capacity(items.len());
        for item in items {
            match item.written() {
                Some(text) => strings.push((item.line, text)),
                None => self.wrong(item.line, &format!("{key}[]"), item, "a string"),
            }
        }
        Some(strings)
    }

    /// A list of globs.
    pub(super) fn globs(&mut self, key: &'static str) -> Vec<Glob> {
        let mut globs = Vec::new();
        for (line, pattern) in self.strings(key, "a list of globs").unwrap_or_default() {
            match Glob::read(pattern) {
                Ok(glob) => globs.push(glob),
                Err(error) => self.error(line, &LoadError::Glob { key, pattern: pattern.to_owned(), error }),
            }
        }
        globs
    }

    /// A list of some words.
    pub(super) fn words<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Vec<T> {
        let mut found = Vec::new();
        for (line, text) in self.strings(key, "a list of strings").unwrap_or_default() {
            match words.iter().find(|(word, _)| *word == text) {
                Some((_, meaning)) => found.push(*meaning),
                None => {
                    let (key, found) = (format!("{key}[]"), format!("{text:?}"));
                    self.error(line, &LoadError::Value { key, found, expected: one_of(words) });
                }
            }
        }
        found
    }

    /// Names and strings.
    pub(super) fn environment(&mut self) -> Vec<(String, String)> {
        let Some((name, value)) = self.get("environment") else { return Vec::new() };
        let Content::Mapping(variables) = &value.content else {
            self.wrong(name.line, "environment", value, "a mapping from names to strings");
            return Vec::new();
        };
        let mut environment = Vec::with_capacity(variables.len());
        for (name, value) in variables {
            let valid = name.written().filter(|name| !name.is_empty() && !name.contains(['=', '\0']));
            let text = if value.is_null() { Some("") } else { value.written() };
            match (valid, text) {
                (Some(name), Some(text)) => environment.push((name.to_owned(), text.to_owned())),
                (None, _) => self.wrong(name.line, "environment", name, "a name without `=` and NUL"),
                (_, None) => {
                    self.wrong(name.line, &format!("environment.{}", name.label()), value, "a string");
                }
            }
        }
        environment
    }
}

fn one_of<T>(words: &[(&str, T)]) -> String {
    let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
    format!("one of {}", words.join(", "))
}

/// A value as a finding shows it.
pub(in crate::chord) fn shown(node: &Node) -> String {
    match &node.content {
        Content::Null => "null".to_owned(),
        Content::List(_) => "a list".to_owned(),
        Content::Mapping(_) => "a mapping".to_owned(),
        Content::Text(text) => truncated(&format!("{text:?}"), SHOWN),
        _ => truncated(node.written().unwrap_or_default(), SHOWN),
    }
}
