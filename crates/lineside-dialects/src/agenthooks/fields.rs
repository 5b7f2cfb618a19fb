//! A mapping of YAML nodes to a hook whose every field is checked (AH-10 to AH-16, AH-18, AH-19).

use std::time::Duration;

use lineside_core::{OnFailure, Severity};
use lineside_pyregex::Pattern;

use super::matcher::Filter;
use super::triggers::{self, Trigger};
use crate::findings::Findings;
use crate::schema::{Is, Keys, Row, Schema, given, is_stated};
use crate::yaml::{Content, Draft, Node, decimal};

pub(super) mod warm;

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

/// The keys of a hook, and the words for what is wrong with them (AH-10 to AH-15). No error is defined for a description
/// that is no text, and a guard must not vanish because of it.
#[rustfmt::skip]
const HOOK: Schema = Schema {
    rows: &[
        Row("name", Is::Such(is_stated), "a non-empty string"),
        Row("description", Is::Any, ""),
        Row("trigger", Is::Text, "a string"),
        Row("matcher", Is::Mapping, "an object"),
        Row("timeout", Is::Any, "an integer"),
        Row("async", Is::Any, "a boolean"),
        Row("async_", Is::Any, "a boolean"),
        Row("priority", Is::Any, "an integer"),
        Row("metadata", Is::Any, ""),
        Row("on_failure", Is::Word(&["continue", "block"]), "'continue' or 'block'"),
        Row("mode", Is::Any, ""),
        Row("worker", Is::Any, ""),
    ],
    text: Node::text,
    flag: Node::boolean,
    shown: Node::label,
    wrong: "Field '{key}' must be {expected}",
    severity: Severity::Error,
    unknown: "Unexpected field in frontmatter: '{key}'{hint}",
    hint: "; did you mean '{near}'?",
    strict: true,
    twice: "Duplicate key '{key}' in frontmatter",
    last: false,
};

/// The keys of `matcher` (AH-10).
const MATCHER: Schema = Schema {
    rows: &[Row("tool", Is::Text, "a string"), Row("pattern", Is::Text, "a string")],
    wrong: "Matcher field '{key}' must be {expected}",
    unknown: "Unexpected field in matcher: '{key}'{hint}",
    ..HOOK
};

/// The priority of a hook that gives none.
pub(super) const USUAL_PRIORITY: u8 = 100;

/// The bounds of an integer, and how a finding names them (AH-11, AH-13).
struct Bounds {
    key: &'static str,
    named: &'static str,
    least: i128,
    usual: i128,
    most: i128,
    unit: &'static str,
}

/// In milliseconds, as in `HOOK.md`.
const TIMEOUT: Bounds =
    Bounds { key: "timeout", named: "Timeout", least: 100, usual: 30_000, most: 600_000, unit: " ms" };
const PRIORITY: Bounds = Bounds {
    key: "priority",
    named: "Priority",
    least: 0,
    usual: USUAL_PRIORITY as i128,
    most: 1000,
    unit: "",
};

/// Checks all fields. `None` when the hook does not load; the findings say why.
pub(super) fn check(draft: &Draft, folder: &str, findings: &mut Findings) -> Option<Declared> {
    let mut keys = Keys::new(&HOOK, &draft.entries, findings);
    keys.twice(&draft.duplicates);
    keys.unknown();
    let name = name(&mut keys);
    description(&mut keys);
    let trigger = trigger(&mut keys);
    let filter = filter(&mut keys, trigger.as_ref());
    let timeout = integer(&mut keys, &TIMEOUT);
    let priority = integer(&mut keys, &PRIORITY);
    let mode = mode(&mut keys);
    let on_failure = keys.text("on_failure");
    if on_failure.is_some() && mode == Some(Mode::Async) {
        keys.warning(keys.line("on_failure"), "on_failure has no effect on an async hook");
    }
    let worker = warm::worker(&mut keys);
    let closed = keys.findings.first_error().map(|error| error.text.clone());
    // A guard that cannot load stands closed (AH-16); on an async hook the key has no effect (AH-66).
    let is_guard = on_failure == Some("block") && mode != Some(Mode::Async);
    if closed.is_some() && !is_guard {
        return None;
    }
    let (trigger, written) = trigger?;
    Some(Declared {
        name_line: if name.is_some() { keys.line("name") } else { 1 },
        name: name.unwrap_or(folder).to_owned(),
        trigger,
        written: written.to_owned(),
        filter: filter.filter(|_| trigger.kind.takes_matcher()),
        timeout: Duration::from_millis(u64::try_from(timeout).unwrap_or(u64::MAX)),
        mode: mode.unwrap_or(Mode::Sync),
        priority: i32::try_from(priority).unwrap_or(i32::MAX),
        on_failure: if is_guard { OnFailure::Block } else { OnFailure::Continue },
        worker,
        closed,
    })
}

/// The text of a key that must be there, without its margins.
fn required<'a>(keys: &mut Keys<'a, '_>, key: &'static str) -> Option<&'a str> {
    if keys.given(key).is_none() {
        keys.error(1, format_args!("Missing required field in frontmatter: {key}"));
    }
    keys.text(key).map(str::trim)
}

/// The name, with a warning for the first rule that it breaks (AH-13, W3, W4).
fn name<'a>(keys: &mut Keys<'a, '_>) -> Option<&'a str> {
    let name = required(keys, "name")?;
    let line = keys.line("name");
    let count = name.chars().count();
    if count > 64 {
        keys.warning(line, format_args!("Hook name '{name}' exceeds 64 character limit ({count} chars)"));
    }
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
        keys.warning(line, format_args!("Hook name '{name}' {rule}"));
    }
    Some(name)
}

/// Only checked: nothing runs by it.
fn description(keys: &mut Keys<'_, '_>) {
    let (line, text) = (keys.line("description"), keys.text("description"));
    match text.map_or(0, |text| text.trim().chars().count()) {
        0 => keys.warning(line, "Missing field in frontmatter: description"),
        count if count > 1024 => {
            keys.warning(line, format_args!("Description exceeds 1024 character limit ({count} chars)"));
        }
        _ => {}
    }
}

/// The trigger, and as it is written (AH-18, AH-19).
fn trigger<'a>(keys: &mut Keys<'a, '_>) -> Option<(&'static Trigger, &'a str)> {
    let written = required(keys, "trigger")?;
    let line = keys.line("trigger");
    let Some(trigger) = triggers::find(written) else {
        let (nearest, all) = (triggers::nearest(written), triggers::names().collect::<Vec<_>>().join(", "));
        let what = format!("Invalid trigger '{written}'. Did you mean '{nearest}'? Valid values: {all}");
        keys.error(line, what);
        return None;
    };
    if trigger.kind == triggers::Kind::AfterStop {
        let what = format!("Trigger '{written}' has no point of its own, it runs at after_agent");
        keys.warning(line, what);
    }
    Some((trigger, written))
}

/// What the hook waits for (AH-10, AH-21).
fn filter(keys: &mut Keys<'_, '_>, trigger: Option<&(&'static Trigger, &str)>) -> Option<Filter> {
    let line = keys.line("matcher");
    let mut matcher = keys.mapping("matcher", &MATCHER)?;
    if let Some((trigger, written)) = trigger
        && !trigger.kind.takes_matcher()
    {
        matcher.warning(line, format_args!("matcher has no effect on trigger '{written}'"));
    }
    matcher.unknown();
    let [tool, pattern] = ["tool", "pattern"].map(|key| pattern(&mut matcher, key));
    Filter::new(tool, pattern)
}

/// A pattern that is absent, empty or cannot be read filters nothing (AH-10, AH-24, AH-26).
fn pattern(keys: &mut Keys<'_, '_>, key: &'static str) -> Option<Pattern> {
    let text = keys.text(key)?;
    let (line, kept) = (keys.line(key), keys.given(key)?.1.text_keeping('b'));
    if kept.is_some() {
        let what = format!("'\\b' in matcher.{key} is read as a word boundary; use single quotes or '\\\\b'");
        keys.warning(line, what);
    }
    let text = kept.as_deref().unwrap_or(text);
    let pattern = (!text.is_empty()).then(|| Pattern::compile(text))?;
    pattern.map_err(|error| keys.error(line, format_args!("Invalid regex in matcher.{key}: {error}"))).ok()
}

/// An integer within its bounds, which may be written as a text; the usual one if it cannot be read (AH-12, AH-13).
fn integer(keys: &mut Keys<'_, '_>, bounds: &Bounds) -> i128 {
    let Bounds { key, named, least, usual, most, unit } = *bounds;
    let Some(value) = keys.get(key) else { return usual };
    let line = keys.line(key);
    let Some(got) = value.integer().or_else(|| value.text().and_then(decimal)) else {
        keys.mismatch(key);
        return usual;
    };
    if value.text().is_some() {
        keys.warning(line, format_args!("Field '{key}' is a string, read as {got}"));
    }
    let used = got.clamp(least, most);
    if used != got {
        let what = format!("{named} must be between {least} and {most}{unit} (got {got}), using {used}");
        keys.warning(line, what);
    }
    used
}

/// Whether it is waited for; `None` when that cannot be read.
fn mode(keys: &mut Keys<'_, '_>) -> Option<Mode> {
    let Some((line, is_async)) = is_async(keys.entries) else { return Some(Mode::Sync) };
    if is_async.is_none() {
        keys.error(line, "Field 'async' must be a boolean");
    }
    is_async.map(|is_async| if is_async { Mode::Async } else { Mode::Sync })
}

/// What `async` says, which counts where both of its keys are there (AH-11), with its line. It may be that this cannot be
/// read (AH-12).
pub(super) fn is_async(entries: &[(Node, Node)]) -> Option<(u32, Option<bool>)> {
    let (key, value) = given(entries, "async").or_else(|| given(entries, "async_"))?;
    let said = match &value.content {
        Content::Boolean(value) => Some(*value),
        Content::Integer(1) => Some(true),
        Content::Integer(0) => Some(false),
        Content::Text(word) => match word.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    };
    Some((key.line, said))
}

#[cfg(test)]
mod tests;
