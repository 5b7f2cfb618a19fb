//! What `/proc` says of processes: who there is, who is whose, who has exited.
//!
//! Everything here may be out of date when it is read. Whose a process is, and what follows, is for others.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::time::Duration;

/// The flag of a thread of the kernel among the flags of a process.
const KERNEL: u64 = 0x0020_0000;

/// A process as `/proc` describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its number.
    pub(crate) pid: i32,
    /// Whether it has exited and waits for its parent to notice.
    pub(crate) dead: bool,
    /// Its parent.
    pub(crate) parent: i32,
    /// Its process group.
    pub(crate) group: i32,
    /// Whether it belongs to the kernel.
    pub(crate) kernel: bool,
    /// When it was started, in ticks since the machine was; with the number it is one process for certain.
    pub(crate) started: u64,
}

impl Entry {
    /// What there is to know of a process; nothing when there is none of this number.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        Self::read(&short(&format!("/proc/{pid}/stat"))?)
    }

    /// Reads a line of `/proc/<pid>/stat`.
    fn read(stat: &str) -> Option<Self> {
        let pid = stat.split_once(' ')?.0.parse().ok()?;
        // The name is in parentheses and may itself hold some.
        let (_, fields) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        let number = |nth: usize| fields.get(nth)?.parse::<u64>().ok();
        let small = |nth: usize| fields.get(nth)?.parse::<i32>().ok();
        Some(Self {
            pid,
            dead: matches!(*fields.first()?, "Z" | "X" | "x"),
            parent: small(1)?,
            group: small(2)?,
            kernel: number(6)? & KERNEL != 0,
            started: number(19)?,
        })
    }
}

/// The numbers of all processes; nothing where `/proc` cannot be read.
pub(crate) fn all_pids() -> Option<impl Iterator<Item = i32>> {
    let processes = fs::read_dir("/proc").ok()?;
    Some(processes.flatten().filter_map(|process| process.file_name().to_str()?.parse().ok()))
}

/// The number that was given to a process or a thread last. Numbers are given in turn, from the start again after the
/// greatest.
///
/// The file is opened once in the life of the program: it is read at the end of every run, and opening it takes two
/// thirds of that time.
pub(crate) fn newest() -> Option<i32> {
    static FILE: OnceLock<File> = OnceLock::new();
    if FILE.get().is_none() {
        // A failure is not kept; another thread may have opened it meanwhile.
        drop(FILE.set(File::open("/proc/loadavg").ok()?));
    }
    let mut text = [0; 128];
    let length = FILE.get()?.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(text.get(..length)?).ok()?;
    text.split_ascii_whitespace().next_back()?.parse().ok()
}

/// How long the first thread of a process has waited for a processor while it could have run, since its start. Nothing
/// where the kernel does not count that.
pub(crate) fn starved(pid: i32) -> Option<Duration> {
    let counted = short(&format!("/proc/{pid}/schedstat"))?;
    counted.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// Where the numbers of processes mean what they mean to us: a container has its own. Zero where that is not known.
pub(crate) fn space() -> u64 {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self/ns/pid").map_or(0, |space| space.ino())
}

/// The processes that have started us: our parent, its parent, and so on.
pub(crate) fn ancestors() -> Vec<i32> {
    let own = i32::try_from(std::process::id()).ok();
    let parent = |pid: &i32| Entry::of(*pid).map(|entry| entry.parent).filter(|parent| *parent > 0);
    // As many as there can be: where numbers change hands meanwhile, the line has no circle that does not end.
    std::iter::successors(own, parent).skip(1).take(1000).collect()
}

/// A file of `/proc` that is shorter than a page. The kernel gives such a one in one piece, and this is asked for at
/// the end of every run.
pub(crate) fn short(path: &str) -> Option<String> {
    let mut page = [0; 4096];
    let length = File::open(path).ok()?.read(&mut page).ok()?;
    Some(String::from_utf8_lossy(page.get(..length)?).into_owned())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_name_cannot_forge_the_fields() {
        let rest = "7 42 42 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 9001 0 0";
        let entry = Entry::read(&format!("7 (a) S 1 2) S {rest}")).unwrap();
        let read = Entry { pid: 7, dead: false, parent: 7, group: 42, kernel: false, started: 9001 };
        assert_eq!(entry, read);
        assert!(Entry::read(&format!("7 (a) Z {rest}")).unwrap().dead);
        assert_eq!(Entry::read(""), None);
        assert_eq!(Entry::read("7 (a) S 1"), None);
    }

    #[test]
    fn the_newest_number_is_read_anew_each_time() {
        assert!(newest().is_some());
        let mut child = Command::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
        let number = i32::try_from(child.id()).unwrap();
        let given = newest().unwrap();
        // Others may have been started since, and numbers begin again after the greatest.
        assert!(given >= number || given < number / 2, "{given} after {number}");
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn we_are_among_everybody() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(all_pids().unwrap().any(|pid| pid == own));
        let entry = Entry::of(own).unwrap();
        assert_eq!((entry.pid, entry.dead, entry.kernel), (own, false, false));
        assert!(starved(own).is_some_and(|before| starved(own) >= Some(before)));
        assert_eq!(ancestors().first(), Some(&Entry::of(own).unwrap().parent));
    }
}
