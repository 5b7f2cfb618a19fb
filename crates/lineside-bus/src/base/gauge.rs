//! Events under way: counted between their admission and their decision, and waited for.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Counts events between their admission and their decision.
#[derive(Default)]
pub(crate) struct Gauge {
    count: AtomicUsize,
    empty: Notify,
}

/// The highest bit means closed.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// One event under way.
pub(crate) struct InFlight<'a> {
    gauge: &'a Gauge,
}

impl Gauge {
    /// Lets one more in; `None` once the gauge is closed.
    #[inline]
    pub(crate) fn enter(&self) -> Option<InFlight<'_>> {
        let before = self.count.fetch_add(1, Ordering::AcqRel);
        let in_flight = InFlight { gauge: self };
        (before & CLOSED == 0).then_some(in_flight)
    }

    /// Closes it: no further entry succeeds.
    pub(crate) fn close(&self) {
        self.count.fetch_or(CLOSED, Ordering::AcqRel);
    }

    /// How many are under way.
    pub(crate) fn inside(&self) -> usize {
        self.count.load(Ordering::Acquire) & !CLOSED
    }

    /// Waits until the count is zero.
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
    #[inline]
    fn drop(&mut self) {
        let before = self.gauge.count.fetch_sub(1, Ordering::AcqRel);
        if before == CLOSED + 1 {
            self.gauge.empty.notify_waiters();
        }
    }
}
