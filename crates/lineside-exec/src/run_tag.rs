//! The tag of a run, by which its processes are known wherever they go.
//!
//! It is set twice, and both are inherited by child processes, whatever session, group or parent one has
//! since. One is a variable in the environment. It is there from the first moment, names the program that made it, and
//! is lost by a process that is started with another environment or writes over its own; a run within a run has both
//! tags there.
//! The other is a number in a limit of resources that Linux keeps and does not use (`RLIMIT_LOCKS`, the soft one). It
//! is there from right after the start, it is not lost by accident, and it can still be read of a process that has
//! exited.
//! [`crate::escaped`] decides what happens to tagged processes.

use std::ffi::OsString;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use lineside_core::invocation::Leftovers;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

use crate::environment;
use crate::procfs::{self, Entry};

/// The variable.
pub(crate) const NAME: &str = "LINESIDE_RUN";
/// The longest environment that is read; the kernel takes no longer one.
const LONGEST: u64 = 8 << 20;
/// In the place of [`Leftovers::Kill`] and of [`Leftovers::Leave`] in a tag.
const KILL: char = 'k';
const LEAVE: char = 'l';

/// The prefix of this program's tags: the program, by its number and its start, where such numbers mean it, and
/// something random.
static OURS: LazyLock<String> = LazyLock::new(|| {
    let pid = i32::try_from(std::process::id()).unwrap_or_default();
    let started = Entry::of(pid).map_or(0, |entry| entry.started);
    let random = RandomState::new().hash_one(pid);
    format!("{pid}-{started}-{space}.{random:016x}", space = procfs::space())
});
static RUNS: AtomicU64 = AtomicU64::new(1);

/// What the numbers of this program begin with.
static NUMBERS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one("lineside") >> 2 & !RUN);
/// The bits of a number in which runs differ.
const RUN: u64 = (1 << 20) - 1;

/// The tag of one run.
#[derive(Debug, Clone)]
pub(crate) struct RunTag {
    text: String,
    number: u64,
}

/// Whether a process has a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TagMatch {
    /// It has.
    Yes,
    /// It has not, or does not exist, or may not be read.
    No,
    /// It has no environment at all. A process that is just becoming another program has none for a moment.
    Unclear,
}

impl RunTag {
    /// A new tag.
    pub(crate) fn new(leftovers: Leftovers) -> Self {
        let kind = match leftovers {
            Leftovers::Kill => KILL,
            Leftovers::Leave => LEAVE,
        };
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        Self { text: format!("{}-{kind}{run}", *OURS), number: *NUMBERS | run & RUN }
    }

    /// Tags a child whose status is not taken, and whatever it starts from now on.
    pub(crate) fn apply_to(&self, leader: Pid) {
        let Rlimit { maximum, .. } = getrlimit(Resource::Locks);
        // It has exited already, or this limit is bounded: then the environment has to do.
        let _environment =
            prlimit(Some(leader), Resource::Locks, Rlimit { current: Some(self.number), maximum });
    }

    /// The value of the variable: the tag of this process, if it is within a run itself, then this one.
    pub(crate) fn value(&self) -> OsString {
        match environment::our_tag() {
            Some(outer) => {
                let mut value = outer.into_vec();
                value.push(b':');
                value.extend(self.text.as_bytes());
                OsString::from_vec(value)
            }
            None => OsString::from(&self.text),
        }
    }

    /// The tag as text, in which nothing needs quoting.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether this process has it.
    pub(crate) fn matches_process(&self, pid: i32) -> TagMatch {
        match limits(pid) {
            // Most numbers given on a busy machine are of processes that are gone.
            None => TagMatch::No,
            Some(limits) if number(&limits) == Some(self.number) => TagMatch::Yes,
            Some(_) => match_tag(pid, |tag| tag == self.text.as_bytes()),
        }
    }

    /// Whether this process, which may have exited, has its number.
    pub(crate) fn is_number_of(&self, pid: i32) -> bool {
        limits(pid).and_then(|limits| number(&limits)) == Some(self.number)
    }
}

/// The limits of a process as the kernel shows them; `None` when there is no such process.
fn limits(pid: i32) -> Option<String> {
    procfs::short(&format!("/proc/{pid}/limits"))
}

/// The number in the limits of a process as the kernel shows them.
fn number(limits: &str) -> Option<u64> {
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max file locks"))?;
    limit.split_ascii_whitespace().next()?.parse().ok()
}

/// Whether this process has the tag of a run whose leftovers were to be killed, of a program that is gone.
///
/// A forged tag harms only the process that has it: that one is ended, not the one that the tag names.
/// Of a program within a container, or around ours, it cannot be said from here whether it is gone. A run that we are
/// within is not over, whatever has become of its program.
pub(crate) fn is_orphaned(pid: i32) -> bool {
    let outer = environment::our_tag().unwrap_or_default();
    match_tag(pid, |tag| is_over(tag, outer.as_bytes())) == TagMatch::Yes
}

/// Whether the program of a tag is gone, and this process is not within its run; `ours` are the tags of this process.
fn is_over(tag: &[u8], ours: &[u8]) -> bool {
    let is_ours = ours.split(|byte| *byte == b':').any(|ours| ours == tag);
    let is_gone = |owner: Owner| owner.space == procfs::space() && !runs(owner.pid, owner.started);
    !is_ours && owner(tag).is_some_and(is_gone)
}

/// The program that made a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Owner {
    pid: i32,
    started: u64,
    /// Where its number means it.
    space: u64,
}

fn runs(pid: i32, started: u64) -> bool {
    Entry::of(pid).is_some_and(|entry| entry.started == started && !entry.dead)
}

/// The program that made a tag, if what it leaves is to be killed.
fn owner(tag: &[u8]) -> Option<Owner> {
    let mut parts = std::str::from_utf8(tag).ok()?.split('-');
    let (pid, started) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let (space, _random) = parts.next()?.split_once('.')?;
    parts.next()?.starts_with(KILL).then_some(Owner { pid, started, space: space.parse().ok()? })
}

fn match_tag(pid: i32, is_it: impl Fn(&[u8]) -> bool) -> TagMatch {
    // With room for the usual one, which is then read at once.
    let mut environment = Vec::with_capacity(8 << 10);
    let Ok(file) = File::open(format!("/proc/{pid}/environ")) else {
        return TagMatch::No;
    };
    match file.take(LONGEST).read_to_end(&mut environment) {
        Ok(0) => TagMatch::Unclear,
        Ok(_) if tags(&environment).any(is_it) => TagMatch::Yes,
        Ok(_) | Err(_) => TagMatch::No,
    }
}

/// The tags in an environment as the kernel shows it.
fn tags(environment: &[u8]) -> impl Iterator<Item = &[u8]> {
    let values = environment
        .split(|byte| *byte == 0)
        .filter_map(|variable| variable.strip_prefix(NAME.as_bytes())?.strip_prefix(b"="));
    values.flat_map(|value| value.split(|byte| *byte == b':'))
}

/// What is random enough to keep two programs apart that have the same number.
pub(crate) fn ours() -> &'static str {
    &OURS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_have_two_tags() {
        let [one, two] = [RunTag::new(Leftovers::Kill), RunTag::new(Leftovers::Kill)];
        assert_ne!(one.as_str(), two.as_str());
        assert!(one.value().as_bytes().ends_with(one.as_str().as_bytes()));
    }

    #[test]
    fn a_number_is_read_of_limits() {
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax file locks   7  unlimited   locks\n";
        assert_eq!(number(limits), Some(7));
        assert_eq!(number(&limits.replace('7', "unlimited")), None);
        assert_eq!(number(""), None);
        let [one, two] = [RunTag::new(Leftovers::Kill), RunTag::new(Leftovers::Leave)];
        assert_ne!(one.number, two.number);
    }

    #[test]
    fn a_run_within_a_run_has_both_tags() {
        let environment = b"A=LINESIDE_RUN=x\0LINESIDE_RUN=outer:inner\0XLINESIDE_RUN=y\0";
        let found: Vec<_> = tags(environment).collect();
        assert_eq!(found, [b"outer", b"inner"]);
    }

    #[test]
    fn p07_only_a_tag_of_a_gone_program_whose_leftovers_were_to_end_is_orphaned() {
        let own = i32::try_from(std::process::id()).unwrap();
        let started = Entry::of(own).unwrap().started;
        assert_eq!(owner(b"7-8-9.x-k1"), Some(Owner { pid: 7, started: 8, space: 9 }));
        let forged = ["7-8-9.x-l1", "7-8-9.x", "7-8-x-k1", "7-8-s.x-k1", "seven-8-9.x-k1", ""];
        for forged in forged.map(str::as_bytes).into_iter().chain([b"\xff".as_slice()]) {
            assert_eq!(owner(forged), None);
        }
        assert!(runs(own, started));
        assert!(!runs(own, started + 1), "another program of the same number");
        assert!(!is_orphaned(own));
        let tag = |started, space| format!("{own}-{started}-{space}.0-k1");
        let (gone, space) = (started + 1, procfs::space());
        let is_over = |tag: String, ours: &str| is_over(tag.as_bytes(), ours.as_bytes());
        assert!(is_over(tag(gone, space), "another:one"));
        assert!(!is_over(tag(started, space), ""), "it runs");
        assert!(
            !is_over(tag(gone, space + 1), ""),
            "whether one in another container is gone is not seen from here"
        );
        assert!(!is_over(tag(gone, space), &format!("outer:{}", tag(gone, space))), "we are within it");
    }
}
