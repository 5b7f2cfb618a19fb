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

use lineside_core::search::Effort;

pub use lineside_core::search::Search;

use syntax::Width;

use crate::bounded_regex::Engine;
pub use crate::bounded_regex::MOST_STEPS;

/// The longest pattern that is prepared, in bytes.
pub const LONGEST_PATTERN: usize = 64 * 1024;

/// A prepared pattern.
#[derive(Clone)]
pub struct Pattern {
    source: Arc<str>,
    engine: Engine,
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
        let written = write::write(&parsed);
        let engine = Engine::prepare(written, Width::looks_anywhere(&parsed))
            .map_err(|error| CompilePatternError::Engine { detail: one_line(&error.to_string()) })?;
        Ok(Self { source: source.into(), engine })
    }

    /// The pattern as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Searches the pattern anywhere in the only text of an event.
    #[cfg(test)]
    fn search_alone(&self, text: &str) -> Search {
        self.search(text, text.len(), &mut Effort::default())
    }

    /// Searches the pattern anywhere in a text, one of those of an event that have `total` bytes together.
    #[must_use]
    pub fn search(&self, text: &str, total: usize, effort: &mut Effort) -> Search {
        self.engine.search(text, total, effort)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/", self.source)
    }
}

/// Why a pattern cannot be prepared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
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
