//! What a broken hook, or an event of it that does not exist, may have been meant to stop.

use lineside_core::PointInfo;

use super::events::EVENTS;
use crate::broken::{Broken, IsGuard, Repair, Words};
use crate::findings::Findings;
use crate::names;
use crate::yaml::{Content, Draft, Node};

/// By which a hook stops what it fails for (JC-21).
pub(super) const WORDS: Words = Words { key: "on_error", value: "stop" };

/// A hook of that name is lost at all its events.
pub(super) fn lose(name: &str, draft: &Result<Draft, IsGuard>, findings: &mut Findings) {
    let (written, is_guard) = match draft {
        Ok(draft) => (written(draft), WORDS.are_among(&draft.entries)),
        Err(is_guard) => (Vec::new(), *is_guard),
    };
    let points: Vec<_> = written.iter().flat_map(|event| points(event)).collect();
    let points = if points.is_empty() { names::gates(&EVENTS) } else { points };
    push(name, findings.repair(0, ""), points, is_guard, findings);
}

/// A hook that loads is lost at events that do not exist (JC-10, E4), which are listed on this line.
pub(super) fn lose_unknown(name: &str, draft: &Draft, line: u32, findings: &mut Findings) {
    for event in written(draft).into_iter().filter(|event| names::row(&EVENTS, event).is_none()) {
        let error = findings.repair_at(line, unknown(&event));
        push(name, error, points(&event), WORDS.are_among(&draft.entries), findings);
    }
}

/// The words for an event that does not exist.
pub(super) fn unknown(event: &str) -> String {
    format!("Unknown event '{event}'. Did you mean '{}'?", names::proposed_row(&EVENTS, event))
}

fn push(
    name: &str,
    error: Repair,
    mut points: Vec<(&'static PointInfo, String)>,
    IsGuard(is_guard): IsGuard,
    findings: &mut Findings,
) {
    let mut seen: Vec<&'static PointInfo> = Vec::new();
    points.retain(|(point, _)| {
        let is_new = !seen.contains(point);
        seen.push(point);
        is_new
    });
    let (name, line) = (name.to_owned(), error.line());
    findings.lose(Broken { name, line, error, points, is_guard, select: None });
}

/// The events that a draft names.
fn written(draft: &Draft) -> Vec<String> {
    let events = draft.entries.iter().find(|(key, _)| key.text() == Some("events")).map(|(_, value)| value);
    match events.map(|events| &events.content) {
        Some(Content::List(items)) => items.iter().map(Node::label).collect(),
        Some(Content::Text(event)) => vec![event.clone()],
        _ => Vec::new(),
    }
}

/// The point of an event, or of the one that it was perhaps meant as; else all that can be stopped.
fn points(event: &str) -> Vec<(&'static PointInfo, String)> {
    let meant = names::row(&EVENTS, event).or_else(|| names::near_row(&EVENTS, event));
    meant.map_or_else(|| names::gates(&EVENTS), names::Named::named)
}
