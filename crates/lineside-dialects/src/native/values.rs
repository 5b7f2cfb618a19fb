//! The values of one mapping by their types, each with its finding when it is none.

use std::ops::RangeInclusive;
use std::time::Duration;

use lineside_core::nearest::suggestion;

use super::findings::{About, Findings, LoadError, LoadNote, LoadWarning, UnknownKey};
use crate::text::truncated;
use crate::yaml::{Content, Node};

/// No hook has so few milliseconds, unless it is meant to be late.
pub(super) const SHORT: i128 = 100;

/// The longest value that a finding shows, in characters.
const SHOWN: usize = 100;

/// Reads the keys of one hook, or of a mapping within it.
pub(super) struct Values<'a, 'f> {
    /// The mapping.
    pub(super) keys: &'a [(Node, Node)],
    /// Before each key in a finding, such as `post.`.
    pub(super) within: &'static str,
    /// The name of the hook.
    pub(super) hook: &'f str,
    /// Where findings go.
    pub(super) findings: &'f mut Findings,
    /// Whether no error was found so far.
    pub(super) sound: bool,
}

/// What other formats call a key, and what it is here.
const CALLED: [(&str, &str, &str); 13] = [
    ("shadow", "mode", "mode: shadow"),
    ("dry_run", "mode", "mode: shadow"),
    ("when", "match", "match"),
    ("if", "match", "match"),
    ("matcher", "match", "match"),
    ("filter", "match", "match"),
    ("trigger", "on", "on"),
    ("event", "on", "on"),
    ("message", "reason", "reason"),
    ("action", "verdict", "verdict"),
    ("decision", "verdict", "verdict"),
    ("command", "runs", "runs"),
    ("program", "runs", "runs"),
];

/// What a key is here that other formats call so.
fn called(label: &str, meant: impl Fn(&str) -> Option<&'static str>) -> Option<&'static str> {
    let row = CALLED.iter().find(|(other, key, _)| *other == label && meant(key).is_some());
    row.map(|(.., here)| *here)
}

impl<'a> Values<'a, '_> {
    /// A key and its value; a value that is null counts as absent.
    pub(super) fn get(&self, key: &str) -> Option<&'a (Node, Node)> {
        self.keys.iter().find(|(name, value)| name.written() == Some(key) && !value.is_null())
    }

    /// The line of a key that is there.
    pub(super) fn line(&self, key: &str) -> Option<u32> {
        self.get(key).map(|(name, _)| name.line)
    }

    /// An error of this hook.
    pub(super) fn error(&mut self, line: u32, error: &LoadError) {
        self.findings.hook_error(line, About(self.hook), error);
        self.sound = false;
    }

    /// A warning about this hook.
    pub(super) fn warning(&mut self, line: u32, warning: &LoadWarning) {
        self.findings.hook_warning(line, About(self.hook), warning);
    }

    /// What should be known about this hook.
    pub(super) fn note(&mut self, line: u32, note: &LoadNote) {
        self.findings.hook_note(line, About(self.hook), note);
    }

    /// A value that is none for its key.
    pub(super) fn wrong(&mut self, line: u32, key: &str, found: &Node, expected: impl Into<String>) {
        let key = format!("{}{key}", self.within);
        self.error(line, &LoadError::Value { key, found: shown(found), expected: expected.into() });
    }

    /// Warns of the keys that are none of these.
    pub(super) fn only(&mut self, known: &[&'static str]) {
        for (line, key, nearest) in self.unknown(known) {
            self.warning(line, &LoadWarning::UnknownKey(UnknownKey { key, nearest }));
        }
    }

    /// Refuses the keys that are none of these: without them the hook would run when its author did not mean it to.
    pub(super) fn strictly(&mut self, known: &[&'static str]) {
        for (line, key, nearest) in self.unknown(known) {
            self.error(line, &LoadError::UnknownKey(UnknownKey { key, nearest }));
        }
    }

    /// The keys that are none of these, with the nearest one that is.
    fn unknown(&self, known: &[&'static str]) -> Vec<(u32, String, Option<&'static str>)> {
        let mut unknown = Vec::new();
        for (name, _) in self.keys {
            let label = name.label();
            if known.contains(&label.as_str()) {
                continue;
            }
            let meant = |key: &str| known.iter().copied().find(|known| *known == key);
            let nearest =
                suggestion(&label, known.iter().copied()).and_then(meant).or_else(|| called(&label, meant));
            unknown.push((name.line, format!("{}{label}", self.within), nearest));
        }
        unknown
    }

    /// What is within one of the values.
    pub(super) fn inside<'b>(&mut self, keys: &'b [(Node, Node)], within: &'static str) -> Values<'b, '_> {
        Values { keys, within, hook: self.hook, findings: &mut *self.findings, sound: true }
    }

    /// An integer in a range.
    pub(super) fn integer<T>(&mut self, key: &str, range: RangeInclusive<T>) -> Option<T>
    where
        T: TryFrom<i128> + PartialOrd + std::fmt::Display,
    {
        self.number(key, "an integer", range)
    }

    fn number<T>(&mut self, key: &str, what: &str, range: RangeInclusive<T>) -> Option<T>
    where
        T: TryFrom<i128> + PartialOrd + std::fmt::Display,
    {
        let (name, value) = self.get(key)?;
        let number = match value.content {
            Content::Integer(number) => T::try_from(number).ok().filter(|number| range.contains(number)),
            _ => None,
        };
        if number.is_none() {
            let expected = format!("{what} from {} to {}", range.start(), range.end());
            self.wrong(name.line, key, value, expected);
        }
        number
    }

    /// A number of milliseconds in this range.
    pub(super) fn millis_in(&mut self, key: &str, range: RangeInclusive<u64>) -> Option<Duration> {
        self.number(key, "a whole number of milliseconds", range).map(Duration::from_millis)
    }

    /// Warns of a number of milliseconds below this one, by which seconds are most likely meant.
    pub(super) fn doubt_short(&mut self, key: &str, least: i128) {
        if let Some((name, Node { content: Content::Integer(number), .. })) = self.get(key)
            && (1..least).contains(number)
        {
            let (line, key) = (name.line, format!("{}{key}", self.within));
            self.warning(line, &LoadWarning::ShortTime { key, number: *number });
        }
    }

    /// A whole number; which of them can be meant is checked elsewhere.
    pub(super) fn count<T: TryFrom<i128>>(&mut self, key: &str) -> Option<T> {
        self.whole(key, "a whole number")
    }

    /// A number of milliseconds; how long it may be is checked elsewhere.
    pub(super) fn millis(&mut self, key: &str) -> Option<Duration> {
        self.whole(key, "a whole number of milliseconds").map(Duration::from_millis)
    }

    fn whole<T: TryFrom<i128>>(&mut self, key: &str, expected: &str) -> Option<T> {
        let (name, value) = self.get(key)?;
        let number = match value.content {
            Content::Integer(number) => T::try_from(number).ok(),
            _ => None,
        };
        if number.is_none() {
            self.wrong(name.line, key, value, expected);
        }
        number
    }

    /// A boolean; false when it is absent.
    pub(super) fn boolean(&mut self, key: &str) -> bool {
        let Some((name, value)) = self.get(key) else { return false };
        if let Content::Boolean(value) = value.content {
            return value;
        }
        self.wrong(name.line, key, value, "true or false");
        false
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Option<T> {
        let (name, value) = self.get(key)?;
        let word = words.iter().find(|(word, _)| value.text() == Some(word)).map(|(_, meaning)| *meaning);
        if word.is_none() {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            self.wrong(name.line, key, value, words.join(" or "));
        }
        word
    }

    /// A text that is right.
    pub(super) fn text(
        &mut self,
        key: &str,
        expected: &str,
        is_right: impl FnOnce(&str) -> bool,
    ) -> Option<&'a str> {
        let (name, value) = self.get(key)?;
        let text = value.text().filter(|text| is_right(text));
        if text.is_none() {
            self.wrong(name.line, key, value, expected);
        }
        text
    }

    /// The texts of a list that is not empty, each with its line. A number in it is the text that it is written as.
    pub(super) fn texts(&mut self, key: &str, expected: &str) -> Option<Vec<(u32, &'a str)>> {
        let (name, value) = self.get(key)?;
        let items = match &value.content {
            Content::List(items) if !items.is_empty() => items,
            _ => {
                self.wrong(name.line, key, value, expected);
                return None;
            }
        };
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            match item.written() {
                Some(text) if !text.contains('\0') => texts.push((item.line, text)),
                _ => self.wrong(item.line, &format!("{key}[]"), item, "a text"),
            }
        }
        (texts.len() == items.len()).then_some(texts)
    }

    /// One text, or several in a list, each with its line.
    pub(super) fn one_or_more(&mut self, key: &str, expected: &str) -> Option<Vec<(u32, &'a str)>> {
        match self.get(key)? {
            (name, Node { content: Content::Text(text), .. }) if !text.is_empty() => {
                Some(vec![(name.line, text)])
            }
            _ => self.texts(key, expected),
        }
    }

    /// A mapping.
    pub(super) fn mapping(&mut self, key: &str, expected: &str) -> Option<&'a [(Node, Node)]> {
        let (name, value) = self.get(key)?;
        match &value.content {
            Content::Mapping(keys) => Some(keys),
            _ => {
                self.wrong(name.line, key, value, expected);
                None
            }
        }
    }

    /// Names and scalars of a mapping, the values as they are written; absent as none.
    pub(super) fn pairs(
        &mut self,
        key: &str,
        expected: &str,
        is_name: impl Fn(&str) -> bool,
    ) -> Vec<(u32, &'a str, &'a str)> {
        let mut pairs = Vec::new();
        for (name, value) in self.mapping(key, expected).unwrap_or_default() {
            match (name.written().filter(|name| is_name(name)), value.written()) {
                (Some(name_text), Some(text)) if !text.contains('\0') => {
                    pairs.push((name.line, name_text, text));
                }
                (None, _) => self.wrong(name.line, key, name, expected),
                (Some(name_text), _) => self.wrong(name.line, &format!("{key}.{name_text}"), value, "a text"),
            }
        }
        pairs
    }
}

/// A value as a finding shows it.
pub(super) fn shown(node: &Node) -> String {
    match &node.content {
        Content::Null => "null".to_owned(),
        Content::List(items) if items.is_empty() => "an empty list".to_owned(),
        Content::List(_) => "a list".to_owned(),
        Content::Mapping(_) => "a mapping".to_owned(),
        Content::Text(text) => truncated(&format!("{text:?}"), SHOWN),
        _ => truncated(node.written().unwrap_or_default(), SHOWN),
    }
}
