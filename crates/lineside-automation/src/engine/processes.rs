//! The processes of a run that has a key: some may still be ending when it has failed at its deadline, or was cancelled, and
//! the key goes to the next one after them.

use std::time::Duration;

use lineside_core::UntilOver;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

/// How long they are waited for at most. What starts them has a shorter bound of its own.
const MOST: Duration = Duration::from_secs(30);

/// What one run has started.
#[derive(Debug, Clone)]
pub(crate) struct Processes(TaskTracker);

impl Processes {
    /// Nothing yet.
    pub(crate) fn none() -> Self {
        let started = TaskTracker::new();
        // A closed tracker still gives tokens; it is waiting that needs it closed.
        started.close();
        Self(started)
    }

    /// What is to be held by whatever the run starts.
    pub(crate) fn until_over(&self) -> UntilOver {
        UntilOver::new(self.0.token())
    }

    /// Whether nothing of it is left.
    pub(crate) fn have_ended(&self) -> bool {
        self.0.is_empty()
    }

    /// Waits until nothing of it is left, and 30 s at most.
    pub(crate) async fn ended(&self) {
        if !self.have_ended() {
            timeout(MOST, self.0.wait()).await.ok();
        }
    }
}
