//! The task owner of the crate: what goes on beside the command is started here, and ends when its holder is dropped.

use std::pin::Pin;

use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinHandle};

/// Something that goes on until it is dropped.
pub(crate) struct Beside(JoinHandle<()>);

impl Beside {
    /// Starts it.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub(crate) fn start(what: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(Box::pin(what) as Pin<Box<dyn Future<Output = ()> + Send>>))
    }
}

/// Does something that blocks on a thread of its own, and waits for it. Dropping this leaves it to its end.
///
/// # Errors
/// It has panicked, or the runtime ends.
pub(crate) async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    let (done, mut result) = oneshot::channel();
    // Boxed: what the runtime needs of it is then compiled once, and not for each.
    let work: Box<dyn FnOnce() + Send> = Box::new(move || drop(done.send(work())));
    tokio::task::spawn_blocking(work).await?;
    match result.try_recv() {
        Ok(result) => Ok(result),
        // It has been sent where it has not panicked.
        Err(_) => std::future::pending().await,
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.0.abort();
    }
}
