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
use std::sync::{Arc, OnceLock};

use fancy_regex::{Regex, RegexBuilder};
use lineside_core::search::{Effort, Searcher};

pub use lineside_core::search::Search;

use syntax::Width;

/// The longest pattern that is prepared, in bytes.
pub const LONGEST_PATTERN: usize = 64 * 1024;

/// The most backtracking steps of one search.
pub const MOST_STEPS: usize = 1_000_000;

/// What all searches for one event may take, in bytes that are looked at, where each step of a search may look at the
/// rest of its text: some seconds at most.
const MOST_BYTES: usize = 2_000_000_000;

/// From one of the fewer numbers of steps to the next.
const FEWER: usize = 8;

/// The largest program of a pattern that needs no backtracking, in bytes.
const LARGEST_PROGRAM: usize = 10 << 20;

/// A prepared pattern.
#[derive(Clone)]
pub struct Pattern {
    source: Arc<str>,
    engine: Engine,
}

/// What searches a pattern.
#[derive(Clone)]
enum Engine {
    /// It needs no backtracking.
    Plain(Searcher),
    /// It does.
    Backtracking(Arc<Backtracking>),
}

/// A pattern that needs backtracking, with [`MOST_STEPS`] and with fewer and fewer steps, each prepared when it is
/// needed.
struct Backtracking {
    written: String,
    /// Whether a single step may look at the whole rest of a text.
    scans: bool,
    regexes: [OnceLock<Option<Regex>>; 7],
}

impl Backtracking {
    /// With so few steps that all searches in texts of `total` bytes together are bounded.
    fn regex(&self, total: usize) -> Option<&Regex> {
        let allowed = if self.scans { MOST_BYTES / total.max(1) } else { MOST_STEPS };
        let (mut place, mut steps) = (0, MOST_STEPS);
        while steps > allowed && place + 1 < self.regexes.len() {
            (place, steps) = (place + 1, steps / FEWER);
        }
        self.regexes.get(place)?.get_or_init(|| backtracking(&self.written, steps).ok()).as_ref()
    }
}

fn backtracking(written: &str, steps: usize) -> Result<Regex, fancy_regex::Error> {
    RegexBuilder::new(written).backtrack_limit(steps).seek(true).build()
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
        // It is prepared by the one that knows all patterns, so that the same are refused whichever searches.
        let regex = backtracking(&written, MOST_STEPS)
            .map_err(|error| CompilePatternError::Engine { detail: one_line(&error.to_string()) })?;
        let engine = match Searcher::of_regex(&written, LARGEST_PROGRAM) {
            Ok(searcher) => Engine::Plain(searcher),
            Err(_) => {
                let scans = Width::looks_anywhere(&parsed);
                let regexes = [const { OnceLock::new() }; 7];
                if let Some(first) = regexes.first() {
                    first.get_or_init(|| Some(regex));
                }
                Engine::Backtracking(Arc::new(Backtracking { written, scans, regexes }))
            }
        };
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
        let engine = match &self.engine {
            Engine::Plain(searcher) => return searcher.search(text, effort),
            Engine::Backtracking(engine) => engine,
        };
        match engine.regex(total.max(text.len())).map(|regex| regex.is_match(text)) {
            Some(Ok(true)) => Search::Found,
            Some(Ok(false)) => Search::Absent,
            // Too many steps or too deep a stack: there is no third thing that goes wrong in a search.
            Some(Err(_)) | None => Search::Exhausted,
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
