//! What hooks whose runs are jobs need of the engine.

use std::sync::Arc;

use lineside_bus::Ticket;
use lineside_core::journal::{Durability, Unavailable};
use tokio_util::sync::CancellationToken;

use super::automations::Automations;
use super::hooks::Recording;
use super::{Engine, until};
use crate::machine::job::{AutomationId, Fence, JobId};
use crate::machine::{Effect, Input};
use crate::offered::Offered;

impl Automations {
    /// Whether there is a journal that keeps what is accepted.
    #[must_use]
    pub fn has_journal(&self) -> bool {
        self.engine.is_durable()
    }
}

impl Engine {
    /// Whether there is a journal.
    pub(crate) fn is_durable(&self) -> bool {
        self.journal.is_some()
    }

    /// Takes an event of a hook over, or gives its ticket back; which of the two is decided in the step that takes it. A
    /// run goes on where its record cannot be kept, as nothing else does: others may wait for it.
    pub(crate) fn take<T>(
        &self,
        hook: &AutomationId,
        offered: Offered,
        see: impl FnOnce(&[Effect<Offered>]) -> T,
    ) -> Result<T, Ticket> {
        let core = self.core();
        if !core.is_left && core.machine.takes(hook, &offered) {
            return Ok(self.step_in(core, Input::Offered(Arc::clone(hook), offered), see));
        }
        drop(core);
        match offered.ticket() {
            Some(ticket) => Err(ticket),
            // It came with one.
            None => Ok(see(&[])),
        }
    }

    /// What cancels a run from now on.
    pub(crate) fn can_cancel(
        &self,
        job: JobId,
        fence: Fence,
        cancel: CancellationToken,
        recording: Recording,
    ) {
        let mut core = self.core();
        match recording {
            Recording::Journal => core.runs.insert((job, fence), cancel),
            Recording::Memory => core.unrecorded_runs.insert((job, fence), cancel),
        };
    }

    /// Does something that ends by itself, in a runtime.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(work);
    }

    /// Nothing cancels a run any more: it is over.
    pub(crate) fn cannot_cancel(&self, job: JobId, fence: Fence, recording: Recording) {
        let mut core = self.core();
        match recording {
            Recording::Journal => core.runs.remove(&(job, fence)),
            Recording::Memory => core.unrecorded_runs.remove(&(job, fence)),
        };
    }

    /// Waits until everything that was wanted up to now is done.
    pub(crate) async fn kept(&self) -> Result<Durability, Unavailable> {
        let wanted = self.core().outbox.wanted();
        let kept = until(&self.done, || {
            let core = self.core();
            match &core.failed {
                Some(failed) => Some(Err(failed.clone())),
                None => core.outbox.has_done(wanted).then_some(Ok(core.kept)),
            }
        });
        kept.await.unwrap_or_else(|| Err(Unavailable::because("the automations are gone")))
    }
}
