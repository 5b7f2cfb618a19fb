//! The shares that trees of processes have of something: what an agent has started leaves room for others.
//!
//! There is one of these for each kind of thing that clients can take: connections, programs, hooks and their bytes,
//! deliveries, the memory of bodies; the bus has those of sessions. A tree that has its share of a thing is refused, or waits for its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use lineside::Bus;
use lineside::bus::session::{OpenSession, Quota};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::lineage::Process;

/// What part of everything the tree of one agent has at most.
pub(crate) const PART: usize = 8;
/// What part has what is below no agent that is known, together.
const REST: usize = 2;

/// In whose tree a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Tree {
    /// In that of the agent at its top.
    Agent(Process),
    /// Started by a person, where the rest has its share of connections already: an orphan keeps no person out.
    Person,
    /// Below no agent that is known. These are programs of the user, and those that have left their agent with a double
    /// fork, or that cannot be seen: none of them takes what agents need, however many there are.
    Rest,
}

/// What the sessions of each tree have together, which the bus counts.
pub(crate) struct Sessions {
    bus: Bus,
    trees: Mutex<HashMap<Tree, Quota>>,
}

impl Sessions {
    pub(crate) fn of(bus: &Bus) -> Self {
        Self { bus: bus.clone(), trees: Mutex::default() }
    }

    /// A session below none, about to be opened by a process of this tree.
    pub(crate) fn root(&self, id: &str, tree: Option<Tree>) -> OpenSession {
        let quota = tree.map(|tree| self.of_tree(tree));
        quota.iter().fold(self.bus.session(id), OpenSession::within)
    }

    /// What new roots of a tree count in.
    pub(crate) fn of_tree(&self, tree: Tree) -> Quota {
        let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        if trees.len() == trees.capacity() {
            trees.retain(|_, quota| !quota.is_unused());
        }
        trees.entry(tree).or_insert_with(|| self.bus.quota(tree.part())).clone()
    }
}

impl Tree {
    /// What part of everything it has at most.
    fn part(self) -> usize {
        match self {
            Self::Agent(_) | Self::Person => PART,
            Self::Rest => REST,
        }
    }
}

/// What each tree has of one kind of thing.
pub(crate) struct Shares {
    all: usize,
    /// A tree that has nothing is not kept.
    trees: Mutex<HashMap<Tree, Weak<Semaphore>>>,
}

/// What a tree has taken, until it is dropped.
pub(crate) struct Share(OwnedSemaphorePermit);

impl Shares {
    /// Of this many.
    pub(crate) fn of(all: usize) -> Self {
        Self { all, trees: Mutex::default() }
    }

    /// How much a tree has at most; one at least.
    pub(crate) fn most(&self, tree: Tree) -> usize {
        (self.all / tree.part()).clamp(1, u32::MAX as usize)
    }

    /// This much more for a tree; `None` when it has its share.
    pub(crate) fn take(&self, tree: Tree, amount: usize) -> Option<Share> {
        let amount = u32::try_from(amount).ok()?;
        self.tree(tree).try_acquire_many_owned(amount).ok().map(Share)
    }

    /// The same, when the tree has as much left. What is more than its share is all of it. Cancel safe.
    pub(crate) async fn wait(&self, tree: Tree, amount: usize) -> Option<Share> {
        let amount = u32::try_from(amount.min(self.most(tree))).ok()?;
        self.tree(tree).acquire_many_owned(amount).await.ok().map(Share)
    }

    fn tree(&self, tree: Tree) -> Arc<Semaphore> {
        let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = trees.get(&tree).and_then(Weak::upgrade) {
            return known;
        }
        if trees.len() == trees.capacity() {
            trees.retain(|_, known| known.strong_count() > 0);
        }
        let new = Arc::new(Semaphore::new(self.most(tree)));
        trees.insert(tree, Arc::downgrade(&new));
        new
    }
}

impl Share {
    /// Gives back what is beyond this much.
    pub(crate) fn shrink(&mut self, amount: usize) {
        let more = self.0.num_permits().saturating_sub(amount);
        drop(self.0.split(more));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::parent_id;

    use super::*;

    fn trees() -> [Tree; 2] {
        [std::process::id(), parent_id()].map(|pid| Tree::Agent(Process::of(pid).unwrap()))
    }

    #[test]
    fn a_tree_has_a_part_and_leaves_the_rest_to_others() {
        let shares = Shares::of(8 * PART);
        let [one, other] = trees();
        let mut taken: Vec<Share> = (0..80).filter_map(|_| shares.take(one, 1)).collect();
        assert_eq!(taken.len(), 8);
        assert!(shares.take(other, 1).is_some());
        taken.pop();
        assert!(shares.take(one, 1).is_some());
        assert!(shares.take(other, 9).is_none() && shares.take(other, 8).is_some());
        // However many there are outside of all agents, they leave agents as much as these have.
        let mut rest: Vec<Share> = (0..80).filter_map(|_| shares.take(Tree::Rest, 1)).collect();
        assert_eq!(rest.len(), 8 * PART / 2);
        taken.clear();
        rest.clear();
        for pid in 2..1_000 {
            let Some(process) = Process::named(&format!("{pid}-1")) else { continue };
            assert!(shares.take(Tree::Agent(process), 1).is_some());
        }
        assert!(shares.trees.lock().unwrap().len() < 100, "a tree that has nothing is not kept");
    }

    #[tokio::test]
    async fn a_tree_waits_for_its_own_and_for_no_other_one() {
        let shares = Shares::of(8 * PART);
        let [one, other] = trees();
        let mut all = shares.wait(one, 1_000).await.unwrap();
        let mut next = std::pin::pin!(shares.wait(one, 2));
        assert!(futures_util::poll!(next.as_mut()).is_pending());
        assert!(shares.wait(other, 1_000).await.is_some());
        all.shrink(6);
        assert!(next.await.is_some());
    }
}
