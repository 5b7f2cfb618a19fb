//! A mark on a process that everything has which it starts from then on, and that nothing of the same account takes off: an odd
//! bound on the bytes of its POSIX message queues, a little below the one it had. The kernel hands bounds on to children, however
//! often they fork and whatever sessions and environments they make, and lets only the privileged raise a hard one.

use std::fs;

/// What a marked bound leaves when it is divided by a page, which no usual one does.
const REST: u64 = 1_717;
const PAGE: u64 = 4_096;
/// The bound that the kernel has where no other one is set: a mark is below it, so that it is on nothing that has that.
const USUAL: u64 = 819_200;

/// The mark of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(u64);

impl Mark {
    /// Marks a process of this account, with a mark that nothing has above and beside it. `None` where it has ended, is in another
    /// namespace of accounts, or has no room for a queue already; on Linux alone there are marks.
    #[must_use]
    pub fn put_on(pid: u32) -> Option<Self> {
        let pages = (bound(pid)?.min(USUAL) / PAGE).checked_sub(1)?;
        let mark = Self(pages * PAGE + REST);
        mark.lower(pid).then_some(mark)
    }

    /// Puts it on what the marked process has started before, unless that has it; tells whether it has it now.
    #[must_use]
    pub fn reach(self, pid: u32) -> bool {
        self.is_on(pid) || self.lower(pid)
    }

    /// That of a process which is marked, or comes from one.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        bound(pid).and_then(Self::numbered)
    }

    /// Whether a process may come from one that has this mark, and not from beside it: its own bound is no higher, which a
    /// process can make lower and not higher; or it has ended.
    #[must_use]
    pub fn is_on(self, pid: u32) -> bool {
        bound(pid).is_none_or(|bound| bound <= self.0)
    }

    /// It as a number.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }

    /// The mark of this number, if it is one.
    #[must_use]
    pub fn numbered(number: u64) -> Option<Self> {
        (number % PAGE == REST).then_some(Self(number))
    }

    #[cfg(target_os = "linux")]
    fn lower(self, pid: u32) -> bool {
        use rustix::process::{Pid, Resource, Rlimit, prlimit};
        let bounds = Rlimit { current: Some(self.0), maximum: Some(self.0) };
        let process = i32::try_from(pid).ok().and_then(Pid::from_raw);
        process.is_some_and(|process| prlimit(Some(process), Resource::Msgqueue, bounds).is_ok())
    }

    #[cfg(not(target_os = "linux"))]
    fn lower(self, _: u32) -> bool {
        false
    }
}

/// The hard bound, as the system shows it to all users.
fn bound(pid: u32) -> Option<u64> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let of = limits.lines().find_map(|line| line.strip_prefix("Max msgqueue size"))?;
    let hard = of.split_ascii_whitespace().nth(1)?;
    if hard == "unlimited" { Some(u64::MAX) } else { hard.parse().ok() }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::{Child, Command, Stdio};

    use super::*;

    fn begun(text: &str) -> Child {
        Command::new("sh").args(["-c", text]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn what_a_marked_process_starts_is_marked_whatever_it_sheds_and_what_is_beside_it_is_not() {
        let says = "sleep 600 & echo $!; read end; kill $!";
        for sheds in ["", "prlimit --pid $$ --msgqueue=0;"] {
            let sets_apart = format!("read go; env -i setsid sh -c '{sheds} {says}'");
            let mut marked = begun(&sets_apart);
            let own = marked.id();
            let mark = Mark::put_on(own).unwrap();
            assert_eq!(Mark::of(own), Some(mark));
            marked.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
            let mut line = String::new();
            BufReader::new(marked.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
            let started = line.trim().parse().unwrap();
            assert!(mark.is_on(started) && mark.reach(started), "{sheds}");
            assert!(!mark.is_on(std::process::id()), "it is beside that");
            // What is marked below it is known apart from what else comes from there.
            if let Some(below) = Mark::put_on(started) {
                assert!(below < mark && below.is_on(started) && mark.is_on(started) && !below.is_on(own));
            }
            drop(marked.stdin.take());
            marked.wait().unwrap();
        }
        let mut beside = begun("read go");
        beside.kill().unwrap();
        beside.wait().unwrap();
        assert_eq!(Mark::put_on(beside.id()), None, "it has ended");
    }
}
