//! The end of workers whose place another one has taken: callers that still have one go on calling it, and it ends with the
//! last of them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Kept;
use super::supervisor::Shared;
use crate::background::Background;

/// The end of a worker that its owner has let go of.
///
/// No caller finds the worker from here. Those that have a clone of it may still call it, and each call ends as if nothing
/// had happened: it waits for the start of the worker and for its turn, in its own time. When the last clone is dropped,
/// the worker is asked to end, and its process tree is ended when it does not. Dropping this changes nothing.
#[derive(Debug)]
pub struct RetiredWorker {
    shared: Arc<Shared>,
    task: Background,
}

impl RetiredWorker {
    pub(super) fn of(kept: &Kept) -> Self {
        kept.shared.retired.store(true, Ordering::Release);
        Self { shared: Arc::clone(&kept.shared), task: kept.task.clone() }
    }

    /// Whether the worker and its process tree have ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.task.is_over()
    }

    /// Begins what [`RetiredWorker::shutdown`] does, and waits for nothing.
    pub fn stop(&self) {
        self.shared.stop.cancel();
    }

    /// Ends the worker also when callers still have it, as [`HookWorkerClient::shutdown`](super::HookWorkerClient::shutdown)
    /// does: takes its bound for that and half a second at most. Cancel safe.
    pub async fn shutdown(&self) {
        self.stop();
        self.task.ended().await;
    }
}
