//! Which processes are those of agents, written down in the state folder: what stands below one of them takes off no guard,
//! with the daemon dead as well, and after a restart.
//!
//! A process is recorded when a second call of a session comes from it, and for as long as it lives, also where its
//! session has ended: the end of a session is an event that a program below can send, as is that of the daemon, so that the
//! first call is written down as well, and counts for all but the shell of a terminal, in which a person may have tried the
//! command of an entry. With it are its sessions, the projects that these were in, and what holds them. What the daemon
//! remembers beside that is for `agents`.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lineside::hosts::Holds;
use lineside_account::Mark;

use crate::lineage::{Lineage, Process};
use crate::orphans::{Agent, MARKED, ORPHAN, comes_from_one, is_orphan};
use record::{Had, Record, session_of};

mod record;

/// The folder within the state folder.
const FOLDER: &str = "agents";
/// From how many records on those of processes that have ended are looked for.
const MANY: usize = 64;
/// How many sessions of a process are recorded: of more, those that have ended go first, then the oldest.
const SESSIONS: usize = 64;
/// What the name of a record begins with while it is written.
const UNFINISHED: &str = ".";
/// What the name of the file begins with that has the sessions of which a single call came from a process.
const ONCE: &str = "once-";

/// What the name of the file begins with that has the mark of a process, which that may take off itself.
const MARK: &str = "mark-";
/// What the file is named that has the highest mark that was given since the machine was started: what bears one outlives the agent.
const GIVEN: &str = "marked";

/// The records of a daemon.
pub(crate) struct Guarded {
    folder: PathBuf,
    kept: Mutex<Kept>,
}

type Marks = HashMap<Process, Option<Mark>>;

#[derive(Default)]
struct Kept {
    recorded: HashMap<Process, Vec<Had>>,
    /// The sessions of which a single call has come from a process.
    once: HashMap<Process, Vec<Had>>,
    /// The marks of those that count, as they were when they were put on them: a process may take its own away, and not those
    /// of what it has started.
    marks: Marks,
    /// The highest mark that was given, to what is here or has ended.
    given: Option<Mark>,
    /// Whether that could not be written down so far.
    is_given_unwritten: bool,
    /// Those that could not be written down: as on a full disk.
    unwritten: HashSet<Process>,
    /// How many were left when those that have ended were last looked for.
    left: usize,
}

impl Kept {
    /// The processes from which calls have come.
    fn all(&self) -> impl Iterator<Item = Process> {
        self.recorded.keys().chain(self.once.keys()).copied()
    }

    fn is_settled(&self, process: Process, session: &str) -> bool {
        self.recorded.get(&process).is_some_and(|all| all.iter().any(|had| had.session == session))
    }
}

/// The process of an agent above another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentAbove {
    /// Its number.
    pub pid: u32,
    /// The name that the system has of it.
    pub name: String,
    /// The last session of its agent, of those that have not ended where there are some.
    pub session: String,
}

impl AgentAbove {
    /// Why what stands below is not done, and what a person does instead.
    #[must_use]
    pub fn refusal(&self) -> String {
        let Self { pid, name, session } = self;
        format!(
            "this stands below process {pid} (`{name}`), which is that of the agent of session `{session}`, and an agent \
             does not take off its own guards; a person does it in a terminal that this process has not started, or when it \
             has ended"
        )
    }
}

impl Guarded {
    /// The records in a state folder. Those of processes that have ended are removed.
    pub(crate) fn of(state: &Path) -> Self {
        let guarded = Self { folder: state.join(FOLDER), kept: Mutex::default() };
        let (mut recorded, mut once, mut marks) = (HashMap::new(), HashMap::new(), HashMap::new());
        for entry in fs::read_dir(&guarded.folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let Some(name) = name.to_str() else { continue };
            if name.starts_with(UNFINISHED) {
                fs::remove_file(&path).ok();
            }
            let Some((prefix, process)) = of_file(name) else { continue };
            match Record::of(&path) {
                Some(record) if record.is_elsewhere && prefix != MARK => {}
                Some(record) if process.is_alive() => match prefix {
                    MARK => drop(marks.insert(process, record.mark())),
                    ONCE => drop(once.insert(process, record.sessions)),
                    _ => drop(recorded.insert(process, record.sessions)),
                },
                _ => {
                    fs::remove_file(&path).ok();
                }
            }
        }
        let left = recorded.len();
        let (given, highest) = (given_in(&guarded.folder), marks.values().copied().flatten().max());
        *guarded.kept() = Kept { recorded, once, marks, given, left, ..Kept::default() };
        guarded.give(&mut guarded.kept(), highest);
        guarded
    }

    /// Writes down that a call of a session, which is open by now or has ended, has come from this process: with the second
    /// one that it is that of the agent. Tells whether it is to be marked: it counts as that, and has no mark yet.
    pub(crate) fn note(&self, process: Process, session: &str, is_open: bool) -> bool {
        let mut kept = self.kept();
        let is_first = !kept.is_settled(process, session) && self.is_first(&mut kept, process, session);
        if !is_first {
            self.note_further(&mut kept, process, session, is_open);
        }
        !(kept.marks.contains_key(&process) || is_first && process.is_shell())
    }

    /// Marks this process, which starts nothing but hooks: a hook may run the program of an agent.
    pub(crate) fn mark_hooks(&self) {
        if let Some(own) = Process::of(std::process::id()) {
            self.note_mark(own, own.mark());
        }
    }

    /// Keeps the mark of a process.
    pub(crate) fn note_mark(&self, process: Process, mark: Option<Mark>) {
        let mut kept = self.kept();
        // Of two that came at once the higher one is on all that it has started.
        let highest = kept.marks.get(&process).copied().flatten().max(mark);
        kept.marks.insert(process, highest);
        let number = highest.map(|mark| mark.number().to_string()).unwrap_or_default();
        if let Err(error) = self.put(&self.file(MARK, process), &number) {
            tracing::warn!(%error, folder = %self.folder.display(), "the mark of an agent is not written down");
        }
        self.give(&mut kept, highest);
    }

    /// Keeps the highest mark, for the time when what bears it has outlived what was given it.
    fn give(&self, kept: &mut Kept, mark: Option<Mark>) {
        let Some(mark) =
            mark.max(kept.given).filter(|mark| kept.given < Some(*mark) || kept.is_given_unwritten)
        else {
            return;
        };
        kept.given = Some(mark);
        let written = self.put(&self.folder.join(GIVEN), &mark.number().to_string());
        kept.is_given_unwritten = written.is_err();
        if let Err(error) = written {
            tracing::warn!(%error, folder = %self.folder.display(), "the mark of agents is not written down so far");
        }
    }

    /// The highest mark that was given since the machine was started, to what is here or has ended.
    pub(crate) fn given(&self) -> Option<Mark> {
        self.kept().given
    }

    fn note_further(&self, kept: &mut Kept, process: Process, session: &str, is_open: bool) {
        let first = kept.once.get(&process).into_iter().flatten().find(|had| had.session == session);
        let holds = first.and_then(|had| had.holds.clone());
        let sessions = kept.recorded.entry(process).or_default();
        match sessions.iter_mut().find(|had| had.session == session) {
            Some(had) if !had.has_ended || !is_open => return,
            Some(had) => had.has_ended = false,
            None => {
                // An agent opens as many as it likes: none that goes on gives way to a further one.
                if sessions.len() >= SESSIONS {
                    let Some(ended) = sessions.iter().position(|had| had.has_ended) else {
                        return self.forget_first(kept, process, session);
                    };
                    sessions.remove(ended);
                }
                let session = session.to_owned();
                sessions.push(Had { session, has_ended: !is_open, holds, ..Had::default() });
            }
        }
        self.write_or_keep(kept, process);
        self.forget_first(kept, process, session);
        if kept.recorded.len() >= MANY.max(2 * kept.left) {
            self.keep_living(&mut kept.recorded, &mut kept.marks, "");
            kept.left = kept.recorded.len();
        }
    }

    /// Writes down a call of a session that is the first one from this process. Of more sessions than are kept the next one is
    /// no first one.
    fn is_first(&self, kept: &mut Kept, process: Process, session: &str) -> bool {
        if !kept.once.contains_key(&process) && kept.once.len() >= MANY {
            self.keep_living(&mut kept.once, &mut kept.marks, ONCE);
        }
        let sessions = kept.once.entry(process).or_default();
        if sessions.len() >= SESSIONS || sessions.iter().any(|had| had.session == session) {
            return false;
        }
        sessions.push(Had { session: session.to_owned(), ..Had::default() });
        if let Err(error) = self.write(ONCE, process, sessions) {
            tracing::warn!(%error, folder = %self.folder.display(), "the first call of an agent is not written down");
        }
        true
    }

    /// The second call is written down, and the first one is not needed any more.
    fn forget_first(&self, kept: &mut Kept, process: Process, session: &str) {
        let Some(sessions) = kept.once.get_mut(&process) else { return };
        let before = sessions.len();
        sessions.retain(|had| had.session != session);
        if sessions.is_empty() {
            kept.once.remove(&process);
            fs::remove_file(self.file(ONCE, process)).ok();
        } else if sessions.len() < before {
            // One too many makes no agent of a program.
            self.write(ONCE, process, sessions).ok();
        }
    }

    fn keep_living(&self, of: &mut HashMap<Process, Vec<Had>>, marks: &mut Marks, prefix: &str) {
        of.retain(|process, _| {
            let is_alive = process.is_alive();
            if !is_alive {
                fs::remove_file(self.file(prefix, *process)).ok();
                if marks.remove(process).is_some() {
                    fs::remove_file(self.file(MARK, *process)).ok();
                }
            }
            is_alive
        });
    }

    /// That a session of a process, which is recorded, is in the projects with these roots.
    pub(crate) fn note_projects(&self, process: Process, session: &str, roots: Vec<String>) {
        self.change(process, session, |had| {
            let before = had.projects.len();
            let new = roots.into_iter().filter(|root| !had.projects.contains(root)).collect::<Vec<_>>();
            had.projects.extend(new);
            had.projects.len() != before
        });
    }

    /// That a session of a process is over, as it says: another process may have it.
    pub(crate) fn note_ended(&self, process: Process, session: &str) {
        self.change(process, session, |had| !std::mem::replace(&mut had.has_ended, true));
    }

    /// What holds a session of a process, if that is known by now. It is read while nothing else is written, so that of two
    /// calls at once the later state stays.
    pub(crate) fn note_holds(&self, process: Process, session: &str, holds: impl FnOnce() -> Option<Holds>) {
        let mut kept = self.kept();
        let Some(holds) = holds() else { return };
        let holds = (!holds.is_none()).then_some(holds);
        let Kept { recorded, once, .. } = &mut *kept;
        let of = |all: &'_ mut HashMap<Process, Vec<Had>>| {
            let had = all.get_mut(&process)?.iter_mut().find(|had| had.session == session)?;
            let is_other = had.holds != holds;
            if is_other {
                had.holds.clone_from(&holds);
            }
            Some(is_other)
        };
        match of(recorded) {
            Some(true) => self.write_or_keep(&mut kept, process),
            None if of(once) == Some(true) => {
                let sessions = once.get(&process).map(Vec::as_slice).unwrap_or_default();
                if let Err(error) = self.write(ONCE, process, sessions) {
                    tracing::warn!(%error, folder = %self.folder.display(), "what holds a session is not written down");
                }
            }
            _ => {}
        }
    }

    /// What has held a session of a process.
    pub(crate) fn holds(&self, process: Process, session: &str) -> Option<Holds> {
        let kept = self.kept();
        let all = [&kept.recorded, &kept.once].map(|all| all.get(&process));
        all.into_iter().flatten().flatten().find(|had| had.session == session)?.holds.clone()
    }

    fn change(&self, process: Process, session: &str, change: impl FnOnce(&mut Had) -> bool) {
        let mut kept = self.kept();
        let mut all = kept.recorded.get_mut(&process).into_iter().flatten();
        if all.find(|had| had.session == session).is_some_and(change) {
            self.write_or_keep(&mut kept, process);
        }
    }

    /// The living process that has a session, as it was recorded.
    pub(crate) fn holder(&self, session: &str) -> Option<Process> {
        let kept = self.kept();
        let has = |all: &[Had]| all.iter().any(|had| had.session == session && !had.has_ended);
        let mut all = kept.recorded.iter();
        all.find(|(process, all)| has(all) && process.is_alive()).map(|(process, _)| *process)
    }

    /// The roots of the projects that a session of a process was in.
    pub(crate) fn projects(&self, process: Process, session: &str) -> Vec<PathBuf> {
        let kept = self.kept();
        let mut all = kept.recorded.get(&process).into_iter().flatten();
        let had = all.find(|had| had.session == session);
        had.into_iter().flat_map(|had| &had.projects).map(PathBuf::from).collect()
    }

    /// Writes down what could not be before, as far as it can be by now.
    pub(crate) fn catch_up(&self) {
        let mut kept = self.kept();
        self.give(&mut kept, None);
        let Kept { recorded, unwritten, .. } = &mut *kept;
        let is_left = |process: &Process| {
            let sessions = recorded.get(process).map(Vec::as_slice).unwrap_or_default();
            process.is_alive() && self.write("", *process, sessions).is_err()
        };
        unwritten.retain(is_left);
    }

    fn write_or_keep(&self, kept: &mut Kept, process: Process) {
        let sessions = kept.recorded.get(&process).map(Vec::as_slice).unwrap_or_default();
        if let Err(error) = self.write("", process, sessions) {
            tracing::warn!(%error, folder = %self.folder.display(), "the process of an agent is not recorded so far");
            kept.unwritten.insert(process);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, prefix: &str, process: Process, sessions: &[Had]) -> io::Result<()> {
        let lines: Vec<_> = sessions.iter().map(Had::line).collect();
        self.put(&self.file(prefix, process), &lines.join("\n"))
    }

    /// One record takes the place of another: what is half written is that of no process.
    fn put(&self, file: &Path, text: &str) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let unfinished = self.folder.join(format!("{UNFINISHED}{name}"));
        let mut written =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        written.write_all(record::text(text).as_bytes())?;
        fs::rename(unfinished, file)
    }

    fn file(&self, prefix: &str, process: Process) -> PathBuf {
        self.folder.join(format!("{prefix}{}", process.name()))
    }

    /// Whether two calls of a session came from a process.
    pub(crate) fn is_settled(&self, process: Process, session: &str) -> bool {
        self.kept().is_settled(process, session)
    }

    /// Whether a process is recorded, as far as this daemon remembers.
    pub(crate) fn is_recorded(&self, process: Process) -> bool {
        self.kept().recorded.contains_key(&process)
    }

    /// Whether a process from which a call has come is there still.
    pub(crate) fn has_living(&self) -> bool {
        self.kept().all().any(Process::is_alive)
    }

    /// Those of the processes from which calls have come that are there still.
    pub(crate) fn living(&self) -> Vec<Agent> {
        let kept = self.kept();
        let mark = |process: Process| kept.marks.get(&process).copied().flatten();
        let agent = |process| Agent { process, mark: mark(process) };
        let mut living: Vec<_> = kept.all().filter(|process| process.is_alive()).map(agent).collect();
        if !living.is_empty() {
            // What hooks have left counts as what an agent has.
            let own = kept.marks.keys().filter(|process| process.pid == std::process::id());
            living.extend(own.copied().map(agent).filter(|own| own.mark.is_some()));
        }
        living
    }

    /// The nearest of these processes that is recorded.
    pub(crate) fn among(&self, line: &[Process]) -> Option<AgentAbove> {
        nearest(&self.folder, line)
    }
}

/// The nearest agent above a process of this machine, as the daemons of these state folders have recorded them.
///
/// `None` also where the system does not show the processes above.
#[must_use]
pub fn agent_above(pid: u32, states: &[&Path]) -> Option<AgentAbove> {
    let line = Lineage::default().whole(pid);
    states.iter().find_map(|state| nearest(&state.join(FOLDER), line.get(1..)?))
}

/// Why a process of this machine may be of an agent that stands above it no more, if it may: it bears a mark that daemons of
/// these state folders have given, or it is not known what has started it, while agents run that they have recorded.
#[must_use]
pub fn why_of_an_agent(pid: u32, states: &[&Path]) -> Option<&'static str> {
    let records =
        states.iter().flat_map(|state| fs::read_dir(state.join(FOLDER)).into_iter().flatten().flatten());
    let (mut agents, mut hooks) = (Vec::new(), Vec::new());
    for record in records {
        let name = record.file_name();
        let found = name.to_str().and_then(of_file).filter(|(_, process)| process.is_alive());
        let Some((prefix, process)) = found else { continue };
        let file = record.path().with_file_name(format!("{MARK}{}", process.name()));
        let agent = Agent { process, mark: Record::of(&file).and_then(|record| record.mark()) };
        if prefix == MARK { hooks.push(agent) } else { agents.push(agent) }
    }
    let is_any = !agents.is_empty();
    agents.extend(hooks.into_iter().filter(|hooks| hooks.mark.is_some()));
    let line = Lineage::default().whole(pid);
    let past = states.iter().filter_map(|state| given_in(&state.join(FOLDER)));
    let given = past.chain(agents.iter().filter_map(|agent| agent.mark)).max();
    if comes_from_one(&line, if is_any { &agents } else { &[] }, given) {
        return Some(MARKED);
    }
    (is_any && is_orphan(&line, &agents)).then_some(ORPHAN)
}

/// The highest mark that the daemon of this folder has given.
fn given_in(folder: &Path) -> Option<Mark> {
    Record::of(&folder.join(GIVEN)).and_then(|record| record.mark())
}

/// What a file of this name has, by how that begins, and of which process.
fn of_file(name: &str) -> Option<(&'static str, Process)> {
    let prefixes = [MARK, ONCE, ""];
    prefixes.into_iter().find_map(|prefix| Some((prefix, Process::named(name.strip_prefix(prefix)?)?)))
}

fn nearest(folder: &Path, line: &[Process]) -> Option<AgentAbove> {
    line.iter().find_map(|process| {
        let once = || {
            let file = folder.join(format!("{ONCE}{}", process.name()));
            session_of(&file).filter(|_| !process.is_shell())
        };
        let session = session_of(&folder.join(process.name())).or_else(once)?;
        Some(AgentAbove { pid: process.pid, name: process.command(), session })
    })
}

/// Whether daemons of these state folders have recorded agents in other namespaces than that of this process, so that it does
/// not see what stands above it.
#[must_use]
pub fn are_elsewhere(states: &[&Path]) -> bool {
    let records =
        states.iter().flat_map(|state| fs::read_dir(state.join(FOLDER)).into_iter().flatten().flatten());
    let mut records = records.filter(|record| record.file_name() != GIVEN);
    records.any(|record| Record::of(&record.path()).is_some_and(|record| record.is_elsewhere))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::parent_id;
    use std::process::{Command, Stdio};

    use lineside::json;

    use super::record::BOOT;
    use super::*;

    impl Guarded {
        /// Two calls of this session came from this process.
        fn note_agent(&self, process: Process, session: &str) {
            for _ in 0..2 {
                self.note(process, session, true);
            }
        }
    }

    #[test]
    fn a_process_below_an_agent_is_known_without_a_daemon_until_the_agent_has_ended() {
        let state = tempfile::tempdir().unwrap();
        let above = || agent_above(std::process::id(), &[state.path()]);
        let guarded = Guarded::of(state.path());
        assert_eq!(above(), None);
        let parent = Process::of(parent_id()).unwrap();
        guarded.note_agent(parent, "s1");
        let found = above().unwrap();
        assert_eq!((found.pid, &*found.session), (parent.pid, "s1"));
        assert!(found.refusal().contains("a person does it"));
        drop(guarded);
        let again = Guarded::of(state.path());
        assert!(again.is_recorded(parent));
        assert_eq!(again.holder("s1"), Some(parent));
        let record = state.path().join(FOLDER).join(parent.name());
        fs::write(&record, "of another start of the machine").unwrap();
        assert_eq!(above(), None);
        assert!(Guarded::of(state.path()).kept.into_inner().unwrap().recorded.is_empty() && !record.exists());
    }

    #[test]
    fn the_sessions_of_a_process_and_their_projects_are_known_after_a_restart() {
        let state = tempfile::tempdir().unwrap();
        let process = Process::of(parent_id()).unwrap();
        let guarded = Guarded::of(state.path());
        let roots = |of: &[&str]| of.iter().copied().map(str::to_owned).collect::<Vec<_>>();
        guarded.note_projects(process, "s1", roots(&["/not recorded"]));
        for session in ["s1", "[\n", "ended"] {
            guarded.note_agent(process, session);
        }
        guarded.note_projects(process, "s1", roots(&["/a", "/b\n"]));
        guarded.note_projects(process, "s1", roots(&["/b\n", "/c"]));
        guarded.note_ended(process, "ended");
        let held = || json::from_str::<Holds>(r#"{"turn": "held\n"}"#).ok();
        guarded.note(process, "once", true);
        for session in ["s1", "once", "unknown"] {
            guarded.note_holds(process, session, held);
            guarded.note_holds(process, session, || None);
        }
        let of_another = Had::of_line(r#"["s1", false, [], {"subagents": [{"later": 1}]}]"#);
        assert_eq!((&*of_another.session, of_another.holds), ("s1", Some(Holds::unknown())));
        let again = Guarded::of(state.path());
        assert_eq!(
            ["s1", "once", "[\n", "unknown"].map(|id| again.holds(process, id).is_some()),
            [true, true, false, false]
        );
        again.note(process, "once", true);
        again.note_holds(process, "s1", || Some(Holds::default()));
        let again = Guarded::of(state.path());
        assert_eq!((again.holds(process, "once"), again.holds(process, "s1")), (held(), None));
        assert_eq!(again.projects(process, "s1"), ["/a", "/b\n", "/c"].map(PathBuf::from));
        assert_eq!(
            ["s1", "[\n", "ended", "s2"].map(|id| again.holder(id).is_some()),
            [true, true, false, false]
        );
        again.note_agent(process, "ended");
        assert_eq!(again.holder("ended"), Some(process));
        (0..2 * SESSIONS).for_each(|number| again.note_agent(process, &number.to_string()));
        assert_eq!(again.kept().recorded[&process].len(), SESSIONS);
        assert_eq!(again.holder("s1"), Some(process), "it goes on, whatever else its agent opens");
        assert_eq!(again.projects(process, "s1").len(), 3);
        // What was being written when the machine stopped is that of no process.
        fs::write(state.path().join(FOLDER).join(format!("{UNFINISHED}{}", process.name())), "").unwrap();
        assert_eq!(Guarded::of(state.path()).kept().recorded[&process].len(), SESSIONS);
        assert_eq!(fs::read_dir(state.path().join(FOLDER)).unwrap().count(), 1);
    }

    #[test]
    fn an_agent_that_was_recorded_in_other_namespaces_may_stand_above_unseen() {
        let state = tempfile::tempdir().unwrap();
        let guarded = Guarded::of(state.path());
        let own = Process::of(std::process::id()).unwrap();
        guarded.note_agent(own, "s1");
        assert!(!are_elsewhere(&[state.path()]));
        let record = state.path().join(FOLDER).join(own.name());
        fs::write(&record, format!("{}pid:[1] user:[2]\ns1", *BOOT)).unwrap();
        assert!(are_elsewhere(&[state.path()]));
        assert!(Guarded::of(state.path()).kept().recorded.is_empty() && record.exists());
        // As earlier versions wrote it.
        fs::write(&record, format!("{}s1", *BOOT)).unwrap();
        assert!(!are_elsewhere(&[state.path()]) && Guarded::of(state.path()).is_recorded(own));
    }

    #[test]
    fn what_could_not_be_written_down_is_once_it_can_be_and_half_of_a_record_is_one() {
        let state = tempfile::tempdir().unwrap();
        let above = || agent_above(std::process::id(), &[state.path()]);
        let parent = Process::of(parent_id()).unwrap();
        let guarded = Guarded::of(state.path());
        // What stands in the place of the folder keeps it from being made.
        fs::write(state.path().join(FOLDER), "").unwrap();
        guarded.note_agent(parent, "s1");
        guarded.catch_up();
        assert_eq!(above(), None);
        fs::remove_file(state.path().join(FOLDER)).unwrap();
        guarded.catch_up();
        assert_eq!(above().unwrap().session, "s1");
        assert!(guarded.kept().unwritten.is_empty());
        // As a full disk leaves it: with a name, and without what was to stand there.
        let record = state.path().join(FOLDER).join(parent.name());
        for length in [0, BOOT.len() / 2] {
            fs::write(&record, &BOOT[..length]).unwrap();
            assert_eq!(above().unwrap().pid, parent.pid);
            assert!(Guarded::of(state.path()).is_recorded(parent) && record.exists());
        }
    }

    #[test]
    fn a_first_call_counts_though_its_session_or_the_daemon_ends_and_one_of_each_session_until_there_are_many()
     {
        let state = tempfile::tempdir().unwrap();
        let above = || agent_above(std::process::id(), &[state.path()]);
        let parent = Process::of(parent_id()).unwrap();
        Guarded::of(state.path()).note(parent, "s1", false);
        Guarded::of(state.path()).note(parent, "s2", true);
        assert_eq!(above().unwrap().session, "s2", "the last one that goes on");
        assert!(!Guarded::of(state.path()).is_settled(parent, "s1"));
        Guarded::of(state.path()).note(parent, "s1", true);
        assert_eq!(above().unwrap().session, "s1");
        let again = Guarded::of(state.path());
        assert!(again.is_settled(parent, "s1") && !again.is_settled(parent, "s2"));
        // A call that finds its session ended does not have it go on.
        again.note_ended(parent, "s1");
        again.note(parent, "s1", false);
        assert_eq!(again.holder("s1"), None);
        let own = Process::of(std::process::id()).unwrap();
        for number in 0..=SESSIONS {
            again.note(own, &number.to_string(), true);
        }
        assert!(again.is_recorded(own), "no program that runs around a single call has as many");
    }

    #[test]
    fn a_shell_in_which_the_command_of_an_entry_was_tried_once_is_no_agent_but_what_it_leaves_may_be_ones() {
        let state = tempfile::tempdir().unwrap();
        let guarded = Guarded::of(state.path());
        let mut shell =
            Command::new("/bin/sh").args(["-c", "read line"]).stdin(Stdio::piped()).spawn().unwrap();
        let process = Process::of(shell.id()).unwrap();
        // As soon as it runs the shell, and not what has started it.
        while !process.is_shell() {
            std::thread::yield_now();
        }
        guarded.note(process, "s1", true);
        assert_eq!(guarded.among(&[process]), None);
        assert!(guarded.has_living() && guarded.living().iter().all(|agent| agent.process == process));
        guarded.note(process, "s1", true);
        assert_eq!(guarded.among(&[process]).unwrap().session, "s1");
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(!guarded.has_living());
    }

    #[test]
    fn marks_of_processes_that_have_ended_go_however_many_there_were() {
        let state = tempfile::tempdir().unwrap();
        let guarded = Guarded::of(state.path());
        let own = Process::of(std::process::id()).unwrap();
        let mark = Mark::numbered(1_717);
        for number in 0..10_000 {
            let ended = Process { started: own.started + 1 + number, ..own };
            // Of every other one a single call has come.
            for call in 0..=number % 2 {
                guarded.note(ended, &format!("s{call}"), true);
            }
            guarded.note_mark(ended, mark);
        }
        let files = fs::read_dir(state.path().join(FOLDER)).unwrap().count();
        let kept = guarded.kept().marks.len();
        assert!(kept <= 4 * MANY && files <= 8 * MANY, "{kept} marks, {files} files");
    }

    #[test]
    fn records_of_processes_that_have_ended_go_when_there_are_many() {
        let state = tempfile::tempdir().unwrap();
        let guarded = Guarded::of(state.path());
        let living = Process::of(std::process::id()).unwrap();
        guarded.note_agent(living, "s");
        for number in 1..1_000_u32 {
            let ended = Process::named(&format!("{}-{number}", living.pid)).unwrap();
            guarded.note_agent(ended, "s");
            assert!(fs::read_dir(state.path().join(FOLDER)).unwrap().count() <= MANY + 1);
        }
        assert!(guarded.is_recorded(living));
    }
}
