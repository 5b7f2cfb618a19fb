//! Orphans: processes whose parents have ended, of which it is not known any more what has started them.
//!
//! Each process that an agent starts can become one: `command &` at the end of what its shell runs is enough. A person's
//! command stands below the shell of a terminal, and a service below what starts services and first in a session of its own.

use std::fs;
use std::io::{self, ErrorKind};

use lineside_account::Mark;

use crate::lineage::{Process, Stat, is_end};

/// Why an orphan does not act as a person, and what to do.
pub(crate) const ORPHAN: &str = "what has started this has ended, so that it is not known whether an agent has, and agents run; a \
    person does it in a terminal, or when no agent runs";

/// The same of what bears the mark of an agent, whether that runs or not.
pub(crate) const MARKED: &str = "this bears the mark of what an agent has started; a person does it in a terminal or browser without it, \
    as one that is started anew by a person";

/// What agent programs and their hooks give to what they start.
const GIVEN: [&str; 10] = [
    "CLAUDECODE", "CODEX_SANDBOX", "CODEX_THREAD_ID", "COPILOT_CLI", "CURSOR_AGENT", "GEMINI_CLI",
    "LINESIDE_GRANT", "LINESIDE_SESSION", "OPENCODE", "QWEN_CODE",
];

/// The process of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Agent {
    pub(crate) process: Process,
    /// What it hands on to all that it starts, where the system lets it be marked.
    pub(crate) mark: Option<Mark>,
}

/// Whether a process, with those above it, comes from an agent that is marked, whatever has ended between them: it has a mark, and
/// one that such an agent may have been `given`, be that here or gone; or none, and a bound no higher than such a mark. A bound that is
/// lower and no mark may be of other making: a shell in which it was lowered stands below what has no such one.
pub(crate) fn comes_from_one(line: &[Process], agents: &[Agent], given: Option<Mark>) -> bool {
    let Some(caller) = line.first() else { return false };
    let bears = |mark: Mark| mark.is_on(caller.pid);
    if Mark::of(caller.pid).is_some() {
        return given.is_some_and(bears);
    }
    let is_on_top = |mark: Mark| {
        let stats = stats(line);
        own(&stats).is_none_or(|own| own.last().is_none_or(|top| mark.is_on(top.process.pid)))
    };
    // A process makes its own mark lower, so that it is none, when its agent has ended as well.
    let highest = agents.iter().filter_map(|agent| agent.mark).max().max(given);
    highest.is_some_and(|mark| bears(mark) && is_on_top(mark))
}

/// Whether a process that does not [come from one](comes_from_one) that is marked, with those above it, the nearest first, may be
/// what an agent has left all the same, while these run: by what is left of the processes above, and where an agent has no mark
/// by what is beside it.
pub(crate) fn is_orphan(line: &[Process], agents: &[Agent]) -> bool {
    // A terminal beside one that is marked may be a person's.
    let is_of = |top: Process, has_terminal: bool| {
        let mut meant = agents.iter().filter(|agent| !has_terminal || agent.mark.is_none());
        meant.any(|agent| is_beside(top, agent.process))
    };
    let stats = stats(line);
    has_changed(&stats) || is_left(&stats, is_given, is_of)
}

/// Whether the parent of the topmost process is shown and not among these: one between them has ended while they were read, so
/// that it is not known what has started it.
fn has_changed(line: &[Stat]) -> bool {
    let top = line.last().filter(|top| !top.is_reaper() && top.parent != std::process::id());
    top.is_some_and(|top| top.parent > 1 && Stat::of(top.parent).is_some())
}

/// Whether a process was started after an agent, by the same account, and is in the control group of that, as what it has
/// started is and what starts services has none.
fn is_beside(process: Process, agent: Process) -> bool {
    let group = |process: Process| fs::read_to_string(format!("/proc/{}/cgroup", process.pid)).ok();
    process.started >= agent.started
        && account(process) == account(agent)
        && group(agent).is_some_and(|of_agent| group(process) == Some(of_agent))
}

/// The account that has started it: its files are root's where it does not let others look.
fn account(process: Process) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{}/status", process.pid)).ok()?;
    let of = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    of.split_ascii_whitespace().next().map(str::to_owned)
}

/// Whether what is left of what has started a process has an environment that agent programs give.
pub(crate) fn has_environment_of_agents(line: &[Process]) -> bool {
    let stats = stats(line);
    let is_given = |own: Vec<&Stat>| own.last().is_some_and(|top| is_given(top.process));
    has_changed(&stats) || own(&stats).is_some_and(is_given)
}

fn stats(line: &[Process]) -> Vec<Stat> {
    line.iter().copied().filter_map(Stat::of_process).collect()
}

/// Whether a process was started with a variable of agents.
fn is_given(process: Process) -> bool {
    gives(fs::read(format!("/proc/{}/environ", process.pid)))
}

/// The same of what was read. What is another account's is no agent's; what cannot be read now, for want of descriptors say,
/// may be.
fn gives(variables: io::Result<Vec<u8>>) -> bool {
    let variables = match variables {
        Ok(variables) => variables,
        Err(error) => return error.kind() != ErrorKind::PermissionDenied && !is_end(&error),
    };
    let mut names =
        variables.split(|byte| *byte == 0).filter_map(|given| given.split(|byte| *byte == b'=').next());
    names.any(|name| GIVEN.iter().any(|given| given.as_bytes() == name))
}

/// The caller and those above it, up to what takes orphans; nothing where the parent of the topmost is not shown.
fn own(line: &[Stat]) -> Option<Vec<&Stat>> {
    let (caller, above) = line.split_first()?;
    // The caller has not started itself, whatever it is called.
    let own: Vec<&Stat> =
        std::iter::once(caller).chain(above.iter().take_while(|stat| !stat.is_reaper())).collect();
    let is_whole = own.len() < line.len() || own.last().is_some_and(|top| top.parent <= 1);
    is_whole.then_some(own)
}

fn is_left(
    line: &[Stat],
    is_given: impl Fn(Process) -> bool,
    is_beside_an_agent: impl Fn(Process, bool) -> bool,
) -> bool {
    let Some(own) = own(line) else { return false };
    let Some(top) = own.last() else { return false };
    // The first process may be the shell of a terminal itself, as that of a container is.
    let is_of_terminal = line.iter().any(Stat::begins_terminal);
    let has_first = top.first == 0 || own.iter().any(|stat| stat.process.pid == top.first);
    // A terminal is made by any program as well. What has no parent at all was entered from elsewhere.
    is_given(top.process)
        || !is_of_terminal && !has_first
        || top.parent != 0 && is_beside_an_agent(top.process, is_of_terminal)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process: its number, its parent, the first of its session, whether that has a terminal.
    fn stat((pid, parent, first, has_terminal): (u32, u32, u32, bool)) -> Stat {
        let terminal = if has_terminal { 34_816 } else { 0 };
        let rest = "4194560 0 0 0 0 0 0 0 0 20 0 1 0 9001 0 0";
        let text = format!("{pid} (x) S {parent} {pid} {first} {terminal} -1 {rest}");
        Stat::read(&text).unwrap()
    }

    #[test]
    fn a_line_that_has_changed_while_it_was_read_is_that_of_an_orphan() {
        let (own, above) = (std::process::id(), std::os::unix::process::parent_id());
        assert!(has_changed(&[stat((own, above, own, false))]));
        assert!(!has_changed(&[stat((own, 4_194_303, own, false))]), "the system does not show it");
        assert!(!has_changed(&[stat((own, 1, own, false))]) && !has_changed(&[]));
    }

    #[test]
    fn what_is_older_than_an_agent_was_not_started_by_it() {
        let own = Process::of(std::process::id()).unwrap();
        let [earlier, later] =
            [-1, 1].map(|by| Process { started: own.started.saturating_add_signed(by), ..own });
        assert!(is_beside(own, own) && is_beside(own, earlier) && !is_beside(own, later));
    }

    #[test]
    fn an_environment_that_cannot_be_read_now_may_be_that_of_an_agent() {
        let refused = |error: i32| gives(Err(io::Error::from_raw_os_error(error)));
        let (no_entry, ended, denied, too_many_files) = (2, 3, 13, 24);
        assert!(!refused(no_entry) && !refused(ended) && !refused(denied) && refused(too_many_files));
        assert!(gives(Ok(b"A=1\0CLAUDECODE=1\0".to_vec())) && !gives(Ok(b"A=CLAUDECODE\0".to_vec())));
    }

    #[test]
    fn what_has_lost_its_parents_is_an_orphan_unless_it_is_of_a_terminal_or_a_service() {
        let is = |line: &[(u32, u32, u32, bool)], is_given: bool| {
            is_left(&line.iter().copied().map(stat).collect::<Vec<_>>(), |_| is_given, |_, _| false)
        };
        let (first, shell) = ((1, 0, 1, false), (50, 1, 50, true));
        for given in [false, true] {
            assert!(is(&[(90, 1, 50, true), first], given), "the shell of an agent has ended");
            assert!(
                is(&[(91, 90, 50, false), (90, 1, 50, false), first], given),
                "and one between them is there"
            );
            assert!(!is(&[(90, 50, 0, false), (50, 40, 0, false)], given), "the system does not show more");
        }
        let typed = [(90, 50, 50, true), shell, first];
        assert!(!is(&typed, false), "typed at a terminal");
        assert!(is(&typed, true), "typed by an agent, at a terminal that it has made");
        assert!(!is(&[(90, 1, 90, false), first], false), "a service");
        let named = Stat { name: "systemd".to_owned(), ..stat((4_194_303, 1, 50, false)) };
        assert!(
            is_left(&[named, stat(first)], |_| false, |_, _| false),
            "a caller that calls itself what takes orphans"
        );
        assert!(is(&[(90, 1, 90, false), first], true), "one that an agent has set apart");
        assert!(!is(&[(90, 1, 0, false), first], false), "of a session that is not shown");
        let is_beside = |line: &[(u32, u32, u32, bool)]| {
            is_left(&line.iter().copied().map(stat).collect::<Vec<_>>(), |_| false, |_, _| true)
        };
        assert!(is_beside(&[(90, 1, 90, false), first]), "one that was set apart where an agent is");
        assert!(!is_beside(&[(90, 0, 90, false)]), "entered from outside of a container");
        assert!(is_beside(&typed), "at a terminal that was made where an agent is, and after that");
    }
}
