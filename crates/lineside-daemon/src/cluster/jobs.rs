//! What is shared of jobs with other machines, as numbers and tables: which runs are under way, and how much room there is.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lineside::automation::machine::Outcome;
use lineside_nats::Question;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::api::shapes::ClusterJobs;

/// How many jobs of this machine run on others at once, and how many names wait here for keys.
const MOST_LENT: usize = 4_096;
const MOST_AWAITING: usize = 1_024;

/// A job that runs on another machine.
pub(super) struct Lent {
    pub(super) machine: String,
    pub(super) fence: u64,
    pub(super) words: mpsc::Sender<(Heard, Question)>,
}

/// What is heard of a run.
pub(super) enum Heard {
    GoesOn,
    /// It has ended; without an outcome it was cancelled.
    Ended(Option<Outcome>),
}

/// What is shared of jobs.
pub(super) struct Jobs {
    pub(super) published: AtomicU64,
    /// Jobs of this machine that run on others, by their numbers.
    lent: Mutex<HashMap<u64, Lent>>,
    pub(super) room: Arc<Semaphore>,
    /// Runs for other machines: by the machine and the number of the run.
    borrowed: Mutex<HashMap<(String, u64), CancellationToken>>,
    /// The room of names that wait for keys.
    pub(super) awaiting: Arc<Semaphore>,
}

impl Default for Jobs {
    fn default() -> Self {
        Self {
            published: AtomicU64::default(),
            lent: Mutex::default(),
            room: Arc::new(Semaphore::new(MOST_LENT)),
            borrowed: Mutex::default(),
            awaiting: Arc::new(Semaphore::new(MOST_AWAITING)),
        }
    }
}

impl Jobs {
    pub(super) fn lent(&self) -> MutexGuard<'_, HashMap<u64, Lent>> {
        self.lent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn borrowed(&self) -> MutexGuard<'_, HashMap<(String, u64), CancellationToken>> {
        self.borrowed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many of them there are.
    pub(super) fn status(&self) -> ClusterJobs {
        ClusterJobs {
            published: self.published.load(Ordering::Relaxed),
            here: self.borrowed().len(),
            waiting: MOST_AWAITING - self.awaiting.available_permits(),
            elsewhere: self.lent().len(),
        }
    }
}
