//! Policies as they are asked about a command that no event has.

use std::sync::{Arc, LazyLock};

use lineside_commands::filter::Match;
use lineside_commands::{Analysis, Surroundings};
use lineside_core::Strength;
use lineside_core::json::Value;
use lineside_guards::{Account, Acts, WhenUnclear};
use lineside_policies::PolicyFile;

use super::rule::VERDICTS;
use crate::yaml::yaml_value;

/// A policy: what its file says, read.
#[derive(Debug)]
pub struct Policy {
    /// Its name, as `use` has it.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
    /// Its tests, as `lineside test` runs them.
    pub cases: &'static str,
    /// Whether it is one of those that are advised for every account.
    pub is_standard: bool,
    /// Counted up with each change of what it matches.
    pub version: u64,
    /// What it stops, as `losing work that is not committed`.
    pub title: String,
    /// What it answers.
    pub verdict: Strength,
    /// What would be lost, and one alternative between backquotes.
    pub reason: String,
    acts: Vec<Acts>,
}

/// Every policy, in the order of their list.
///
/// ```
/// use lineside_commands::{Shell, Surroundings, analyse};
/// use lineside_dialects::native::policies;
///
/// let state = Surroundings::new("/proj", "/home/dev");
/// let analysis = analyse("git push -f", Shell::Bash, &state);
/// let found = policies().iter().find(|policy| policy.matches(&analysis, &state).is_some()).unwrap();
/// assert_eq!((found.name, found.alternative()), ("no-force-push", Some("git push --force-with-lease")));
/// ```
#[must_use]
pub fn policies() -> &'static [Policy] {
    static ALL: LazyLock<Vec<Policy>> =
        LazyLock::new(|| lineside_policies::ALL.iter().filter_map(Policy::read).collect());
    &ALL
}

/// The policies that match what a command does, in their order, and what made each match.
#[must_use]
pub fn matching_policies(analysis: &Analysis, state: &Surroundings<'_>) -> Vec<(&'static Policy, Match)> {
    policies().iter().filter_map(|policy| Some((policy, policy.matches(analysis, state)?))).collect()
}

impl Policy {
    /// Reads a file; `None` where it is no policy, which no file of ours is.
    fn read(file: &PolicyFile) -> Option<Self> {
        let document = yaml_value(file.text).ok()?;
        let text = |value: &Value, key: &str| Some(value.get(key)?.as_str()?.to_owned());
        let hooks = document.get("hooks")?.as_array()?;
        let account = Arc::new(Account::at("/"));
        let acts = hooks
            .iter()
            .map(|hook| Acts::read(hook.get("match")?.as_object()?, WhenUnclear::Match, &account).ok()?);
        let first = hooks.first()?;
        let verdict = text(first, "verdict")?;
        Some(Self {
            name: file.name,
            text: file.text,
            cases: file.cases,
            is_standard: lineside_policies::STANDARD.contains(&file.name),
            version: document.get("version")?.as_u64()?,
            title: text(&document, "title")?,
            verdict: VERDICTS.iter().find(|(word, _)| *word == verdict)?.1,
            reason: text(first, "reason")?,
            acts: acts.collect::<Option<_>>()?,
        })
    }

    /// What made it match, if it does: for certain where one of its hooks does, else in doubt.
    #[must_use]
    pub fn matches(&self, analysis: &Analysis, state: &Surroundings<'_>) -> Option<Match> {
        let mut doubt = None;
        for acts in &self.acts {
            match acts.matches(analysis, state) {
                Some(found) if found.unclear.is_none() => return Some(found),
                found => doubt = doubt.or(found),
            }
        }
        doubt
    }

    /// The command that its reason names instead.
    #[must_use]
    pub fn alternative(&self) -> Option<&str> {
        self.reason.split('`').nth(1)
    }
}

#[cfg(test)]
mod tests {
    use lineside_commands::{Shell, analyse};

    use super::*;

    #[test]
    fn each_file_is_a_policy() {
        let names: Vec<_> = policies().iter().map(|policy| policy.name).collect();
        assert_eq!(names, lineside_policies::ALL.iter().map(|file| file.name).collect::<Vec<_>>());
        assert_eq!(names.len(), 15);
    }

    #[test]
    fn no_policy_refuses_what_another_names_instead() {
        let state = Surroundings::new("/proj", "/home/dev");
        for policy in policies() {
            let alternative = policy.alternative().unwrap();
            let analysis = analyse(alternative, Shell::Bash, &state);
            let refused: Vec<_> =
                matching_policies(&analysis, &state).iter().map(|(policy, _)| policy.name).collect();
            assert_eq!(refused, [""; 0], "{}: {alternative}", policy.name);
            assert!(!analysis.programs.is_empty(), "{}: {alternative}", policy.name);
        }
    }
}
