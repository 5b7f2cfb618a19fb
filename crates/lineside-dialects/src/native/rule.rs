//! What a hook says without a process, from its entry: `verdict`, `reason`, `context` and `amend`.

use std::time::Duration;

use lineside_core::control::KeyTemplate;
use lineside_core::nearest::suggestion;
use lineside_core::{Phase, PointInfo, Strength};
use lineside_guards::{Acts, Change, LONGEST_CALL, Limit, MOST_OF_A_LIMIT, Ruling, WhenUnclear, Wording};
use regex::Regex;

use super::findings::{LoadError, LoadWarning};
use super::run::ENVIRONMENT;
use super::values::{Values, shown};
use crate::yaml::{Content, Node};

/// The words of `verdict`.
pub(super) const VERDICTS: [(&str, Strength); 4] = [
    ("block", Strength::Block),
    ("ask", Strength::Ask),
    ("allow", Strength::Allow),
    ("stop", Strength::Stop),
];

/// What starts something, or says how that is done.
const STARTS: [&str; 5] = ["command", "worker", "post", "async", "automate"];

/// What says something of a process, and has no effect without one.
const OF_PROCESSES: [&str; 5] = ["timeout", "on_failure", "dir", "env", ENVIRONMENT];

/// How large a regular expression may be once it is prepared, in bytes.
const LARGEST: usize = 1 << 20;

/// Whether a hook matches where it is not known if its filters do: one that may refuse does, and one that is seated in a program
/// does as it would there.
pub(super) fn when_unclear(values: &Values<'_, '_>, is_seated: bool) -> WhenUnclear {
    let is_true =
        |key: &str| matches!(values.get(key), Some((_, Node { content: Content::Boolean(true), .. })));
    let is_background = is_true("async") || values.get("automate").is_some();
    let verdict = values.get("verdict").and_then(|(_, verdict)| verdict.text());
    let starts = ["command", "worker", "post"].iter().any(|key| values.get(key).is_some());
    match verdict {
        Some("allow") => WhenUnclear::Skip,
        None if is_seated => WhenUnclear::Match,
        None if !starts || is_background => WhenUnclear::Skip,
        _ => WhenUnclear::Match,
    }
}

/// Reads what is said; `None` when the hook runs something. The inner is absent when something is wrong.
pub(super) fn read(
    values: &mut Values<'_, '_>,
    points: &[&'static PointInfo],
    acts: Option<Acts>,
) -> Option<Option<Ruling>> {
    let own = ["verdict", "context", "amend", "reason", "limit"];
    own.into_iter().find(|key| values.get(key).is_some())?;
    for key in STARTS {
        if let Some(line) = values.line(key) {
            values.error(line, &LoadError::Started(key));
        }
    }
    for key in OF_PROCESSES {
        if let Some(line) = values.line(key) {
            let why = "the hook answers at once and starts nothing";
            values.warning(line, &LoadWarning::NoEffect { key, why });
        }
    }
    if let (Some(line), None) = (values.line("reason"), values.get("verdict")) {
        values.error(line, &LoadError::MissingIn { key: "verdict".to_owned(), of: "reason".to_owned() });
    }
    let strength = verdict(values, points);
    let reason = wording(values, "reason", points);
    let context = wording(values, "context", points);
    let amend = amend(values, points);
    if let (Some(strength), Some(line)) = (strength.filter(|one| one.is_final()), values.line("amend")) {
        values.error(line, &LoadError::AmendsRefused(strength));
    }
    let limit = limit(values, points);
    let strength = strength.unwrap_or_default();
    Some(values.sound.then_some(Ruling { strength, reason, context, amend, limit, acts }))
}

/// How often it may happen before the rest is said of it.
fn limit(values: &mut Values<'_, '_>, points: &[&'static PointInfo]) -> Option<Limit> {
    const EXPECTED: &str = "a mapping such as {at_most: 3, per: 1m} or {at_once: 2}";
    let line = values.line("limit")?;
    let keys = values.mapping("limit", EXPECTED)?;
    let mut within = values.inside(keys, "limit.");
    within.strictly(&["at_most", "at_once", "per", "key"]);
    let at_once = within.get("at_once").is_some();
    let needed: &[&str] = if at_once { &[] } else { &["at_most", "per"] };
    for key in needed.iter().filter(|key| within.get(key).is_none()).collect::<Vec<_>>() {
        within.error(line, &LoadError::MissingIn { key: format!("limit.{key}"), of: "limit".to_owned() });
    }
    if let (true, Some(line)) = (at_once, within.line("at_most")) {
        within.error(line, &LoadError::Both("limit.at_most", "limit.at_once"));
    }
    let most = within.integer(if at_once { "at_once" } else { "at_most" }, 0..=MOST_OF_A_LIMIT);
    within.doubt_short("per", 1_000);
    let per = span(&mut within, "per").or(at_once.then_some(LONGEST_CALL));
    let key = within.text("key", "a template of keys", |text| !text.trim().is_empty()).unwrap_or("{session}");
    let key = KeyTemplate::read(key, points).map_err(|error| {
        let line = within.line("key").unwrap_or(line);
        within.error(line, &LoadError::Wording { key: "limit.key".to_owned(), error: error.into() });
    });
    for point in points.iter().filter(|point| at_once && lineside_points::ends(point).is_empty()) {
        let line = within.line("at_once").unwrap_or(line);
        within.error(line, &LoadError::NoEnd(point.name));
    }
    let sound = within.sound;
    values.sound &= sound;
    if values.get("verdict").is_none() {
        values.error(line, &LoadError::MissingIn { key: "verdict".to_owned(), of: "limit".to_owned() });
    }
    let new = if at_once { Limit::at_once } else { Limit::new };
    Some(new(most?, per?, key.ok()?))
}

/// A span of time: a number of milliseconds, or one with a unit.
fn span(values: &mut Values<'_, '_>, key: &str) -> Option<Duration> {
    const UNITS: [(&str, u64); 5] =
        [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    let (name, value) = values.get(key)?;
    let written = value.written().unwrap_or_default();
    let split = written.find(|c: char| !c.is_ascii_digit()).unwrap_or(written.len());
    let (number, unit) = written.split_at(split);
    let unit = if unit.is_empty() { "ms" } else { unit };
    let factor = UNITS.iter().find(|(known, _)| *known == unit).map(|(_, factor)| *factor);
    let millis = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor?));
    let millis = millis.filter(|millis| (1..=30 * 86_400_000).contains(millis));
    if millis.is_none() {
        values.wrong(name.line, key, value, "a span such as 30s, 1m or 24h, of 30 days at most");
    }
    millis.map(Duration::from_millis)
}

fn verdict(values: &mut Values<'_, '_>, points: &[&'static PointInfo]) -> Option<Strength> {
    let verdict = values.word("verdict", &VERDICTS)?;
    for point in points {
        let allowed = match point.phase {
            Phase::Before => continue,
            Phase::After if verdict.is_final() => continue,
            Phase::After => "block or stop",
            Phase::On => "nothing",
        };
        let line = values.line("verdict").unwrap_or(1);
        values.error(line, &LoadError::VerdictAt { verdict, point: point.name, allowed });
    }
    Some(verdict)
}

/// A text with fields.
fn wording(values: &mut Values<'_, '_>, key: &'static str, points: &[&'static PointInfo]) -> Option<Wording> {
    let text = values.text(key, "a text that is not blank", |text| !text.trim().is_empty())?;
    let line = values.line(key).unwrap_or(1);
    worded(values, line, key, text, points)
}

fn worded(
    values: &mut Values<'_, '_>,
    line: u32,
    key: &str,
    text: &str,
    points: &[&'static PointInfo],
) -> Option<Wording> {
    match Wording::read(text, points) {
        Ok(wording) => Some(wording),
        Err(error) => {
            values.error(line, &LoadError::Wording { key: key.to_owned(), error });
            None
        }
    }
}

/// New values of fields, each named by its path from the payload on.
fn amend(values: &mut Values<'_, '_>, points: &[&'static PointInfo]) -> Vec<(Vec<String>, Change)> {
    const EXPECTED: &str =
        "a mapping from fields such as `tool_input.command` to texts, or to {redact: PATTERN}";
    let mut amend = Vec::new();
    for (name, value) in values.mapping("amend", EXPECTED).unwrap_or_default() {
        let path: Vec<String> = name.label().split('.').map(str::to_owned).collect();
        if path.iter().any(String::is_empty) {
            values.wrong(name.line, "amend", name, EXPECTED);
            continue;
        }
        for point in points.iter().filter(|point| !point.amendable().any(|field| field == path[0])) {
            let may: Vec<&str> = point.amendable().collect();
            let may = if may.is_empty() { "nothing".to_owned() } else { may.join(", ") };
            let (field, point) = (path[0].clone(), point.name);
            values.error(name.line, &LoadError::NotAmendable { field, point, may });
        }
        let change = match &value.content {
            Content::Mapping(keys) => redaction(values, name.line, keys),
            _ => match value.written() {
                Some(text) if text.trim().is_empty() => None,
                Some(text) => worded(values, name.line, &format!("amend.{}", name.label()), text, points)
                    .map(Change::Set),
                None => {
                    values.wrong(name.line, "amend", value, EXPECTED);
                    None
                }
            },
        };
        amend.extend(change.map(|change| (path, change)));
    }
    amend
}

fn redaction(values: &mut Values<'_, '_>, line: u32, keys: &[(Node, Node)]) -> Option<Change> {
    let (mut pattern, mut with) = (None, "[redacted]".to_owned());
    for (key, value) in keys {
        match (key.label().as_str(), value.text()) {
            ("redact", Some(text)) => pattern = regex(values, key.line, text),
            ("with", Some(text)) => text.clone_into(&mut with),
            ("redact" | "with", None) => {
                values.wrong(key.line, &format!("amend.{}", key.label()), value, "a text");
            }
            (other, _) => {
                let nearest = suggestion(other, ["redact", "with"]);
                let nearest = ["redact", "with"].into_iter().find(|known| nearest == Some(known));
                let (key_line, key) = (key.line, format!("amend.{other}"));
                values.error(key_line, &super::findings::UnknownKey { key, nearest }.into());
            }
        }
    }
    if pattern.is_none() && values.sound {
        let found = shown(&keys[0].1);
        values.error(
            line,
            &LoadError::Value { key: "amend".to_owned(), found, expected: "{redact: PATTERN}".to_owned() },
        );
    }
    Some(Change::Redact { pattern: pattern?, with })
}

fn regex(values: &mut Values<'_, '_>, line: u32, pattern: &str) -> Option<Regex> {
    match lineside_search::compiled(pattern, LARGEST) {
        Ok(regex) => Some(regex),
        Err(error) => {
            let (key, detail) = ("amend.redact".to_owned(), error.to_string());
            values.error(line, &LoadError::Regex { key, detail });
            None
        }
    }
}

#[cfg(test)]
mod tests;
