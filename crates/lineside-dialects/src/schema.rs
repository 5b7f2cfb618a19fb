//! A mapping read by a table of rows: each key with the kind of its value and the words for what it should be.
//!
//! A schema also has what differs between formats: which of several entries counts, what is taken for a text, how a wrong
//! value is shown, and the wordings of the findings. What a value means is for its format.

use std::fmt::Display;

use lineside_core::Severity;
use lineside_core::nearest::suggestion;

use crate::findings::{Findings, filled};
use crate::tree::{DuplicateKey, Entry, Node};

/// A key, the kind of its value, and the words for what the value should be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row(pub(crate) &'static str, pub(crate) Is, pub(crate) &'static str);

/// The kind of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Is {
    /// The format checks it.
    Any,
    /// A text.
    Text,
    /// A text for which this holds.
    Such(fn(&str) -> bool),
    /// One of these words.
    Word(&'static [&'static str]),
    /// An integer from the first to the last.
    Integer(i128, i128),
    /// A flag.
    Flag,
    /// A list.
    List,
    /// A mapping.
    Mapping,
}

/// The keys of a mapping, and how a format reads them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema {
    /// The keys.
    pub(crate) rows: &'static [Row],
    /// Takes a node for a text.
    pub(crate) text: fn(&Node) -> Option<&str>,
    /// Takes a node for a flag.
    pub(crate) flag: fn(&Node) -> Option<bool>,
    /// Names a wrong value in a finding.
    pub(crate) shown: fn(&Node) -> String,
    /// The wording for a wrong value: `{key}`, `{found}`, `{expected}`.
    pub(crate) wrong: &'static str,
    /// Whether a wrong value is an error or has no effect.
    pub(crate) severity: Severity,
    /// The wording for a key that has no row: `{key}`, `{hint}`, `{file}`.
    pub(crate) unknown: &'static str,
    /// What `{hint}` stands for where a row is near: `{near}`.
    pub(crate) hint: &'static str,
    /// Whether a key that has no row is a finding although its value is null; its capitals do not matter for what is near.
    pub(crate) strict: bool,
    /// The wording for a key that occurs twice: `{key}`.
    pub(crate) twice: &'static str,
    /// Whether the last entry of such a key counts, and not the first.
    pub(crate) last: bool,
}

/// Whether a text has something in it.
pub(crate) fn is_stated(text: &str) -> bool {
    !text.trim().is_empty()
}

/// The first entry of a key, unless its value is null, which is as good as absent.
pub(crate) fn given<'a>(entries: &'a [Entry], key: &str) -> Option<&'a Entry> {
    entries.iter().find(|(name, _)| name.text() == Some(key)).filter(|(_, value)| !value.is_null())
}

/// Reads the keys of one mapping. An entry whose value is null counts as absent.
#[derive(Debug)]
pub(crate) struct Keys<'a, 'f> {
    schema: &'static Schema,
    /// The mapping.
    pub(crate) entries: &'a [Entry],
    /// Where the findings go.
    pub(crate) findings: &'f mut Findings,
    /// The text with which each finding begins.
    pub(crate) about: String,
    /// Whether no error was found so far.
    pub(crate) sound: bool,
}

impl<'a, 'f> Keys<'a, 'f> {
    /// Nothing is read yet.
    pub(crate) fn new(schema: &'static Schema, entries: &'a [Entry], findings: &'f mut Findings) -> Self {
        Self { schema, entries, findings, about: String::new(), sound: true }
    }

    /// The entry of a key that counts.
    pub(crate) fn given(&self, key: &str) -> Option<&'a Entry> {
        if !self.schema.last {
            return given(self.entries, key);
        }
        let entry = self.entries.iter().rfind(|(name, _)| name.text() == Some(key));
        entry.filter(|(_, value)| !value.is_null())
    }

    /// The line of a key, or 1.
    pub(crate) fn line(&self, key: &str) -> u32 {
        self.given(key).map_or(1, |(name, _)| name.line)
    }

    /// Adds an error: the mapping is not sound.
    pub(crate) fn error(&mut self, line: u32, what: impl Display) {
        self.sound = false;
        self.findings.error(line, format_args!("{}{what}", self.about));
    }

    /// Adds a warning.
    pub(crate) fn warning(&mut self, line: u32, what: impl Display) {
        self.findings.warning(line, format_args!("{}{what}", self.about));
    }

    /// Adds a finding: the value of a key is not what it should be.
    pub(crate) fn wrong(&mut self, line: u32, key: &str, found: &str, expected: &str) {
        let gaps = [("key", key), ("found", found), ("expected", expected)];
        let what = filled(self.schema.wrong, &gaps);
        if self.schema.severity == Severity::Error {
            self.error(line, what);
        } else {
            self.warning(line, what);
        }
    }

    /// Adds an error for each key that occurs twice.
    pub(crate) fn twice(&mut self, duplicates: &[DuplicateKey]) {
        for DuplicateKey { key, line } in duplicates {
            self.error(*line, filled(self.schema.twice, &[("key", key)]));
        }
    }

    /// Adds a warning for each key that has no row, and for each that occurs twice and whose last entry counts.
    pub(crate) fn unknown(&mut self) {
        let Schema { rows, unknown, hint, strict, .. } = self.schema;
        let known = || rows.iter().map(|row| row.0);
        for (number, (key, value)) in self.entries.iter().enumerate() {
            let is_known = key.text().is_some_and(|key| known().any(|known| known == key));
            if !is_known && (*strict || !value.is_null()) {
                let written = key.text().map(|key| if *strict { key.to_lowercase() } else { key.to_owned() });
                let near = written.and_then(|key| suggestion(&key, known()).map(str::to_owned));
                let hint = near.map(|near| filled(hint, &[("near", &near)])).unwrap_or_default();
                let gaps = [("key", &*key.label()), ("hint", &hint), ("file", &self.findings.file())];
                self.warning(key.line, filled(unknown, &gaps));
            }
            let before = || self.entries.iter().take(number);
            if self.schema.last && before().any(|(before, _)| before.text() == key.text()) {
                self.findings.warning(key.line, filled(self.schema.twice, &[("key", &key.label())]));
            }
        }
    }

    /// The value of a key, if it is of the kind of its row; a finding, if it is not.
    pub(crate) fn get(&mut self, key: &'static str) -> Option<&'a Node> {
        let (_, value) = self.given(key)?;
        let Row(_, is, _) = self.schema.rows.iter().find(|row| row.0 == key)?;
        let text = || (self.schema.text)(value);
        let fits = match is {
            Is::Any => true,
            Is::Text => text().is_some(),
            Is::Such(holds) => text().is_some_and(holds),
            Is::Word(words) => text().is_some_and(|text| words.contains(&text)),
            Is::Integer(least, most) => {
                value.integer().is_some_and(|number| (*least..=*most).contains(&number))
            }
            Is::Flag => (self.schema.flag)(value).is_some(),
            Is::List => value.list().is_some(),
            Is::Mapping => value.mapping().is_some(),
        };
        if !fits {
            self.mismatch(key);
        }
        fits.then_some(value)
    }

    /// Adds a finding: the value of a key is not what its row says.
    pub(crate) fn mismatch(&mut self, key: &'static str) {
        let row = self.schema.rows.iter().find(|row| row.0 == key);
        if let Some(((name, value), Row(_, _, expected))) = self.given(key).zip(row) {
            self.wrong(name.line, key, &(self.schema.shown)(value), expected);
        }
    }

    /// The text of a key.
    pub(crate) fn text(&mut self, key: &'static str) -> Option<&'a str> {
        self.get(key).and_then(self.schema.text)
    }

    /// The text of a key, or this where it is absent; `None` where it is wrong.
    pub(crate) fn text_or(&mut self, key: &'static str, otherwise: &'a str) -> Option<&'a str> {
        if self.given(key).is_none() { Some(otherwise) } else { self.text(key) }
    }

    /// The integer of a key.
    pub(crate) fn integer(&mut self, key: &'static str) -> Option<i128> {
        self.get(key).and_then(Node::integer)
    }

    /// The flag of a key.
    pub(crate) fn flag(&mut self, key: &'static str) -> Option<bool> {
        self.get(key).and_then(self.schema.flag)
    }

    /// The items of a key.
    pub(crate) fn list(&mut self, key: &'static str) -> Option<&'a [Node]> {
        self.get(key).and_then(Node::list)
    }

    /// A reader of the mapping of a key.
    pub(crate) fn mapping(&mut self, key: &'static str, schema: &'static Schema) -> Option<Keys<'a, '_>> {
        let entries = self.get(key).and_then(Node::mapping)?;
        Some(Keys { schema, entries, findings: self.findings, about: self.about.clone(), sound: true })
    }
}

#[cfg(test)]
mod tests;
