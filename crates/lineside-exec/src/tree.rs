//! The processes of one hook: its own process, which leads a group, the group, and those who have left it.
//!
//! The one rule: leader and group are signalled only while the leader's status is not taken.
//! As long as it is not, the kernel gives its number to no other process or group, so the signal hits the hook's
//! processes or none. Those who have left the group are signalled through descriptors; see [`crate::escaped`].
//! What is read and written meanwhile is [`crate::running`]'s business.

use std::io;
use std::process::{Child, ExitStatus};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use lineside_core::invocation::Resources;
use rustix::process::{Pid, Signal};

use crate::containment::{self, Hold, Prepared};
use crate::escaped::{EscapedProcess, Found, Search};
use crate::group::{Group, GroupMembers};
use crate::procfs;
use crate::watch::{Look, Watch, look};

/// How long the last resort waits for a process that got `SIGKILL`.
const LAST_RESORT: Duration = Duration::from_secs(1);

/// A hook's processes, from the start until the leader's status is taken.
#[derive(Debug)]
pub(crate) struct Tree {
    leader: Child,
    pid: Pid,
    group: Group,
    watch: Watch,
    hold: Hold,
    /// Those outside the group who were signalled and have not exited.
    escaped: Vec<EscapedProcess>,
    sent: Sent,
    taken: Option<Status>,
}

/// What a sweep has come upon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sweep {
    /// No process.
    None,
    /// A process that cannot be attributed yet.
    Unclear,
    /// A process that was killed and has not exited yet.
    Dying,
}

/// The strongest signal that was sent so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sent {
    Nothing,
    Terminate,
    Kill,
}

/// What became of the leader's exit status.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Status {
    /// We have it.
    Known(ExitStatus),
    /// Another part of this program waited for our child.
    Lost,
}

impl Tree {
    /// A process that was started as the leader of its own group.
    pub(crate) fn new(leader: Child, prepared: Prepared) -> Self {
        let pid = Pid::from_child(&leader);
        let hold = prepared.take(&leader);
        let (group, watch) = (Group::of(pid), Watch::new(pid));
        Self { leader, pid, group, watch, hold, escaped: Vec::new(), sent: Sent::Nothing, taken: None }
    }

    /// Bounds what it may use up.
    pub(crate) fn bound(&self, resources: &Resources) -> io::Result<()> {
        containment::bound(self.pid, resources)
    }

    /// The leader, whose pipes are to be taken.
    pub(crate) fn leader(&mut self) -> &mut Child {
        &mut self.leader
    }

    /// Ready when the leader has exited.
    pub(crate) fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.taken.is_some() { Poll::Ready(()) } else { self.watch.poll(self.pid, cx) }
    }

    /// How long the leader has waited for a processor while it could have run. Zero where that is not known.
    pub(crate) fn starved(&self) -> Duration {
        match self.taken {
            // Its number may be another's by now.
            Some(_) => Duration::ZERO,
            None => procfs::starved(self.pid.as_raw_nonzero().get()).unwrap_or_default(),
        }
    }

    /// Whether the leader has exited, without waiting for the runtime to notice it.
    pub(crate) fn has_exited(&self) -> bool {
        self.taken.is_some() || look(self.pid) != Look::Running
    }

    /// Whether a process runs in the cgroup, once the leader has exited.
    pub(crate) fn has_cgroup_mates(&self) -> bool {
        self.hold.has_cgroup_mates()
    }

    /// Sends all processes a request to end, once; a stopped process is continued to receive it.
    pub(crate) fn terminate(&mut self) {
        if self.sent < Sent::Terminate {
            self.signal(Signal::TERM);
            self.signal(Signal::CONT);
            self.escaped = self.hold.find().escaped;
            // Once is enough for those who have heard it with their group.
            for process in self.escaped.iter().filter(|process| !self.group.has(process.pid)) {
                process.signal(Signal::TERM);
                process.signal(Signal::CONT);
            }
            self.sent = Sent::Terminate;
        }
    }

    /// Ends the whole group, and the cgroup if there is one; [`Tree::sweep`] ends who is in neither.
    pub(crate) fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.hold.kill();
        self.sent = Sent::Kill;
    }

    /// Kills the processes that have left the group.
    ///
    /// To be repeated until it finds none: a killed process may have started another just before.
    pub(crate) fn sweep(&mut self) -> Sweep {
        self.see_off();
        let mut unclear = false;
        if self.escaped.is_empty() {
            Found { escaped: self.escaped, unclear } = self.hold.find();
        }
        for process in &self.escaped {
            process.signal(Signal::KILL);
        }
        match self.escaped.is_empty() {
            false => Sweep::Dying,
            true if unclear => Sweep::Unclear,
            true => Sweep::None,
        }
    }

    /// Releases all processes: whether there is any, and the search for those that are to be reaped.
    pub(crate) fn release(&mut self) -> (bool, Option<Search>) {
        let any = !self.hold.find().escaped.is_empty();
        self.hold.release();
        (any, any.then(|| self.hold.to_be_reaped()).flatten())
    }

    /// Forgets those who have exited.
    fn see_off(&mut self) {
        let adopts = self.hold.adopts();
        self.escaped.retain(|process| {
            let exited = process.has_exited();
            if exited && adopts {
                process.reap();
            }
            !exited
        });
    }

    /// Whether processes of the hook run although the leader has exited.
    pub(crate) fn has_company(&mut self) -> bool {
        self.see_off();
        !self.escaped.is_empty() || self.group_members() == Some(GroupMembers::Alive)
    }

    /// The members of the group beside the leader, which has exited; `None` if its number may belong to another group.
    pub(crate) fn group_members(&self) -> Option<GroupMembers> {
        let ours = self.taken.is_none() && look(self.pid) == Look::Exited;
        ours.then(|| self.group.members())
    }

    /// Whether the group has any member although its leader's status is taken; for reporting only.
    pub(crate) fn group_exists(&self) -> bool {
        self.group.exists()
    }

    /// Takes the status of the leader, which has exited; neither it nor its group is signalled from here on.
    pub(crate) fn take_status(&mut self) -> Status {
        if let Some(status) = self.taken {
            return status;
        }
        self.hold.reap();
        let status = match self.leader.try_wait() {
            Ok(Some(status)) => Status::Known(status),
            Ok(None) | Err(_) => Status::Lost,
        };
        self.taken = Some(status);
        status
    }

    /// The tag of the run, for people.
    pub(crate) fn tag(&self) -> &str {
        self.hold.tag()
    }

    /// Whether the status is taken, so that nothing is left to be done.
    pub(crate) fn is_over(&self) -> bool {
        self.taken.is_some()
    }

    fn signal(&self, signal: Signal) {
        if self.taken.is_none() && look(self.pid) != Look::Gone {
            self.group.signal(signal);
            if signal == Signal::KILL {
                self.watch.signal(self.pid, signal);
            }
        }
    }
}

impl Drop for Tree {
    /// The last resort, when no runtime is there to end the tree: kills it and waits, blocking, for at most a second.
    fn drop(&mut self) {
        if self.is_over() {
            return;
        }
        self.kill();
        let until = Instant::now() + LAST_RESORT;
        while look(self.pid) == Look::Running {
            if Instant::now() >= until {
                tracing::warn!(
                    pid = self.leader.id(),
                    "a hook's process outlives its SIGKILL and is given up"
                );
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        while self.sweep() != Sweep::None {
            if Instant::now() >= until {
                tracing::warn!(tag = self.tag(), "a hook's processes outlive their SIGKILL and are given up");
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.take_status();
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use lineside_core::invocation::Limits;
    use rustix::process::{WaitOptions, waitpid};

    use super::*;
    use crate::containment::Containment;

    /// A group that took over the number of ours, and that no signal of ours may reach.
    struct Stranger(Child);

    impl Stranger {
        fn in_place_of(tree: &mut Tree) -> Self {
            let mut command = Command::new("/bin/cat");
            let stranger = command.stdin(Stdio::piped()).process_group(0).spawn().unwrap();
            tree.group = Group::of(Pid::from_child(&stranger));
            Self(stranger)
        }

        fn was_left_alone(mut self) {
            drop(self.0.stdin.take());
            assert!(self.0.wait().unwrap().success());
        }
    }

    fn of(command: &mut Command) -> Tree {
        let prepared = Containment::new().prepare(&Limits::default());
        Tree::new(command.spawn().unwrap(), prepared)
    }

    #[tokio::test]
    async fn p08_a_status_that_somebody_else_took_is_lost_and_nothing_is_signalled() {
        let mut tree = of(&mut Command::new("/bin/true"));
        assert!(waitpid(Some(tree.pid), WaitOptions::empty()).unwrap().is_some());
        poll_fn(|cx| tree.poll_exit(cx)).await;
        let stranger = Stranger::in_place_of(&mut tree);
        tree.terminate();
        tree.kill();
        assert_eq!(tree.group_members(), None);
        assert!(matches!(tree.take_status(), Status::Lost));
        stranger.was_left_alone();
    }

    #[tokio::test]
    async fn p08_once_the_status_is_taken_nothing_is_signalled() {
        let mut tree = of(&mut Command::new("/bin/true"));
        poll_fn(|cx| tree.poll_exit(cx)).await;
        assert!(matches!(tree.take_status(), Status::Known(status) if status.success()));
        let stranger = Stranger::in_place_of(&mut tree);
        tree.terminate();
        tree.kill();
        drop(tree);
        stranger.was_left_alone();
    }
}
