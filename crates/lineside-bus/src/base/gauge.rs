//! The events of a session: numbered when they are let in, counted until their decision, and waited for.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// Numbers the events of a session and counts those under way: those that have begun less those that are over.
#[derive(Default)]
pub(crate) struct Gauge {
    /// The number of the last event, and [`CLOSED`].
    begun: AtomicU64,
    over: AtomicU64,
    empty: Notify,
}

/// The highest bit means closed.
const CLOSED: u64 = 1 << (u64::BITS - 1);

/// One event under way.
pub(crate) struct InFlight<'a> {
    gauge: &'a Gauge,
}

impl Gauge {
    /// Lets one more in, and gives its number, the first of which is 1; `None` once the gauge is closed. Numbers have no
    /// gaps.
    #[inline]
    pub(crate) fn enter(&self) -> Option<(u64, InFlight<'_>)> {
        let next = |begun| (begun & CLOSED == 0).then_some(begun + 1);
        let before = self.begun.fetch_update(Ordering::SeqCst, Ordering::Relaxed, next).ok()?;
        Some((before + 1, InFlight { gauge: self }))
    }

    /// Closes it: no further entry succeeds.
    pub(crate) fn close(&self) {
        self.begun.fetch_or(CLOSED, Ordering::SeqCst);
    }

    /// The number of the last event; 0 before the first.
    #[inline]
    pub(crate) fn last(&self) -> u64 {
        self.begun.load(Ordering::SeqCst) & !CLOSED
    }

    /// How many are under way.
    pub(crate) fn inside(&self) -> usize {
        // Read first: what is over has begun.
        let over = self.over.load(Ordering::SeqCst);
        usize::try_from(self.last() - over).unwrap_or(usize::MAX)
    }

    /// Waits until none is under way, once it is closed.
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
        let Gauge { begun, over, empty } = self.gauge;
        // In one order with the closing and the look at the count that follow one another elsewhere: one of the two sees
        // the other.
        let over = over.fetch_add(1, Ordering::SeqCst) + 1;
        if begun.load(Ordering::SeqCst) == over | CLOSED {
            empty.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::Poll;

    use super::*;

    #[tokio::test]
    async fn events_are_numbered_without_gaps_and_waited_for() {
        let gauge = Gauge::default();
        let (first, one) = gauge.enter().unwrap();
        let (second, two) = gauge.enter().unwrap();
        assert_eq!((first, second, gauge.last(), gauge.inside()), (1, 2, 2, 2));
        drop(one);
        gauge.close();
        assert!(gauge.enter().is_none());
        assert_eq!((gauge.last(), gauge.inside()), (2, 1));
        let mut emptied = pin!(gauge.emptied());
        assert!(poll_fn(|task| Poll::Ready(emptied.as_mut().poll(task).is_pending())).await);
        drop(two);
        emptied.await;
        assert_eq!((gauge.last(), gauge.inside()), (2, 0));
    }
}
