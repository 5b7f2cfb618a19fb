//! Processes of a run that have left its group: found, signalled and reaped.
//!
//! They are known by the tag of the run or by a parent that is known.
//! A signal goes through a descriptor of the process, and only after it was looked at once more behind that
//! descriptor: then either it is the one that was meant, or the descriptor is of one that has exited, and the signal
//! has no effect.
//! When they are looked for, and how often, is the business of [`crate::tree`] and [`crate::running`].

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};

use crate::procfs::{self, Entry};
use crate::run_tag::{self, RunTag, TagMatch};

/// Up to this many process numbers given since the start are checked one by one; with more, all of `/proc` is.
const FEW: i32 = 256;
/// How many times newly started processes are checked before the result counts as unclear.
const ROUNDS: usize = 64;
/// In less than this, numbers cannot have been given once around.
const BRIEF: Duration = Duration::from_secs(1);

/// A process that is ours to end.
#[derive(Debug)]
pub(crate) struct EscapedProcess {
    pub(crate) pid: i32,
    process: OwnedFd,
}

/// Where the processes of one run are to be looked for.
#[derive(Debug, Clone)]
pub(crate) struct Search {
    tag: RunTag,
    leader: i32,
    since: Instant,
    /// When the leader was started; read on first use.
    born: Option<u64>,
}

/// What a search found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Running processes.
    pub(crate) escaped: Vec<EscapedProcess>,
    /// Whether a process was found that cannot be attributed yet.
    pub(crate) unclear: bool,
}

impl EscapedProcess {
    /// The process of this number, if it is still the one that `is_it` knows.
    pub(crate) fn hold(pid: i32, is_it: impl FnOnce() -> bool) -> Option<Self> {
        let process = rustix::process::pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        is_it().then_some(Self { pid, process })
    }

    /// Sends a signal; has no effect when the process has exited or changed its user.
    pub(crate) fn signal(&self, signal: Signal) {
        let _gone = rustix::process::pidfd_send_signal(&self.process, signal);
    }

    /// Whether it has exited.
    pub(crate) fn has_exited(&self) -> bool {
        let mut process = [PollFd::new(&self.process, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(rustix::event::poll(&mut process, Some(&now)), Ok(1..))
    }

    /// Takes its exit status if it has exited and has become our child, which it does only where we adopt orphans.
    pub(crate) fn reap(&self) {
        use std::os::fd::AsFd;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let _not_ours = rustix::process::waitid(WaitId::PidFd(self.process.as_fd()), options);
    }
}

impl Search {
    /// For a run whose leader was started after this moment.
    pub(crate) fn new(tag: RunTag, leader: Pid, since: Instant) -> Self {
        Self { tag, leader: leader.as_raw_nonzero().get(), since, born: None }
    }

    /// The tag that is searched for.
    pub(crate) fn tag(&self) -> &RunTag {
        &self.tag
    }

    /// All running processes of the run except its leader.
    ///
    /// Cheap where no process, or few, were started on the machine since the leader was: numbers are given in
    /// turn, so only those after the leader's are looked at. After a second, and where many were given, all of `/proc`
    /// is read, which takes milliseconds.
    ///
    /// No process is missed by replacing itself with another: when none is found, whatever was started
    /// meanwhile is looked at as well, until nothing was.
    pub(crate) fn find(&mut self) -> Found {
        let mut unclear = false;
        let mut looked_at = None;
        for _ in 0..ROUNDS {
            let newest = procfs::newest();
            // No process was started since the leader; once it has exited, the run has no process that could start one.
            if newest == Some(self.leader) && self.since.elapsed() < BRIEF {
                return Found::default();
            }
            let found = self.among(self.suspects(looked_at, newest));
            unclear |= found.unclear;
            if !found.escaped.is_empty() || newest.is_none() || procfs::newest() == newest {
                return Found { unclear, ..found };
            }
            looked_at = newest;
        }
        Found { escaped: Vec::new(), unclear: true }
    }

    /// Exited processes of the run except its leader whose parent is this process: adopted orphans.
    pub(crate) fn find_dead(&self) -> Vec<EscapedProcess> {
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        let is_it = |pid| {
            pid != self.leader
                && Entry::of(pid).is_some_and(|entry| entry.dead && entry.parent == own)
                && self.tag.is_number_of(pid)
        };
        let suspects = self.suspects(None, procfs::newest()).into_iter();
        suspects
            .filter(|pid| is_it(*pid))
            .filter_map(|pid| EscapedProcess::hold(pid, || is_it(pid)))
            .collect()
    }

    /// Waits until the run has no process left, and reaps those that have become children of this process.
    pub(crate) async fn reap_all(mut self) {
        const TICK: Duration = Duration::from_millis(100);
        /// Processes started since the last search are found after this many ticks.
        const TICKS: u32 = 50;
        loop {
            let living = self.find().escaped;
            self.find_dead().iter().for_each(EscapedProcess::reap);
            if living.is_empty() {
                return;
            }
            for _ in 0..TICKS {
                tokio::time::sleep(TICK).await;
                if living.iter().any(EscapedProcess::has_exited) {
                    break;
                }
            }
        }
    }

    /// The processes whose numbers were given since the last check, or since the leader's.
    fn suspects(&self, looked_at: Option<i32>, newest: Option<i32>) -> Vec<i32> {
        let brief = self.since.elapsed() < BRIEF;
        let since = looked_at.or(brief.then_some(self.leader));
        match (since, newest) {
            (Some(since), Some(newest)) if (0..=FEW).contains(&(newest - since)) => {
                (since + 1..=newest).collect()
            }
            _ => procfs::all_pids().map(Iterator::collect).unwrap_or_default(),
        }
    }

    fn among(&mut self, suspects: Vec<i32>) -> Found {
        let own = std::process::id();
        let mut found = Found::default();
        let mut others = Vec::new();
        for pid in suspects {
            if pid == self.leader || u32::try_from(pid) == Ok(own) {
                continue;
            }
            match self.tag.matches_process(pid) {
                // An exited process has a tag, too.
                TagMatch::Yes if Entry::of(pid).is_none_or(|entry| entry.dead) => {}
                TagMatch::Yes => {
                    let is_it = || self.tag.matches_process(pid) == TagMatch::Yes;
                    // The number of a thread leads to its process, and is not the number of one.
                    found.escaped.extend(EscapedProcess::hold(pid, is_it));
                }
                TagMatch::No => others.push(pid),
                TagMatch::Unclear => {
                    others.push(pid);
                    found.unclear |= self.may_become_ours(pid);
                }
            }
        }
        if !found.escaped.is_empty() {
            add_children(&mut found.escaped, &others);
        }
        found
    }

    /// Whether a process without an environment may be one of ours that is just becoming another program.
    fn may_become_ours(&mut self, pid: i32) -> bool {
        let leader = self.leader;
        let born = *self.born.get_or_insert_with(|| Entry::of(leader).map_or(0, |entry| entry.started));
        Entry::of(pid).is_some_and(|entry| !entry.dead && !entry.kernel && entry.started >= born)
    }
}

/// Adds those of the others that were started by an escaped process and removed the tag.
fn add_children(escaped: &mut Vec<EscapedProcess>, others: &[i32]) {
    let mut unknown: Vec<Entry> = others
        .iter()
        .filter_map(|pid| Entry::of(*pid))
        .filter(|entry| !entry.dead && !entry.kernel)
        .collect();
    loop {
        let before = escaped.len();
        unknown.retain(|entry| {
            if !escaped.iter().any(|process| process.pid == entry.parent) {
                return true;
            }
            escaped.extend(EscapedProcess::hold(entry.pid, || Entry::of(entry.pid) == Some(*entry)));
            false
        });
        if escaped.len() == before {
            return;
        }
    }
}

/// All processes with the tag of a program that is gone, except ancestors of this process.
pub(crate) fn orphaned() -> Vec<EscapedProcess> {
    let ours = procfs::ancestors();
    let all_pids = procfs::all_pids().into_iter().flatten();
    let orphaned = all_pids.filter(|pid| !ours.contains(pid) && run_tag::is_orphaned(*pid));
    orphaned.filter_map(|pid| EscapedProcess::hold(pid, || run_tag::is_orphaned(pid))).collect()
}
