//! Whether a hook runs in a worker, and in what kind of one: keys of ours (`mode`, `worker`).
//!
//! What cannot be read is a warning and has no effect, as with any key that the format does not know: a hook
//! that uses these keys for something else is unchanged.

use std::time::Duration;

use lineside_core::Severity;
use lineside_core::nearest::suggestion;
use lineside_core::worker::WorkerStart;

use super::HOOK;
use crate::schema::{Is, Keys, Row, Schema};

/// How the worker of a hook is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agenthooks) struct Warm {
    /// When it is started.
    pub(in crate::agenthooks) start: WorkerStart,
    /// After how long without calls it is ended; `None` when its file does not say.
    pub(in crate::agenthooks) idle: Option<Duration>,
}

/// The keys of `worker`.
const WORKER: Schema = Schema {
    rows: &[
        Row("start", Is::Word(&["use", "ahead"]), "'use' or 'ahead'"),
        Row("idle", Is::Integer(1000, 86_400_000), "1000 to 86400000 milliseconds"),
    ],
    wrong: "Worker field '{key}' is {found}, not {expected}; it has no effect",
    severity: Severity::Warning,
    unknown: "Unexpected field in worker: '{key}'{hint}",
    ..HOOK
};

/// The worker of a hook that has one.
pub(super) fn worker(keys: &mut Keys<'_, '_>) -> Option<Warm> {
    let (is_worker, line) = (is_worker(keys), keys.line("worker"));
    let mut warm = Warm { start: WorkerStart::OnUse, idle: None };
    let Some(value) = keys.get("worker") else { return is_worker.then_some(warm) };
    if !is_worker {
        keys.warning(line, "worker has no effect without 'mode: worker'");
        return None;
    }
    if value.mapping().is_none() {
        keys.warning(line, "Field 'worker' is not a mapping, it has no effect");
    } else if let Some(mut worker) = keys.mapping("worker", &WORKER) {
        worker.unknown();
        if worker.text("start") == Some("ahead") {
            warm.start = WorkerStart::Ahead;
        }
        let idle = worker.integer("idle").and_then(|millis| u64::try_from(millis).ok());
        warm.idle = idle.map(Duration::from_millis);
    }
    Some(warm)
}

/// Whether `mode` says so.
fn is_worker(keys: &mut Keys<'_, '_>) -> bool {
    let Some(value) = keys.get("mode") else { return false };
    let word = value.text().map(str::trim);
    if !matches!(word, Some("worker" | "command")) {
        let word = word.unwrap_or_default().to_lowercase();
        let near = suggestion(&word, ["worker", "command"]);
        let hint = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
        let what = format!("is {}, not 'worker': the hook is started for each event{hint}", value.label());
        keys.warning(keys.line("mode"), format_args!("Field 'mode' {what}"));
    }
    word == Some("worker")
}
