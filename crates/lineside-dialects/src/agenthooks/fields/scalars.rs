//! Numbers and truth values, and what is leniently taken for them (AH-12, AH-13).

use std::time::Duration;

use super::{Draft, Findings, HookWarning, LoadHookError, Mode};
use crate::agenthooks::entries::{entry, is_async};
use crate::yaml::{Content, decimal};

/// In milliseconds, as in `HOOK.md` (AH-11).
const TIMEOUT: (u64, u64, u64) = (100, 30_000, 600_000);
const PRIORITY: (u64, u64, u64) = (0, USUAL_PRIORITY as u64, 1000);
/// The priority of a hook that gives none.
pub(in crate::agenthooks) const USUAL_PRIORITY: u8 = 100;

/// How long the hook may run; the default if that cannot be read.
pub(super) fn timeout(draft: &Draft, findings: &mut Findings) -> Duration {
    let out_of_range = |got, used| HookWarning::TimeoutRange { got, used };
    Duration::from_millis(in_range(draft, "timeout", TIMEOUT, out_of_range, findings))
}

/// Its priority; the default if that cannot be read.
pub(super) fn priority(draft: &Draft, findings: &mut Findings) -> i32 {
    let out_of_range = |got, used| HookWarning::PriorityRange { got, used };
    let priority = in_range(draft, "priority", PRIORITY, out_of_range, findings);
    i32::try_from(priority).unwrap_or(i32::MAX)
}

/// AH-13: an integer between the least and the most; the default if it cannot be read.
fn in_range(
    draft: &Draft,
    field: &'static str,
    (least, default, most): (u64, u64, u64),
    out_of_range: impl FnOnce(i128, u64) -> HookWarning,
    findings: &mut Findings,
) -> u64 {
    let Some((line, got)) = integer(draft, field, findings) else { return default };
    let used = u64::try_from(got.max(0)).unwrap_or(u64::MAX).clamp(least, most);
    if i128::from(used) != got {
        findings.warning(line, out_of_range(got, used));
    }
    used
}

fn integer(draft: &Draft, field: &'static str, findings: &mut Findings) -> Option<(u32, i128)> {
    let (line, value) = entry(&draft.entries, field)?;
    let integer = match &value.content {
        Content::Integer(integer) => Some(*integer),
        Content::Text(text) => decimal(text),
        _ => None,
    };
    match integer {
        None => findings.error(line, LoadHookError::Integer(field)),
        Some(value) if matches!(entry(&draft.entries, field), Some((_, node)) if node.text().is_some()) => {
            findings.warning(line, HookWarning::IntegerText { field, value });
        }
        Some(_) => {}
    }
    Some((line, integer?))
}

/// Whether it is waited for; `None` when that cannot be read.
pub(super) fn mode(draft: &Draft, findings: &mut Findings) -> Option<Mode> {
    let Some((line, asynchronous)) = is_async(draft) else { return Some(Mode::Sync) };
    if asynchronous.is_none() {
        findings.error(line, LoadHookError::Boolean);
    }
    asynchronous.map(|asynchronous| if asynchronous { Mode::Async } else { Mode::Sync })
}
