//! Work that is done whole or not at all, although the request that waits for it may leave.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use lineside::Bus;
use lineside::core::Notice;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::aside::Load;
use crate::daemon::Daemon;
use crate::problem::Problem;

/// Does work in the task of its caller, and in a task of its own from where the caller leaves.
///
/// Nothing of it is done unless it is polled once; from then on it goes to its end, with the daemon's own end as its limit.
/// A caller that stays pays an allocation and no task.
///
/// # Panics
/// Outside a tokio runtime; and where the work panics.
pub(crate) fn whole<F>(tracker: &TaskTracker, work: F) -> Whole<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    Whole::of(tracker, work, None)
}

/// Does work for an event, which its publisher cancels by leaving; not so that for a fact, which has happened whether its
/// publisher waits or not.
pub(crate) async fn unless_left<F>(daemon: &Daemon, is_fact: bool, work: F) -> F::Output
where
    F: Future<Output: Send> + Send + 'static,
{
    if !is_fact {
        return work.await;
    }
    Whole::of(&daemon.tracker, work, Some(Arc::clone(&daemon.left_behind))).await
}

/// Does work that ends when its publisher has left, as this token says; not so that for a fact.
///
/// # Errors
/// Those of the work, or the publisher has left.
pub(crate) async fn if_happened<T>(
    left: &CancellationToken,
    is_fact: bool,
    work: impl Future<Output = Result<T, Problem>>,
) -> Result<T, Problem> {
    if is_fact {
        return work.await;
    }
    left.run_until_cancelled(work).await.unwrap_or_else(|| Err(Problem::left()))
}

/// Does work that finds out on its way what of it goes on without its publisher: the token that it gets is cancelled when
/// that leaves. What is a large load is worked at where it keeps no other request waiting.
pub(crate) async fn as_far_as_happened<F>(
    daemon: &Daemon,
    load: Load,
    work: impl FnOnce(CancellationToken) -> F,
) -> F::Output
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let left = CancellationToken::new();
    let _leaving = left.clone().drop_guard();
    let work = daemon.aside.run(load, work(left));
    unless_left(daemon, true, work).await
}

/// What goes on without its publishers.
pub(crate) struct LeftBehind {
    places: Arc<Semaphore>,
    most: usize,
    lost: AtomicU64,
    bus: Bus,
}

impl LeftBehind {
    /// So much of it at once at most; what there is no place for is counted, and the watchers of signals are notified.
    pub(crate) fn new(most: usize, bus: Bus) -> Self {
        Self { places: Arc::new(Semaphore::new(most)), most, lost: AtomicU64::new(0), bus }
    }

    /// How much there was no place for.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// How much of it goes on now.
    pub(crate) fn under_way(&self) -> usize {
        self.most.saturating_sub(self.places.available_permits())
    }

    fn lose(&self) {
        let lost = self.lost.fetch_add(1, Ordering::Relaxed) + 1;
        // Not each of very many, so that the signals of other things stay readable.
        if lost.is_power_of_two() {
            let text = format!(
                "{lost} requests whose publishers left were given up with what had happened: {} others were under way",
                self.most
            );
            self.bus.announce(Notice::warning(text));
        }
    }
}

pub(crate) struct Whole<T: Send + 'static> {
    /// Absent while it is polled, so that work that has panicked is not taken up again.
    work: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    has_begun: bool,
    tracker: TaskTracker,
    runtime: Handle,
    /// Who has to have a place for it when the caller leaves.
    behind: Option<Arc<LeftBehind>>,
}

impl<T: Send + 'static> Whole<T> {
    fn of(
        tracker: &TaskTracker,
        work: impl Future<Output = T> + Send + 'static,
        behind: Option<Arc<LeftBehind>>,
    ) -> Self {
        let (tracker, runtime) = (tracker.clone(), Handle::current());
        Self { work: Some(Box::pin(work)), has_begun: false, tracker, runtime, behind }
    }
}

impl<T: Send + 'static> Future for Whole<T> {
    type Output = T;

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

impl<T: Send + 'static> Drop for Whole<T> {
    fn drop(&mut self) {
        let Some(work) = self.work.take().filter(|_| self.has_begun) else { return };
        let place = match self.behind.take() {
            None => None,
            Some(behind) => match Arc::clone(&behind.places).try_acquire_owned() {
                Ok(place) => Some(place),
                Err(_) => return behind.lose(),
            },
        };
        let placed = async move {
            work.await;
            drop(place);
        };
        self.tracker.spawn_on(Box::pin(placed) as Pin<Box<dyn Future<Output = ()> + Send>>, &self.runtime);
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
