//! Moving the input and both outputs of a hook at the same time, in constant memory.
//!
//! Outputs keep their first bytes up to a limit; the rest is read, dropped and counted, so a flood never stops a hook.
//! When to stop reading is the run's decision, not this file's.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::task::{Context, Poll};

use lineside_core::invocation::{Captured, Invocation};

use self::feed::Feed;
use self::intake::Intake;

mod feed;
mod intake;

/// Reads or writes of one pipe before the others and the clock get their turn.
const TURNS_IN_A_ROW: usize = 16;

/// The three pipes between us and a hook.
#[derive(Debug)]
pub(crate) struct Pipes {
    input: Option<Feed>,
    stdout: Intake,
    stderr: Intake,
}

impl Pipes {
    /// Takes the pipes out of the child and writes as much of the input as its pipe takes at once.
    ///
    /// Must be called in a runtime with I/O; fails when the system cannot watch another descriptor.
    pub(crate) fn take(child: &mut Child, invocation: &Invocation) -> io::Result<Self> {
        let limits = &invocation.limits;
        let input = match child.stdin.take() {
            Some(pipe) => Feed::start(pipe.into(), &invocation.stdin)?,
            None => None,
        };
        Ok(Self {
            input,
            stdout: Intake::new(child.stdout.take().map(OwnedFd::from), limits.stdout_bytes)?,
            stderr: Intake::new(child.stderr.take().map(OwnedFd::from), limits.stderr_bytes)?,
        })
    }

    /// Moves what can be moved; ready when both outputs are at their end.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(feed) = &mut self.input
            && feed.poll(cx).is_ready()
        {
            self.input = None;
        }
        let stdout = self.stdout.poll(cx);
        let stderr = self.stderr.poll(cx);
        if stdout.is_ready() && stderr.is_ready() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Takes what the outputs hold right now, without waiting for the runtime to notice it.
    /// Says whether both are at their end.
    pub(crate) fn look(&mut self) -> bool {
        self.stdout.look();
        self.stderr.look();
        self.stdout.is_at_end() && self.stderr.is_at_end()
    }

    /// Stops writing: there is no reader.
    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Closes everything; what was kept of stdout and stderr.
    pub(crate) fn close(&mut self) -> (Captured, Captured) {
        self.input = None;
        (self.stdout.close(), self.stderr.close())
    }
}

/// Whether an error of a pipe that does not block is none.
pub(crate) fn try_again(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
