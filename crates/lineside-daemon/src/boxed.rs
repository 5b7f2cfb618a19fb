//! Tasks and blocking work in boxes: what the runtime needs of one is then compiled once, and not for each.

use std::pin::Pin;

use tokio::sync::oneshot;
use tokio::task::{JoinError, spawn_blocking};
use tokio_util::task::TaskTracker;

/// Starts a task that is tracked.
pub(crate) fn spawn(tracker: &TaskTracker, work: impl Future<Output = ()> + Send + 'static) {
    tracker.spawn(Box::pin(work) as Pin<Box<dyn Future<Output = ()> + Send>>);
}

/// Does something that blocks on a thread of its own, and waits for it.
///
/// # Errors
/// It has panicked, or the runtime ends.
pub(crate) async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    let (done, mut result) = oneshot::channel();
    let work: Box<dyn FnOnce() + Send> = Box::new(move || drop(done.send(work())));
    spawn_blocking(work).await?;
    match result.try_recv() {
        Ok(result) => Ok(result),
        // It has been sent where it has not panicked.
        Err(_) => std::future::pending().await,
    }
}
