//! Values of words as far as they are known: a text in which marks stand for what is not.
//!
//! Marks are code points that no text has (of a plane for private use); a text that brings one is refused before it
//! is read. With them, cutting, joining and replacing work on what is known and what is not alike.

use std::rc::Rc;

use compact_str::CompactString;

use crate::analysis::Argument;
use crate::places::Place;

/// Any text.
pub(crate) const UNKNOWN: char = '\u{10FFF0}';
/// A part of a name that is new: of `mktemp`, of `$$`. It holds no slash and is no other file's.
pub(crate) const FRESH: char = '\u{10FFF1}';
/// An unquoted `*`.
pub(crate) const STAR: char = '\u{10FFF2}';
/// An unquoted `?`.
pub(crate) const QUEST: char = '\u{10FFF3}';
/// An unquoted `[`.
pub(crate) const OPEN: char = '\u{10FFF4}';
/// Any number of words.
pub(crate) const MANY: char = '\u{10FFF5}';

/// Whether a text brings a mark of ours.
pub(crate) fn has_marks(text: &str) -> bool {
    !text.is_ascii() && text.contains(|c: char| ('\u{10FFF0}'..='\u{10FFF5}').contains(&c))
}

/// Where data came from, as far as a policy asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin(u8);

impl Origin {
    /// From a file or a program that holds secrets, or of a variable named like one.
    pub(crate) const SECRET: Origin = Origin(1);
    /// From another machine.
    pub(crate) const FETCHED: Origin = Origin(2);
    /// Decoded, so that it does not read as what it is.
    pub(crate) const DECODED: Origin = Origin(4);
    /// A secret that was printed as it is, and by no program since.
    pub(crate) const SHOWN: Origin = Origin(8);
    /// Of a variable that the command does not set and for which it has a name in the project: `${DIR:-build}`.
    pub(crate) const EXPECTED: Origin = Origin(16);
    /// Of a variable for the folder of temporary files, which may not be set.
    pub(crate) const TEMPORARY: Origin = Origin(32);

    pub(crate) fn with(self, other: Origin) -> Origin {
        Origin(self.0 | other.0)
    }

    pub(crate) fn without(self, other: Origin) -> Origin {
        Origin(self.0 & !other.0)
    }

    pub(crate) fn has(self, other: Origin) -> bool {
        self.0 & other.0 != 0
    }
}

/// A value: one word, or the text that a program prints or is given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Value {
    /// The text with marks.
    pub(crate) text: CompactString,
    /// Where parts of it came from.
    pub(crate) origin: Origin,
    /// What the word stands for, where that is more than its text.
    pub(crate) stands_for: Option<Rc<StandsFor>>,
    /// Where it stands, or where what it holds stands; known only where places are asked for.
    pub(crate) place: Place,
}

/// Two values are one wherever they stand.
impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.text == other.text && self.origin == other.origin && self.stands_for == other.stands_for
    }
}

/// What a word stands for.
#[derive(Debug, PartialEq)]
pub(crate) enum StandsFor {
    /// A file of this content: `<(…)`.
    Content(Value),
    /// The files that a search finds, as patterns of absolute paths.
    Found(Vec<String>),
    /// The same as a search prints them: a blank in a name makes two of it.
    Printed(Vec<String>),
}

impl Value {
    pub(crate) fn known(text: impl Into<CompactString>) -> Value {
        Value { text: text.into(), ..Value::default() }
    }

    /// A lone sign of ours.
    pub(crate) fn of_sign(sign: char) -> Value {
        Value::known(&*sign.encode_utf8(&mut [0; 4]))
    }

    pub(crate) fn unknown() -> Value {
        Value::of_sign(UNKNOWN)
    }

    pub(crate) fn many() -> Value {
        Value::of_sign(MANY)
    }

    pub(crate) fn from(mut self, origin: Origin) -> Value {
        self.origin = self.origin.with(origin);
        self
    }

    pub(crate) fn push(&mut self, other: &Value) {
        self.text.push_str(&other.text);
        self.origin = self.origin.with(other.origin);
        self.place = self.place.to(other.place);
        if other.stands_for.is_some() {
            self.stands_for.clone_from(&other.stands_for);
        }
    }

    /// The text, where all of it is known.
    pub(crate) fn plain(&self) -> Option<&str> {
        (!has_marks(&self.text)).then_some(&self.text)
    }

    /// The text with the signs of globs as they stand, where nothing else is unknown.
    pub(crate) fn literal(&self) -> Option<String> {
        let unknown = [UNKNOWN, FRESH, MANY];
        (!has_marks(&self.text) || !self.text.contains(unknown)).then(|| spelt(&self.text))
    }

    /// Whether part of the text may be anything.
    pub(crate) fn is_unclear(&self) -> bool {
        has_marks(&self.text) && self.text.contains([UNKNOWN, MANY])
    }

    /// Whether nothing of it is known.
    pub(crate) fn is_any(&self) -> bool {
        let mut signs = self.text.chars();
        signs.next() == Some(UNKNOWN) && signs.next().is_none()
    }

    pub(crate) fn is_many(&self) -> bool {
        has_marks(&self.text) && self.text.contains(MANY)
    }

    /// The value as callers see it.
    pub(crate) fn argument(&self) -> Argument {
        if !has_marks(&self.text) {
            Argument::Text(self.text.to_string())
        } else if self.is_many() {
            Argument::Many
        } else if self.text.contains([UNKNOWN, FRESH]) {
            if self.is_any() { Argument::Any } else { Argument::Like(spelt(&self.text)) }
        } else {
            Argument::Glob(spelt(&self.text))
        }
    }
}

/// The text with `*` for what is not known, and the signs of globs as they stand.
pub(crate) fn spelt(text: &str) -> String {
    if !has_marks(text) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            UNKNOWN | FRESH | MANY => {
                if !out.ends_with('*') {
                    out.push('*');
                }
            }
            STAR => out.push('*'),
            QUEST => out.push('?'),
            OPEN => out.push('['),
            _ => out.push(c),
        }
    }
    out
}

/// The text with the signs of globs as they stand; what is not known keeps its mark.
pub(crate) fn with_unknowns(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            STAR => '*',
            QUEST => '?',
            OPEN => '[',
            MANY | FRESH => UNKNOWN,
            c => c,
        })
        .collect()
}

/// The text of an unquoted expansion, where signs of globs are signs again.
pub(crate) fn globbing(text: &str) -> String {
    // A class has an end; `[` alone is a program.
    let classes = text.find(']').is_some_and(|end| text[..end].contains('['));
    text.chars()
        .map(|c| match c {
            '*' => STAR,
            '?' => QUEST,
            '[' if classes => OPEN,
            c => c,
        })
        .collect()
}
