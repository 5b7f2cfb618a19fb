//! What is still waited for when the input has ended: a line for people, so that a command that waits does not look stuck.

use std::time::Duration;

use lineside::automation::Automations;
use lineside::automation::jobs::{Which, WhichState};

use super::background::Background;
use crate::style::count;

/// How long the end may take before it is said what it waits for.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// How many are named.
const MOST: usize = 4;

/// While events are under way, or sessions close.
pub(super) fn for_events(open: usize, closing: &[String], background: &Background) -> String {
    let mut what = Vec::new();
    if open > 0 {
        what.push(count(open, "decision"));
    }
    if !closing.is_empty() {
        what.push(format!("the end of {}", named("session", closing)));
    }
    what.extend(hooks(background));
    sentence(&what, None)
}

/// While events are under way in the daemon.
pub(super) fn for_decisions(open: usize) -> String {
    sentence(&[count(open, "decision")], Some("gives them up"))
}

/// When every event is decided.
pub(super) fn for_the_rest(automations: Option<&Automations>, background: &Background) -> Option<String> {
    let mut what = Vec::new();
    if let Some(automations) = automations {
        let live = automations.jobs().list(&Which { state: WhichState::Live, ..Which::default() });
        if !live.is_empty() {
            let shown = live.iter().take(MOST).map(|job| {
                let name = job.automation.rsplit('/').next().unwrap_or_default();
                format!("{name} ({})", job.standing)
            });
            let shown: Vec<String> = shown.collect();
            let more = if live.len() > MOST { ", …" } else { "" };
            what.push(format!("{}: {}{more}", count(live.len(), "job"), shown.join(", ")));
        }
    }
    what.extend(hooks(background));
    let leaves = automations.map(|_| "leaves jobs in the journal");
    (!what.is_empty()).then(|| sentence(&what, leaves))
}

fn hooks(background: &Background) -> Option<String> {
    let pending = background.pending();
    (!pending.is_empty()).then(|| named("background hook", &pending))
}

fn named(what: &str, names: &[String]) -> String {
    let shown = names[..names.len().min(MOST)].join(", ");
    let more = if names.len() > MOST { ", …" } else { "" };
    format!("{}: {shown}{more}", count(names.len(), what))
}

fn sentence(what: &[String], leaves: Option<&str>) -> String {
    format!("waiting for {}; Ctrl-C {}", what.join("; "), leaves.unwrap_or("ends them now"))
}
