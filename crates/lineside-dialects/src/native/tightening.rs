//! An entry that runs nothing: it tightens the hooks of its name in the layers above.

use lineside_core::OnFailure;
use lineside_core::hook::Tighter;

use super::findings::LoadWarning;
use super::places::Place;
use super::values::{SHORT, Values};
use crate::yaml::Node;

/// What may be tightened.
const TIGHTENS: [&str; 2] = ["timeout", "on_failure"];

/// What of a hook stays as it is declared, and is said beside what may be tightened.
const STAYS: [&str; 9] =
    ["match", "priority", "async", "amends", "mode", "dir", "env", "environment", "automate"];

/// Whether an entry says neither where it listens nor what it runs, and nothing but what a hook of a layer above may have.
pub(super) fn is_one(keys: &[(Node, Node)], place: &Place) -> bool {
    let has = |known: &[&str]| keys.iter().any(|(key, _)| known.contains(&key.label().as_str()));
    let is_known =
        |key: &str| key == "name" || key == "required" || TIGHTENS.contains(&key) || STAYS.contains(&key);
    place.seat.is_none()
        && place.owner.is_none()
        && has(&TIGHTENS)
        && keys.iter().all(|(key, _)| is_known(&key.label()))
}

/// What it asks for. What would loosen a hook, and what cannot be changed from below, is a finding.
pub(super) fn read(values: &mut Values<'_, '_>) -> Tighter {
    let timeout = values.millis_in("timeout", 1..=600_000);
    values.doubt_short("timeout", SHORT);
    let on_failure =
        values.word("on_failure", &[("block", OnFailure::Block), ("continue", OnFailure::Continue)]);
    if on_failure == Some(OnFailure::Continue) {
        let line = values.line("on_failure").unwrap_or(1);
        values.warning(line, &LoadWarning::Loosens { key: "on_failure" });
    }
    for key in STAYS.into_iter().chain(["required"]) {
        if let Some(line) = values.line(key) {
            values.warning(line, &LoadWarning::Stays { key });
        }
    }
    Tighter { timeout, on_failure: on_failure.filter(|meaning| *meaning == OnFailure::Block) }
}
