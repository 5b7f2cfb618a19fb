//! Hooks in their declared order, with what runs them: the plan of an event, and the parts that it is put together of.
//!
//! Which hooks are registered where is kept in a [roster](crate::roster). A plan is made of rosters and never changes.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::event::hexadecimal;
use crate::hook::{Hook, Standby};
use crate::json::to_vec;

/// Hooks in their declared order, with what runs them.
///
/// ```
/// use std::sync::Arc;
///
/// use lineside_core::{Hook, Part, Plan};
///
/// let gate = |name, priority| (Arc::new(Hook::native(name, Part::Gate).priority(priority)), "what runs it");
/// let plan = Plan::compile(vec![gate("audit", 0), gate("no-rm", 900)]);
/// let names: Vec<&str> = plan.hooks().iter().map(|hook| &*hook.name).collect();
/// assert_eq!(names, ["no-rm", "audit"]);
/// ```
#[derive(Debug, Clone)]
pub struct Plan<H> {
    hooks: Arc<[Arc<Hook>]>,
    handlers: Box<[H]>,
    tells: bool,
}

impl<H> Plan<H> {
    /// Orders hooks by priority, layer, session and registration.
    #[must_use]
    pub fn compile(mut entries: Vec<(Arc<Hook>, H)>) -> Self {
        entries.sort_by_key(|(hook, _)| hook.order());
        Self::ordered(entries)
    }

    fn ordered(entries: Vec<(Arc<Hook>, H)>) -> Self {
        let tells = entries.iter().any(|(hook, _)| hook.runs_after_decision());
        let (hooks, handlers): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
        Self { hooks: hooks.into(), handlers: handlers.into(), tells }
    }

    /// The hooks in order.
    #[inline]
    #[must_use]
    pub fn hooks(&self) -> &Arc<[Arc<Hook>]> {
        &self.hooks
    }

    /// Whether any of the hooks runs once the event is decided.
    #[inline]
    #[must_use]
    pub fn tells(&self) -> bool {
        self.tells
    }

    /// The hooks in order, each with what runs it.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = (&Arc<Hook>, &H)> {
        self.hooks.iter().zip(&self.handlers)
    }

    /// The hook at a place and what runs it.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use lineside_core::{Hook, Part, Plan};
    ///
    /// let hook = Arc::new(Hook::native("no-rm", Part::Gate));
    /// let plan = Plan::compile(vec![(hook, 7)]);
    /// assert_eq!(plan.entry(0).map(|(hook, run)| (&*hook.name, *run)), Some(("no-rm", 7)));
    /// assert!(plan.entry(1).is_none());
    /// ```
    #[inline]
    #[must_use]
    pub fn entry(&self, place: u32) -> Option<(&Arc<Hook>, &H)> {
        let place = usize::try_from(place).ok()?;
        Some((self.hooks.get(place)?, self.handlers.get(place)?))
    }
}

/// The plan of one event: the hooks of its rosters that may run for it.
///
/// ```
/// use std::sync::Arc;
///
/// use lineside_core::{Candidates, Hook, Part, Plan};
///
/// let plan = |name, priority| {
///     Plan::compile(vec![(Arc::new(Hook::native(name, Part::Gate).priority(priority)), ())])
/// };
/// let (of_parent, own) = (plan("inherited", 0), plan("own", 10));
/// let both = Candidates::of(&[&of_parent, &own]);
/// let names: Vec<&str> = both.hooks().iter().map(|hook| &*hook.name).collect();
/// assert_eq!(names, ["own", "inherited"]);
/// ```
#[derive(Debug)]
pub enum Candidates<'a, H> {
    /// All of them stand in one part, which is used as it is.
    One(&'a Plan<H>),
    /// They were put together of several parts.
    Merged(Plan<&'a H>),
}

impl<'a, H> Candidates<'a, H> {
    /// Puts parts together. A hook that stands in several of them has one place, and is there as strict as it is in any.
    #[inline]
    #[must_use]
    pub fn of(parts: &[&'a Plan<H>]) -> Self {
        if let [one] = parts {
            return Self::One(one);
        }
        let entries = parts.iter().flat_map(|part| part.entries());
        let mut entries: Vec<_> = entries.map(|(hook, run)| (Arc::clone(hook), run)).collect();
        entries.sort_by_key(|(hook, _)| hook.order());
        entries.dedup_by(|(other, _), (hook, _)| {
            let is_same = other.order() == hook.order();
            if is_same && let Some(both) = stricter(hook, other) {
                *hook = both;
            }
            is_same
        });
        Self::Merged(Plan::ordered(entries))
    }

    /// The hooks in order.
    #[inline]
    #[must_use]
    pub fn hooks(&self) -> &Arc<[Arc<Hook>]> {
        match self {
            Self::One(plan) => plan.hooks(),
            Self::Merged(plan) => plan.hooks(),
        }
    }

    /// Whether any of the hooks runs once the event is decided.
    #[inline]
    #[must_use]
    pub fn tells(&self) -> bool {
        match self {
            Self::One(plan) => plan.tells(),
            Self::Merged(plan) => plan.tells(),
        }
    }

    /// The hook at a place and what runs it.
    #[inline]
    #[must_use]
    pub fn entry(&self, place: u32) -> Option<(&Arc<Hook>, &'a H)> {
        match self {
            Self::One(plan) => plan.entry(place),
            Self::Merged(plan) => plan.entry(place).map(|(hook, run)| (hook, *run)),
        }
    }

    /// The hooks that start at the same time as the one at this place, which is the first of them; `None` at the end.
    /// A member of an ensemble is not among them: it has its turn in the pace of the ensemble.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use lineside_core::{Candidates, Hook, Part, Plan};
    ///
    /// let hook = |name, part, priority| (Arc::new(Hook::native(name, part).priority(priority)), ());
    /// let plan = Plan::compile(vec![
    ///     hook("locked-tests", Part::Amender, 900),
    ///     hook("no-rm", Part::Gate, 500),
    ///     hook("no-push", Part::Gate, 500),
    /// ]);
    /// let candidates = Candidates::of(&[&plan]);
    /// assert_eq!(candidates.group(0), Some(0..1));
    /// assert_eq!(candidates.group(1), Some(1..3));
    /// assert_eq!(candidates.group(3), None);
    /// ```
    #[must_use]
    pub fn group(&self, first: u32) -> Option<Range<u32>> {
        let rest = self.hooks().get(usize::try_from(first).ok()?..)?;
        let (leader, others) = rest.split_first()?;
        let joins = |hook: &&Arc<Hook>| leader.goes_beside(hook);
        let count = 1 + u32::try_from(others.iter().take_while(joins).count()).ok()?;
        Some(first..first + count)
    }
}

/// A hook as strict as another state of it; `None` where it is already. Most are the same value.
pub(crate) fn stricter(hook: &Arc<Hook>, other: &Arc<Hook>) -> Option<Arc<Hook>> {
    if Arc::ptr_eq(hook, other) { None } else { hook.as_strict_as(other).map(Arc::new) }
}

/// Which hooks a session was under at a moment: while two of one session are equal, nothing was registered or taken away in
/// between that it is under. A session that is opened anew has another one, also under the same hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Generation {
    /// The number of the session among those that its bus has opened.
    pub session: u64,
    /// How often hooks have changed that it is under.
    pub changes: u64,
}

/// A digest of which hooks are in force at which points, in hexadecimal: two sessions with the same one are under the
/// same hooks in the same order, with the same settings.
///
/// ```
/// use std::sync::Arc;
///
/// use lineside_core::plan::coverage;
/// use lineside_core::{Hook, Part};
///
/// let of = |priority| {
///     let hook = Arc::new(Hook::native("no-rm", Part::Gate).priority(priority));
///     coverage([("before_tool", &[hook][..])])
/// };
/// assert_eq!(of(0), of(0));
/// assert_ne!(of(0), of(1));
/// ```
pub fn coverage<'a>(points: impl IntoIterator<Item = (&'static str, &'a [Arc<Hook>])>) -> String {
    let mut digest = Sha256::new();
    for (point, hooks) in points {
        for hook in hooks.iter() {
            // With whom its answer counts is said by the place of the first of them.
            let together =
                hook.ensemble.as_ref().and_then(|_| hooks.iter().position(|other| other.counts_with(hook)));
            describe(point, hook, together, &mut digest);
        }
    }
    hexadecimal(&digest.finalize())
}

fn describe(point: &str, hook: &Hook, together: Option<usize>, digest: &mut Sha256) {
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
        mode,
        on_failure,
        required,
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
        Standby::NotLoaded(_) => Some(crate::outcome::SkipReason::NotLoaded.as_str()),
    };
    let select = select.as_ref().map(|select| select.describe());
    let origin = origin.as_ref().map(ToString::to_string);
    let ensemble = ensemble
        .as_ref()
        .map(|ensemble| (together, ensemble.sees(), ensemble.time().map(time), ensemble.judges_again()));
    // Lists and no maps, whose order is another one where a feature of the library is switched on.
    let whose = (point, name, dialect, source, layer, priority, origin);
    let fails = (on_failure, required);
    let acts = (part, mode, fails, time(*timeout), reach, after_block, lane, join, drain.map(time), off);
    digest.update(to_vec(&(whose, acts, select, ensemble)).unwrap_or_default());
    digest.update(b"\n");
}

/// In seconds and nanoseconds.
fn time(time: Duration) -> (u64, u32) {
    (time.as_secs(), time.subsec_nanos())
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
    use crate::hook::{AfterBlock, Hook, Join, Lane, Layer, Mode, Part, Reach, Select, Selected, Standby};
    use crate::outcome::{FromHook, SkipReason};

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

        fn finalize(&self, _: &AnyEvent, given: Vec<FromHook<Answer>>) -> Vec<FromHook<Answer>> {
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
            Hook { mode: Mode::Shadow, ..hook.clone() },
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
