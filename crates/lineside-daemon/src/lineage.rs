//! The processes above a caller, as `/proc` has them, and as it had them: a process keeps the ancestors that it was seen
//! with, so that one whose parent has ended since is still known to come from there.
//!
//! A process is its number and its start. Whose session a process has is for `agents`.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lineside_account::Mark;

/// How many ancestors are looked at. A line of processes is hardly ever longer than 20; what is below so many is let do
/// nothing.
pub(crate) const DEEPEST: usize = 256;
/// How many processes are remembered in each of two generations; 64 bytes each.
const MOST: usize = 4_096;

/// Where orphans go beside the first process, of which these are children: the parent of an orphan has ended, and these
/// are no agents. A process may have any name, and becomes a child of the first one only as an orphan.
const REAPERS: [&str; 2] = ["systemd", "init"];
/// Shells, which stand between an agent and the command of its entry: programs of the system, since any other program may
/// have their names.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox"];

/// What the system says where a process has ended while it is read.
const NO_SUCH_PROCESS: i32 = 3;

/// Where programs of the system are.
const PLACES: [&str; 4] = ["/bin", "/usr", "/nix/store", "/gnu/store"];

/// A process: no other one has both its number and its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// In ticks since the machine was started.
    pub(crate) started: u64,
}

/// Who was whose parent when it was seen first.
#[derive(Default)]
pub(crate) struct Lineage(Mutex<Generations>);

/// A process that is met goes to the younger generation; a full one becomes the older one, and that is forgotten.
#[derive(Default)]
struct Generations {
    young: HashMap<Process, Option<Process>>,
    old: HashMap<Process, Option<Process>>,
}

impl Generations {
    fn parent(&mut self, child: Process) -> Option<Option<Process>> {
        if let Some(parent) = self.young.get(&child) {
            return Some(*parent);
        }
        let parent = self.old.remove(&child)?;
        self.keep(child, parent);
        Some(parent)
    }

    fn keep(&mut self, child: Process, parent: Option<Process>) {
        if self.young.len() >= MOST {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(child, parent);
    }
}

impl Lineage {
    /// The process and those above it, the nearest first; empty when it has ended. It ends below this process: what the
    /// daemon has started comes from no agent.
    pub(crate) fn of(&self, process: Process) -> Vec<Process> {
        let line = self.seen(process.pid, Stat::of);
        if line.first() == Some(&process) { line } else { Vec::new() }
    }

    /// Remembers of a process too, and not of those above it alone, what it was seen below.
    pub(crate) fn remember(&self, process: Process) {
        if let [process, above, ..] = &*self.of(process) {
            self.generations().keep(*process, Some(*above));
        }
    }

    /// The same up to the first process of the system, for a process that is no daemon.
    pub(crate) fn whole(&self, pid: u32) -> Vec<Process> {
        self.line(pid, 0, Stat::of)
    }

    fn seen(&self, pid: u32, look: impl Fn(u32) -> Option<Stat>) -> Vec<Process> {
        self.line(pid, std::process::id(), look)
    }

    fn line(&self, pid: u32, last: u32, look: impl Fn(u32) -> Option<Stat>) -> Vec<Process> {
        let mut line = Vec::new();
        let mut found = look(pid);
        let mut next = found.as_ref().map(|stat| stat.process);
        while let Some(process) = next.filter(|next| next.pid != last && line.len() < DEEPEST) {
            line.push(process);
            let known = self.generations().parent(process);
            if let Some(known) = known {
                (next, found) = (known, None);
                continue;
            }
            let stat = found.or_else(|| look(process.pid)).filter(|stat| stat.process == process);
            let Some(Stat { parent, .. }) = stat else { break };
            let above = look(parent);
            // That a parent could not be read does not say that there is none.
            let is_certain = above.is_some() || parent == 0;
            // One that has started later has its number from the parent, which has ended meanwhile.
            found = above.filter(|above| above.process.started <= process.started);
            next = found.as_ref().map(|above| above.process);
            // The first is a caller, which hardly ever comes again.
            if line.len() > 1 && is_certain {
                self.generations().keep(process, next.filter(|above| above.pid != last));
            }
        }
        line
    }

    fn generations(&self) -> MutexGuard<'_, Generations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Process {
    /// The process that has this number now.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        Stat::of(pid).map(|stat| stat.process)
    }

    /// Whether it is this one.
    pub(crate) fn is_own(self) -> bool {
        self.pid == std::process::id()
    }

    /// Where it works, as the system sees it now.
    pub(crate) fn works_in(self) -> Option<PathBuf> {
        let folder = fs::read_link(format!("/proc/{}/cwd", self.pid)).ok()?;
        self.is_there().then_some(folder)
    }

    /// Whether it has its number still.
    pub(crate) fn is_there(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Whether it asks: others may have the connection of one that has ended.
    pub(crate) fn is_caller(self, peer: Option<Self>) -> bool {
        peer == Some(self) && self.is_there()
    }

    /// It as the name of a file.
    pub(crate) fn name(self) -> String {
        format!("{}-{}", self.pid, self.started)
    }

    /// The process with this name of a file.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let (pid, started) = name.split_once('-')?;
        Some(Self { pid: pid.parse().ok()?, started: started.parse().ok()? })
    }

    /// What the system calls it, which a process may choose.
    pub(crate) fn command(self) -> String {
        Stat::of_process(self).map(|stat| stat.name).unwrap_or_default()
    }

    /// Whether both run the same program, so that they can be parts of one that has several processes.
    pub(crate) fn is_as(self, other: Option<&Self>) -> bool {
        let program = |process: &Self| fs::metadata(format!("/proc/{}/exe", process.pid)).ok();
        let place = |process| program(process).map(|found| (found.dev(), found.ino()));
        place(&self).is_some_and(|own| other.and_then(place) == Some(own))
    }

    /// Whether it is there, and has not exited. One that cannot be read now, for want of descriptors say, has not ended for
    /// that.
    pub(crate) fn is_alive(self) -> bool {
        self.is_alive_by(Stat::look(self.pid))
    }

    fn is_alive_by(self, found: io::Result<Stat>) -> bool {
        match found {
            Ok(stat) => stat.process == self && !stat.has_exited,
            Err(error) => !is_end(&error),
        }
    }

    /// Whether it can be an agent, and is no shell that has started the command of an entry. In the shell of a terminal a person
    /// types, and what has started that serves all of their terminals.
    pub(crate) fn may_be_an_agent(self) -> bool {
        let is_other = |stat: &Stat| stat.begins_terminal() || !self.is_shell();
        Stat::of(self.pid).is_some_and(|stat| !stat.is_reaper() && is_other(&stat))
    }

    pub(crate) fn is_shell(self) -> bool {
        self.is_of_system(&SHELLS) == Some(true)
    }

    /// Whether it runs one of these programs of the system, by its file and not by what it calls itself; `None` where that is
    /// not shown.
    fn is_of_system(self, names: &[&str]) -> Option<bool> {
        let link = format!("/proc/{}/exe", self.pid);
        let program = fs::read_link(&link).ok()?;
        let is_one = program.file_name().is_some_and(|file| names.iter().any(|name| file == *name));
        let is_there = PLACES.iter().any(|folder| program.starts_with(folder));
        let is_kept = || fs::metadata(&link).is_ok_and(|found| found.uid() == 0 && found.mode() & 0o022 == 0);
        Some(is_one && is_there && is_kept())
    }

    /// Marks it and what it has started so far: what any of them starts from now on bears the mark. Gives its own.
    pub(crate) fn mark(self) -> Option<Mark> {
        // Another daemon may have marked it, and not what is above it.
        let parent = Stat::of_process(self)?.parent;
        let own = Mark::of(self.pid).filter(|mark| !mark.is_on(parent));
        let mark = own.or_else(|| Mark::put_on(self.pid))?;
        let (mut reached, mut next) = (HashSet::from([self.pid]), started_by(self.pid));
        while let Some(pid) = next.pop().filter(|_| reached.len() < MOST) {
            if reached.insert(pid) && mark.reach(pid) {
                next.extend(started_by(pid));
            }
        }
        Some(mark)
    }

    /// Whether this process has started it, with that among its variables.
    pub(crate) fn was_given(self, variable: &[u8]) -> bool {
        let variables = || fs::read(format!("/proc/{}/environ", self.pid)).unwrap_or_default();
        self.is_own_child() && variables().split(|byte| *byte == 0).any(|given| given == variable)
    }

    /// Whether this process has started it.
    pub(crate) fn is_own_child(self) -> bool {
        Stat::of_process(self).is_some_and(|stat| stat.parent == std::process::id())
    }

    /// Whether it is the command of an entry: `lineside hook HOST`, under whatever name.
    pub(crate) fn is_hook_command(self) -> bool {
        let arguments = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        arguments.split(|byte| *byte == 0).nth(1) == Some(b"hook")
    }
}

/// The children of a process, where the system shows them.
fn started_by(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let children = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    children.flat_map(|all| all.split(' ').filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

/// Whether what is said of a process could not be read because there is no such process.
pub(crate) fn is_end(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(NO_SUCH_PROCESS)
}

/// What `/proc/PID/stat` says of a process.
#[derive(Debug, Clone)]
pub(crate) struct Stat {
    pub(crate) process: Process,
    pub(crate) parent: u32,
    /// The process that is the first of its session, and 0 where that is not shown.
    pub(crate) first: u32,
    /// Whether its session has a terminal.
    pub(crate) has_terminal: bool,
    pub(crate) name: String,
    pub(crate) has_exited: bool,
}

impl Stat {
    /// What is said of a process, if it is that one still.
    pub(crate) fn of_process(process: Process) -> Option<Self> {
        Self::of(process.pid).filter(|stat| stat.process == process)
    }

    /// Whether orphans become its children. What it calls itself does not suffice; but one of another account's rights does
    /// not show its file.
    pub(crate) fn is_reaper(&self) -> bool {
        let is_named = || self.parent <= 1 && REAPERS.contains(&&*self.name);
        self.process.pid <= 1 || is_named() && self.process.is_of_system(&REAPERS).unwrap_or(true)
    }

    /// Whether it is the first process of a terminal, as the shell in it is.
    pub(crate) fn begins_terminal(&self) -> bool {
        self.has_terminal && self.first == self.process.pid
    }

    pub(crate) fn of(pid: u32) -> Option<Self> {
        Self::look(pid).ok()
    }

    fn look(pid: u32) -> io::Result<Self> {
        // The kernel gives it in one piece, which is shorter than this.
        let mut page = [0; 1_024];
        let length = File::open(format!("/proc/{pid}/stat"))?.read(&mut page)?;
        let stat = String::from_utf8_lossy(page.get(..length).unwrap_or_default());
        Self::read(&stat).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    pub(crate) fn read(stat: &str) -> Option<Self> {
        let (pid, rest) = stat.split_once(" (")?;
        // The name may hold anything.
        let (name, fields) = rest.rsplit_once(") ")?;
        let mut fields = fields.split_ascii_whitespace();
        let has_exited = matches!(fields.next()?, "Z" | "X" | "x");
        let parent = fields.next()?.parse().ok()?;
        // Behind the number of its group.
        let first = fields.nth(1)?.parse().ok()?;
        let has_terminal = fields.next()? != "0";
        let started = fields.nth(14)?.parse().ok()?;
        Some(Self {
            process: Process { pid: pid.parse().ok()?, started },
            parent,
            first,
            has_terminal,
            name: name.to_owned(),
            has_exited,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_name_cannot_forge_the_fields() {
        let rest = "7 42 42 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 9001 0 0";
        let stat = Stat::read(&format!("8 (a) S 1 2) S {rest}")).unwrap();
        assert_eq!((stat.process, stat.parent), (Process { pid: 8, started: 9001 }, 7));
        assert_eq!((stat.first, stat.has_terminal), (42, false));
        assert_eq!((&*stat.name, stat.has_exited), ("a) S 1 2", false));
        assert!(Stat::read(&format!("8 (a) Z {rest}")).unwrap().has_exited);
        assert!(Stat::read("").is_none() && Stat::read("8 (a) S 1").is_none());
    }

    #[test]
    fn the_shell_of_a_terminal_may_be_an_agent_and_one_that_starts_a_command_may_not() {
        let says = "echo $$; read line";
        let begun = |program: &str, arguments: &[&str]| {
            let mut command = Command::new(program);
            command.args(arguments).env("SHELL", "/bin/sh").stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut line = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
            let process = Process::of(line.trim().parse().unwrap()).unwrap();
            let may_be = process.may_be_an_agent();
            drop(child.stdin.take());
            child.kill().ok();
            child.wait().unwrap();
            may_be
        };
        assert!(begun("script", &["--quiet", "--command", says, "/dev/null"]), "at a terminal");
        assert!(!begun("/bin/sh", &["-c", says]), "for an entry");
    }

    #[test]
    fn a_name_of_what_takes_orphans_is_not_enough() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("systemd");
        std::os::unix::fs::symlink("/bin/cat", &program).unwrap();
        let mut child = Command::new(&program).stdin(Stdio::piped()).spawn().unwrap();
        let process = Process::of(child.id()).unwrap();
        let named = Stat { parent: 1, name: "systemd".to_owned(), ..Stat::of(child.id()).unwrap() };
        assert_eq!(process.is_of_system(&["cat", "coreutils", "busybox"]), Some(true));
        assert!(!named.is_reaper());
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn a_process_is_known_by_its_number_and_its_start() {
        let mut child = Command::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = Stat::of(child.id()).unwrap().process;
        assert!(process.is_alive() && !Process { started: process.started + 1, ..process }.is_alive());
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(!process.is_alive());
    }

    #[test]
    fn a_process_that_cannot_be_read_has_not_ended_for_that() {
        let process = Process { pid: 8, started: 1 };
        let is_alive = |error: i32| process.is_alive_by(Err(io::Error::from_raw_os_error(error)));
        let (no_entry, too_many_files, no_memory, denied) = (2, 24, 12, 13);
        assert!(!is_alive(no_entry) && !is_alive(NO_SUCH_PROCESS));
        assert!([too_many_files, no_memory, denied].into_iter().all(is_alive));
    }

    #[test]
    fn the_line_of_what_this_process_has_started_ends_below_it() {
        let mut child = Command::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
        let line = Lineage::default().of(Process::of(child.id()).unwrap());
        assert_eq!(line.iter().map(|process| process.pid).collect::<Vec<_>>(), [child.id()]);
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn a_parent_that_could_not_be_read_is_read_again() {
        let stat = |pid| Stat {
            process: Process { pid, started: 1 },
            parent: pid - 1,
            first: 0,
            has_terminal: false,
            name: String::new(),
            has_exited: false,
        };
        let lineage = Lineage::default();
        let numbers = |line: Vec<Process>| line.iter().map(|process| process.pid).collect::<Vec<_>>();
        let hidden = |pid| (pid > 2).then(|| stat(pid));
        assert_eq!(numbers(lineage.seen(5, hidden)), [5, 4, 3]);
        assert_eq!(numbers(lineage.seen(5, |pid| (pid > 0).then(|| stat(pid)))), [5, 4, 3, 2, 1]);
        assert_eq!(numbers(lineage.seen(5, hidden)), [5, 4, 3, 2, 1], "what was seen is remembered");
    }

    #[test]
    fn ancestors_that_were_seen_are_remembered_within_a_bound() {
        let mut generations = Generations::default();
        let process = |pid| Process { pid, started: 1 };
        generations.keep(process(1), Some(process(0)));
        for pid in 2..20 * u32::try_from(MOST).unwrap() {
            generations.keep(process(pid), None);
            assert_eq!(generations.parent(process(1)), Some(Some(process(0))), "it is met again and again");
        }
        assert!(generations.young.len() + generations.old.len() <= 2 * MOST);
        assert_eq!(generations.parent(process(2)), None);
    }

    #[test]
    fn a_look_gives_the_same_ancestors_each_time_and_prints_what_it_costs() {
        let lineage = Lineage::default();
        let parent = Process::of(std::os::unix::process::parent_id()).unwrap();
        let (first, looks) = (lineage.of(parent), 2_000_u32);
        assert!(first.len() > 1 && first.len() <= DEEPEST + 2);
        let began = Instant::now();
        assert!((0..looks).all(|_| lineage.of(parent) == first));
        println!("{} processes, {:?} a look", first.len(), began.elapsed() / looks);
    }
}
