//! The turn of a run that has to wait for it elsewhere: its attempt counts when it comes.

use std::sync::Arc;

use super::Engine;
use crate::machine::Input;
use crate::machine::job::{Fence, JobId};

/// The right of a run to begin its attempt. A run that ends without having begun counts as a failed attempt if it has
/// failed, and not at all if its process is killed.
pub struct AttemptPermit(Option<(Arc<Engine>, JobId, Fence)>);

impl AttemptPermit {
    pub(super) fn of(engine: Arc<Engine>, job: JobId, fence: Fence) -> Self {
        Self(Some((engine, job, fence)))
    }

    /// That of a run whose attempt has begun: it counts on another machine.
    pub(super) fn has_begun() -> Self {
        Self(None)
    }

    /// The attempt is about to begin: it counts from here on. Returns when that is on record, and never when it cannot
    /// be; the run is cancelled then.
    ///
    /// Dropping the future leaves the attempt counted.
    pub async fn begins(self) {
        let Some((engine, job, fence)) = self.0 else { return };
        engine.step(Input::Begins(job, fence));
        if engine.kept().await.is_err() {
            engine.cancel(job, fence);
            std::future::pending::<()>().await;
        }
    }
}
