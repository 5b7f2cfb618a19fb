//! Shutting down: what is under way comes to its end, up to a deadline, and a report says what did not.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

use crate::keeper::JobCounts;

/// Counts events between their admission and their decision.
#[derive(Default)]
pub(crate) struct Gauge {
    count: AtomicUsize,
    empty: Notify,
}

/// The highest bit says that nobody may enter any more.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// One event under way.
pub(crate) struct InFlight<'a> {
    gauge: &'a Gauge,
}

impl Gauge {
    /// Lets one more in; `None` once the gauge is closed.
    pub(crate) fn enter(&self) -> Option<InFlight<'_>> {
        let before = self.count.fetch_add(1, Ordering::AcqRel);
        let in_flight = InFlight { gauge: self };
        (before & CLOSED == 0).then_some(in_flight)
    }

    /// Lets nobody in from now on.
    pub(crate) fn close(&self) {
        self.count.fetch_or(CLOSED, Ordering::AcqRel);
    }

    /// How many are under way.
    pub(crate) fn inside(&self) -> usize {
        self.count.load(Ordering::Acquire) & !CLOSED
    }

    /// Waits until nobody is inside.
    pub(crate) async fn emptied(&self) {
        loop {
            let emptied = self.empty.notified();
            if self.inside() == 0 {
                return;
            }
            emptied.await;
        }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let before = self.gauge.count.fetch_sub(1, Ordering::AcqRel);
        if before == CLOSED + 1 {
            self.gauge.empty.notify_waiters();
        }
    }
}

/// What a drain found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "it says what was lost"]
pub struct DrainReport {
    /// Events that were still undecided at the deadline.
    pub undecided: usize,
    /// Detached hooks that came to their own end, over the whole life of the sessions still open.
    pub detached_finished: u64,
    /// Detached hooks that were cut short, likewise.
    pub detached_cut_short: u64,
    /// Events that observers have lost because they were too slow.
    pub observers_lost: u64,
    /// Observers that had not heard everything at the deadline.
    pub observers_behind: usize,
    /// Context messages that nobody has collected.
    pub context_waiting: usize,
    /// Context messages that did not fit into a mailbox.
    pub context_dropped: u64,
    /// What has become of the jobs of automations.
    pub jobs: JobCounts,
    /// Sessions that were still open.
    pub sessions: usize,
}

impl DrainReport {
    /// Whether everything came to its end and nothing was lost.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.undecided == 0
            && self.detached_cut_short == 0
            && self.observers_lost == 0
            && self.observers_behind == 0
            && self.context_dropped == 0
            && self.jobs.lost == 0
    }
}
