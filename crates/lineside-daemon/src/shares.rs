//! The shares that trees of processes have of something: what an agent has started leaves room for others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::lineage::Process;

/// What part of everything one tree has at most.
pub(crate) const PART: usize = 8;

/// What each tree has, by the process of the agent at its top.
pub(crate) struct Shares {
    most: usize,
    taken: Mutex<HashMap<Process, usize>>,
}

/// One of what a tree has, until it is dropped.
pub(crate) struct Share {
    of: Arc<Shares>,
    tree: Process,
}

impl Shares {
    /// A tree has a part of this many, and one at least.
    pub(crate) fn of(all: usize) -> Arc<Self> {
        Arc::new(Self { most: (all / PART).max(1), taken: Mutex::default() })
    }

    /// One more for a tree; `None` when it has its share.
    pub(crate) fn take(self: &Arc<Self>, tree: Process) -> Option<Share> {
        let mut taken = self.taken();
        let count = taken.entry(tree).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Share { of: Arc::clone(self), tree })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<Process, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.of.taken();
        if let Some(count) = taken.get_mut(&self.tree) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.tree);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_a_part_and_leaves_the_rest_to_others() {
        let shares = Shares::of(8 * PART);
        let [one, other] =
            [std::process::id(), std::os::unix::process::parent_id()].map(|pid| Process::of(pid).unwrap());
        let mut taken: Vec<Share> = (0..80).filter_map(|_| shares.take(one)).collect();
        assert_eq!(taken.len(), 8);
        assert!(shares.take(other).is_some());
        taken.pop();
        assert!(shares.take(one).is_some());
        taken.clear();
        assert!(shares.taken().is_empty());
    }
}
