//! The task owner of the crate: detached hooks of a session run here, tracked and cancellable.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What a session runs without waiting for it.
#[derive(Default)]
pub(crate) struct Background {
    tracker: TaskTracker,
    cancel: CancellationToken,
    finished: AtomicU64,
    cut_short: AtomicU64,
}

impl Background {
    /// Starts `work`; `cut` runs instead of its end when the session ends first.
    pub(crate) fn spawn(
        &self,
        work: impl Future<Output = ()> + Send + 'static,
        cut: impl FnOnce() + Send + 'static,
    ) {
        let cancel = self.cancel.clone();
        self.tracker.spawn(async move {
            if cancel.run_until_cancelled(work).await.is_none() {
                cut();
            }
        });
    }

    /// One run has come to its own end.
    pub(crate) fn count_finished(&self) {
        self.finished.fetch_add(1, Ordering::Relaxed);
    }

    /// One run was cut short.
    pub(crate) fn count_cut_short(&self) {
        self.cut_short.fetch_add(1, Ordering::Relaxed);
    }

    /// How many runs have come to their end, and how many were cut short.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.finished.load(Ordering::Relaxed), self.cut_short.load(Ordering::Relaxed))
    }

    /// Waits until everything has ended; what has not by `deadline` is cut short.
    pub(crate) async fn drain(&self, deadline: Option<tokio::time::Instant>) {
        self.tracker.close();
        if let Some(deadline) = deadline
            && tokio::time::timeout_at(deadline, self.tracker.wait()).await.is_err()
        {
            self.cancel.cancel();
        }
        self.tracker.wait().await;
        self.tracker.reopen();
    }
}
