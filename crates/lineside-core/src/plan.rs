//! The immutable, compiled list of hooks in force for one session and one point.
//!
//! A plan is made when hooks change. The hot path only walks it.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::event::AnyEvent;
use crate::hook::{Hook, Part, Standby};
use crate::receipt::SkipReason;

/// Hooks in their declared order, with what runs them.
#[derive(Debug, Clone)]
pub struct Plan<H> {
    hooks: Arc<[Arc<Hook>]>,
    handlers: Box<[H]>,
    groups: Box<[Range<u16>]>,
}

/// More hooks for one point than a plan can number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{count} hooks at one point, at most {most} are possible", most = u16::MAX)]
pub struct CompilePlanError {
    /// How many there are.
    pub count: usize,
}

impl<H> Plan<H> {
    /// Orders hooks by priority, layer, session and registration, and groups the gates that run at the same time.
    ///
    /// # Errors
    /// More than 65,535 hooks.
    pub fn compile(mut entries: Vec<(Arc<Hook>, H)>) -> Result<Self, CompilePlanError> {
        if u16::try_from(entries.len()).is_err() {
            return Err(CompilePlanError { count: entries.len() });
        }
        entries.sort_by_key(|(hook, _)| hook.order());
        let (hooks, handlers): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
        Ok(Self { groups: groups(&hooks), hooks: hooks.into(), handlers: handlers.into() })
    }

    /// The hooks in order.
    #[must_use]
    pub fn hooks(&self) -> &Arc<[Arc<Hook>]> {
        &self.hooks
    }

    /// The runs of hooks that start at the same time, in order; together they cover every hook once.
    #[must_use]
    pub fn groups(&self) -> &[Range<u16>] {
        &self.groups
    }

    /// The hook at a place and what runs it.
    #[must_use]
    pub fn entry(&self, index: u16) -> Option<(&Arc<Hook>, &H)> {
        let index = usize::from(index);
        Some((self.hooks.get(index)?, self.handlers.get(index)?))
    }

    /// Which hooks would run for an event as it stands, in order, and why the others would not.
    pub fn explain<'a>(&'a self, event: &'a AnyEvent) -> impl Iterator<Item = Explained<'a>> {
        self.hooks.iter().map(move |hook| Explained { hook, skipped: hook.skip(event) })
    }
}

/// A hook and whether it would run.
#[derive(Debug, Clone, Copy)]
pub struct Explained<'a> {
    /// The hook.
    pub hook: &'a Arc<Hook>,
    /// Why it would not run; `None` when it would.
    pub skipped: Option<SkipReason>,
}

fn groups(hooks: &[Arc<Hook>]) -> Box<[Range<u16>]> {
    let mut groups: Vec<Range<u16>> = Vec::new();
    for (index, hook) in (0u16..).zip(hooks) {
        let joins = hook.part == Part::Gate
            && index > 0
            && hooks
                .get(usize::from(index) - 1)
                .is_some_and(|before| before.part == Part::Gate && before.priority == hook.priority);
        match groups.last_mut() {
            Some(last) if joins => last.end = index + 1,
            _ => groups.push(index..index + 1),
        }
    }
    groups.into()
}

/// A digest of which hooks are in force at which points, in hexadecimal: two sessions with the same one are under the
/// same hooks in the same order, with the same settings.
pub fn coverage<'a>(points: impl IntoIterator<Item = (&'static str, &'a [Arc<Hook>])>) -> String {
    let mut digest = Sha256::new();
    for (point, hooks) in points {
        for hook in hooks.iter() {
            // With whom its answer counts is said by the place of the first of them.
            let together =
                hook.ensemble.as_ref().and_then(|_| hooks.iter().position(|other| other.counts_with(hook)));
            digest.update(describe(point, hook, together).to_string());
            digest.update(b"\n");
        }
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn describe(point: &str, hook: &Hook, together: Option<usize>) -> Value {
    // Every setting is named, so that a new one is not forgotten here.
    let Hook {
        name,
        source,
        dialect,
        origin,
        layer,
        depth: _,
        registration: _,
        priority,
        part,
        on_failure,
        timeout,
        reach,
        after_block,
        lane,
        join,
        drain,
        standby,
        select,
        ensemble,
    } = hook;
    let off = match standby {
        Standby::Ready => None,
        Standby::Off(why) => Some(why.as_str()),
    };
    let select = select.as_ref().map(|select| select.describe());
    let origin = origin.as_ref().map(ToString::to_string);
    let ensemble = ensemble.as_ref().map(|ensemble| {
        json!([together, ensemble.sees(), ensemble.time().map(time), ensemble.judges_again()])
    });
    // A list and not a map, whose order is another one where a feature of the library is switched on.
    json!([
        point,
        name,
        dialect,
        source,
        layer,
        priority,
        part,
        on_failure,
        time(*timeout),
        reach,
        after_block,
        lane,
        join,
        drain.map(time),
        off,
        select,
        origin,
        ensemble,
    ])
}

/// In seconds and nanoseconds.
fn time(time: Duration) -> Value {
    json!([time.as_secs(), time.subsec_nanos()])
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::sync::Arc;
    use std::time::Duration;

    use super::coverage;
    use crate::answer::Answer;
    use crate::diagnostic::Origin;
    use crate::ensemble::{Ensemble, Sees};
    use crate::event::AnyEvent;
    use crate::failure::OnFailure;
    use crate::hook::{AfterBlock, Hook, Join, Lane, Layer, Part, Reach, Select, Selected, Standby};
    use crate::receipt::{By, SkipReason};

    struct Together(Option<Duration>, Sees, bool);

    impl Ensemble for Together {
        fn sees(&self) -> Sees {
            self.1
        }

        fn time(&self) -> Option<Duration> {
            self.0
        }

        fn judges_again(&self) -> bool {
            self.2
        }

        fn settle(&self, _: &AnyEvent, given: Vec<By<Answer>>) -> Vec<By<Answer>> {
            given
        }
    }

    struct Doubts;

    impl Select for Doubts {
        fn select(&self, _: &AnyEvent) -> Selected {
            Selected::InDoubt(Cow::Borrowed("it is"))
        }

        fn describe(&self) -> String {
            "doubts".into()
        }
    }

    fn of(hooks: &[Hook]) -> String {
        let hooks: Vec<_> = hooks.iter().cloned().map(Arc::new).collect();
        coverage([("before_tool", &*hooks)])
    }

    #[test]
    fn every_setting_that_changes_what_a_hook_does_changes_the_coverage() {
        let hook = Hook::native("a", Part::Gate);
        let ensemble =
            |time, sees, again| -> Option<Arc<dyn Ensemble>> { Some(Arc::new(Together(time, sees, again))) };
        let changed = [
            hook.clone(),
            Hook { name: "b".into(), ..hook.clone() },
            Hook { source: "s".into(), ..hook.clone() },
            Hook { dialect: "other", ..hook.clone() },
            Hook { origin: Some(Origin { file: Arc::new("f".into()), line: 1 }), ..hook.clone() },
            Hook { layer: Layer::User, ..hook.clone() },
            Hook { priority: 1, ..hook.clone() },
            Hook { part: Part::LoneGate, ..hook.clone() },
            Hook { on_failure: OnFailure::Continue, ..hook.clone() },
            Hook { timeout: Duration::from_nanos(1), ..hook.clone() },
            Hook { timeout: Duration::ZERO, ..hook.clone() },
            Hook { timeout: Duration::MAX, ..hook.clone() },
            Hook { reach: Reach::Itself, ..hook.clone() },
            Hook { reach: Reach::Children, ..hook.clone() },
            Hook { after_block: AfterBlock::RunWithinDialect, ..hook.clone() },
            Hook { lane: Lane::Shared, ..hook.clone() },
            Hook { join: Join::BeforeNextModel, ..hook.clone() },
            Hook { drain: Some(Duration::ZERO), ..hook.clone() },
            Hook { standby: Standby::Off(SkipReason::Disabled), ..hook.clone() },
            Hook { standby: Standby::Off(SkipReason::Untrusted), ..hook.clone() },
            Hook { select: Some(Arc::new(Doubts)), ..hook.clone() },
            Hook { ensemble: ensemble(None, Sees::First, true), ..hook.clone() },
            Hook { ensemble: ensemble(None, Sees::Amended, true), ..hook.clone() },
            Hook { ensemble: ensemble(None, Sees::First, false), ..hook.clone() },
            Hook { ensemble: ensemble(Some(Duration::ZERO), Sees::First, true), ..hook.clone() },
        ];
        let mut digests: Vec<_> = changed.iter().map(|hook| of(std::slice::from_ref(hook))).collect();
        assert_eq!(digests[0], of(&[Hook { registration: 7, depth: 3, ..hook.clone() }]), "not what it does");
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), changed.len());
    }

    #[test]
    fn with_whom_an_answer_counts_is_covered() {
        let (one, other): (Arc<dyn Ensemble>, Arc<dyn Ensemble>) =
            (Arc::new(Together(None, Sees::First, true)), Arc::new(Together(None, Sees::First, true)));
        let hook = |ensemble: &Arc<dyn Ensemble>| {
            let ensemble = Some(Arc::clone(ensemble));
            Hook { ensemble, ..Hook::native("a", Part::Gate) }
        };
        assert_ne!(of(&[hook(&one), hook(&one)]), of(&[hook(&one), hook(&other)]));
        assert_eq!(of(&[hook(&one), hook(&one)]), of(&[hook(&other), hook(&other)]));
    }
}
