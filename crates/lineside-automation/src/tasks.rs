//! The task owner of the crate: what it starts is tracked here, and ends by itself or by the token that it was given.

use std::future::Future;
use std::pin::Pin;

use lineside_core::journal::Unavailable;
use tokio_util::task::TaskTracker;

/// Tasks of one owner.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tasks(TaskTracker);

impl Tasks {
    /// Starts one. There has to be a tokio runtime.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        // Boxed: what the runtime needs of a task is then compiled once, and not for each.
        self.0.spawn(Box::pin(work) as Pin<Box<dyn Future<Output = ()> + Send>>);
    }

    /// Computes something that takes longer than a task should, beside the tasks.
    ///
    /// # Errors
    /// It was not computed, because the runtime ends or the computation panicked.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        compute: impl FnOnce() -> Result<T, Unavailable> + Send + 'static,
    ) -> Result<T, Unavailable> {
        let computed = self.0.spawn_blocking(compute).await;
        computed.unwrap_or_else(|error| Err(Unavailable::because(error.to_string())))
    }
}
