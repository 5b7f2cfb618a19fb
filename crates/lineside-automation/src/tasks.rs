//! The task owner of the crate: what it starts is tracked here, and ends by itself or by the token that it was given.

use std::future::Future;

use tokio_util::task::TaskTracker;

/// Tasks of one owner.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tasks(TaskTracker);

impl Tasks {
    /// Starts one. There has to be a tokio runtime.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(work);
    }
}
