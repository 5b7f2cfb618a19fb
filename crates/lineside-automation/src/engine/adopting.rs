//! What hooks whose runs are jobs need of the engine.

use std::sync::Arc;
use std::time::Duration;

use lineside_core::journal::{Durability, Unavailable};
use tokio_util::sync::CancellationToken;

use super::{Does, Engine, Handler, MOST_BEHIND};
use crate::adopted::Starting;
use crate::control::Rules;
use crate::machine::job::{AutomationId, Fence, JobId};

impl Engine {
    /// Whether there is a journal.
    pub(crate) fn is_durable(&self) -> bool {
        self.journal.is_some()
    }

    /// Whether one more run can be put on record.
    pub(crate) fn takes(&self) -> bool {
        let core = self.core();
        core.failed.is_none() && core.outbox.len() < MOST_BEHIND && core.machine.has_room()
    }

    /// Registers a hook, which is not registered yet.
    pub(crate) fn adopt(&self, id: &AutomationId, name: Arc<str>, starting: Starting, rules: Arc<Rules>) {
        let does = Does::Start(Arc::new(starting));
        self.register(id, Handler { registration: 0, name, timeout: Duration::MAX, does }, rules);
    }

    /// What cancels a run from now on.
    pub(crate) fn can_cancel(&self, job: JobId, fence: Fence, cancel: CancellationToken) {
        self.core().runs.insert((job, fence), cancel);
    }

    /// Nothing cancels a run any more: it is over.
    pub(crate) fn cannot_cancel(&self, job: JobId, fence: Fence) {
        self.core().runs.remove(&(job, fence));
    }

    /// Waits until everything that was wanted up to now is done.
    pub(crate) async fn kept(&self) -> Result<Durability, Unavailable> {
        let wanted = self.core().wanted;
        let mut done = self.done.subscribe();
        loop {
            {
                let core = self.core();
                if let Some(failed) = &core.failed {
                    return Err(failed.clone());
                }
                if core.done >= wanted {
                    return Ok(core.kept);
                }
            }
            if done.changed().await.is_err() {
                return Err(Unavailable::because("the automations are gone"));
            }
        }
    }
}
