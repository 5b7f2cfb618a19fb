//! What a hook that does not load may have been meant to refuse, beyond the closed guards of AH-16.

use lineside_core::PointInfo;

use super::fields::is_async;
use super::triggers::{self, TRIGGERS, Trigger};
use crate::broken::{Broken, IsGuard, ON_FAILURE};
use crate::findings::Findings;
use crate::names;
use crate::yaml::Draft;

/// The hook of a folder is lost.
pub(super) fn lose(folder: &str, draft: &Result<Draft, IsGuard>, findings: &mut Findings) {
    let (points, IsGuard(is_guard)) = match draft {
        Ok(draft) => (points(draft), is_guard(draft)),
        Err(is_guard) => (all(), *is_guard),
    };
    let error = findings.repair(0, "");
    let (name, line) = (folder.to_owned(), error.line());
    findings.lose(Broken { name, line, error, points, is_guard, select: None });
}

/// Whether the failure of a hook may have been meant to refuse events.
fn is_guard(draft: &Draft) -> IsGuard {
    let is_async = is_async(&draft.entries).is_some_and(|(_, said)| said == Some(true));
    if is_async { IsGuard(false) } else { ON_FAILURE.are_among(&draft.entries) }
}

/// The point of its trigger, or of one that is near; else all.
fn points(draft: &Draft) -> Vec<(&'static PointInfo, String)> {
    let written = draft.entries.iter().find(|(key, _)| key.text() == Some("trigger"));
    let Some(written) = written.and_then(|(_, value)| value.text()).map(str::trim) else { return all() };
    let nearest = triggers::nearest(written);
    let near = || triggers::find(nearest).filter(|_| names::is_near(written, nearest));
    triggers::find(written).or_else(near).map_or_else(all, |trigger| vec![named(trigger)])
}

fn all() -> Vec<(&'static PointInfo, String)> {
    let mut points: Vec<(&'static PointInfo, String)> = Vec::new();
    for trigger in TRIGGERS {
        if !points.iter().any(|(point, _)| *point == trigger.point) {
            points.push(named(trigger));
        }
    }
    points
}

fn named(trigger: &Trigger) -> (&'static PointInfo, String) {
    (trigger.point, trigger.page.to_owned())
}
