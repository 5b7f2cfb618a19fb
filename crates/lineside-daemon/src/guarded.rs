//! Which processes are those of agents, written down in the state folder: what stands below one of them takes off no guard,
//! with the daemon dead as well, and after a restart.
//!
//! A process is recorded when a second call of a session comes from it, and for as long as it lives, also where its
//! session has ended: the end of a session is an event that a program below can send. What the daemon remembers beside that
//! is for `agents`.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crate::lineage::{Lineage, Process};
pub use crate::orphans::ORPHAN;
use crate::orphans::is_orphan;

/// The folder within the state folder.
const FOLDER: &str = "agents";
/// From how many records on those of processes that have ended are looked for.
const MANY: usize = 64;

/// What sets this start of the machine apart from others, in which another process may have the number and the start.
static BOOT: LazyLock<String> =
    LazyLock::new(|| fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default());

/// The numbers of processes and the users that this process sees, where the system says so: those of others may differ.
static NAMESPACES: LazyLock<String> = LazyLock::new(|| {
    let named = ["pid", "user"].map(|kind| fs::read_link(format!("/proc/self/ns/{kind}")));
    match named {
        [Ok(pid), Ok(user)] => format!("{} {}\n", pid.display(), user.display()),
        _ => String::new(),
    }
});

/// The records of a daemon.
pub(crate) struct Guarded {
    folder: PathBuf,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    recorded: HashSet<Process>,
    /// Those that could not be written down, with their sessions: as on a full disk.
    unwritten: HashMap<Process, String>,
    /// How many were left when those that have ended were last looked for.
    left: usize,
}

/// The process of an agent above another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentAbove {
    /// Its number.
    pub pid: u32,
    /// The name that the system has of it.
    pub name: String,
    /// A session of its agent.
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
        let living = fs::read_dir(&guarded.folder).into_iter().flatten().filter_map(|entry| {
            let path = entry.ok()?.path();
            let process = Process::named(path.file_name()?.to_str()?)?;
            let record = Record::of(&path);
            let is_living = process.is_alive() && record.as_ref().is_some_and(|record| !record.is_elsewhere);
            if !is_living && !record.is_some_and(|record| record.is_elsewhere) {
                fs::remove_file(&path).ok();
            }
            is_living.then_some(process)
        });
        let recorded: HashSet<_> = living.collect();
        let left = recorded.len();
        *guarded.kept() = Kept { recorded, left, ..Kept::default() };
        guarded
    }

    /// Writes down that this process is that of the agent of a session.
    pub(crate) fn note(&self, process: Process, session: &str) {
        let mut kept = self.kept();
        if !kept.recorded.insert(process) {
            return;
        }
        if let Err(error) = self.write(process, session) {
            tracing::warn!(%error, folder = %self.folder.display(), "the process of an agent is not recorded so far");
            kept.unwritten.insert(process, session.to_owned());
        }
        if kept.recorded.len() >= MANY.max(2 * kept.left) {
            kept.recorded.retain(|process| {
                let is_alive = process.is_alive();
                if !is_alive {
                    fs::remove_file(self.folder.join(process.name())).ok();
                }
                is_alive
            });
            kept.left = kept.recorded.len();
        }
    }

    /// Writes down what could not be before, as far as it can be by now.
    pub(crate) fn catch_up(&self) {
        let mut kept = self.kept();
        kept.unwritten
            .retain(|process, session| process.is_alive() && self.write(*process, session).is_err());
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, process: Process, session: &str) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let path = self.folder.join(process.name());
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        write!(file, "{}{}{session}", *BOOT, *NAMESPACES)
    }

    /// Whether a process is recorded, as far as this daemon remembers.
    pub(crate) fn is_recorded(&self, process: Process) -> bool {
        self.kept().recorded.contains(&process)
    }

    /// Whether a process that is recorded is there still.
    pub(crate) fn has_living(&self) -> bool {
        self.kept().recorded.iter().any(|process| process.is_alive())
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

/// Whether a process of this machine is an orphan, so that it is not known what has started it, while agents run that daemons
/// of these state folders have recorded.
#[must_use]
pub fn may_be_of_an_agent(pid: u32, states: &[&Path]) -> bool {
    let is_alive = |name: &str| Process::named(name).is_some_and(Process::is_alive);
    let records =
        states.iter().flat_map(|state| fs::read_dir(state.join(FOLDER)).into_iter().flatten().flatten());
    let mut records = records.filter_map(|record| record.file_name().into_string().ok());
    records.any(|name| is_alive(&name)) && is_orphan(&Lineage::default().whole(pid))
}

fn nearest(folder: &Path, line: &[Process]) -> Option<AgentAbove> {
    line.iter().find_map(|process| {
        let session = session_of(&folder.join(process.name()))?;
        Some(AgentAbove { pid: process.pid, name: process.command(), session })
    })
}

/// Whether daemons of these state folders have recorded agents in other namespaces than that of this process, so that it does
/// not see what stands above it.
#[must_use]
pub fn are_elsewhere(states: &[&Path]) -> bool {
    let records =
        states.iter().flat_map(|state| fs::read_dir(state.join(FOLDER)).into_iter().flatten().flatten());
    records.filter_map(|record| Record::of(&record.path())).any(|record| record.is_elsewhere)
}

/// What is written down of a process.
struct Record {
    session: String,
    is_elsewhere: bool,
}

impl Record {
    /// That of this start of the machine. One that a full disk has cut off counts, and names no session.
    fn of(file: &Path) -> Option<Self> {
        let text = fs::read(file).ok()?;
        if BOOT.as_bytes().starts_with(&text) {
            return Some(Self { session: String::new(), is_elsewhere: false });
        }
        let text = String::from_utf8_lossy(text.strip_prefix(BOOT.as_bytes())?).into_owned();
        match text.split_once('\n').filter(|(namespaces, _)| namespaces.starts_with("pid:[")) {
            Some((namespaces, session)) => {
                let is_elsewhere = NAMESPACES.trim_end() != namespaces;
                Some(Self { session: session.to_owned(), is_elsewhere })
            }
            None => Some(Self { session: text, is_elsewhere: false }),
        }
    }
}

/// The session of a record whose process can be looked for here.
fn session_of(file: &Path) -> Option<String> {
    Record::of(file).filter(|record| !record.is_elsewhere).map(|record| record.session)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::parent_id;

    use super::*;

    #[test]
    fn a_process_below_an_agent_is_known_without_a_daemon_until_the_agent_has_ended() {
        let state = tempfile::tempdir().unwrap();
        let above = || agent_above(std::process::id(), &[state.path()]);
        let guarded = Guarded::of(state.path());
        assert_eq!(above(), None);
        let parent = Process::of(parent_id()).unwrap();
        guarded.note(parent, "s1");
        let found = above().unwrap();
        assert_eq!((found.pid, &*found.session), (parent.pid, "s1"));
        assert!(found.refusal().contains("a person does it"));
        drop(guarded);
        assert_eq!(Guarded::of(state.path()).kept.into_inner().unwrap().recorded, HashSet::from([parent]));
        let record = state.path().join(FOLDER).join(parent.name());
        fs::write(&record, "of another start of the machine").unwrap();
        assert_eq!(above(), None);
        assert!(Guarded::of(state.path()).kept.into_inner().unwrap().recorded.is_empty() && !record.exists());
    }

    #[test]
    fn an_agent_that_was_recorded_in_other_namespaces_may_stand_above_unseen() {
        let state = tempfile::tempdir().unwrap();
        let guarded = Guarded::of(state.path());
        let own = Process::of(std::process::id()).unwrap();
        guarded.note(own, "s1");
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
        guarded.note(parent, "s1");
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
    fn records_of_processes_that_have_ended_go_when_there_are_many() {
        let state = tempfile::tempdir().unwrap();
        let guarded = Guarded::of(state.path());
        let living = Process::of(std::process::id()).unwrap();
        guarded.note(living, "s");
        for number in 1..1_000_u32 {
            let ended = Process::named(&format!("{}-{number}", living.pid)).unwrap();
            guarded.note(ended, "s");
            assert!(fs::read_dir(state.path().join(FOLDER)).unwrap().count() <= MANY + 1);
        }
        assert!(guarded.kept.lock().unwrap().recorded.contains(&living));
    }
}
