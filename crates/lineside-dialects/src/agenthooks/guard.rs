//! What a hook that does not load may have been meant to refuse, beyond the closed guards of AH-16.

use lineside_core::PointInfo;

use super::entries::is_async;
use super::findings::Findings;
use super::triggers::{self, TRIGGERS, Trigger};
use crate::broken::{Broken, ON_FAILURE};
use crate::names;
use crate::yaml::Draft;

/// Whether the failure of a hook may have been meant to refuse events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IsGuard(pub(super) bool);

impl IsGuard {
    /// By its keys.
    fn of(draft: &Draft) -> Self {
        let is_async = is_async(draft).is_some_and(|(_, said)| said == Some(true));
        let mut keys = draft.entries.iter();
        Self(!is_async && keys.any(|(key, value)| ON_FAILURE.are_meant_by(&key.label(), value.text())))
    }
}

/// The hook of a folder is lost.
pub(super) fn lose(folder: &str, draft: &Result<Draft, IsGuard>, findings: &mut Findings) {
    let (points, IsGuard(is_guard)) = match draft {
        Ok(draft) => (points(draft), IsGuard::of(draft)),
        Err(is_guard) => (all(), *is_guard),
    };
    let (error, line) = (findings.repair(), findings.first_line());
    findings.lose(Broken { name: folder.to_owned(), line, error, points, is_guard, select: None });
}

/// The name that is proposed for a wrong one.
pub(super) fn nearest(trigger: &str) -> &'static str {
    names::proposed(trigger, triggers::names(), |name| triggers::find(name).map(|trigger| trigger.point))
}

/// The point of its trigger, or of one that is near; else all.
fn points(draft: &Draft) -> Vec<(&'static PointInfo, String)> {
    let written = draft.entries.iter().find(|(key, _)| key.text() == Some("trigger"));
    let Some(written) = written.and_then(|(_, value)| value.text()).map(str::trim) else { return all() };
    let nearest = nearest(written);
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
