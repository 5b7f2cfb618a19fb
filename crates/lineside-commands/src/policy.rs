//! Policies: what is usually to be stopped, as filters with a verdict, a reason and an alternative.

mod clouds;
mod git;
mod host;
mod row;
mod secrets;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::analysis::Analysis;
use crate::filter::{Match, RunsFilter};
use crate::state::Surroundings;

pub use row::{Policy, PolicyVerdict};
pub(crate) use secrets::is_secret;

static ALL: LazyLock<Vec<Policy>> = LazyLock::new(|| {
    vec![
        host::no_destructive_shell(),
        host::stay_in_project(),
        secrets::protect_secrets(),
        secrets::no_exfiltration(),
        secrets::no_remote_code(),
        git::git_safety(),
        git::no_force_push(),
        git::no_hook_bypass(),
        host::no_privilege_escalation(),
        host::no_system_changes(),
        clouds::package_safety(),
        clouds::database_safety(),
        clouds::infrastructure_safety(),
        host::protect_guards(),
        host::legible_commands(),
    ]
});

type ByProgram = HashMap<&'static str, Vec<(usize, &'static RunsFilter)>, foldhash::fast::FixedState>;

/// Which rows ask for a program of this name, by policy.
static BY_PROGRAM: LazyLock<ByProgram> = LazyLock::new(|| {
    let mut all: HashMap<_, Vec<_>, _> = HashMap::default();
    for (number, policy) in ALL.iter().enumerate() {
        for runs in &policy.runs {
            for name in &runs.program {
                all.entry(name.as_str()).or_default().push((number, runs));
            }
        }
    }
    all
});

/// Names of the policies that are advised for every account.
pub const STANDARD: &[&str] = &[
    "no-destructive-shell", "stay-in-project", "protect-secrets", "no-exfiltration", "git-safety",
    "no-force-push", "no-hook-bypass", "database-safety", "infrastructure-safety", "protect-guards",
];

/// Every policy.
pub fn all() -> &'static [Policy] {
    &ALL
}

/// The policy of a name.
pub fn named(name: &str) -> Option<&'static Policy> {
    ALL.iter().find(|policy| policy.name == name)
}

/// The policies that match, in their order, and what made each match.
pub fn matching(analysis: &Analysis, state: &Surroundings<'_>) -> Vec<(&'static Policy, Match)> {
    let mut found: Vec<Option<Match>> = vec![None; ALL.len()];
    for (index, program) in analysis.programs.iter().enumerate() {
        let Some(rows) = program.known_name().and_then(|name| BY_PROGRAM.get(name)) else { continue };
        for (number, runs) in rows {
            if found[*number].is_none() && runs.fits_words(program) {
                found[*number] = Some(Match { program: Some(index), touch: None });
            }
        }
    }
    let policies = ALL.iter().zip(found);
    policies
        .filter_map(|(policy, found)| {
            let elsewhere = || {
                policy.elsewhere
                    && analysis.elsewhere.iter().any(|p| policy.runs.iter().any(|runs| runs.fits(p)))
            };
            let found = found.or_else(|| elsewhere().then(Match::default));
            let found =
                found.or_else(|| policy.filters.iter().find_map(|filter| filter.matches(analysis, state)));
            found.map(|found| (policy, found))
        })
        .collect()
}
