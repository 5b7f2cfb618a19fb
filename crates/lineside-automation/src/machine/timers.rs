//! When the machine has to look at what again. A timer may come too early or for nothing; what it is for decides.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::machine::job::JobId;
use crate::unix_micros::UnixMicros;

/// What to look at. Of what is due at the same time, older work goes before work that only begins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// A rate that may have room again.
    Rate(usize, Arc<str>),
    /// What an automation holds under a key.
    Held(usize, Arc<str>),
    /// A job whose next attempt may be due.
    Retry(JobId),
    /// A job whose session has ended so long ago that it has no more time.
    Overdue(JobId),
}

#[derive(Debug, Default)]
pub(super) struct Timers {
    all: BTreeSet<(UnixMicros, Timer)>,
    announced: Option<UnixMicros>,
}

impl Timers {
    pub(super) fn set(&mut self, at: UnixMicros, timer: Timer) {
        self.all.insert((at, timer));
    }

    /// One that is not needed any more.
    pub(super) fn remove(&mut self, at: UnixMicros, timer: Timer) {
        self.all.remove(&(at, timer));
    }

    /// The next one that is due, with the time that it was for.
    pub(super) fn pop(&mut self, now: UnixMicros) -> Option<Timer> {
        if self.all.first()?.0 > now {
            return None;
        }
        self.all.pop_first().map(|(_, timer)| timer)
    }

    /// Has the time of the first one said again, even if it was said.
    pub(super) fn say_again(&mut self) {
        self.announced = None;
    }

    /// The time of the first one, if it is another than was said last.
    pub(super) fn announce(&mut self) -> Option<UnixMicros> {
        let next = self.all.first().map(|(at, _)| *at);
        if next == self.announced {
            return None;
        }
        self.announced = next;
        next
    }
}
