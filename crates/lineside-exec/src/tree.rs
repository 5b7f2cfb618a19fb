//! The processes of one hook: its own process, which leads a group, and the group.
//!
//! The one rule: a signal is sent only while the leader's status is not taken.
//! As long as it is not, the kernel gives its number to no other process or group, so the signal hits the hook's
//! processes or nobody.
//! What is read and written meanwhile is [`crate::running`]'s business.

use std::process::{Child, ExitStatus};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use lineside_core::invocation::{Leaked, Leftovers};
use rustix::process::{Pid, Signal};

use crate::group::{Company, Group};
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
    sent: Sent,
    taken: Option<Status>,
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
    pub(crate) fn new(leader: Child) -> Self {
        let pid = Pid::from_child(&leader);
        Self { leader, pid, group: Group::of(pid), watch: Watch::new(pid), sent: Sent::Nothing, taken: None }
    }

    /// Ready when the leader has exited.
    pub(crate) fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.taken.is_some() { Poll::Ready(()) } else { self.watch.poll(self.pid, cx) }
    }

    /// Asks the whole group to end, once; a stopped process is woken to hear it.
    pub(crate) fn terminate(&mut self) {
        if self.sent < Sent::Terminate {
            self.signal(Signal::TERM);
            self.signal(Signal::CONT);
            self.sent = Sent::Terminate;
        }
    }

    /// Ends the whole group.
    pub(crate) fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.sent = Sent::Kill;
    }

    /// Whether processes of the group run although the leader has exited.
    pub(crate) fn has_company(&self) -> bool {
        self.taken.is_none() && look(self.pid) == Look::Exited && self.group.company() == Company::Alive
    }

    /// Takes the status of the leader, which has exited in time, and sees to what it left behind.
    pub(crate) fn finish(&mut self, leftovers: Leftovers) -> (Status, Leaked) {
        if look(self.pid) == Look::Gone {
            return (self.take_status(), Leaked::Nothing);
        }
        let company = self.group.company();
        // Not only when company was seen: a member that hides its priority must end as well.
        if leftovers == Leftovers::Kill {
            self.group.signal(Signal::KILL);
        }
        let status = self.take_status();
        let leaked = match company {
            Company::Alive => true,
            Company::Dead => false,
            Company::Nobody => self.group.exists(),
        };
        let leaked = match leftovers {
            _ if !leaked => Leaked::Nothing,
            Leftovers::Kill => Leaked::Killed,
            Leftovers::Leave => Leaked::Left,
        };
        (status, leaked)
    }

    /// Takes the status of the leader, which has exited; no signal is sent from here on.
    pub(crate) fn take_status(&mut self) -> Status {
        if let Some(status) = self.taken {
            return status;
        }
        let status = match self.leader.try_wait() {
            Ok(Some(status)) => Status::Known(status),
            Ok(None) | Err(_) => Status::Lost,
        };
        self.taken = Some(status);
        status
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
        self.take_status();
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use rustix::process::{WaitOptions, waitpid};

    use super::*;

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

    #[tokio::test]
    async fn p08_a_status_that_somebody_else_took_is_lost_and_nothing_is_signalled() {
        let mut tree = Tree::new(Command::new("/bin/true").spawn().unwrap());
        assert!(waitpid(Some(tree.pid), WaitOptions::empty()).unwrap().is_some());
        poll_fn(|cx| tree.poll_exit(cx)).await;
        let stranger = Stranger::in_place_of(&mut tree);
        tree.terminate();
        tree.kill();
        let (status, leaked) = tree.finish(Leftovers::Kill);
        assert!(matches!(status, Status::Lost));
        assert_eq!(leaked, Leaked::Nothing);
        stranger.was_left_alone();
    }

    #[tokio::test]
    async fn p08_once_the_status_is_taken_nothing_is_signalled() {
        let mut tree = Tree::new(Command::new("/bin/true").spawn().unwrap());
        poll_fn(|cx| tree.poll_exit(cx)).await;
        assert!(matches!(tree.take_status(), Status::Known(status) if status.success()));
        let stranger = Stranger::in_place_of(&mut tree);
        tree.terminate();
        tree.kill();
        drop(tree);
        stranger.was_left_alone();
    }
}
