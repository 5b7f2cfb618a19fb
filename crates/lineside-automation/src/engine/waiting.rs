//! Waiting for jobs: each waits for its own, and is woken when the last of them is over and by nothing else.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lineside_core::SessionId;
use tokio::sync::Notify;

use super::{Core, Engine};
use crate::machine::Awaited;
use crate::machine::job::{ByJob, JobId};

/// All that wait, by job.
#[derive(Default)]
pub(super) struct Waits(ByJob<Vec<Arc<Wait>>>);

/// One that waits.
struct Wait {
    jobs: Vec<JobId>,
    left: AtomicUsize,
    over: Notify,
}

impl Waits {
    fn begin(&mut self, jobs: Vec<JobId>) -> Arc<Wait> {
        let wait = Arc::new(Wait { left: AtomicUsize::new(jobs.len()), jobs, over: Notify::new() });
        for job in &wait.jobs {
            self.0.entry(*job).or_default().push(Arc::clone(&wait));
        }
        wait
    }

    /// Releases the waiters of a job.
    pub(super) fn over(&mut self, job: JobId) {
        for wait in self.0.remove(&job).unwrap_or_default() {
            if wait.left.fetch_sub(1, Ordering::Relaxed) == 1 {
                wait.over.notify_one();
            }
        }
    }

    /// Releases all waiters.
    pub(super) fn all_over(&mut self) {
        for wait in self.0.drain().flat_map(|(_, waits)| waits) {
            wait.over.notify_one();
        }
    }

    /// One waits no longer.
    fn end(&mut self, wait: &Arc<Wait>) {
        for job in &wait.jobs {
            if let Some(waits) = self.0.get_mut(job) {
                waits.retain(|other| !Arc::ptr_eq(other, wait));
                if waits.is_empty() {
                    self.0.remove(job);
                }
            }
        }
    }
}

/// The place of one that waits. It is given up when this is dropped.
struct Place<'a> {
    engine: &'a Engine,
    wait: Arc<Wait>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        // It has no place any more when all of its jobs are over.
        if self.wait.left.load(Ordering::Relaxed) > 0 {
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
                // Only what hooks run goes on.
                jobs.retain(|job| core.machine.is_of_hook(*job));
            }
            jobs.retain(|job| !core.machine.is_over_for_now(*job) && !core.unkept.contains(job));
            if jobs.is_empty() {
                return;
            }
            Place { engine: self, wait: core.waits.begin(jobs) }
        };
        place.wait.over.notified().await;
    }
}
