//! The task owner of the crate: work that outlives its caller is started here and tracked.
//!
//! These are the endings of runs that were dropped, and the workers. What they do is their own business; each ends
//! its processes when it is dropped with its runtime.

use std::pin::Pin;

use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

/// Tasks that can be waited for.
#[derive(Debug, Clone)]
pub(crate) struct Background(TaskTracker);

impl Background {
    /// No task yet.
    pub(crate) fn new() -> Self {
        let tasks = TaskTracker::new();
        // A closed tracker still takes tasks; it is waiting that needs it closed.
        tasks.close();
        Self(tasks)
    }

    /// Starts a task that bounds its own work: a budget spent by a neighbour must not stop its clock.
    pub(crate) fn start(&self, task: impl Future<Output = ()> + Send + 'static, runtime: &Handle) {
        // Boxed: what the runtime needs of a task is then compiled once, and not for each.
        let task: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(task);
        self.0.spawn_on(tokio::task::unconstrained(task), runtime);
    }

    /// Whether no task is left.
    pub(crate) fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// Waits until no task is left. Cancel safe.
    pub(crate) async fn ended(&self) {
        self.0.wait().await;
    }
}
