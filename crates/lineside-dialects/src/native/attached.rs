//! A hook of a program that attaches: an entry as in a file, as one JSON object, without what it runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lineside_core::hook::Mode;
use lineside_core::invocation::Inherit;
use lineside_core::{Layer, Severity};
use lineside_guards::Account;
use lineside_search::within;

use super::findings::Findings;
use super::places::{Place, Seat};
use super::{file, take};
use crate::dialect::{ForeignHook, Loaded, Places, Trust};

/// Where an entry stands that stands in no file.
const NOWHERE: &str = "attached";

/// What the patterns of an entry may compile to together, in bytes.
const MOST_COMPILED: usize = 4 << 20;

/// An entry that was read.
pub struct Attached {
    /// The hook, once for each of its points.
    pub hooks: Vec<ForeignHook>,
    /// What has no effect.
    pub warnings: Vec<String>,
    /// What its patterns have compiled to, in bytes.
    pub compiled: usize,
}

/// Reads the entry of a hook that lives in a program of that number, where it is called like this.
///
/// ```
/// use lineside_dialects::native::attached;
///
/// let entry = r#"{"name": "budget", "on": "before_tool", "priority": 10}"#;
/// let attached = attached(entry, 1, "agent").unwrap_or_else(|errors| panic!("{errors:?}"));
/// assert_eq!(&*attached.hooks[0].hook.name, "budget");
/// ```
///
/// # Errors
/// What is wrong with it, each in one line.
pub fn attached(entry: &str, number: u64, called: &str) -> Result<Attached, Vec<String>> {
    let seat = Seat { number, called: called.to_owned() };
    let place = Place {
        layer: Layer::Session,
        file: PathBuf::from(NOWHERE),
        inherit: Inherit::All,
        account: Arc::new(Account::of_process()),
        mode: Mode::Enforced,
        seat: Some(seat),
        owner: None,
    };
    let cwd: Arc<Path> = Path::new("/").into();
    let places = Places {
        environment: Default::default(),
        project_root: None,
        cwd: cwd.to_path_buf(),
        trust: Trust::Granted,
    };
    let mut findings = Findings::about(&place.file);
    let text = format!("{{\"hooks\": [{entry}]}}");
    let read = || file::contents(text.as_bytes(), &place, &places, &mut findings).entries;
    let (entries, compiled) = within(MOST_COMPILED, read);
    let mut loaded = Loaded::default();
    for entry in entries {
        take(entry, Layer::Session, Trust::Granted, &cwd, &findings, &mut loaded);
    }
    let told = |severity| {
        let of = findings.diagnostics.iter().filter(move |diagnostic| diagnostic.severity == severity);
        of.map(|diagnostic| diagnostic.text.clone()).collect::<Vec<_>>()
    };
    let errors = told(Severity::Error);
    if !errors.is_empty() || loaded.hooks.is_empty() {
        return Err(errors);
    }
    for found in &mut loaded.hooks {
        found.hook.origin = None;
    }
    Ok(Attached { hooks: loaded.hooks, warnings: told(Severity::Warning), compiled })
}

#[cfg(test)]
mod tests {
    use lineside_core::hook::Part;
    use lineside_core::worker::WorkerReach;
    use lineside_core::{OnFailure, Phase};

    use super::super::samples::{shell, shell_of};
    use super::*;
    use crate::handler::Call;

    #[test]
    fn an_entry_without_what_it_runs_is_a_hook_in_a_program() {
        let entry = r#"{"name": "g", "on": ["before_tool", "on_idle"], "match": {"text": "a\"\n\u0007ü"}, "priority": 9,
            "timeout": 250, "on_failure": "block"}"#;
        let Attached { hooks, warnings, .. } = attached(entry, 7, "3").unwrap();
        assert_eq!(warnings, [""; 0]);
        assert_eq!(hooks.len(), 2);
        let gate = hooks.iter().find(|found| found.points[0].phase == Phase::Before).unwrap();
        let hook = &gate.hook;
        assert_eq!((&*hook.name, hook.priority, hook.part), ("g", 9, Part::Gate));
        assert_eq!(
            (hook.layer, hook.on_failure, hook.origin.is_none()),
            (Layer::Session, OnFailure::Block, true)
        );
        let Ok(Call::Warm(worker, call)) = gate.handler.prepare(&shell()) else { panic!() };
        assert_eq!(worker.reach, WorkerReach::Attached(7));
        assert_eq!((call.hook.as_str(), call.timeout.as_millis()), ("3", 250));
    }

    #[test]
    fn what_is_not_known_of_a_command_counts_for_a_hook_in_a_program_unless_it_says_otherwise() {
        let selected = |more: &str, command: &str| {
            let entry = format!(
                r#"{{"name": "g", "on": "before_tool", "match": {{"runs": {{"program": "git"{more}}}}}}}"#
            );
            let hooks = attached(&entry, 1, "1").unwrap().hooks;
            hooks[0].hook.skip(&shell_of(command)).is_none()
        };
        assert!(selected("", "git push") && selected("", "$CMD push") && !selected("", "ls"));
        assert!(!selected(r#", "unclear": "skip""#, "$CMD push"));
    }

    #[test]
    fn an_entry_that_is_none_is_refused_with_what_would_be_right() {
        let refused = |entry: &str, expected: &str| {
            let errors = attached(entry, 1, "1").map(|_| ()).unwrap_err().join("; ");
            assert!(errors.contains(expected), "{entry}: {errors}");
        };
        refused(r#"{"name": "g", "on": "befor_tool"}"#, "did you mean `before_tool`?");
        refused(r#"{"on": "before_tool"}"#, "there is no `name`");
        refused(r#"{"name": "g", "on": "before_tool", "command": "x"}"#, "`command`");
        refused(r#"{"name": "g", "on": "before_tool", "name": "h"}"#, "occurs twice");
        refused(r#"{"name": "g", "on": "before_tool", "match": {"tol": "x"}}"#, "did you mean `tool`?");
        refused("7", "not a mapping");
        let warned =
            attached(r#"{"name": "g", "on": "before_tool", "prioriti": 1}"#, 1, "1").unwrap().warnings;
        assert!(warned[0].contains("did you mean `priority`?"), "{warned:?}");
    }
}
