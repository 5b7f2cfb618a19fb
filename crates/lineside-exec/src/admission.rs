//! Who may start now, and who waits for a turn.
//!
//! A machine that starts two hundred hooks at once finishes none of them in time; one that starts them in turn finishes
//! the first ones early and the others not later. So a start needs one of a few turns, which are given in the order
//! in which they were asked for. A turn is given back when the process has exited, or when it has had [`TURN`], so that
//! hooks that mostly wait, and there may be hundreds of them, delay no other run.
//! The time of waiting is time of the hook, as all time is.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

/// How long a process has the machine almost to itself.
pub(crate) const TURN: Duration = Duration::from_millis(100);
/// How many turns there are for each processor.
const PER_PROCESSOR: usize = 8;

/// The turns of a runner. Clones are the same turns.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    turns: Arc<Semaphore>,
    most: usize,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _one: OwnedSemaphorePermit,
}

impl Admission {
    /// So many turns.
    pub(crate) fn of(most: NonZeroUsize) -> Self {
        let most = most.get().min(Semaphore::MAX_PERMITS);
        Self { turns: Arc::new(Semaphore::new(most)), most }
    }

    /// How many turns there are.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Waits for a turn; nothing when the time is over first.
    ///
    /// Cancel safe: a dropped future loses its place.
    pub(crate) async fn turn(&self, deadline: Instant) -> Option<Turn> {
        let turns = Arc::clone(&self.turns);
        let one = match Arc::clone(&turns).try_acquire_owned() {
            Ok(one) => Ok(one),
            // Waiting runs go first; without one there is no turn.
            Err(_) => timeout_at(deadline, turns.acquire_owned()).await.ok()?,
        };
        Some(Turn { _one: one.ok()? })
    }
}

impl Default for Admission {
    fn default() -> Self {
        let processors = available_parallelism().map_or(1, NonZeroUsize::get);
        Self::of(NonZeroUsize::MIN.saturating_add(processors.saturating_mul(PER_PROCESSOR) - 1))
    }
}
