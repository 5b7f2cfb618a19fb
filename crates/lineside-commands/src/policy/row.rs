//! A policy: filters with a verdict, a reason and an alternative.

use crate::analysis::{Analysis, CommandProgram};
use crate::filter::{CommandFilter, Match, RunsFilter};
use crate::state::Surroundings;

/// What a policy answers where it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyVerdict {
    /// The command does not run.
    Block,
    /// A person is asked.
    Ask,
}

/// Filters with a name.
#[derive(Debug)]
pub struct Policy {
    /// Its name, as `git-safety`.
    pub name: &'static str,
    /// Counted up with each change of what it matches.
    pub version: u32,
    /// What it answers.
    pub verdict: PolicyVerdict,
    /// What would be lost, and one alternative.
    pub reason: &'static str,
    /// Whether programs that run elsewhere count as well.
    pub(super) elsewhere: bool,
    pub(super) runs: Vec<RunsFilter>,
    pub(super) filters: Vec<CommandFilter>,
}

impl Policy {
    /// Its filters, of which one has to match.
    pub fn filters(&self) -> Vec<CommandFilter> {
        let runs = (!self.runs.is_empty()).then(|| CommandFilter::Runs(self.runs.clone()));
        self.filters.iter().cloned().chain(runs).collect()
    }

    /// What made it match, if it does.
    pub fn matches(&self, analysis: &Analysis, state: &Surroundings<'_>) -> Option<Match> {
        let fits = |program: &CommandProgram| self.runs.iter().any(|runs| runs.fits(program));
        match analysis.programs.iter().position(fits) {
            Some(program) => Some(Match { program: Some(program), touch: None }),
            None if self.elsewhere && analysis.elsewhere.iter().any(fits) => Some(Match::default()),
            None => self.filters.iter().find_map(|filter| filter.matches(analysis, state)),
        }
    }
}

/// A row of a policy: programs, words of the subcommand, options of which one is given, options of which none is, and
/// globs of operands. `|` stands between programs and spellings, a blank between options and globs.
pub(super) type Row = (&'static str, &'static str, &'static str, &'static str, &'static str);

pub(super) fn policy(
    name: &'static str,
    verdict: PolicyVerdict,
    reason: &'static str,
    rows: &[Row],
    filters: Vec<CommandFilter>,
) -> Policy {
    let runs = rows.iter().map(|(programs, subcommand, any, none, operand)| {
        let split = |text: &'static str| text.split_ascii_whitespace().collect::<Vec<_>>();
        crate::filter::runs(programs.split('|'))
            .subcommand(subcommand)
            .any_flag(&split(any))
            .no_flag(&split(none))
            .operand(&split(operand))
    });
    Policy {
        name,
        version: 1,
        verdict,
        reason,
        elsewhere: name == "database-safety",
        runs: runs.collect(),
        filters,
    }
}
