//! Waiting for jobs: each waits for its own, and is woken when the last of them is over and by nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

use crate::machine::job::{AutomationId, ByJob, JobId};
use crate::offered::Offered;
use crate::report::Handover;

/// All that wait, by job.
#[derive(Default)]
pub(super) struct Waits(ByJob<Vec<Arc<Wait>>>);

/// One that waits.
pub(super) struct Wait {
    jobs: Vec<JobId>,
    left: AtomicUsize,
    over: Notify,
}

impl Wait {
    /// Whether some of its jobs are not over yet.
    pub(super) fn goes_on(&self) -> bool {
        self.left.load(Ordering::Relaxed) > 0
    }

    /// Waits until the last of its jobs is over.
    pub(super) async fn over(&self) {
        self.over.notified().await;
    }
}

impl Waits {
    pub(super) fn begin(&mut self, jobs: Vec<JobId>) -> Arc<Wait> {
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
        self.over_unless(|_| false);
    }

    /// Releases the waiters of the jobs that do not go on.
    pub(super) fn over_unless(&mut self, goes_on: impl Fn(JobId) -> bool) {
        let over: Vec<JobId> = self.0.keys().copied().filter(|job| !goes_on(*job)).collect();
        over.into_iter().for_each(|job| self.over(job));
    }

    /// One waits no longer.
    pub(super) fn end(&mut self, wait: &Arc<Wait>) {
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

/// A result for a session that was not opened in this process.
pub(super) struct Waiting {
    pub(super) job: JobId,
    pub(super) automation: AutomationId,
    pub(super) event: Offered,
    pub(super) what: Handover,
}
