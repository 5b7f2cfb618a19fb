//! Searches texts for regular expressions and globs within a bounded time, whatever the pattern and the text.
//!
//! The engines of `regex` take at most a time that grows with the product of both lengths, which for a large pattern and
//! a text of megabytes is minutes. Here a search whose product is large is made by an automaton that gives up when it
//! would need more than a few steps for each byte. The result of a search that was given up is not known, and its caller
//! decides what that means. Searches that belong together share one [`Effort`], so that many small ones are bounded too.
//!
//! What patterns compile to is bounded as well: each by a size, and those that belong together by [`within`].
//!
//! With the feature `backtracking`, `BoundedRegex` does the same for expressions with look-around and backreferences.
//!
//! ```
//! use lineside_search::{Effort, Search, Searcher};
//!
//! let source = Searcher::of_globs(["src/**/*.rs", "*.toml"]).expect("globs");
//! let mut effort = Effort::default();
//! assert_eq!(source.search("src/a/b.rs", &mut effort), Search::Found);
//! assert_eq!(source.search("README.md", &mut effort), Search::Absent);
//! assert!(!effort.is_exhausted());
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod allowance;
#[cfg(feature = "backtracking")]
mod bounded_regex;

use std::fmt;
use std::sync::{Arc, OnceLock};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex_automata::Input;
use regex_automata::hybrid::dfa::DFA;
use regex_automata::meta;
use regex_automata::nfa::thompson::{NFA, WhichCaptures};
use regex_automata::util::syntax;

pub use allowance::{compiled, sharing, within};
#[cfg(feature = "backtracking")]
pub use bounded_regex::{BoundedRegex, CompileRegexError, MOST_STEPS, StepReach};

/// The result of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// The pattern is in the text.
    Found,
    /// The pattern is not in the text.
    Absent,
    /// The search would have taken too long; whether the pattern is in the text is not known.
    Exhausted,
}

/// The cost that searches with one [`Effort`] may have together, in bytes of text for each state of a pattern: a second
/// or two at most.
const MOST: u64 = 100_000_000;

/// The greatest cost of a search that runs without the automaton.
const AT_ONCE: u64 = 4_000_000;

/// The longest text, in bytes, that is always searched without the automaton,
const SHORT: usize = 256;
/// and the states that its pattern counts as, one for so many bytes of its program if that is more: few of a large one are in use
/// at once.
const SHORT_STATES: u64 = 64;
const PROGRAM_OF_STATE: usize = 4 << 10;

/// Bytes of text for each new state of the automaton, below which it gives up: a new state costs a look at all states.
const STATES_PER_BYTE: usize = 8;

/// The cost of a byte of the states of the automaton.
const BUILT: u64 = 8;

/// The largest automaton, in bytes.
const LARGEST: usize = 8 << 20;

/// The remaining cost of searches that belong together, for example all those for one event.
///
/// It begins with some seconds of searching; each search takes its cost from it, and is given up when too little is left.
#[derive(Debug)]
pub struct Effort {
    left: u64,
    exhausted: bool,
}

impl Default for Effort {
    fn default() -> Self {
        Self { left: MOST, exhausted: false }
    }
}

impl Effort {
    /// Returns whether [`Searcher::is_match`] gave a search up.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    fn takes(&mut self, cost: u64) -> bool {
        let enough = self.left >= cost;
        if enough {
            self.left -= cost;
        }
        enough
    }
}

/// Compiled patterns, one of which has to be in a text. Clones share them.
#[derive(Clone)]
pub struct Searcher {
    quick: Quick,
    slow: Arc<Slow>,
}

#[derive(Clone)]
enum Quick {
    Regex(Arc<meta::Regex>),
    Globs(GlobSet),
}

struct Slow {
    /// Regular expressions; their alphabet is bytes where they have `(?-u)`.
    patterns: Vec<String>,
    /// What they count as in short texts.
    short_states: u64,
    automaton: OnceLock<Option<DFA>>,
}

impl Searcher {
    /// Compiles a regular expression in the syntax of the crate `regex`, that is found anywhere in a text.
    ///
    /// # Errors
    /// The text is no regular expression, or its program would have more than `largest` bytes, or more than is left of
    /// what it is compiled [`within`].
    ///
    /// ```
    /// use lineside_search::{Effort, Searcher};
    ///
    /// let digits = Searcher::of_regex("^[0-9]+$", 1 << 20).expect("an expression");
    /// assert!(digits.is_match("42", &mut Effort::default()));
    /// assert!(Searcher::of_regex("(", 1 << 20).is_err());
    /// ```
    pub fn of_regex(pattern: &str, largest: usize) -> Result<Self, ParseRegexError> {
        let compile = || {
            let regex = allowance::searched(pattern, largest).map_err(ParseRegexError)?;
            let bytes = regex.memory_usage();
            Ok(Self::new(Quick::Regex(Arc::new(regex)), vec![pattern.to_owned()], bytes))
        };
        allowance::shared(|| format!("{largest} {pattern}"), compile)
    }

    /// Compiles globs, one of which covers the whole text; `*` and `?` stop at `/`, `**` does not, and `\\` escapes.
    ///
    /// # Errors
    /// The first of the texts that is no glob or has braces more than 100 levels deep, or globs that have more than 64 KiB
    /// together, or are larger than what is left of what they are compiled [`within`].
    pub fn of_globs<'a>(globs: impl IntoIterator<Item = &'a str>) -> Result<Self, ParseGlobError> {
        let (mut set, mut patterns, mut bytes) = (GlobSetBuilder::new(), Vec::new(), 0);
        for text in globs {
            bytes += text.len();
            allowance::is_short(bytes).map_err(|kind| ParseGlobError { glob: None, kind })?;
            let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build();
            let glob = glob.map_err(|error| ParseGlobError {
                glob: Some(text.to_owned()),
                kind: error.kind().clone(),
            })?;
            patterns.push(glob.regex().to_owned());
            set.add(glob);
        }
        let length = patterns.iter().map(String::len).sum();
        let bytes = allowance::take_globs(length).map_err(|kind| ParseGlobError { glob: None, kind })?;
        let set = set.build().map_err(|error| ParseGlobError { glob: None, kind: error.kind().clone() })?;
        Ok(Self::new(Quick::Globs(set), patterns, bytes))
    }

    /// With the bytes of its program.
    fn new(quick: Quick, patterns: Vec<String>, bytes: usize) -> Self {
        let short_states = SHORT_STATES.max((bytes / PROGRAM_OF_STATE) as u64);
        Self { quick, slow: Arc::new(Slow { patterns, short_states, automaton: OnceLock::new() }) }
    }

    /// Returns whether one of the patterns is in a text. A search that is given up counts as a match, and
    /// [`Effort::is_exhausted`] reports it.
    #[must_use]
    pub fn is_match(&self, text: &str, effort: &mut Effort) -> bool {
        match self.search(text, effort) {
            Search::Found => true,
            Search::Absent => false,
            Search::Exhausted => {
                effort.exhausted = true;
                true
            }
        }
    }

    /// Searches a text, and takes the cost from the effort. It allocates nothing for short texts.
    #[must_use]
    pub fn search(&self, text: &str, effort: &mut Effort) -> Search {
        let bytes = text.len() as u64 + 1;
        if text.len() <= SHORT && effort.takes(bytes * self.slow.short_states) {
            return self.at_once(text);
        }
        let Some(automaton) = self.slow.automaton() else { return Search::Exhausted };
        let cost = bytes.saturating_mul(automaton.get_nfa().states().len() as u64);
        if cost <= AT_ONCE && effort.takes(cost) {
            return self.at_once(text);
        }
        if effort.left == 0 {
            return Search::Exhausted;
        }
        let (mut cache, input) = (automaton.create_cache(), Input::new(text).earliest(true));
        let found = automaton.try_search_fwd(&mut cache, &input);
        let built = cache.memory_usage() + cache.clear_count() * automaton.get_config().get_cache_capacity();
        effort.left = effort.left.saturating_sub(bytes + built as u64 * BUILT);
        match found {
            Ok(found) => Search::of(found.is_some()),
            Err(_) if effort.takes(cost) => self.at_once(text),
            Err(_) => Search::Exhausted,
        }
    }

    fn at_once(&self, text: &str) -> Search {
        Search::of(match &self.quick {
            Quick::Regex(regex) => regex.is_match(text),
            Quick::Globs(globs) => globs.is_match(text),
        })
    }
}

impl Search {
    fn of(found: bool) -> Self {
        if found { Self::Found } else { Self::Absent }
    }
}

/// The text is no regular expression, or one that is too large.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", last_line(.0))]
pub struct ParseRegexError(regex::Error);

/// The engine's last line: those before it show the pattern.
fn last_line(error: &regex::Error) -> String {
    error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// A text is no glob, or the globs are too large together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct ParseGlobError {
    glob: Option<String>,
    kind: globset::ErrorKind,
}

impl ParseGlobError {
    /// Returns the glob that cannot be read; `None` when all of them together are too large.
    #[must_use]
    pub fn glob(&self) -> Option<&str> {
        self.glob.as_deref()
    }
}

impl fmt::Debug for Searcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Searcher").field(&self.slow.patterns).finish()
    }
}

impl Slow {
    /// Returns the automaton, built at its first use; `None` for patterns that are too large.
    fn automaton(&self) -> Option<&DFA> {
        self.automaton.get_or_init(|| automaton(&self.patterns)).as_ref()
    }
}

fn automaton(patterns: &[String]) -> Option<DFA> {
    let whole = NFA::config().nfa_size_limit(Some(LARGEST)).which_captures(WhichCaptures::None);
    let nfa = NFA::compiler()
        .syntax(syntax::Config::new().utf8(false))
        .configure(whole)
        .build_many(patterns)
        .ok()?;
    let config = DFA::config()
        // Beside a character that is not ASCII such a search is given up.
        .unicode_word_boundary(true)
        .skip_cache_capacity_check(true)
        .minimum_cache_clear_count(Some(4))
        .minimum_bytes_per_state(Some(nfa.states().len() / STATES_PER_BYTE + 10));
    DFA::builder().configure(config).build_from_nfa(nfa).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regex(pattern: &str) -> Searcher {
        Searcher::of_regex(pattern, 1 << 20).unwrap()
    }

    /// Letters in an order that no automaton can foresee.
    fn mixed(bytes: usize) -> String {
        let next = |state: &mut u32| {
            *state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            Some(if *state >> 16 & 1 == 0 { 'a' } else { 'b' })
        };
        let mut state = 1;
        std::iter::from_fn(|| next(&mut state)).take(bytes).collect()
    }

    #[test]
    fn a_search_in_a_long_text_ends_as_one_in_a_short_text() {
        let filler = mixed(50_000);
        for (pattern, text, found) in [
            ("^x", "x", true),
            ("^x", "yx", false),
            ("x$", "x", true),
            (r"\bfoo\b", "a foo b", true),
            (r"\bfoo\b", "é foo", true),
            ("é.z", "éäz", true),
            ("(?i)FOO", "foo", true),
            ("", "", true),
        ] {
            for search in [regex(pattern), regex(&format!("(?:{pattern})|never[a-z]{{100}}"))] {
                let long = if pattern.starts_with('^') {
                    format!("{text}{filler}")
                } else {
                    format!("{filler}\n {text}")
                };
                for text in [text.to_owned(), long] {
                    let mut effort = Effort::default();
                    assert_eq!(
                        search.is_match(&text, &mut effort),
                        found,
                        "{search:?} in {} bytes",
                        text.len()
                    );
                    assert!(!effort.is_exhausted(), "{search:?}");
                }
            }
        }
    }

    #[test]
    fn a_search_that_would_take_minutes_is_given_up_and_so_are_many_that_do_together() {
        let text = mixed(200_000);
        let search = regex("a[ab]{2000}c");
        let mut effort = Effort::default();
        assert_eq!(search.search(&text, &mut effort), Search::Exhausted);
        assert!(effort.left < MOST);
        let mut effort = Effort { left: MOST / 100, exhausted: false };
        let searches = std::iter::repeat_n(&text[..1500], 1000).map(|text| search.search(text, &mut effort));
        let exhausted = searches.filter(|search| *search == Search::Exhausted).count();
        assert!(exhausted > 900, "{exhausted}");
    }

    #[test]
    fn many_searches_in_short_texts_have_a_bound_by_the_pattern_as_well() {
        let given_up = |pattern: &str| {
            let (search, mut effort) = (regex(pattern), Effort { left: MOST / 100, exhausted: false });
            let texts = (0..60).map(|number| format!("{number:03}{}", &mixed(250)[3..]));
            texts.filter(|text| search.search(text, &mut effort) == Search::Exhausted).count()
        };
        assert!(given_up("(?:[a-z]{0,3}){2000}[0-9]{3}$") > 30);
        assert_eq!(given_up("rm -rf|shutdown"), 0);
    }

    #[test]
    fn globs_that_are_nested_deep_or_long_are_refused_before_they_are_compiled() {
        let nested = |levels: usize| format!("{}a{}", "{".repeat(levels), "}".repeat(levels));
        let is_glob = |glob: String| {
            let small = std::thread::Builder::new().stack_size(2 << 20);
            small.spawn(move || Searcher::of_globs([&*glob]).is_ok()).unwrap().join().unwrap()
        };
        assert!(is_glob(nested(100)) && is_glob("a".repeat(64 << 10)));
        for glob in [nested(20_000), nested(101), nested(500_000), "a".repeat((64 << 10) + 1)] {
            let length = glob.len();
            assert!(!is_glob(glob), "{length}");
        }
        assert!(
            Searcher::of_globs(["a".repeat(40_000), "b".repeat(40_000)].iter().map(|glob| &**glob)).is_err()
        );
    }
}
