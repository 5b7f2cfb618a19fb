//! When the machine has to look at what again. A timer may come too early or for nothing; what it is for decides.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::machine::job::JobId;
use crate::moment::Moment;

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
    heap: BinaryHeap<Reverse<(Moment, Timer)>>,
    announced: Option<Moment>,
}

impl Timers {
    pub(super) fn set(&mut self, at: Moment, timer: Timer) {
        self.heap.push(Reverse((at, timer)));
    }

    /// The next one that is due, with the time that it was for.
    pub(super) fn pop(&mut self, now: Moment) -> Option<Timer> {
        if self.heap.peek()?.0.0 > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, timer))| timer)
    }

    /// Has the time of the first one said again, even if it was said.
    pub(super) fn say_again(&mut self) {
        self.announced = None;
    }

    /// The time of the first one, if it is another than was said last.
    pub(super) fn announce(&mut self) -> Option<Moment> {
        let next = self.heap.peek().map(|Reverse((at, _))| *at);
        if next == self.announced {
            return None;
        }
        self.announced = next;
        next
    }
}
