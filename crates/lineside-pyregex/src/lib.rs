//! Regular expressions in the syntax of Python's `re` (3.11), searched with a bound on backtracking.
//!
//! `parse` reads a pattern by the rules of Python, and `write` writes it for the engine, so that a piece has the same
//! meaning in both. What the engine itself cannot do (`\N{name}`, counts beyond its size limit) is an error of
//! [`Pattern::compile`], never of a search.
//!
//! Three differences from CPython 3.11 remain, as 12 000 random patterns have shown: `$` matches only at the very end of
//! the text unless `m` is set, as the formats that use these patterns ask for; `\b` beside a combining mark or a number
//! that is no digit (`²`) follows Unicode's notion of a word; and `\B` matches in an empty text, as in 3.14.
//!
//! ```
//! use lineside_pyregex::{Effort, Pattern, Search};
//!
//! let pattern = Pattern::compile(r"(?P<word>\w+) (?P=word)").expect("a pattern");
//! let text = "very very good";
//! assert_eq!(pattern.search(text, text.len(), &mut Effort::default()), Search::Found);
//!
//! let error = Pattern::compile("(?<=a+)b").expect_err("no pattern");
//! assert_eq!(error.to_string(), "look-behind requires fixed-width pattern at position 0");
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod parse;
mod syntax;
mod write;

use std::fmt;
use std::sync::Arc;

use lineside_search::{BoundedRegex, CompileRegexError, StepReach};

use syntax::Width;

pub use lineside_search::{Effort, MOST_STEPS, Search};

/// The longest pattern that is compiled, in bytes.
pub const LONGEST_PATTERN: usize = 64 * 1024;

/// A compiled pattern. Clones share it.
#[derive(Clone)]
pub struct Pattern {
    source: Arc<str>,
    regex: BoundedRegex,
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// Python refuses the pattern, the engine cannot compile it, or it is longer than [`LONGEST_PATTERN`].
    pub fn compile(source: &str) -> Result<Self, CompilePatternError> {
        if source.len() > LONGEST_PATTERN {
            return Err(CompilePatternError::TooLong);
        }
        let parsed = parse::parse(source)?;
        let written = write::write(&parsed);
        let reach = if Width::looks_anywhere(&parsed) { StepReach::WholeText } else { StepReach::Bounded };
        Ok(Self { source: source.into(), regex: BoundedRegex::compile(written, reach)? })
    }

    /// Returns the pattern as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Searches the pattern anywhere in the only text of an event.
    #[cfg(test)]
    fn search_alone(&self, text: &str) -> Search {
        self.search(text, text.len(), &mut Effort::default())
    }

    /// Searches anywhere in a text, one of several that have `total` bytes together.
    ///
    /// A search takes at most [`MOST_STEPS`] backtracking steps, fewer where a step may read the whole text and the total
    /// is large; a search that needs more returns [`Search::Exhausted`]. A pattern without look-around and backreferences
    /// takes its cost from the effort instead.
    #[must_use]
    pub fn search(&self, text: &str, total: usize, effort: &mut Effort) -> Search {
        self.regex.search(text, total, effort)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/", self.source)
    }
}

/// The reason why a pattern cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompilePatternError {
    /// Python refuses the pattern.
    #[error("{problem} at position {position}")]
    Syntax {
        /// The problem, in Python's words.
        problem: String,
        /// The position in characters, from 0.
        position: usize,
    },
    /// The engine cannot compile the pattern; the message is the engine's, in one line.
    #[error(transparent)]
    Engine(#[from] CompileRegexError),
    /// The pattern is longer than [`LONGEST_PATTERN`].
    #[error("longer than {LONGEST_PATTERN} bytes")]
    TooLong,
}

#[cfg(test)]
mod tests;
