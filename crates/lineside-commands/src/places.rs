//! Where in the text of a command that stands which its analysis lists.
//!
//! A [`Trail`] is kept only for [`crate::explain`]. A word knows its place by its own bytes, which lie in the text at
//! hand; a text within the text has the place of its letters where it stands there as it is, and else that of the word
//! which holds it.

use std::ops::Range;

/// Bytes of the outermost text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    start: u32,
    end: u32,
}

impl Place {
    fn new(start: usize, length: usize) -> Place {
        let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Place { start: number(start), end: number(start + length) }
    }

    /// The bytes; none where the place is not known.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Whether it is not known.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// From the beginning of the one to the end of the other.
    pub(crate) fn to(self, other: Place) -> Place {
        match (self.is_empty(), other.is_empty()) {
            (true, _) => other,
            (_, true) => self,
            _ => Place { start: self.start.min(other.start), end: self.end.max(other.end) },
        }
    }

    pub(crate) fn or(self, other: Place) -> Place {
        if self.is_empty() { other } else { self }
    }
}

/// The places of an [`crate::Analysis`], each list in the order of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Of each program: that of its name, and those of its words.
    pub programs: Vec<Vec<Place>>,
    /// The same of the programs that run elsewhere.
    pub elsewhere: Vec<Vec<Place>>,
    /// Of each path.
    pub touches: Vec<Place>,
    /// Of what is not known.
    pub unclear: Vec<Place>,
    /// Of what else the command does.
    pub traits: Vec<Place>,
    /// Of each word that names a file of which the content is run: its place, and the path.
    pub scripts: Vec<(Place, String)>,
    /// Values that words have by a variable.
    pub values: Vec<KnownValue>,
}

/// A variable that is used, and where its value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownValue {
    /// The word that uses it.
    pub place: Place,
    /// Its name, as `X` or `1`.
    pub name: String,
    /// Its value; `*` stands for what is not known.
    pub value: String,
    /// The word that it was set to; not known for what the surroundings set.
    pub from: Place,
}

/// Places as they are found.
#[derive(Debug)]
pub(crate) struct Trail {
    whole: String,
    level: Level,
    /// What is read or run at the moment.
    pub(crate) now: Place,
    pub(crate) found: Places,
}

/// The text at hand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    /// Where it lies in memory: its words lie there as well.
    address: usize,
    length: usize,
    /// Where it stands in the outermost text.
    start: Option<usize>,
    /// What holds it.
    holder: Place,
}

impl Level {
    fn place(&self, part: &str) -> Option<Place> {
        let at = (part.as_ptr() as usize).checked_sub(self.address)?;
        if at + part.len() > self.length {
            return None;
        }
        Some(self.start.map_or(self.holder, |start| Place::new(start + at, part.len())))
    }
}

impl Trail {
    pub(crate) fn new(whole: &str) -> Trail {
        let now = Place::new(0, whole.len());
        let level =
            Level { address: whole.as_ptr() as usize, length: whole.len(), start: Some(0), holder: now };
        Trail { whole: whole.to_owned(), level, now, found: Places::default() }
    }

    /// Goes into a text; answers the level to come back to.
    pub(crate) fn enter(&mut self, text: &str) -> Level {
        let standing = match self.level.place(text).filter(|_| self.level.start.is_some()) {
            Some(place) => Some(place.range().start),
            None => {
                let held = self.whole.get(self.now.range()).unwrap_or_default();
                // What is printed ends with a line break that its words have not.
                held.find(text.trim_end_matches('\n')).map(|at| self.now.range().start + at)
            }
        };
        let level =
            Level { address: text.as_ptr() as usize, length: text.len(), start: standing, holder: self.now };
        std::mem::replace(&mut self.level, level)
    }

    pub(crate) fn leave(&mut self, level: Level) {
        self.level = level;
    }

    /// The place of a part of the text at hand; that of what is read at the moment for any other.
    pub(crate) fn place(&self, part: &str) -> Place {
        self.level.place(part).unwrap_or(self.now)
    }

    /// Where the body of a function stands.
    pub(crate) fn body(&mut self, body: &str) {
        if let Some(at) = self.whole.find(body) {
            self.now = Place::new(at, body.len());
        }
    }

    pub(crate) fn used(&mut self, name: &str, value: String, from: Place) {
        // What is not known has no value to show.
        if crate::scan::PARTS.iter().any(|(part, _)| name == *part) {
            return;
        }
        let known = KnownValue { place: self.now, name: name.to_owned(), value, from };
        if self.found.values.len() < 256 && !self.found.values.contains(&known) {
            self.found.values.push(known);
        }
    }
}
