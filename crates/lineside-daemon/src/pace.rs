//! The times of one connection: until when the head of a request has to be there, and when to look whether the client of a
//! request under way is gone.
//!
//! One timer of the runtime serves all of them, and is set again once a second at most. A timer for each head and each
//! request would be set and taken away with every request.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::Timer;
use tokio::time::sleep_until;

use crate::inline_waker::Inline;

/// How often a connection with a request under way is looked at, where nothing wakes it.
const LOOK: Duration = Duration::from_secs(1);

/// The times of one connection. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pace(Arc<Times>);

#[derive(Debug, Default)]
struct Times {
    /// Until when a head has to be there. `None` while a request is under way: a server waits for either.
    head: Mutex<Option<Instant>>,
}

impl Times {
    fn head(&self) -> MutexGuard<'_, Option<Instant>> {
        self.head.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pace {
    /// Has a connection come to its end; `None` when its peer is gone under a request. The second function is asked
    /// whether it is while one is under way.
    pub(crate) async fn keep<C: Future>(
        &self,
        mut connection: Pin<&mut C>,
        mut poll_gone: impl FnMut(&mut Context<'_>) -> Poll<()>,
    ) -> Option<C::Output> {
        let (mut timer, inline) = (None, Inline::default());
        poll_fn(|cx| {
            loop {
                if let Poll::Ready(ended) = inline.poll(connection.as_mut(), cx) {
                    return Poll::Ready(Some(ended));
                }
                let head = *self.0.head();
                if head.is_none() && poll_gone(cx).is_ready() {
                    return Poll::Ready(None);
                }
                let due = head.unwrap_or_else(|| Instant::now() + LOOK);
                let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(due.into())));
                if due < timer.deadline().into_std() {
                    timer.as_mut().reset(due.into());
                }
                if timer.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                // A head that is late is noticed by the connection, which is polled once more.
                timer.as_mut().reset(due.into());
            }
        })
        .await
    }
}

/// What waits for a head.
struct UntilHead {
    deadline: Instant,
    times: Arc<Times>,
}

impl Future for UntilHead {
    type Output = ();

    /// What keeps the connection wakes it in time.
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.deadline { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl hyper::rt::Sleep for UntilHead {}

impl Drop for UntilHead {
    fn drop(&mut self) {
        *self.times.head() = None;
    }
}

/// The one time that a server asks a timer for is that of a head.
impl Timer for Pace {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn hyper::rt::Sleep>> {
        self.sleep_until(Instant::now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn hyper::rt::Sleep>> {
        *self.0.head() = Some(deadline);
        Box::pin(UntilHead { deadline, times: Arc::clone(&self.0) })
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::pin::pin;

    use super::*;

    #[tokio::test]
    async fn a_peer_that_is_gone_under_its_request_ends_the_connection() {
        tokio::time::pause();
        let pace = Pace::default();
        // What is not noticed by itself is looked for once a second.
        let mut looks = 0;
        let gone = |_: &mut Context<'_>| {
            looks += 1;
            if looks > 3 { Poll::Ready(()) } else { Poll::Pending }
        };
        assert_eq!(pace.keep(pin!(pending::<()>()), gone).await, None);
    }

    #[tokio::test]
    async fn a_late_head_is_noticed_by_the_connection() {
        let pace = Pace::default();
        let (timer, within) = (pace.clone(), Duration::from_millis(20));
        // As a server does: it asks its timer when it is polled, and sets no other.
        let connection = async move { timer.sleep(within).await };
        assert_eq!(pace.keep(pin!(connection), |_| Poll::Pending).await, Some(()));
    }
}
