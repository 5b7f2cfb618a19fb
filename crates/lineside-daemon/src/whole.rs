//! Work that is done whole or not at all, although the request that waits for it may leave.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::daemon::Daemon;

/// Does work in the task of its caller, and in a task of its own from where the caller leaves.
///
/// Nothing of it is done unless it is polled once; from then on it goes to its end, with the daemon's own end as its limit.
/// A caller that stays pays an allocation and no task.
///
/// # Panics
/// Outside a tokio runtime; and where the work panics.
pub(crate) fn whole<F>(tracker: &TaskTracker, work: F) -> Whole<F>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    let (tracker, runtime) = (tracker.clone(), Handle::current());
    Whole { work: Some(Box::pin(work)), has_begun: false, tracker, runtime }
}

/// Does work for an event, which its publisher cancels by leaving; not so that for a fact, which has happened whether its
/// publisher waits or not. Where too many facts are under way, this one is an event as any other.
pub(crate) async fn unless_left<F>(daemon: &Daemon, is_fact: bool, work: F) -> F::Output
where
    F: Future<Output: Send> + Send + 'static,
{
    let place = is_fact.then(|| Arc::clone(&daemon.facts).try_acquire_owned().ok()).flatten();
    let Some(place) = place else { return work.await };
    let decided = async move {
        let decided = work.await;
        drop(place);
        decided
    };
    whole(&daemon.tracker, decided).await
}

pub(crate) struct Whole<F: Future<Output: Send> + Send + 'static> {
    /// Absent while it is polled, so that work that has panicked is not taken up again.
    work: Option<Pin<Box<F>>>,
    has_begun: bool,
    tracker: TaskTracker,
    runtime: Handle,
}

impl<F: Future<Output: Send> + Send + 'static> Future for Whole<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.has_begun = true;
        let Some(mut work) = self.work.take() else { return Poll::Pending };
        let polled = work.as_mut().poll(cx);
        if polled.is_pending() {
            self.work = Some(work);
        }
        polled
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for Whole<F> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take().filter(|_| self.has_begun) {
            self.tracker.spawn_on(work, &self.runtime);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt as _;
    use tokio::sync::Notify;
    use tokio_util::task::TaskTracker;

    use super::whole;

    #[tokio::test]
    async fn what_has_begun_goes_on_without_its_caller_and_what_has_not_does_not_begin() {
        let (tracker, gate, done) = (TaskTracker::new(), Arc::new(Notify::new()), Arc::new(Notify::new()));
        let work = || {
            let (gate, done) = (Arc::clone(&gate), Arc::clone(&done));
            whole(&tracker, async move {
                gate.notified().await;
                done.notify_one();
            })
        };
        drop(work());
        assert!(tracker.is_empty());
        let mut left = work();
        assert!((&mut left).now_or_never().is_none());
        drop(left);
        gate.notify_one();
        done.notified().await;
        tracker.close();
        tracker.wait().await;
        gate.notify_one();
        work().await;
        assert!(tracker.is_empty(), "a caller that stays needs no task");
    }

    #[tokio::test]
    async fn work_that_has_panicked_is_not_taken_up_again() {
        let tracker = TaskTracker::new();
        let panics = std::panic::AssertUnwindSafe(whole(&tracker, async { panic!("as it was asked to") }));
        assert!(panics.catch_unwind().await.is_err());
        assert!(tracker.is_empty());
    }
}
