//! Whether a hook runs in a worker, and in what kind of one: keys of ours (`mode`, `worker`).
//!
//! What cannot be read is a warning and has no effect, as with any key that the format does not know: a hook
//! that uses these keys for something else is unchanged.

use std::time::Duration;

use lineside_core::nearest::suggestion;
use lineside_core::worker::WorkerStart;

use super::super::findings::{Findings, HookWarning};
use super::{entry, unexpected};
use crate::yaml::{Content, Draft, Node};

/// How the worker of a hook is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agenthooks) struct Warm {
    /// When it is started.
    pub(in crate::agenthooks) start: WorkerStart,
    /// After how long without calls it is ended; `None` when its file does not say.
    pub(in crate::agenthooks) idle: Option<Duration>,
}

/// The worker of a hook that has one.
pub(super) fn worker(draft: &Draft, findings: &mut Findings) -> Option<Warm> {
    let is_worker = mode(draft, findings);
    let Some((line, value)) = entry(&draft.entries, "worker") else {
        return is_worker.then_some(Warm { start: WorkerStart::OnUse, idle: None });
    };
    if !is_worker {
        findings.warning(line, HookWarning::WorkerWithoutEffect);
        return None;
    }
    let mut warm = Warm { start: WorkerStart::OnUse, idle: None };
    let Content::Mapping(entries) = &value.content else {
        findings.warning(line, HookWarning::WorkerType);
        return Some(warm);
    };
    unexpected(entries, &["start", "idle"], "worker", findings);
    if let Some((line, value)) = entry(entries, "start") {
        match value.text() {
            Some("use") => {}
            Some("ahead") => warm.start = WorkerStart::Ahead,
            _ => wrong(line, "start", value, "'use' or 'ahead'", findings),
        }
    }
    if let Some((line, value)) = entry(entries, "idle") {
        match &value.content {
            Content::Integer(millis @ 1000..=86_400_000) => {
                warm.idle = u64::try_from(*millis).ok().map(Duration::from_millis);
            }
            _ => wrong(line, "idle", value, "1000 to 86400000 milliseconds", findings),
        }
    }
    Some(warm)
}

fn wrong(line: u32, field: &'static str, value: &Node, expected: &'static str, findings: &mut Findings) {
    findings.warning(line, HookWarning::WorkerField { field, value: value.label(), expected });
}

fn mode(draft: &Draft, findings: &mut Findings) -> bool {
    let Some((line, value)) = entry(&draft.entries, "mode") else {
        return false;
    };
    match value.text().map(str::trim) {
        Some("worker") => true,
        Some("command") => false,
        other => {
            let nearest = other.and_then(|other| suggestion(&other.to_lowercase(), ["worker", "command"]));
            let nearest =
                nearest.and_then(|nearest| ["worker", "command"].into_iter().find(|known| *known == nearest));
            findings.warning(line, HookWarning::Mode { value: value.label(), nearest });
            false
        }
    }
}
