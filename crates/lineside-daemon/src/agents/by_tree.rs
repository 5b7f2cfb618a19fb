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

/// For how long the tree of a process is not looked for again: one that asks in a loop is looked up once. What was a person's
/// stays that.
const KNOWN: Duration = Duration::from_millis(50);

/// How many polls of requests are in a round for each core: one that waits for the next round waits for as many at most, 16
/// ms where each takes one.
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
pub(super) struct Known {
    since: Option<Instant>,
    trees: HashMap<Process, Of>,
    /// Beside whose they have their turns.
    turns: HashMap<Process, Of>,
    /// Which of them are known to be a person's.
    pub(super) persons: HashMap<Process, bool>,
}

impl Known {
    /// What is known, as far as it is of this moment.
    fn fresh(&mut self) -> &mut Self {
        let now = Instant::now();
        if self.since.is_none_or(|since| now - since > KNOWN) {
            *self = Self { since: Some(now), ..Self::default() };
        }
        self
    }
}

impl ByTree {
    /// What begins rounds runs in the place of these tasks.
    pub(super) fn of(tracker: &TaskTracker) -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        Self { rounds: Rounds::of(cores * EACH, tracker), known: Mutex::default() }
    }

    /// What is known of a process, which is looked for where that was not within the last moment.
    pub(super) fn lately<T: Copy>(
        &self,
        peer: Option<Process>,
        of: impl Fn(&mut Known) -> &mut HashMap<Process, T>,
        look: impl FnOnce() -> T,
    ) -> T {
        let Some(peer) = peer else { return look() };
        let before = of(self.known().fresh()).get(&peer).copied();
        // Without the lock, as it reads of processes.
        before.unwrap_or_else(|| {
            let found = look();
            of(&mut self.known()).insert(peer, found);
            found
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Agents {
    /// The tree that a process is in: that of the agent at its top, also when the sessions of that have ended. `None` for
    /// this process.
    pub(crate) fn tree(&self, peer: Option<Process>) -> Option<Tree> {
        if peer.is_some_and(Process::is_own) {
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

    /// The tree of a caller that acts for this process: that process is an agent from then on, unless what has left another one may
    /// be it.
    pub(crate) fn tree_as_agent(&self, peer: Option<Process>, process: Option<Process>) -> Option<Tree> {
        match (self.tree(peer), process) {
            (Some(Tree::Rest), Some(process)) if self.is_known(peer).is_ok() => Some(Tree::Agent(process)),
            (tree, _) => tree,
        }
    }

    /// Whether a process is the command of an entry of this agent, with nothing between them but shells.
    pub(crate) fn is_entry_of(&self, agent: Process, peer: Option<Process>) -> bool {
        self.has_entry(peer) == Some(agent)
    }

    /// The process that a caller is the command of an entry of, if it is one.
    fn has_entry(&self, peer: Option<Process>) -> Option<Process> {
        let line = self.line(peer);
        let (_, above) = line.split_first().filter(|(entry, _)| entry.is_hook_command())?;
        above.iter().find(|process| process.may_be_an_agent()).copied()
    }

    /// Of whom a process is, as far as turns go.
    pub(crate) fn whose(&self, peer: Option<Process>) -> Of {
        let look = || {
            let tree = self.tree(peer)?;
            let is_entry = matches!(tree, Tree::Agent(agent) if self.is_entry_of(agent, peer));
            Some((tree, is_entry))
        };
        self.by_tree.lately(peer, |known| &mut known.trees, look)
    }

    /// Does work for a process, each poll of which has its turn with those of other trees. What a person has started, as far
    /// as that is known, and the first calls of each agent have turns beside the rest of what is below no agent.
    pub(crate) async fn in_turn<F: Future>(&self, peer: Option<Process>, work: F) -> F::Output {
        let look = || match self.whose(peer)? {
            (Tree::Rest, _) if self.is_told_apart_as_a_persons(peer) => Some((Tree::Person, false)),
            (Tree::Rest, _) => {
                let agent = self.has_entry(peer);
                Some((agent.map_or(Tree::Rest, Tree::Agent), agent.is_some()))
            }
            of => Some(of),
        };
        let whose = || self.by_tree.lately(peer, |known| &mut known.turns, look);
        self.by_tree.rounds.in_turn(whose, work).await
    }
}
