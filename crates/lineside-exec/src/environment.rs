//! The environment of a hook's process: inherited, reduced, completed.
//!
//! This is the one place of the crate that reads our own environment.
//! Which variables a hook is promised is the dialect's business.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use lineside_core::invocation::{Environment, Inherit};

use crate::run_tag::{self, RunTag};

/// Gives the environment to the command, with the tag of the run.
pub(crate) fn apply(environment: &Environment, tag: &RunTag, command: &mut Command) {
    match &environment.inherit {
        Inherit::All => {
            for name in &environment.remove {
                command.env_remove(name);
            }
        }
        Inherit::Only(names) => {
            command.env_clear();
            for name in names {
                if let Some(value) = inherited(environment, name) {
                    command.env(name, value);
                }
            }
        }
    }
    for (name, value) in &environment.set {
        command.env(name, value);
    }
    command.env(run_tag::NAME, tag.value());
}

/// The tag of this process, if it is within a run.
pub(crate) fn our_tag() -> Option<OsString> {
    std::env::var_os(run_tag::NAME)
}

/// The value that the process will see under this name.
pub(crate) fn lookup(environment: &Environment, name: &OsStr) -> Option<OsString> {
    let set = environment.set.iter().rev().find(|(set, _)| set == name);
    match set {
        Some((_, value)) => Some(value.clone()),
        None => inherited(environment, name),
    }
}

/// The first name that no process could be given: empty, or with a `=` in it.
pub(crate) fn impossible_name(environment: &Environment) -> Option<&OsStr> {
    let mut names = environment.set.iter().map(|(name, _)| name.as_os_str());
    names.find(|name| name.is_empty() || name.as_bytes().contains(&b'='))
}

/// The value that a process with this environment inherits under a name; none where it inherits none.
#[must_use]
pub fn inherited(environment: &Environment, name: &OsStr) -> Option<OsString> {
    let listed = match &environment.inherit {
        Inherit::All => true,
        Inherit::Only(names) => names.iter().any(|listed| listed == name),
    };
    if !listed || environment.remove.iter().any(|removed| removed == name) {
        return None;
    }
    std::env::var_os(name)
}

#[cfg(test)]
mod tests {
    use lineside_core::invocation::Leftovers;

    use super::*;

    fn seen(environment: &Environment) -> Vec<(String, String)> {
        let mut command = Command::new("env");
        apply(environment, &RunTag::new(Leftovers::Kill), &mut command);
        let text = |part: &OsStr| part.to_str().unwrap().to_owned();
        let set = command.get_envs().filter(|(name, _)| *name != run_tag::NAME);
        set.filter_map(|(name, value)| Some((text(name), text(value?)))).collect()
    }

    #[test]
    fn a_later_entry_replaces_an_earlier_one() {
        let environment = Environment {
            inherit: Inherit::Only(vec!["PATH".into()]),
            remove: vec!["PATH".into()],
            set: vec![("A".into(), "1".into()), ("A".into(), "2".into())],
        };
        assert_eq!(seen(&environment), [("A".to_owned(), "2".to_owned())]);
        assert_eq!(lookup(&environment, OsStr::new("A")), Some("2".into()));
        assert_eq!(lookup(&environment, OsStr::new("PATH")), None);
    }

    #[test]
    fn what_was_removed_can_be_set() {
        let environment = Environment {
            remove: vec!["PATH".into()],
            set: vec![("PATH".into(), "/opt".into())],
            ..Environment::default()
        };
        assert_eq!(seen(&environment), [("PATH".to_owned(), "/opt".to_owned())]);
        assert_eq!(lookup(&environment, OsStr::new("PATH")), Some("/opt".into()));
    }

    #[test]
    fn impossible_names_are_found() {
        let named =
            |name: &str| Environment { set: vec![(name.into(), "x".into())], ..Environment::default() };
        assert_eq!(impossible_name(&named("A=B")), Some(OsStr::new("A=B")));
        assert_eq!(impossible_name(&named("")), Some(OsStr::new("")));
        assert_eq!(impossible_name(&named("A")), None);
    }
}
