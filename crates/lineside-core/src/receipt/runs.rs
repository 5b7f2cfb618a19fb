//! The list of what became of the hooks of one event.
//!
//! Most hooks have no objection, or are for other events. Those are kept in a few bytes each, and become a [`Run`]
//! when the list is read or something else joins them.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;
use std::time::Duration;

use smallvec::SmallVec;

use crate::failure::Failure;
use crate::outcome::{Outcome, Run, SkipReason};
use crate::verdict::Verdict;

/// What became of the hooks of one event, in the order in which it was settled: a slice of [`Run`]s.
#[derive(Clone, Default)]
pub struct Runs {
    /// Those that are kept short: of each hook, from the first in plan order on, how many nanoseconds it took to have no
    /// objection to the payload as it was published, or [`LEFT_OUT`]. Nothing is added once the list was read.
    short: SmallVec<[u32; 4]>,
    /// All of them at full length.
    full: OnceLock<Vec<Run>>,
}

/// In the place of the time of a hook whose matcher left out the event as it was published.
const LEFT_OUT: u32 = u32::MAX;

impl Runs {
    /// An empty list with room for this many hooks.
    #[inline]
    pub(crate) fn with_room(hooks: usize) -> Self {
        Self { short: SmallVec::with_capacity(hooks), full: OnceLock::new() }
    }

    /// Adds a hook that had no objection to the payload as it was published.
    #[inline]
    pub(crate) fn pass(&mut self, hook: u32, took: Duration) {
        match u32::try_from(took.as_nanos()) {
            Ok(nanos) if nanos != LEFT_OUT && self.is_next(hook) => self.short.push(nanos),
            _ => self.push(Run::first(hook, took, Outcome::Answered(Verdict::Continue))),
        }
    }

    /// Adds a hook whose matcher left out the event as it was published.
    #[inline]
    pub(crate) fn leave_out(&mut self, hook: u32) {
        if self.is_next(hook) {
            self.short.push(LEFT_OUT);
        } else {
            self.push(Run::first(hook, Duration::ZERO, Outcome::Skipped(SkipReason::Filter)));
        }
    }

    /// Calls this with the place, the time and the outcome of each hook, in order, and leaves the list as short as it is.
    pub fn each(&self, mut call: impl FnMut(u32, Duration, &Outcome)) {
        if let Some(full) = self.full.get() {
            return full.iter().for_each(|run| call(run.hook, run.took, &run.outcome));
        }
        let (passed, left_out) = (Outcome::Answered(Verdict::Continue), Outcome::Skipped(SkipReason::Filter));
        for (hook, nanos) in (0..).zip(self.short.iter().copied()) {
            match nanos {
                LEFT_OUT => call(hook, Duration::ZERO, &left_out),
                nanos => call(hook, Duration::from_nanos(nanos.into()), &passed),
            }
        }
    }

    /// About how many bytes the texts in it take.
    pub(super) fn texts_weight(&self) -> usize {
        let of_run = |run: &Run| {
            let failures: usize = run.earlier.iter().map(Failure::weight).sum();
            failures
                + match &run.outcome {
                    Outcome::Answered(verdict) => verdict.weight(),
                    Outcome::Failed { failure, verdict } => failure.weight() + verdict.weight(),
                    Outcome::Skipped(_) | Outcome::Detached | Outcome::Offered(_) => 0,
                }
        };
        self.full.get().map_or(0, |full| full.iter().map(of_run).sum())
    }

    /// Adds any other.
    pub(crate) fn push(&mut self, run: Run) {
        self.list().push(run);
    }

    /// Whether no hook had more to say than `continue`, and all saw the payload as it was published.
    #[inline]
    pub(crate) fn is_short(&self) -> bool {
        self.full.get().is_none()
    }

    /// Whether this hook can be kept short: all before it are, and it is the next one in plan order.
    #[inline]
    fn is_next(&self, hook: u32) -> bool {
        self.is_short() && usize::try_from(hook) == Ok(self.short.len())
    }

    fn list(&mut self) -> &mut Vec<Run> {
        self.full.get_or_init(|| expand(&self.short));
        match self.full.get_mut() {
            Some(full) => full,
            None => unreachable!("it was just made"),
        }
    }
}

fn expand(short: &[u32]) -> Vec<Run> {
    let run = |(hook, nanos)| match nanos {
        LEFT_OUT => Run::first(hook, Duration::ZERO, Outcome::Skipped(SkipReason::Filter)),
        nanos => {
            let took = Duration::from_nanos(nanos.into());
            Run::first(hook, took, Outcome::Answered(Verdict::Continue))
        }
    };
    (0..).zip(short.iter().copied()).map(run).collect()
}

impl Deref for Runs {
    type Target = [Run];

    fn deref(&self) -> &[Run] {
        self.full.get_or_init(|| expand(&self.short))
    }
}

impl fmt::Debug for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}

impl DerefMut for Runs {
    fn deref_mut(&mut self) -> &mut [Run] {
        self.list()
    }
}

impl<'a> IntoIterator for &'a Runs {
    type Item = &'a Run;
    type IntoIter = std::slice::Iter<'a, Run>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_with_room_for_its_hooks_does_not_grow() {
        for hooks in [0, 1, 4, 5, 300] {
            assert!(Runs::with_room(hooks).short.capacity() >= hooks, "{hooks}");
        }
    }

    #[test]
    fn a_look_at_each_hook_finds_what_the_list_has_and_leaves_it_short() {
        let mut runs = Runs::with_room(2);
        runs.pass(0, Duration::from_nanos(7));
        runs.leave_out(1);
        for is_short in [true, false] {
            let mut seen = Vec::new();
            runs.each(|hook, took, outcome| seen.push((hook, took, outcome.clone())));
            assert_eq!(runs.is_short(), is_short);
            let listed: Vec<_> = runs.iter().map(|run| (run.hook, run.took, run.outcome.clone())).collect();
            assert_eq!(seen, listed);
        }
    }

    #[test]
    fn what_is_kept_short_reads_as_if_it_were_not() {
        let mut runs = Runs::with_room(2);
        let (short, long) = (Duration::from_nanos(7), Duration::from_secs(5));
        runs.pass(0, short);
        runs.leave_out(1);
        assert!(runs.is_short());
        runs.pass(2, long);
        assert!(!runs.is_short(), "more than four seconds are not kept short");
        runs.leave_out(3);
        runs.pass(4, short);
        let passed = Outcome::Answered(Verdict::Continue);
        let left_out = Outcome::Skipped(SkipReason::Filter);
        let expected = [
            Run::first(0, short, passed.clone()),
            Run::first(1, Duration::ZERO, left_out.clone()),
            Run::first(2, long, passed.clone()),
            Run::first(3, Duration::ZERO, left_out),
            Run::first(4, short, passed),
        ];
        assert_eq!(*runs, expected);
    }
}
