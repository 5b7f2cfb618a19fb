//! How often in a row an agent may be kept from stopping within one turn.
//!
//! Without a limit a gate that never lets go would keep an agent working for ever.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// How many blocks in a row stand.
pub(crate) const STOPS_IN_A_ROW: u32 = 3;

/// The counts of one session, by agent.
#[derive(Default)]
pub(crate) struct StopLimit {
    counts: Mutex<HashMap<Arc<str>, Count>>,
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
    /// A stop was blocked.
    pub(crate) fn blocked(&self, agent: &Arc<str>, turn: Option<u64>) -> Ruling {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(Arc::clone(agent)).or_default();
        if count.turn != turn {
            *count = Count { turn, blocks: 0 };
        }
        if count.blocks >= STOPS_IN_A_ROW {
            count.blocks = 0;
            return Ruling::Overridden;
        }
        count.blocks += 1;
        Ruling::Stands
    }

    /// A stop was let through, or the agent got a new prompt.
    pub(crate) fn reset(&self, agent: &str) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).remove(agent);
    }
}
