//! Regular expressions in the syntax of Python's `re` (3.11), searched with a bound on backtracking.
//!
//! A pattern is read by the rules of Python and written again for the engine, so that nothing means one thing here and
//! another there. Read: `parse`. Written: `write`. What the engine itself cannot do
//! (`\N{name}`, counts beyond its size limit) is an error when the pattern is prepared, never when it is searched.
//!
//! Three differences from CPython 3.11 remain, as 12 000 random patterns have shown: `$` matches only at the very end of
//! the text unless `m` is set, as the formats that use these patterns ask for; `\b` beside a combining mark or a number
//! that is no digit (`²`) follows Unicode's notion of a word; and `\B` matches in an empty text, as in 3.14.

mod parse;
mod syntax;
mod write;

use std::fmt;
use std::sync::Arc;

use fancy_regex::{Regex, RegexBuilder};

/// The longest pattern that is prepared, in bytes.
pub const LONGEST_PATTERN: usize = 64 * 1024;

/// The most backtracking steps of one search.
pub const MOST_STEPS: usize = 1_000_000;

/// A prepared pattern.
#[derive(Clone)]
pub struct Pattern {
    source: Arc<str>,
    regex: Arc<Regex>,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// The pattern is in the text.
    Found,
    /// It is not.
    Absent,
    /// The engine gave up after [`MOST_STEPS`]; whether it is there is not known.
    Exhausted,
}

impl Pattern {
    /// Prepares a pattern.
    ///
    /// # Errors
    /// What Python refuses, and what is too large to be prepared.
    pub fn compile(source: &str) -> Result<Self, CompilePatternError> {
        if source.len() > LONGEST_PATTERN {
            return Err(CompilePatternError::TooLong);
        }
        let parsed = parse::parse(source)?;
        let regex = RegexBuilder::new(&write::write(&parsed))
            .backtrack_limit(MOST_STEPS)
            .seek(true)
            .build()
            .map_err(|error| CompilePatternError::Engine { detail: one_line(&error.to_string()) })?;
        Ok(Self { source: source.into(), regex: Arc::new(regex) })
    }

    /// The pattern as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Searches the pattern anywhere in a text.
    #[must_use]
    pub fn search(&self, text: &str) -> Search {
        match self.regex.is_match(text) {
            Ok(true) => Search::Found,
            Ok(false) => Search::Absent,
            // Too many steps or too deep a stack: there is no third thing that goes wrong in a search.
            Err(_) => Search::Exhausted,
        }
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/", self.source)
    }
}

/// Why a pattern cannot be prepared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompilePatternError {
    /// Python would refuse it.
    #[error("{problem} at position {position}")]
    Syntax {
        /// What is wrong, in Python's words.
        problem: String,
        /// Where, in characters from 0.
        position: usize,
    },
    /// The engine cannot prepare it.
    #[error("{detail}")]
    Engine {
        /// The engine's words, in one line.
        detail: String,
    },
    /// It is longer than [`LONGEST_PATTERN`].
    #[error("longer than {LONGEST_PATTERN} bytes")]
    TooLong,
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
