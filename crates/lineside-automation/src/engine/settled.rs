//! Waiting until jobs are settled.

use std::collections::HashSet;
use std::sync::Arc;

use lineside_core::SessionId;

use super::waiting::Wait;
use super::{Core, Engine};
use crate::machine::Awaited;
use crate::machine::job::JobId;

/// The place of one that waits. It is given up when this is dropped.
struct Place<'a> {
    engine: &'a Engine,
    wait: Arc<Wait>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        // It has no place any more when all of its jobs are over.
        if self.wait.goes_on() {
            self.engine.core().waits.end(&self.wait);
        }
    }
}

impl Engine {
    /// Waits until the awaited jobs of a session are settled, and that is recorded.
    pub(crate) async fn settled(&self, session: SessionId, which: Awaited) {
        self.over(|core| core.machine.awaited(&session, which)).await;
    }

    /// Waits until every job is settled that settles by itself.
    pub(super) async fn rested(&self) {
        let under_way = |core: &Core| {
            let waits: HashSet<JobId> = core.absent.values().flatten().map(|waiting| waiting.job).collect();
            core.machine.under_way().into_iter().filter(|job| !waits.contains(job)).collect()
        };
        self.over(under_way).await;
    }

    /// Waits until these jobs are over, or nothing is done any more.
    async fn over(&self, which: impl FnOnce(&Core) -> Vec<JobId>) {
        let place = {
            let mut core = self.core();
            let mut jobs = which(&core);
            if core.is_left {
                return;
            }
            if core.failed.is_some() {
                jobs.retain(|job| core.goes_on_unkept(*job));
            }
            jobs.retain(|job| !core.machine.is_over_for_now(*job) && !core.unkept.contains(job));
            if jobs.is_empty() {
                return;
            }
            Place { engine: self, wait: core.waits.begin(jobs) }
        };
        place.wait.over().await;
    }
}
