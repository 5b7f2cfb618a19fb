//! Policies: what is usually to be stopped, as filters with a verdict, a reason and an alternative.

mod clouds;
mod git;
mod host;
mod row;
mod secrets;

use std::sync::LazyLock;

use crate::analysis::Analysis;
use crate::filter::Match;
use crate::state::Surroundings;

pub use row::{Policy, PolicyVerdict};

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
    ALL.iter().filter_map(|policy| Some((policy, policy.matches(analysis, state)?))).collect()
}
