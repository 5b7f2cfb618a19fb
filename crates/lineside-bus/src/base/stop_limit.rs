//! How often in a row an agent may be made to try again at one point within one turn.
//!
//! Without a limit a gate that never lets go would keep an agent working for ever.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many blocks in a row stand.
pub(crate) const STOPS_IN_A_ROW: u32 = 3;

/// The counts of one session, by agent and point.
#[derive(Default)]
pub(crate) struct StopLimit {
    counts: Mutex<HashMap<(Arc<str>, &'static str), Count>>,
}

#[derive(Default)]
struct Count {
    turn: Option<u64>,
    blocks: u32,
}

/// Whether a block stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ruling {
    Stands,
    /// It was one too many; the count has started again.
    Overridden,
}

impl StopLimit {
    /// An event was blocked so that the agent tries again.
    pub(crate) fn blocked(
        &self,
        agent: &Arc<str>,
        point: &'static str,
        turn: Option<u64>,
        at_most: u32,
    ) -> Ruling {
        let mut counts = self.lock();
        let count = counts.entry((Arc::clone(agent), point)).or_default();
        if count.turn != turn {
            *count = Count { turn, blocks: 0 };
        }
        if count.blocks >= at_most {
            count.blocks = 0;
            return Ruling::Overridden;
        }
        count.blocks += 1;
        Ruling::Stands
    }

    /// An event of the point was let through.
    pub(crate) fn passed(&self, agent: &Arc<str>, point: &'static str) {
        self.lock().remove(&(Arc::clone(agent), point));
    }

    /// The agent got a new prompt.
    pub(crate) fn reset(&self, agent: &str) {
        self.lock().retain(|(other, _), _| **other != *agent);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(Arc<str>, &'static str), Count>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
