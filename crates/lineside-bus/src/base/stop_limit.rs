//! How often in a row an agent may be made to try again at one point within one turn.
//!
//! Without a limit a gate that never lets go would keep an agent working for ever.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many blocks in a row stand.
pub(crate) const STOPS_IN_A_ROW: u32 = 3;

/// How many counts a session has: more agents than work at once. The one that was not used for longest gives way.
const MOST: usize = 1_024;

/// The counts of one session, by agent and point.
#[derive(Default)]
pub(crate) struct StopLimit {
    /// An agent's id may be as long as its host likes, and is kept as its hash.
    agents: RandomState,
    /// The one that was used last is at the end.
    counts: Mutex<VecDeque<Count>>,
}

struct Count {
    of: (u64, &'static str),
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
        agent: &str,
        point: &'static str,
        turn: Option<u64>,
        at_most: u32,
    ) -> Ruling {
        let of = (self.agents.hash_one(agent), point);
        let mut counts = self.lock();
        let before = counts.iter().position(|count| count.of == of).and_then(|place| counts.remove(place));
        let before = before.filter(|count| count.turn == turn).map_or(0, |count| count.blocks);
        let stands = before < at_most;
        if counts.len() == MOST {
            counts.pop_front();
        }
        counts.push_back(Count { of, turn, blocks: if stands { before + 1 } else { 0 } });
        if stands { Ruling::Stands } else { Ruling::Overridden }
    }

    /// An event of the point was let through.
    pub(crate) fn passed(&self, agent: &str, point: &'static str) {
        let of = (self.agents.hash_one(agent), point);
        self.lock().retain(|count| count.of != of);
    }

    /// The agent got a new prompt.
    pub(crate) fn reset(&self, agent: &str) {
        let agent = self.agents.hash_one(agent);
        self.lock().retain(|count| count.of.0 != agent);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Count>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_a_bound_and_the_one_that_is_used_stays() {
        let limit = StopLimit::default();
        let blocked = |agent: &str| limit.blocked(agent, "before_stop", Some(1), 3);
        for number in 0..MOST / 2 * 3 {
            if number % (MOST / 2) == 0 {
                assert_eq!(blocked("used"), Ruling::Stands);
            }
            assert_eq!(blocked(&format!("another {number}")), Ruling::Stands);
        }
        assert_eq!(limit.lock().len(), MOST);
        assert_eq!(blocked("used"), Ruling::Overridden, "it was blocked three times before");
    }
}
