//! What patterns may compile to, one by one and together.
//!
//! A short text can be a large program: `\w{9}` is one of half a megabyte. A size for each bounds nothing where there are
//! thousands, so those that belong together, such as all of a file, are compiled [`within`] an allowance. It holds for all
//! that the thread compiles meanwhile, wherever in the call, so that no way around it can be forgotten.

use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use globset::ErrorKind;
use regex::{Regex, RegexBuilder};
use regex_automata::meta;
use regex_automata::nfa::thompson::NFA;

type Shared = HashMap<(TypeId, String), Box<dyn Any>>;

thread_local! {
    /// What is left, in bytes.
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
    /// Where expressions are shared, those that were compiled, by what they are and how they are written.
    static SHARED: RefCell<Option<Shared>> = const { RefCell::new(None) };
}

/// The bytes of a compiled set of globs for each byte of the expression of one, which has no counted repetition.
const OF_GLOBS: usize = 128;

/// The programs of an expression beside the one that is measured: one backwards, and what is worked out from both.
const PROGRAMS: usize = 3;

/// What each expression takes beside its programs.
const OF_EACH: usize = 1 << 10;

/// The longest expression, and the longest globs that are compiled together, in bytes.
const LONGEST: usize = 64 << 10;

/// What the ranges of a class take while it is read, in bytes of a program; in any case of letters, that are looked up.
const CLASS: usize = 4 << 10;
const FOLDED_CLASS: usize = 8 << 10;

/// Does some work in which patterns may compile to `most` bytes together, and to no more than is left of an allowance
/// around it. Returns what the work returns, and the bytes that were taken.
///
/// ```
/// use lineside_search::{Searcher, within};
///
/// let (compiled, taken) = within(1 << 20, || Searcher::of_regex(r"\w{9}", 1 << 20).is_ok());
/// assert!(compiled && taken > 100_000);
/// let (compiled, _) = within(1 << 10, || Searcher::of_regex(r"\w{9}", 1 << 20).is_ok());
/// assert!(!compiled);
/// ```
pub fn within<T>(most: usize, work: impl FnOnce() -> T) -> (T, usize) {
    /// Gives the rest back, also when the work panics.
    struct Around {
        left: usize,
        given: usize,
    }
    impl Around {
        fn taken(&self) -> usize {
            self.given - LEFT.get()
        }
    }
    impl Drop for Around {
        fn drop(&mut self) {
            // Without an allowance nothing is counted.
            LEFT.set(if self.left == usize::MAX { self.left } else { self.left - self.taken() });
        }
    }
    let left = LEFT.get();
    let around = Around { left, given: left.min(most) };
    LEFT.set(around.given);
    let done = work();
    (done, around.taken())
}

/// Does some work in which expressions that are written alike are compiled once, and taken once of an [allowance](within): what
/// has them is let go together.
///
/// ```
/// use lineside_search::{Searcher, sharing, within};
///
/// let compile = || Searcher::of_regex(r"\w{9}", 1 << 20).is_ok();
/// let (compiled, taken) = within(1 << 20, || sharing(|| (0..1_000).all(|_| compile())));
/// assert!(compiled && taken > 100_000);
/// ```
pub fn sharing<T>(work: impl FnOnce() -> T) -> T {
    /// Lets go of it, also when the work panics.
    struct Around(Option<Shared>);
    impl Drop for Around {
        fn drop(&mut self) {
            SHARED.replace(self.0.take());
        }
    }
    let _around = Around(SHARED.replace(Some(HashMap::new())));
    work()
}

/// What is written like this and was compiled already where that is [shared](sharing), or is compiled now.
pub(crate) fn shared<T: Clone + 'static, E>(
    written: impl FnOnce() -> String,
    compile: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    if SHARED.with_borrow(Option::is_none) {
        return compile();
    }
    let key = (TypeId::of::<T>(), written());
    let found = SHARED.with_borrow(|all| all.as_ref()?.get(&key)?.downcast_ref::<T>().cloned());
    if let Some(found) = found {
        return Ok(found);
    }
    let compiled = compile()?;
    SHARED.with_borrow_mut(|all| all.as_mut()?.insert(key, Box::new(compiled.clone())));
    Ok(compiled)
}

/// Compiles an expression for what a search alone does not do, such as replacements. It has no bound on its searches.
///
/// # Errors
/// As [`Searcher::of_regex`](crate::Searcher::of_regex).
pub fn compiled(pattern: &str, largest: usize) -> Result<Regex, regex::Error> {
    measured(pattern, largest, |most| {
        let config = NFA::config().nfa_size_limit(Some(most));
        let nfa = NFA::compiler().configure(config).build(pattern);
        let bytes = nfa.map_or(0, |nfa| nfa.memory_usage() * PROGRAMS) + OF_EACH;
        Ok((RegexBuilder::new(pattern).size_limit(most).build()?, bytes))
    })
}

/// Compiles an expression that is searched for.
pub(crate) fn searched(pattern: &str, largest: usize) -> Result<meta::Regex, regex::Error> {
    measured(pattern, largest, |most| {
        let config = meta::Config::new().nfa_size_limit(Some(most));
        let regex = meta::Regex::builder().configure(config).build(pattern).map_err(|error| {
            let syntax =
                || regex::Error::Syntax(error.syntax_error().map_or(error.to_string(), ToString::to_string));
            error.size_limit().map_or_else(syntax, regex::Error::CompiledTooBig)
        })?;
        let bytes = regex.memory_usage() + OF_EACH;
        Ok((regex, bytes))
    })
}

/// Compiles an expression to one with its size, and takes that.
fn measured<T>(
    pattern: &str,
    largest: usize,
    compile: impl FnOnce(usize) -> Result<(T, usize), regex::Error>,
) -> Result<T, regex::Error> {
    let left = LEFT.get();
    let least = least(pattern);
    if pattern.len() > LONGEST || least > largest {
        take(largest);
        return Err(regex::Error::CompiledTooBig(largest));
    }
    // Where nothing is left, it would be compiled in vain.
    if left < least.max(OF_EACH) {
        take(OF_EACH);
        return Err(regex::Error::Syntax(EXCEEDED.to_owned()));
    }
    match compile(largest.min(left)) {
        Ok((regex, bytes)) if take(bytes) => Ok(regex),
        Ok(_) => Err(regex::Error::Syntax(EXCEEDED.to_owned())),
        Err(regex::Error::CompiledTooBig(most)) => {
            take(most);
            Err(if most < largest {
                regex::Error::Syntax(EXCEEDED.to_owned())
            } else {
                regex::Error::CompiledTooBig(most)
            })
        }
        Err(error) => {
            take(least);
            Err(error)
        }
    }
}

/// What the classes of an expression take at the least, whatever becomes of it.
fn least(pattern: &str) -> usize {
    let folds = pattern.match_indices("(?").any(|(at, _)| {
        let flags = pattern[at + 2..].bytes().take_while(u8::is_ascii_alphabetic);
        flags.into_iter().any(|flag| flag == b'i')
    });
    let (mut least, mut is_escaped) = (0, false);
    for byte in pattern.bytes() {
        least += match byte {
            b'p' | b'P' if is_escaped && folds => FOLDED_CLASS,
            b'p' | b'P' | b'w' | b'W' if is_escaped => CLASS,
            b'[' if folds && !is_escaped => FOLDED_CLASS,
            _ => 0,
        };
        is_escaped = byte == b'\\' && !is_escaped;
    }
    least
}

/// Refuses globs that have too many bytes together.
pub(crate) fn is_short(bytes: usize) -> Result<(), ErrorKind> {
    if bytes <= LONGEST { Ok(()) } else { Err(ErrorKind::Regex(EXCEEDED.to_owned())) }
}

/// Takes what globs compile to whose expressions have so many bytes together, and tells it.
pub(crate) fn take_globs(length: usize) -> Result<usize, ErrorKind> {
    let bytes = length * OF_GLOBS + OF_EACH;
    if take(bytes) { Ok(bytes) } else { Err(ErrorKind::Regex(EXCEEDED.to_owned())) }
}

/// The message where nothing is left.
pub(crate) const EXCEEDED: &str = "it and the patterns that are compiled with it are too large together";

/// Takes so much, or all that is left where that is less.
pub(crate) fn take(bytes: usize) -> bool {
    let left = LEFT.get();
    LEFT.set(left.saturating_sub(bytes));
    left >= bytes
}

#[cfg(test)]
mod tests {
    use crate::Searcher;

    use super::*;

    const LARGEST: usize = 1 << 20;

    fn count(most: usize, compiles: impl Fn(u32) -> bool) -> (usize, usize) {
        within(most, || (0..10_000).take_while(|number| compiles(*number)).count())
    }

    /// Whether an expression is compiled that is another one for each number.
    fn is_searched(pattern: &str, number: u32) -> bool {
        Searcher::of_regex(&format!("{pattern}{number:04}"), LARGEST).is_ok()
    }

    #[test]
    fn patterns_that_belong_together_compile_to_no_more_than_they_may() {
        let most = 1 << 20;
        let searched = |pattern: &'static str| move |number| is_searched(pattern, number);
        for (pattern, fewest) in [(r"\w{4}", 2), ("(?i)rm -rf|shutdown", 20), ("rm -rf", 500)] {
            let (compiled, taken) = count(most, searched(pattern));
            assert!((fewest..10_000).contains(&compiled) && taken == most, "{pattern}: {compiled}, {taken}");
        }
        let (compiled, _) = count(most, |_| super::compiled(r"\w{4}", LARGEST).is_ok());
        assert!((2..20).contains(&compiled), "{compiled}");
        let (compiled, _) = count(most, |_| Searcher::of_globs(["src/**/*.rs"]).is_ok());
        assert!((100..10_000).contains(&compiled), "{compiled}");
        // Without an allowance there is none.
        assert_eq!(LEFT.get(), usize::MAX);
    }

    #[test]
    fn what_is_written_alike_is_compiled_once_where_it_is_shared_and_nothing_where_none_is_left() {
        let of = |pattern: &str| Searcher::of_regex(pattern, LARGEST);
        let (all, taken) =
            within(1 << 20, || sharing(|| (0..10_000).filter(|_| of("rm -rf").is_ok()).count()));
        assert!(all == 10_000 && taken < 10_000, "{taken}");
        let (_, of_both) = within(1 << 20, || sharing(|| of("rm -rf").and(of("rm -r")).is_ok()));
        let (_, anew) = within(1 << 20, || of("rm -rf").and(of("rm -rf")).is_ok());
        assert!(of_both > taken && anew == 2 * taken, "{of_both}, {anew}");
        let (said, _) = within(taken, || sharing(|| (of("rm -rf"), of("("), of("rm -rf"))));
        let (Ok(_), Err(error), Ok(_)) = said else { panic!("{said:?}") };
        assert!(error.to_string().contains(EXCEEDED), "it is not looked at: {error}");
    }

    #[test]
    fn what_is_refused_takes_its_time_from_the_allowance_too() {
        for pattern in [r"\w{90}", &r"\w".repeat(30_000), &r"(?i)\pL".repeat(300), &"a".repeat(LONGEST + 1)] {
            let (refused, taken) = within(8 << 20, || {
                (0..100).take_while(|_| Searcher::of_regex(pattern, LARGEST).is_err()).count()
            });
            assert_eq!((refused, taken), (100, 8 << 20), "{:.20}", pattern);
        }
    }

    #[test]
    fn an_allowance_within_another_one_takes_from_it() {
        let compile = |number| is_searched(r"\w{4}", number);
        let (inner, taken) = within(3 << 20, || {
            [(1, 1 << 20), (2, 1 << 20), (3, 9 << 20), (4, 9 << 20)]
                .map(|(number, most)| within(most, || compile(number)).1)
        });
        assert_eq!(inner.iter().sum::<usize>(), taken);
        let (_, taken) = within(1 << 20, || within(9 << 20, || count(usize::MAX, compile)));
        assert_eq!(taken, 1 << 20);
        let panics = std::panic::catch_unwind(|| within(1, || panic!("as it was asked to")));
        assert!(panics.is_err() && LEFT.get() == usize::MAX);
    }
}
