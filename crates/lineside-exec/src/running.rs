//! A run in progress: its processes and its pipes, moved along together.
//!
//! The pipes are served in every state, also while a hook is being ended, so that what it says while it cleans up
//! neither blocks nor kills it.
//! Which state follows which is [`crate::run`]'s business, and [`crate::guard`]'s after a cancellation.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

pub(crate) use lineside_core::budget::after;
use lineside_core::invocation::{Ending, Leaked, Leftovers};
use tokio::time::{Instant, sleep_until};

use crate::escaped::Search;
use crate::files::Files;
use crate::group::GroupMembers;
use crate::pipes::Pipes;
use crate::run::outlived;
use crate::tree::{Sweep, Tree};

/// How long, after `SIGKILL`, the exit and the end of the outputs are waited for.
///
/// With the usual grace of 500 ms the run is over within a second of its deadline.
const SETTLE: Duration = Duration::from_millis(400);
/// How often a group whose leader has exited is looked at while the others have their grace.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// How often those who were killed are looked at.
const LOOK_AFTER: Duration = Duration::from_millis(1);
/// How long a process may have no environment before it counts as unrelated.
const UNCLEAR: Duration = Duration::from_millis(20);

/// A hook's processes and pipes.
#[derive(Debug)]
pub(crate) struct Running {
    /// The processes.
    pub(crate) tree: Tree,
    /// The pipes.
    pub(crate) pipes: Pipes,
    /// The files, which go when this does.
    pub(crate) _files: Files,
}

/// Who was found outside the group, and killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Swept {
    /// No process.
    None,
    /// Some, and all have exited.
    Some,
    /// Some, and not all have exited.
    NotAll,
}

impl From<Swept> for Leaked {
    fn from(swept: Swept) -> Self {
        match swept {
            Swept::None => Self::Nothing,
            Swept::Some => Self::Killed,
            Swept::NotAll => Self::Escaped,
        }
    }
}

/// What came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitOutcome {
    /// What was waited for.
    Exited,
    /// The given time.
    Elapsed,
}

impl Running {
    /// Waits for the exit of the hook's own process.
    ///
    /// Cancel safe.
    pub(crate) async fn exited(&mut self, by: Instant) -> WaitOutcome {
        match self.serve(by, |tree, _, cx| tree.poll_exit(cx)).await {
            // When we were stopped ourselves, the clock may be heard before the exit that came first.
            WaitOutcome::Elapsed if self.tree.has_exited() => WaitOutcome::Exited,
            first => first,
        }
    }

    /// Waits for the end of both outputs, once the process has exited.
    ///
    /// Cancel safe.
    pub(crate) async fn outputs_ended(&mut self, by: Instant) {
        self.pipes.close_input();
        // Without a helper left behind the ends are there already, and no timer is needed.
        if !self.pipes.look() {
            self.serve(by, |_, outputs, _| outputs).await;
        }
    }

    /// Sees to what a process that has exited in time left behind: what is said of it, and where those who were left
    /// alone are to be looked for, if they are to be reaped one day.
    ///
    /// Cancel safe: called again, it goes on.
    pub(crate) async fn finish(&mut self, leftovers: Leftovers) -> (Leaked, Option<Search>) {
        let group_members = self.tree.group_members();
        match leftovers {
            Leftovers::Kill => {
                let in_cgroup = self.tree.has_cgroup_mates();
                // Not only when company was seen: a member that hides its priority must end as well.
                self.tree.kill();
                let swept = self.swept(Instant::now() + SETTLE).await;
                let leaked = if in_cgroup || group_members == Some(GroupMembers::Alive) {
                    swept.max(Swept::Some)
                } else {
                    swept
                };
                (leaked.into(), None)
            }
            Leftovers::Leave => {
                let (any, left) = self.tree.release();
                let leaked = any || group_members == Some(GroupMembers::Alive);
                (if leaked { outlived(leftovers) } else { Leaked::Nothing }, left)
            }
        }
    }

    /// Kills escaped processes until none is left.
    async fn swept(&mut self, by: Instant) -> Swept {
        let mut swept = Swept::None;
        let mut unclear: Option<Instant> = None;
        loop {
            let now = Instant::now();
            match self.tree.sweep() {
                Sweep::None => return swept,
                Sweep::Unclear if now >= *unclear.get_or_insert(now + UNCLEAR) => return swept,
                Sweep::Unclear => {}
                Sweep::Dying => swept = Swept::Some,
            }
            if now >= by {
                tracing::warn!(tag = self.tree.tag(), "processes of a hook cannot be ended");
                return Swept::NotAll;
            }
            self.serve(by.min(now + LOOK_AFTER), |_, _, _| Poll::<()>::Pending).await;
        }
    }

    /// Ends the whole tree, and takes the status unless the process cannot be killed.
    ///
    /// Returns after the grace and [`SETTLE`] at the latest, with what of the group outlasted the grace.
    /// Cancel safe: called again, it goes on with the ending, with a grace of its own.
    pub(crate) async fn end(&mut self, ending: Ending) -> Leaked {
        let leaked = match ending {
            Ending::Terminate { grace } => {
                self.tree.terminate();
                self.emptied(after(Instant::now(), grace)).await
            }
            Ending::Kill => Leaked::Nothing,
        };
        self.tree.kill();
        let settled = Instant::now() + SETTLE;
        let exited = self.exited(settled).await;
        let swept = self.swept(settled).await;
        if exited == WaitOutcome::Exited {
            self.outputs_ended(settled).await;
            self.tree.take_status();
        }
        if swept == Swept::NotAll { Leaked::Escaped } else { leaked }
    }

    /// Waits until the whole group has ended.
    async fn emptied(&mut self, by: Instant) -> Leaked {
        if self.exited(by).await == WaitOutcome::Elapsed {
            return Leaked::Nothing;
        }
        self.pipes.close_input();
        while self.tree.has_company() {
            let now = Instant::now();
            if now >= by {
                return Leaked::Killed;
            }
            self.serve(by.min(now + LOOK_AGAIN), |_, _, _| Poll::<()>::Pending).await;
        }
        Leaked::Nothing
    }

    /// Serves the pipes until `it` is ready or the time has come.
    ///
    /// The pipes come first and the clock last, so that what was written before the time is taken.
    /// Each gets its turn in every round: see the bound on turns in a row.
    async fn serve<T>(
        &mut self,
        by: Instant,
        mut it: impl FnMut(&mut Tree, Poll<()>, &mut Context<'_>) -> Poll<T>,
    ) -> WaitOutcome {
        let mut time = pin!(sleep_until(by));
        poll_fn(|cx| {
            let outputs = self.pipes.poll(cx);
            if it(&mut self.tree, outputs, cx).is_ready() {
                return Poll::Ready(WaitOutcome::Exited);
            }
            time.as_mut().poll(cx).map(|()| WaitOutcome::Elapsed)
        })
        .await
    }
}
