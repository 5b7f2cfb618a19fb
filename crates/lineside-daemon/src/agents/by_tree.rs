//! The trees of those that ask, as far as the turns of their connections and requests go.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::Agents;
use crate::lineage::Process;
use crate::shares::Tree;
use crate::turns::Rounds;

/// For how long the tree of a process is not looked for again: one that asks in a loop is looked up once. It decides about
/// room and turns alone, and no other process gets its number within so short a time.
const KNOWN: Duration = Duration::from_millis(50);

/// How many polls of requests are in a round for each core: with requests that take a millisecond each, for so many others
/// one waits that has its turn in the next.
const EACH: usize = 16;

/// Of whom one is: what an agent has started does not keep the agent itself from asking. `None` for those that are not told
/// apart.
pub(crate) type Of = Option<(Tree, bool)>;

/// Which trees ask, and whose turn it is.
pub(super) struct ByTree {
    rounds: Arc<Rounds<Of>>,
    known: Mutex<Known>,
}

/// The trees of the processes that have asked within the last moment.
#[derive(Default)]
struct Known {
    since: Option<Instant>,
    trees: HashMap<u32, Of>,
}

impl ByTree {
    /// What begins rounds runs in the place of these tasks.
    pub(super) fn of(tracker: &TaskTracker) -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        Self { rounds: Rounds::of(cores * EACH, tracker), known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Agents {
    /// The tree that a process is in: that of the agent at its top, also when the sessions of that have ended. `None` for
    /// this process.
    pub(crate) fn tree(&self, peer: Option<u32>) -> Option<Tree> {
        if peer == Some(std::process::id()) {
            return None;
        }
        let line = self.line(peer);
        let kept = self.kept();
        let is_of_agent = |process: &Process| {
            let has_session = kept.of_process.contains_key(process) || kept.bequests.has(*process);
            has_session || self.guarded.is_recorded(*process)
        };
        Some(line.into_iter().rfind(is_of_agent).map_or(Tree::Rest, Tree::Agent))
    }

    /// Whether a process is the command of an entry of this agent, with nothing between them but shells.
    pub(crate) fn is_entry_of(&self, agent: Process, peer: Option<u32>) -> bool {
        let line = self.line(peer);
        let [entry, above @ ..] = &*line else { return false };
        entry.is_hook_command() && above.iter().find(|process| process.may_be_an_agent()) == Some(&agent)
    }

    /// Of whom a process is, as far as turns go.
    pub(crate) fn whose(&self, peer: Option<u32>) -> Of {
        let look = || {
            let tree = self.tree(peer)?;
            let is_entry = matches!(tree, Tree::Agent(agent) if self.is_entry_of(agent, peer));
            Some((tree, is_entry))
        };
        let Some(peer) = peer.filter(|peer| *peer > 0) else { return look() };
        let now = Instant::now();
        let before = {
            let mut known = self.by_tree.known();
            if known.since.is_none_or(|since| now - since > KNOWN) {
                known.trees.clear();
                known.since = Some(now);
            }
            known.trees.get(&peer).copied()
        };
        before.unwrap_or_else(|| {
            let of = look();
            self.by_tree.known().trees.insert(peer, of);
            of
        })
    }

    /// Does work for a process, each poll of which has its turn with those of other trees.
    pub(crate) async fn in_turn<F: Future>(&self, peer: Option<u32>, work: F) -> F::Output {
        self.by_tree.rounds.in_turn(|| self.whose(peer), work).await
    }
}
