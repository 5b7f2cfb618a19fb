//! Searches whose time is bounded, whatever the pattern and the text.
//!
//! The engines of `regex` take at most a time that grows with the product of both lengths, which for a large pattern and
//! a text of megabytes is minutes. Here a search whose product is large is made by an automaton that gives up when it
//! would need more than a few steps for each byte; what was given up is not decided.

use std::fmt;
use std::sync::{Arc, OnceLock};

use globset::GlobSet;
use regex::{Regex, RegexBuilder};
use regex_automata::Input;
use regex_automata::hybrid::dfa::DFA;
use regex_automata::nfa::thompson::{NFA, WhichCaptures};
use regex_automata::util::syntax;

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// The pattern is in the text.
    Found,
    /// It is not.
    Absent,
    /// It would have taken too long; whether the pattern is there is not known.
    Exhausted,
}

/// What searches may take together, in bytes of text for each state of a pattern: a second or two at most.
const MOST: u64 = 100_000_000;

/// A single search that takes no more than this is made at once.
const AT_ONCE: u64 = 4_000_000;

/// In texts that are no longer, in bytes, a search is made at once,
const SHORT: usize = 256;
/// as if the pattern had so many states.
const SHORT_STATES: u64 = 64;

/// The bytes of text that each step of the automaton has to pay for: one step costs a look at all states.
const STATES_PER_BYTE: usize = 8;

/// What it costs to build a byte of the states of the automaton.
const BUILT: u64 = 8;

/// The largest automaton, in bytes.
const LARGEST: usize = 8 << 20;

/// What the searches for one event may still take.
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
    /// Whether a search was given up.
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

/// Patterns that are prepared: one of them has to be in a text. Clones share what is prepared.
#[derive(Clone)]
pub struct Searcher {
    quick: Quick,
    slow: Arc<Slow>,
}

#[derive(Clone)]
enum Quick {
    Regex(Regex),
    Globs(GlobSet),
}

struct Slow {
    /// As regular expressions, of which bytes are the alphabet where they say so.
    patterns: Vec<String>,
    automaton: OnceLock<Option<DFA>>,
}

impl Searcher {
    /// Of a regular expression.
    ///
    /// # Errors
    /// It is none, or its program would have more than `largest` bytes.
    pub fn of_regex(pattern: &str, largest: usize) -> Result<Self, regex::Error> {
        let regex = RegexBuilder::new(pattern).size_limit(largest).build()?;
        Ok(Self::new(Quick::Regex(regex), vec![pattern.to_owned()]))
    }

    /// Of globs, with the regular expressions that they are.
    #[must_use]
    pub fn of_globs(globs: GlobSet, patterns: Vec<String>) -> Self {
        Self::new(Quick::Globs(globs), patterns)
    }

    fn new(quick: Quick, patterns: Vec<String>) -> Self {
        Self { quick, slow: Arc::new(Slow { patterns, automaton: OnceLock::new() }) }
    }

    /// Whether one of the patterns is in a text. What is given up counts as found, and the effort knows of it.
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

    /// Searches a text.
    #[must_use]
    pub fn search(&self, text: &str, effort: &mut Effort) -> Search {
        let bytes = text.len() as u64 + 1;
        if text.len() <= SHORT && effort.takes(bytes * SHORT_STATES) {
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

impl fmt::Debug for Searcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Searcher").field(&self.slow.patterns).finish()
    }
}

impl Slow {
    /// `None` for patterns that are too large.
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
}
