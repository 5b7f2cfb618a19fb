//! A mapping of YAML nodes to a hook whose every field is checked (AH-10 to AH-16, AH-18, AH-19).

use std::time::Duration;

use lineside_core::OnFailure;
use lineside_core::nearest::suggestion;

use super::entries::entry;
use super::findings::{Findings, HookWarning, LoadHookError};
use super::guard;
use super::matcher::Filter;
use super::triggers::{self, Trigger};
use crate::yaml::{Content, Draft, Node};
use lineside_pyregex::Pattern;

mod scalars;
pub(super) mod warm;

pub(super) use scalars::USUAL_PRIORITY;

/// A hook as its `HOOK.md` declares it.
#[derive(Debug)]
pub(super) struct Declared {
    /// Its name.
    pub(super) name: String,
    /// The line of the key `name`, or 1.
    pub(super) name_line: u32,
    /// Its trigger.
    pub(super) trigger: &'static Trigger,
    /// The trigger as it is written.
    pub(super) written: String,
    /// What it waits for; absent when it filters nothing.
    pub(super) filter: Option<Filter>,
    /// How long it may run.
    pub(super) timeout: Duration,
    /// Whether it is waited for.
    pub(super) mode: Mode,
    /// Greater runs first.
    pub(super) priority: i32,
    /// What its failure means.
    pub(super) on_failure: OnFailure,
    /// The worker that it runs in; absent when it is a process for each event.
    pub(super) worker: Option<warm::Warm>,
    /// The error for which it can never run although it has to be there (AH-16).
    pub(super) closed: Option<String>,
}

/// Whether a hook is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// It is, and it has authority.
    Sync,
    /// It is not, and it has none.
    Async,
}

/// Checks all fields. `None` when the hook does not load; the findings say why.
pub(super) fn check(draft: &Draft, folder: &str, findings: &mut Findings) -> Option<Declared> {
    for duplicate in &draft.duplicates {
        findings.error(duplicate.line, LoadHookError::Duplicate(duplicate.key.clone()));
    }
    unexpected(&draft.entries, &KEYS, "frontmatter", findings);
    let name = name(draft, findings);
    description(draft, findings);
    let trigger = trigger(draft, findings);
    let filter = filter(draft, trigger.as_ref(), findings);
    let timeout = scalars::timeout(draft, findings);
    let priority = scalars::priority(draft, findings);
    let mode = scalars::mode(draft, findings);
    let on_failure = on_failure(draft, mode, findings);
    let worker = warm::worker(draft, findings);
    let closed = findings.first_error().map(ToString::to_string);
    // AH-14, AH-16
    if closed.is_some() && !(on_failure == OnFailure::Block && mode != Some(Mode::Async)) {
        return None;
    }
    let (trigger, written) = trigger?;
    let (name, name_line) = name.unwrap_or_else(|| (folder.to_owned(), 1));
    let mode = mode.unwrap_or(Mode::Sync);
    Some(Declared {
        name,
        name_line,
        trigger,
        written,
        filter: filter.filter(|_| trigger.kind.takes_matcher()),
        timeout,
        mode,
        priority,
        // AH-66: on an async hook the key has no effect.
        on_failure: match mode {
            Mode::Sync => on_failure,
            Mode::Async => OnFailure::Continue,
        },
        worker,
        closed,
    })
}

const KEYS: [&str; 12] = [
    "name", "description", "trigger", "matcher", "timeout", "async", "async_", "priority", "metadata",
    "on_failure", "mode", "worker",
];

/// W8
fn unexpected(
    entries: &[(Node, Node)],
    known: &[&'static str],
    within: &'static str,
    findings: &mut Findings,
) {
    for (key, _) in entries {
        if !key.text().is_some_and(|key| known.contains(&key)) {
            let nearest = key.text().and_then(|key| suggestion(&key.to_lowercase(), known.iter().copied()));
            let known = nearest.and_then(|nearest| known.iter().copied().find(|known| *known == nearest));
            findings.warning(key.line, HookWarning::Unexpected { within, key: key.label(), nearest: known });
        }
    }
}

fn name(draft: &Draft, findings: &mut Findings) -> Option<(String, u32)> {
    let Some((line, value)) = entry(&draft.entries, "name") else {
        findings.error(1, LoadHookError::Missing("name"));
        return None;
    };
    let Some(name) = value.text().map(str::trim).filter(|name| !name.is_empty()) else {
        findings.error(line, LoadHookError::Name);
        return None;
    };
    let count = name.chars().count();
    if count > 64 {
        findings.warning(line, HookWarning::LongName { name: name.to_owned(), count });
    }
    // W4: the first rule that is broken.
    let rules: [(&str, bool); 4] = [
        ("must be lowercase", name.to_lowercase() != name),
        ("cannot start or end with a hyphen", name.starts_with('-') || name.ends_with('-')),
        ("cannot contain consecutive hyphens", name.contains("--")),
        (
            "contains characters other than letters, digits and hyphens",
            !name.chars().all(|one| one.is_alphanumeric() || one == '-'),
        ),
    ];
    if let Some((rule, _)) = rules.into_iter().find(|(_, broken)| *broken) {
        findings.warning(line, HookWarning::NameRule { name: name.to_owned(), rule });
    }
    Some((name.to_owned(), line))
}

/// Only checked: nothing runs by it. A description that is no text is as good as none, for no error is defined for it
/// and a guard must not vanish because of it.
fn description(draft: &Draft, findings: &mut Findings) {
    let entry = entry(&draft.entries, "description");
    let text = entry.and_then(|(_, value)| value.text()).map(str::trim);
    match text.map(|text| text.chars().count()) {
        None | Some(0) => findings.warning(entry.map_or(1, |(line, _)| line), HookWarning::NoDescription),
        Some(count) if count > 1024 => {
            findings.warning(entry.map_or(1, |(line, _)| line), HookWarning::LongDescription(count));
        }
        Some(_) => {}
    }
}

fn trigger(draft: &Draft, findings: &mut Findings) -> Option<(&'static Trigger, String)> {
    let Some((line, value)) = entry(&draft.entries, "trigger") else {
        findings.error(1, LoadHookError::Missing("trigger"));
        return None;
    };
    let Some(written) = value.text().map(str::trim) else {
        findings.error(line, LoadHookError::TriggerType);
        return None;
    };
    let Some(trigger) = triggers::find(written) else {
        // AH-18
        findings.error(
            line,
            LoadHookError::Trigger {
                trigger: written.to_owned(),
                nearest: guard::nearest(written),
                all: triggers::names().collect::<Vec<_>>().join(", "),
            },
        );
        return None;
    };
    if trigger.kind == triggers::Kind::AfterStop {
        // AH-19
        findings.warning(line, HookWarning::NoPointOfItsOwn(written.to_owned()));
    }
    Some((trigger, written.to_owned()))
}

fn filter(
    draft: &Draft,
    trigger: Option<&(&'static Trigger, String)>,
    findings: &mut Findings,
) -> Option<Filter> {
    let (line, value) = entry(&draft.entries, "matcher")?;
    let Content::Mapping(entries) = &value.content else {
        findings.error(line, LoadHookError::MatcherType);
        return None;
    };
    if let Some((trigger, written)) = trigger
        && !trigger.kind.takes_matcher()
    {
        // AH-21
        findings.warning(line, HookWarning::MatcherWithoutEffect(written.clone()));
    }
    unexpected(entries, &["tool", "pattern"], "matcher", findings);
    let tool = pattern(entries, "tool", findings);
    let pattern = pattern(entries, "pattern", findings);
    Filter::new(tool, pattern)
}

/// AH-10, AH-24, AH-26: a pattern that is absent, empty or cannot be read filters nothing.
fn pattern(entries: &[(Node, Node)], field: &'static str, findings: &mut Findings) -> Option<Pattern> {
    let (line, value) = entry(entries, field)?;
    let Some(text) = value.text() else {
        findings.error(line, LoadHookError::MatcherField(field));
        return None;
    };
    let kept = value.text_keeping('b');
    if kept.is_some() {
        findings.warning(line, HookWarning::WordBoundary(field));
    }
    let text = kept.as_deref().unwrap_or(text);
    if text.is_empty() {
        return None;
    }
    match Pattern::compile(text) {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            findings.error(line, LoadHookError::Regex { field, error });
            None
        }
    }
}

fn on_failure(draft: &Draft, mode: Option<Mode>, findings: &mut Findings) -> OnFailure {
    let Some((line, value)) = entry(&draft.entries, "on_failure") else {
        return OnFailure::Continue;
    };
    let on_failure = match value.text() {
        Some("continue") => OnFailure::Continue,
        Some("block") => OnFailure::Block,
        _ => {
            findings.error(line, LoadHookError::OnFailure);
            return OnFailure::Continue;
        }
    };
    if mode == Some(Mode::Async) {
        findings.warning(line, HookWarning::OnFailureWithoutEffect);
    }
    on_failure
}

#[cfg(test)]
mod tests;
