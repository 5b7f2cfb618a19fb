//! What a broken hook, or an event of it that does not exist, may have been meant to stop.

use lineside_core::PointInfo;

use super::events::{self, Event};
use super::findings::{Findings, LoadHookError};
use crate::broken::{Broken, Repair, Words};
use crate::names;
use crate::yaml::{Content, Draft, Node};

/// By which a hook stops what it fails for (JC-21).
pub(super) const WORDS: Words = Words { key: "on_error", value: "stop" };

/// Whether the failure of a hook may have been meant to stop something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IsGuard(pub(super) bool);

impl IsGuard {
    /// By its keys.
    fn of(draft: &Draft) -> Self {
        Self(draft.entries.iter().any(|(key, value)| WORDS.are_meant_by(&key.label(), value.text())))
    }
}

/// A hook of that name is lost at all its events.
pub(super) fn lose(name: &str, draft: &Result<Draft, IsGuard>, findings: &mut Findings) {
    let (written, is_guard) = match draft {
        Ok(draft) => (written(draft), IsGuard::of(draft)),
        Err(is_guard) => (Vec::new(), *is_guard),
    };
    let known =
        |event: &String| events::find(event).map_or_else(|| of_unknown(event), |event| vec![named(event)]);
    let points: Vec<_> = written.iter().flat_map(known).collect();
    let error = findings.repair(0, "");
    push(name, error, if points.is_empty() { all() } else { points }, is_guard, findings);
}

/// A hook that loads is lost at events that do not exist (JC-10, E4).
pub(super) fn lose_unknown(name: &str, draft: &Draft, findings: &mut Findings) {
    for event in written(draft).into_iter().filter(|event| events::find(event).is_none()) {
        let error = LoadHookError::Event { nearest: nearest(&event), event: event.clone() }.to_string();
        let told: Vec<_> = findings.diagnostics.iter().filter(|told| told.text == error).cloned().collect();
        push(name, Repair::first(&told, ""), of_unknown(&event), IsGuard::of(draft), findings);
    }
}

/// The event that is proposed for a wrong one.
pub(super) fn nearest(event: &str) -> &'static str {
    names::proposed(event, events::names(), |name| events::find(name).map(|event| event.point))
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
    findings.lose(Broken {
        name: name.to_owned(),
        line: error.line(),
        error,
        points,
        is_guard,
        select: None,
    });
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

fn of_unknown(event: &str) -> Vec<(&'static PointInfo, String)> {
    let nearest = nearest(event);
    let near = events::find(nearest).filter(|_| names::is_near(event, nearest));
    near.map_or_else(all, |event| vec![named(event)])
}

/// All events that can be stopped.
fn all() -> Vec<(&'static PointInfo, String)> {
    events::EVENTS.iter().filter(|event| event.stop.is_some()).map(named).collect()
}

fn named(event: &'static Event) -> (&'static PointInfo, String) {
    (event.point, event.name.to_owned())
}
