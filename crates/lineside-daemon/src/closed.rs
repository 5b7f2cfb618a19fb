//! The sessions that were closed lately, so that an event that comes late does not open one of them again.

use std::collections::hash_map::RandomState;
use std::collections::{HashSet, VecDeque};
use std::hash::BuildHasher as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many are remembered.
const MOST: usize = 1 << 20;

/// The sessions that were closed last; the ones before are forgotten, the oldest first.
///
/// Of each its hash is kept: 8 bytes whatever its id, and with a key that is known to this process alone.
pub(crate) struct Closed {
    key: RandomState,
    kept: Mutex<Kept>,
    most: usize,
}

#[derive(Default)]
struct Kept {
    closed: HashSet<u64>,
    order: VecDeque<u64>,
}

impl Default for Closed {
    fn default() -> Self {
        Self::most(MOST)
    }
}

impl Closed {
    fn most(most: usize) -> Self {
        Self { key: RandomState::new(), kept: Mutex::default(), most }
    }

    /// This one was closed.
    pub(crate) fn note(&self, id: &str) {
        let hash = self.key.hash_one(id);
        let mut kept = self.kept();
        if !kept.closed.insert(hash) {
            return;
        }
        kept.order.push_back(hash);
        while kept.order.len() > self.most {
            if let Some(oldest) = kept.order.pop_front() {
                kept.closed.remove(&oldest);
            }
        }
    }

    /// This one is open again.
    pub(crate) fn forget(&self, id: &str) {
        let hash = self.key.hash_one(id);
        let mut kept = self.kept();
        if kept.closed.remove(&hash) {
            kept.order.retain(|closed| *closed != hash);
        }
    }

    pub(crate) fn contains(&self, id: &str) -> bool {
        self.kept().closed.contains(&self.key.hash_one(id))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::Closed;

    #[test]
    fn the_last_ones_are_remembered_and_not_the_first() {
        let closed = Closed::most(3);
        for id in ["a", "b", "c", "d", "d"] {
            closed.note(id);
        }
        assert_eq!(["a", "b", "c", "d"].map(|id| closed.contains(id)), [false, true, true, true]);
        closed.forget("c");
        closed.note("e");
        assert_eq!(["b", "c", "d", "e"].map(|id| closed.contains(id)), [true, false, true, true]);
    }
}
