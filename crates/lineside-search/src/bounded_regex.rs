//! Searches for expressions with look-around and backreferences, within a bound whatever the expression and the text.
//!
//! The syntax is that of the crate `fancy-regex`. To translate another one, and what a search that was given up means, is
//! for the caller.

use std::fmt;
use std::sync::{Arc, OnceLock};

use fancy_regex::{Expr, Regex, RegexBuilder};

use crate::{Effort, Search, Searcher, allowance};

/// The most backtracking steps of one search.
pub const MOST_STEPS: usize = 1_000_000;

/// The bytes that searches for one event may read together, where each step of a search may read the rest of its text:
/// some seconds at most.
const MOST_BYTES: usize = 2_000_000_000;

/// From one of the fewer numbers of steps to the next.
const FEWER: usize = 8;

/// The largest program of an expression that needs no backtracking, in bytes.
const LARGEST_PROGRAM: usize = 10 << 20;

/// How much of a text one step of a search may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepReach {
    /// A bounded number of characters: no repetition without an upper bound.
    Bounded,
    /// The whole rest of the text, or it is not known.
    WholeText,
}

/// A compiled expression whose searches are bounded. Clones share it.
#[derive(Clone)]
pub struct BoundedRegex(Engine);

#[derive(Clone)]
enum Engine {
    /// The expression needs no backtracking.
    Plain(Searcher),
    Backtracking(Arc<Backtracking>),
}

/// An expression that needs backtracking, with [`MOST_STEPS`] and with fewer and fewer steps, each compiled at its first
/// use.
struct Backtracking {
    written: String,
    reach: StepReach,
    regexes: [OnceLock<Option<Regex>>; 7],
}

impl BoundedRegex {
    /// Compiles an expression in the syntax of `fancy-regex`.
    ///
    /// # Errors
    /// The text is no expression, or is too large to be compiled, or larger than what is left of what it is compiled
    /// [`within`](crate::within).
    ///
    /// ```
    /// use lineside_search::{BoundedRegex, Effort, Search, StepReach};
    ///
    /// let regex = BoundedRegex::compile(r"rm (?!/tmp)", StepReach::Bounded).expect("an expression");
    /// assert_eq!(regex.search("rm /home", 8, &mut Effort::default()), Search::Found);
    /// assert_eq!(regex.search("rm /tmp", 7, &mut Effort::default()), Search::Absent);
    /// ```
    pub fn compile(written: impl Into<String>, reach: StepReach) -> Result<Self, CompileRegexError> {
        let written = written.into();
        allowance::shared(|| format!("{reach:?} {written}"), || Self::compiled(written.clone(), reach))
    }

    fn compiled(written: String, reach: StepReach) -> Result<Self, CompileRegexError> {
        let plain = Searcher::of_regex(&written, LARGEST_PROGRAM).ok();
        if plain.is_none() && !allowance::take(weight(&written)) {
            return Err(CompileRegexError(allowance::EXCEEDED.to_owned()));
        }
        // The backtracking engine knows all expressions: it refuses the same ones, whichever engine searches. What it would hand
        // on whole to the other one has been compiled.
        if let Some(searcher) = plain
            && Expr::parse_tree(&written).is_ok()
        {
            return Ok(Self(Engine::Plain(searcher)));
        }
        let regex = backtracking(&written, MOST_STEPS).map_err(|error| CompileRegexError::of(&error))?;
        let regexes = [const { OnceLock::new() }; 7];
        if let Some(first) = regexes.first() {
            first.get_or_init(|| Some(regex));
        }
        Ok(Self(Engine::Backtracking(Arc::new(Backtracking { written, reach, regexes }))))
    }

    /// Searches anywhere in a text, one of several that have `total` bytes together; a total below the text's own length
    /// counts as that length.
    #[must_use]
    pub fn search(&self, text: &str, total: usize, effort: &mut Effort) -> Search {
        let engine = match &self.0 {
            Engine::Plain(searcher) => return searcher.search(text, effort),
            Engine::Backtracking(engine) => engine,
        };
        match engine.regex(total.max(text.len())).map(|regex| regex.is_match(text)) {
            Some(Ok(true)) => Search::Found,
            Some(Ok(false)) => Search::Absent,
            // Too many steps or too deep a stack: a search has no other errors.
            Some(Err(_)) | None => Search::Exhausted,
        }
    }
}

impl fmt::Debug for BoundedRegex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Engine::Plain(searcher) => searcher.fmt(f),
            Engine::Backtracking(engine) => write!(f, "/{}/", engine.written),
        }
    }
}

/// The text is no expression, or one that is too large. The message is one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CompileRegexError(String);

impl CompileRegexError {
    fn of(error: &fancy_regex::Error) -> Self {
        Self(error.to_string().split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

impl Backtracking {
    /// Returns the expression with so few steps that all searches in texts of `total` bytes together are bounded.
    fn regex(&self, total: usize) -> Option<&Regex> {
        let allowed = match self.reach {
            StepReach::WholeText => MOST_BYTES / total.max(1),
            StepReach::Bounded => MOST_STEPS,
        };
        let (mut place, mut steps) = (0, MOST_STEPS);
        while steps > allowed && place + 1 < self.regexes.len() {
            (place, steps) = (place + 1, steps / FEWER);
        }
        self.regexes.get(place)?.get_or_init(|| backtracking(&self.written, steps).ok()).as_ref()
    }
}

/// What a class, a character and anything else of an expression compiles to at the most, in bytes.
const CLASS: usize = 96 << 10;
const RANGES: usize = 4 << 10;
const CHARACTER: usize = 256;
const OTHER: usize = 1 << 10;

/// What an expression that needs backtracking compiles to at the most, in bytes: it consists of many programs, of which
/// none is measured.
fn weight(written: &str) -> usize {
    let Ok(tree) = Expr::parse_tree(written) else { return written.len() };
    let (mut weight, mut open) = (0_usize, vec![(&tree.expr, 1_usize)]);
    while let Some((expression, times)) = open.pop() {
        let (own, inner) = match expression {
            Expr::Literal { val, .. } => (val.len() * CHARACTER, times),
            Expr::Delegate { inner, .. } if inner.contains(['\\', '^', ':']) => (CLASS, times),
            Expr::Delegate { .. } => (RANGES, times),
            Expr::Repeat { lo, hi: usize::MAX, .. } => (OTHER, times.saturating_mul(lo + 1)),
            Expr::Repeat { hi, .. } => (OTHER, times.saturating_mul((*hi).max(1))),
            _ => (OTHER, times),
        };
        weight = weight.saturating_add(own.saturating_mul(times));
        open.extend(expression.children_iter().map(|child| (child, inner)));
    }
    weight
}

fn backtracking(written: &str, steps: usize) -> Result<Regex, Box<fancy_regex::Error>> {
    RegexBuilder::new(written).backtrack_limit(steps).seek(true).build().map_err(Box::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_ends_whatever_the_expression_and_the_text() {
        let text = format!("{}b", "a".repeat(64));
        let regex = BoundedRegex::compile("^((?=a)(a|aa))+$", StepReach::WholeText).unwrap();
        assert_eq!(regex.search(&text, text.len(), &mut Effort::default()), Search::Exhausted);
        // A long text alone is no reason to give up.
        let guard = BoundedRegex::compile("rm (?!/tmp)", StepReach::Bounded).unwrap();
        assert_eq!(guard.search(&"x".repeat(8 << 20), 8 << 20, &mut Effort::default()), Search::Absent);
    }

    #[test]
    fn a_step_that_reads_the_whole_text_is_made_less_often_in_longer_texts() {
        let text = "a".repeat(3000);
        for (reach, found) in
            [(StepReach::WholeText, Search::Exhausted), (StepReach::Bounded, Search::Absent)]
        {
            let regex = BoundedRegex::compile("(?=.*z)a", reach).unwrap();
            assert_eq!(regex.search(&text, text.len(), &mut Effort::default()), Search::Absent);
            assert_eq!(regex.search(&text, 1 << 30, &mut Effort::default()), found);
        }
    }

    #[test]
    fn what_needs_backtracking_takes_from_the_allowance_before_it_is_compiled() {
        for (pattern, fewest) in [(r"rm (?!/tmp)", 20), (r"(?=a)\w{9}", 1), (r"(a)\1", 20)] {
            let compile = |number: &i32| {
                BoundedRegex::compile(format!("{number:04}{pattern}"), StepReach::WholeText).is_ok()
            };
            let (compiled, _) = crate::within(1 << 20, || (0..3_000).take_while(compile).count());
            assert!((fewest..3_000).contains(&compiled), "{pattern}: {compiled}");
        }
        let many = r"(?=a)\w{9}".repeat(5_000);
        let (refused, _) = crate::within(8 << 20, || BoundedRegex::compile(&*many, StepReach::WholeText));
        assert_eq!(refused.unwrap_err().to_string(), allowance::EXCEEDED);
    }

    #[test]
    fn an_error_is_one_line() {
        let error = BoundedRegex::compile("(a", StepReach::Bounded).unwrap_err().to_string();
        assert!(!error.contains('\n') && !error.is_empty(), "{error}");
    }
}
