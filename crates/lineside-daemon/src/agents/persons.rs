//! Who may take off guards: persons, as far as the processes above a caller tell.

use super::refused::{OF_A_HOOK, UNKNOWN};
use super::{Agents, is_unseen};
use crate::lineage::Process;
use crate::orphans::{Agent, MARKED, ORPHAN, comes_from_one, has_environment_of_agents, is_orphan};

impl Agents {
    /// That a process stands below no agent and is none itself, and may take off guards. It may be one that was started long
    /// ago, as a browser is: of an orphan the environment alone tells while agents run.
    ///
    /// # Errors
    /// It does, or it is not known: why it is refused, and what a person does instead.
    pub(crate) fn is_of_a_person(&self, peer: Option<Process>) -> Result<(), String> {
        let line = self.line_of_a_person(peer)?;
        self.unless(&line, |_| has_environment_of_agents(&line))
    }

    /// The processes above one that stands below no agent.
    fn line_of_a_person(&self, peer: Option<Process>) -> Result<Vec<Process>, String> {
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
    pub(crate) fn is_typed_by_a_person(&self, peer: Option<Process>) -> Result<(), String> {
        let line = self.line_of_a_person(peer)?;
        self.unless(&line, |agents| is_orphan(&line, agents))
    }

    /// A process is written down as that of an agent, and marked. What stands below it is no person.
    pub(crate) fn note_agent(&self, root: &str, process: Process, is_open: bool) {
        if self.guarded.note(process, root, is_open) {
            self.guarded.note_mark(process, process.mark());
        }
    }

    /// Whether a process is known to be a person's, and others may be orphans of agents: without agents all are persons'.
    pub(crate) fn is_told_apart_as_a_persons(&self, peer: Option<Process>) -> bool {
        let look = || self.guarded.has_living() && self.is_typed_by_a_person(peer).is_ok();
        self.by_tree.lately(peer, |known| &mut known.persons, look)
    }

    /// That something is not so of an orphan while agents run, which are given; and of what bears a mark at any time.
    fn unless(&self, line: &[Process], is_so: impl FnOnce(&[Agent]) -> bool) -> Result<(), String> {
        let agents = self.guarded.living();
        if comes_from_one(line, &agents, self.guarded.given()) {
            return Err(MARKED.to_owned());
        }
        if !agents.is_empty() && is_so(&agents) { Err(ORPHAN.to_owned()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::{Child, Command, Stdio};

    use lineside::Bus;
    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::agents::Hold;

    /// A shell that does lines of its input.
    fn begun() -> Child {
        let lines = "while read -r line; do eval \"$line\"; done";
        let mut command = Command::new("sh");
        command.args(["-c", lines]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    }

    /// What it leaves has no parent of it, and nothing in its environment.
    fn leaves(agent: &mut Child) -> u32 {
        let mut line = String::new();
        writeln!(
            agent.stdin.as_mut().unwrap(),
            "left=$(env -i setsid sleep 600 > /dev/null 2>&1 & echo $!); echo $left"
        )
        .unwrap();
        BufReader::new(agent.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        line.trim().parse().unwrap()
    }

    fn ends(children: [&mut Child; 2], left: u32) {
        Command::new("kill").arg(left.to_string()).status().unwrap();
        for child in children {
            child.kill().and_then(|()| child.wait()).unwrap();
        }
    }

    #[tokio::test]
    async fn what_an_agent_has_left_is_no_person_however_it_was_set_apart_and_what_is_beside_the_agent_is() {
        let state = tempfile::tempdir().unwrap();
        let agents = Agents::of(state.path(), false, &TaskTracker::new());
        let session = Bus::new().session("s1").open().await.unwrap();
        let (mut agent, mut beside) = (begun(), begun());
        let process = Process::of(agent.id()).unwrap();
        for _ in 0..2 {
            agents.note("s1", Some(&session), Some(process));
        }
        let left = leaves(&mut agent);
        let is_a_person = |pid| {
            let process = Process::of(pid);
            (agents.is_of_a_person(process), agents.is_typed_by_a_person(process))
        };
        assert_eq!(is_a_person(left), (Err(MARKED.to_owned()), Err(MARKED.to_owned())));
        assert!(
            agents.is_known(Process::of(left)).is_err(),
            "it does in the name of no user what an agent may not"
        );
        assert_eq!(is_a_person(beside.id()), (Ok(()), Ok(())));
        assert!(agents.is_known(Process::of(beside.id())).is_ok());
        ends([&mut agent, &mut beside], left);
    }

    #[tokio::test]
    async fn what_has_the_number_of_a_caller_that_has_ended_is_another() {
        let state = tempfile::tempdir().unwrap();
        let agents = Agents::of(state.path(), false, &TaskTracker::new());
        let session = Bus::new().session("s1").open().await.unwrap();
        let mut beside = begun();
        let process = Process::of(beside.id()).unwrap();
        let ended = Process { started: process.started - 1, ..process };
        for (caller, is_one) in [(process, true), (ended, false)] {
            assert_eq!(agents.is_of_a_person(Some(caller)).is_ok(), is_one);
            assert_eq!(agents.is_typed_by_a_person(Some(caller)).is_ok(), is_one);
            assert_eq!(agents.is_known(Some(caller)).is_ok(), is_one);
            agents.hold(&session, Some(caller), Hold::Opened);
            assert_eq!(agents.holds(&session, Some(caller)).is_some(), is_one);
            assert_eq!(agents.proves(&session, Some(caller)), is_one);
            assert_eq!(caller.works_in().is_some(), is_one);
        }
        beside.kill().and_then(|()| beside.wait()).unwrap();
        assert!(agents.holds(&session, Some(process)).is_none(), "what has its connection is not it");
    }

    #[tokio::test]
    async fn marks_count_for_the_next_daemon_and_for_each_of_two_though_the_agent_takes_its_own_away() {
        let (session, tracker) = (Bus::new().session("s1").open().await.unwrap(), TaskTracker::new());
        let states = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let daemons = || states.each_ref().map(|state| Agents::of(state.path(), false, &tracker));
        let (mut agent, mut beside) = (begun(), begun());
        let process = Process::of(agent.id()).unwrap();
        let first = daemons();
        for agents in first.iter().chain(&first) {
            agents.note("s1", Some(&session), Some(process));
        }
        let left = leaves(&mut agent);
        let lowers = ["--msgqueue=0:0", "--pid", &agent.id().to_string()];
        assert!(Command::new("prlimit").args(lowers).status().unwrap().success());
        for agents in first.into_iter().chain(daemons()) {
            assert_eq!(agents.is_typed_by_a_person(Process::of(left)), Err(MARKED.to_owned()));
            assert_eq!(agents.is_typed_by_a_person(Process::of(beside.id())), Ok(()));
        }
        // As a daemon that has not written it leaves it.
        for state in &states {
            std::fs::remove_file(state.path().join("agents/marked")).unwrap();
        }
        drop(daemons());
        agent.kill().and_then(|()| agent.wait()).unwrap();
        for agents in daemons() {
            assert_eq!(agents.is_of_a_person(Process::of(left)), Err(MARKED.to_owned()));
            assert_eq!(agents.is_typed_by_a_person(Process::of(left)), Err(MARKED.to_owned()));
            assert_eq!(agents.is_typed_by_a_person(Process::of(beside.id())), Ok(()));
        }
        // A bound that is no mark, which what bears one gives itself.
        let lowers = ["--msgqueue=0:0", "--pid", &left.to_string()];
        assert!(Command::new("prlimit").args(lowers).status().unwrap().success());
        for agents in daemons() {
            assert_eq!(agents.is_of_a_person(Process::of(left)), Err(MARKED.to_owned()));
            assert_eq!(agents.is_typed_by_a_person(Process::of(left)), Err(MARKED.to_owned()));
            assert_eq!(agents.is_typed_by_a_person(Process::of(beside.id())), Ok(()));
        }
        Command::new("kill").arg(left.to_string()).status().unwrap();
        beside.kill().and_then(|()| beside.wait()).unwrap();
    }
}
