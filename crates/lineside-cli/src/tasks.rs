//! The task owner of the crate: what goes on beside the command is started here, and ends when its holder is dropped.

use std::pin::Pin;

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
    tokio::task::spawn_blocking(work).await
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.0.abort();
    }
}
