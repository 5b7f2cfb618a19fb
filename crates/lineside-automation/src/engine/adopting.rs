//! What hooks whose runs are jobs need of the engine.

use lineside_core::journal::{Durability, Unavailable};
use tokio_util::sync::CancellationToken;

use super::automations::Automations;
use super::hooks::Recording;
use super::{Engine, MOST_BEHIND};
use crate::machine::job::{Fence, JobId};

impl Automations {
    /// Whether there is a journal that keeps what is accepted.
    #[must_use]
    pub fn has_journal(&self) -> bool {
        self.engine.is_durable()
    }

    /// Whether one more run of a hook can be put on record now.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.engine.has_room()
    }
}

impl Engine {
    /// Whether there is a journal.
    pub(crate) fn is_durable(&self) -> bool {
        self.journal.is_some()
    }

    /// Whether one more run can be put on record.
    pub(crate) fn has_room(&self) -> bool {
        let core = self.core();
        core.failed.is_none() && core.outbox.len() < MOST_BEHIND && core.machine.has_room()
    }

    /// Whether one more run of a hook is taken over. It goes on where its record cannot be kept, as nothing else does:
    /// others may wait for it.
    pub(crate) fn takes(&self) -> bool {
        let core = self.core();
        !core.is_left && core.machine.has_room()
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
