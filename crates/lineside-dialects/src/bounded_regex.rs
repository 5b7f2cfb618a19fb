//! Regular expressions as the engine writes them, searched within a bound whatever the expression and the text.
//!
//! Whose syntax an expression is in, and what a search that was given up means, is for the formats.

use std::fmt;
use std::sync::{Arc, OnceLock};

use fancy_regex::{Regex, RegexBuilder};
use lineside_core::search::{Effort, Search, Searcher};

/// The most backtracking steps of one search.
pub const MOST_STEPS: usize = 1_000_000;

/// What all searches for one event may take, in bytes that are looked at, where each step of a search may look at the
/// rest of its text: some seconds at most.
const MOST_BYTES: usize = 2_000_000_000;

/// From one of the fewer numbers of steps to the next.
const FEWER: usize = 8;

/// The largest program of an expression that needs no backtracking, in bytes.
const LARGEST_PROGRAM: usize = 10 << 20;

/// What searches an expression.
#[derive(Clone)]
pub(crate) enum Engine {
    /// It needs no backtracking.
    Plain(Searcher),
    /// It does.
    Backtracking(Arc<Backtracking>),
}

/// An expression that needs backtracking, with [`MOST_STEPS`] and with fewer and fewer steps, each prepared when it is
/// needed.
pub(crate) struct Backtracking {
    written: String,
    /// Whether a single step may look at the whole rest of a text.
    scans: bool,
    regexes: [OnceLock<Option<Regex>>; 7],
}

impl Engine {
    /// Prepares an expression; `scans` where a single step of its search may look at the whole rest of a text.
    ///
    /// # Errors
    /// It is none, or is too large to be prepared.
    pub(crate) fn prepare(written: String, scans: bool) -> Result<Self, Box<fancy_regex::Error>> {
        // It is prepared by the one that knows all expressions, so that the same are refused whichever searches.
        let regex = backtracking(&written, MOST_STEPS)?;
        if let Ok(searcher) = Searcher::of_regex(&written, LARGEST_PROGRAM) {
            return Ok(Self::Plain(searcher));
        }
        let regexes = [const { OnceLock::new() }; 7];
        if let Some(first) = regexes.first() {
            first.get_or_init(|| Some(regex));
        }
        Ok(Self::Backtracking(Arc::new(Backtracking { written, scans, regexes })))
    }

    /// Searches anywhere in a text, one of those of an event that have `total` bytes together.
    pub(crate) fn search(&self, text: &str, total: usize, effort: &mut Effort) -> Search {
        let engine = match self {
            Self::Plain(searcher) => return searcher.search(text, effort),
            Self::Backtracking(engine) => engine,
        };
        match engine.regex(total.max(text.len())).map(|regex| regex.is_match(text)) {
            Some(Ok(true)) => Search::Found,
            Some(Ok(false)) => Search::Absent,
            // Too many steps or too deep a stack: there is no third thing that goes wrong in a search.
            Some(Err(_)) | None => Search::Exhausted,
        }
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(searcher) => searcher.fmt(f),
            Self::Backtracking(engine) => write!(f, "/{}/", engine.written),
        }
    }
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

fn backtracking(written: &str, steps: usize) -> Result<Regex, Box<fancy_regex::Error>> {
    RegexBuilder::new(written).backtrack_limit(steps).seek(true).build().map_err(Box::new)
}
