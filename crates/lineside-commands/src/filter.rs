//! Filters: which programs and paths of a command a hook asks for.

mod paths;
mod runs;

use crate::analysis::{Access, Analysis, Trait, Unclear, Unknown};
use crate::state::Surroundings;

pub use paths::Paths;
pub use runs::{AnyOfRuns, RunsFilter, runs};

/// Asks for something that a command does. A value: it can be kept and combined.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CommandFilter {
    /// One of these fits one program that the command may start.
    Runs(AnyOfRuns),
    /// A path is touched so.
    Touches(Access, Paths),
    /// The command does this.
    Does(Trait),
    /// Something of this kind is not known.
    Unclear(Unknown),
    /// A variable is set to a value that one of these globs of `NAME=value` fits.
    Sets(Vec<String>),
    /// One of them matches.
    Any(Vec<CommandFilter>),
    /// Each of them matches.
    All(Vec<CommandFilter>),
    /// It does not match.
    Not(Box<CommandFilter>),
}

/// What a filter answers where it is not known whether the command does what it asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenUnclear {
    /// It matches, and [`Match::unclear`] says why.
    Match,
    /// It does not match.
    #[default]
    Skip,
}

/// What made a filter match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// The index of the program.
    pub program: Option<usize>,
    /// The index of the path.
    pub touch: Option<usize>,
    /// What else the command does.
    pub does: Option<Trait>,
    /// Why it is not known whether it matches, where it counts as a match for that.
    pub unclear: Option<String>,
}

impl Match {
    pub(crate) fn of_program(program: usize) -> Match {
        Match { program: Some(program), ..Match::default() }
    }

    pub(crate) fn in_doubt(why: String) -> Match {
        Match { unclear: Some(why), ..Match::default() }
    }

    /// Both at once, where one says what the other leaves out.
    fn and(self, next: Match) -> Match {
        Match {
            program: next.program.or(self.program),
            touch: next.touch.or(self.touch),
            does: next.does.or(self.does),
            unclear: self.unclear.or(next.unclear),
        }
    }
}

/// Why it is not known which programs run, where that is so.
pub(crate) fn unclear_program(analysis: &Analysis) -> Option<Match> {
    let fits = |unclear: &&Unclear| unclear.what == Unknown::Program;
    let unclear = analysis.unclear.iter().find(fits)?;
    Some(Match::in_doubt(format!("cannot tell which program runs: {}", unclear.reason)))
}

pub(crate) fn owned(all: &[&str]) -> Vec<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

/// Whether a glob over words fits one; `*` stands for anything, slashes too.
pub(crate) fn word_fits(glob: &str, word: &str) -> bool {
    glob == word
        || glob.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'[')) && crate::expand::fits(glob, word)
}

impl CommandFilter {
    /// What made the filter match, if it does: for certain where one of several parts does, else in doubt.
    pub fn matches(&self, analysis: &Analysis, state: &Surroundings<'_>) -> Option<Match> {
        match self {
            CommandFilter::Runs(runs) => runs.matches(analysis),
            CommandFilter::Touches(access, paths) => paths.matches(*access, analysis, state),
            CommandFilter::Does(one) => {
                let found = Match { does: Some(*one), ..Match::default() };
                analysis.traits.contains(one).then_some(found)
            }
            CommandFilter::Unclear(what) => {
                let unclear = analysis.unclear.iter().find(|unclear| unclear.what == *what)?;
                Some(Match::in_doubt(format!("cannot tell what the command does: {}", unclear.reason)))
            }
            CommandFilter::Sets(globs) => {
                let mut set = analysis.environment.iter();
                set.any(|entry| globs.iter().any(|glob| word_fits(glob, entry))).then(Match::default)
            }
            CommandFilter::Any(all) => {
                let mut doubt = None;
                for filter in all {
                    match filter.matches(analysis, state) {
                        Some(found) if found.unclear.is_none() => return Some(found),
                        found => doubt = doubt.or(found),
                    }
                }
                doubt
            }
            CommandFilter::All(all) => {
                let mut found = Match::default();
                for filter in all {
                    found = found.and(filter.matches(analysis, state)?);
                }
                Some(found)
            }
            CommandFilter::Not(filter) => {
                let excluded = filter.matches(analysis, state).is_some_and(|found| found.unclear.is_none());
                (!excluded).then(Match::default)
            }
        }
    }

    /// The same filter, which leaves out paths that one of these globs fits, and programs that one of these fits.
    #[must_use]
    pub fn except(self, globs: &[String], programs: &[RunsFilter]) -> CommandFilter {
        let all = |filters: Vec<CommandFilter>| {
            filters.into_iter().map(|filter| filter.except(globs, programs)).collect()
        };
        match self {
            CommandFilter::Runs(runs) => CommandFilter::Runs(runs.except(programs)),
            CommandFilter::Touches(access, paths) => {
                CommandFilter::Touches(access, paths.except(globs, programs))
            }
            CommandFilter::Any(filters) => CommandFilter::Any(all(filters)),
            CommandFilter::All(filters) => CommandFilter::All(all(filters)),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests;
