//! Who may take off guards: persons, as far as the processes above a caller tell.

use super::refused::{OF_A_HOOK, UNKNOWN};
use super::{Agents, is_unseen};
use crate::lineage::Process;
use crate::orphans::{ORPHAN, has_environment_of_agents, is_orphan};

impl Agents {
    /// That a process stands below no agent and is none itself, and may take off guards. It may be one that was started long
    /// ago, as a browser is: of an orphan the environment alone tells while agents run.
    ///
    /// # Errors
    /// It does, or it is not known: why it is refused, and what a person does instead.
    pub(crate) fn is_of_a_person(&self, peer: Option<u32>) -> Result<(), String> {
        let line = self.line_of_a_person(peer)?;
        self.unless(|_| has_environment_of_agents(&line))
    }

    /// The processes above one that stands below no agent.
    fn line_of_a_person(&self, peer: Option<u32>) -> Result<Vec<Process>, String> {
        let line = self.whole_line(peer)?;
        if is_unseen(peer, &line) {
            return Err(UNKNOWN.to_owned());
        }
        if self.is_of_a_hook(&line) {
            return Err(OF_A_HOOK.to_owned());
        }
        let agent = self.agent_among(&line).or_else(|| self.guarded.among(&line));
        agent.map_or(Ok(line), |agent| Err(agent.refusal()))
    }

    /// The same of a command that a person has typed: while agents run, it is also known where it was started from.
    ///
    /// # Errors
    /// As [`is_of_a_person`](Self::is_of_a_person), or it is an orphan.
    pub(crate) fn is_typed_by_a_person(&self, peer: Option<u32>) -> Result<(), String> {
        let line = self.line_of_a_person(peer)?;
        self.unless(|agents| is_orphan(&line, agents))
    }

    /// Whether a process is known to be a person's, and others may be orphans of agents: without agents all are persons'.
    pub(crate) fn is_told_apart_as_a_persons(&self, peer: Option<u32>) -> bool {
        let look = || self.guarded.has_living() && self.is_typed_by_a_person(peer).is_ok();
        self.by_tree.lately(peer, |known| &mut known.persons, look)
    }

    /// That something is not so of an orphan while agents run, which are given.
    fn unless(&self, is_so: impl FnOnce(&[Process]) -> bool) -> Result<(), String> {
        let agents = self.guarded.living();
        let may_be_an_agents = !agents.is_empty() && is_so(&agents);
        if may_be_an_agents { Err(ORPHAN.to_owned()) } else { Ok(()) }
    }
}
