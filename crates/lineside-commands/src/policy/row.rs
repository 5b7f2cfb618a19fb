//! A policy: filters with a verdict, a reason and an alternative.

use crate::analysis::Analysis;
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
    pub(super) filters: CommandFilter,
}

impl Policy {
    /// What made it match, if it does.
    pub fn matches(&self, analysis: &Analysis, state: &Surroundings<'_>) -> Option<Match> {
        self.filters.matches(analysis, state)
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
    mut filters: Vec<CommandFilter>,
) -> Policy {
    let runs = rows.iter().map(|(programs, subcommand, any, none, operand)| {
        let split = |text: &'static str| text.split_ascii_whitespace().collect::<Vec<_>>();
        crate::filter::runs(programs.split('|'))
            .subcommand(subcommand)
            .any_flag(&split(any))
            .no_flag(&split(none))
            .operand(&split(operand))
    });
    let runs: Vec<_> =
        if name == "database-safety" { runs.map(RunsFilter::elsewhere).collect() } else { runs.collect() };
    if !runs.is_empty() {
        filters.push(CommandFilter::Runs(runs.into()));
    }
    Policy { name, version: 1, verdict, reason, filters: CommandFilter::Any(filters) }
}
