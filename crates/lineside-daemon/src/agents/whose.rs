//! Whether a call comes from the process whose session it names, and what of such a session is recorded.

use std::path::PathBuf;

use lineside::Session;
use lineside::hosts::Holds;

use super::Agents;
use crate::lineage::Process;

impl Agents {
    /// Whether a call for a session that no process serves comes from a process of an agent, which has a session of its own
    /// and has nothing to do with the one that has opened this one.
    pub(super) fn is_of_another(
        &self,
        root: &str,
        session: &Session,
        process: Option<Process>,
        peer: Option<Process>,
    ) -> bool {
        self.is_of_agent(root, process) && !self.proves(session, peer)
    }

    /// Whether a call for a session that a living process holds comes from elsewhere. Of one of which a single call was seen it
    /// is not certain that it holds it: a program around that call may be all that it is.
    pub(super) fn is_beside(
        &self,
        root: &str,
        (process, line): (Option<Process>, &[Process]),
        (holder, is_certain): (Process, bool),
    ) -> bool {
        if line.is_empty() || process == Some(holder) || !holder.is_alive() {
            return false;
        }
        let above = self.line(Some(holder));
        let is_related = process.is_some_and(|process| {
            let of_one = || self.line(Some(process)).get(1) == above.get(1) && process.is_as(above.get(1));
            above.contains(&process) || process.is_as(Some(&holder)) && of_one()
        });
        !is_related && (is_certain || self.is_of_agent(root, process))
    }

    /// Whether a caller is an agent with another session.
    pub(super) fn is_of_agent(&self, root: &str, process: Option<Process>) -> bool {
        process.is_some_and(|process| !self.nearest(&[process], root).is_empty())
    }

    /// The roots of the projects in which the session of a process was, as far as they are recorded.
    pub(crate) fn projects_before(&self, root: &str, process: Option<Process>) -> Vec<PathBuf> {
        process.map(|process| self.guarded.projects(process, root)).unwrap_or_default()
    }

    /// In which projects the session of a process is: it will be in them again after a restart.
    pub(crate) fn note_projects(&self, root: &str, process: Option<Process>, roots: Vec<String>) {
        let process = process.filter(|_| !roots.is_empty());
        if let Some(process) = process {
            self.guarded.note_projects(process, root, roots);
        }
    }

    /// What has held the session of a process, as far as it is recorded.
    pub(crate) fn holds_before(&self, root: &str, process: Option<Process>) -> Option<Holds> {
        process.and_then(|process| self.guarded.holds(process, root))
    }

    /// What holds the session of a process, where that is known by now: it will hold it again after a restart.
    pub(crate) fn note_holds(
        &self,
        root: &str,
        process: Option<Process>,
        holds: impl FnOnce() -> Option<Holds>,
    ) {
        if let Some(process) = process {
            self.guarded.note_holds(process, root, holds);
        }
    }

    /// A session is over, as its program says.
    pub(crate) fn note_ended(&self, root: &str, process: Option<Process>) {
        process.into_iter().for_each(|process| self.guarded.note_ended(process, root));
    }
}
