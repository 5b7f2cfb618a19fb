//! Whether this machine leaves its cluster while it runs: it takes nothing more of others then.

use std::sync::Arc;

use tokio::sync::watch;

use crate::problem::Problem;

/// Whether a machine leaves. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Draining(Arc<watch::Sender<bool>>);

impl Draining {
    pub(super) fn begin(&self) {
        self.0.send_replace(true);
    }

    pub(super) fn has_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it begins; for ever where it does not. Cancel safe.
    pub(super) async fn begun(&self) {
        // The sender is held here.
        self.0.subscribe().wait_for(|draining| *draining).await.ok();
    }

    /// That nothing of another machine is opened here.
    ///
    /// # Errors
    /// The machine leaves.
    pub(super) fn refuse(&self) -> Result<(), Problem> {
        if !self.has_begun() {
            return Ok(());
        }
        let detail =
            "this machine leaves its cluster and takes no sessions of others; open it on another one";
        Err(Problem::conflict("draining", "The machine leaves its cluster", detail).blocks())
    }
}
