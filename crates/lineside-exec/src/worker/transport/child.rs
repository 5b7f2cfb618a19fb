//! A worker that is a program of ours: its pipes, and the tree of its processes, which ends with it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::task::{Context, Poll};
use std::time::Duration;

use lineside_core::budget::after;
use lineside_core::failure::FailureKind;
use lineside_core::invocation::{Invocation, Limits};
use lineside_core::worker::StartWorkerError;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::Instant;

use super::{Connect, Connecting, Ending, Output, Transport};
use crate::containment::Containment;
use crate::run::with_causes;
use crate::spawn::{self, Beside, StartHookError};
use crate::tree::{Status, Sweep, Tree};
use crate::worker::script::Script;

/// Starts a program.
#[derive(Debug)]
pub(in crate::worker) struct Start {
    /// What is run. Its input, time and outputs are not those of a run.
    pub(in crate::worker) invocation: Invocation,
    pub(in crate::worker) containment: Containment,
    /// What it runs, where that is ours; it goes away with the last start.
    pub(in crate::worker) _script: Option<Script>,
}

impl Connect for Start {
    fn connect(&mut self) -> Connecting<'_> {
        Box::pin(async {
            match self.start().await {
                Ok(started) => Ok(Box::new(started) as Box<dyn Transport>),
                Err(error) => Err(StartWorkerError::NotFound { why: with_causes(&error) }),
            }
        })
    }
}

impl Start {
    async fn start(&self) -> Result<Started, StartHookError> {
        let limits: &Limits = &self.invocation.limits;
        let prepared = self.containment.prepare(limits);
        let by = after(Instant::now(), limits.busy_retry);
        let beside = Beside { files: &[], tag: prepared.tag() };
        let mut child = spawn::start(&self.invocation, beside, by).await?;
        let pipes = pipes(&mut child);
        // The tree comes into being in any case: when anything fails here it is dropped, which kills it.
        let tree = Tree::new(child, prepared);
        tree.bound(&limits.resources).map_err(|source| StartHookError::Bound { source })?;
        let (input, stdout, stderr) = pipes.map_err(|source| StartHookError::Watch { source })?;
        Ok(Started { tree, input: Some(input), stdout: Some(stdout), stderr: Some(stderr) })
    }
}

fn pipes(child: &mut Child) -> io::Result<(Sender, Receiver, Receiver)> {
    let missing = || io::Error::other("a pipe is missing");
    let input = nonblocking(child.stdin.take().ok_or_else(missing)?)?;
    let stdout = nonblocking(child.stdout.take().ok_or_else(missing)?)?;
    let stderr = nonblocking(child.stderr.take().ok_or_else(missing)?)?;
    Ok((
        Sender::from_owned_fd_unchecked(input)?,
        Receiver::from_owned_fd_unchecked(stdout)?,
        Receiver::from_owned_fd_unchecked(stderr)?,
    ))
}

fn nonblocking(pipe: impl Into<OwnedFd>) -> io::Result<OwnedFd> {
    let pipe = pipe.into();
    rustix::io::ioctl_fionbio(&pipe, true)?;
    Ok(pipe)
}

/// A program that runs, or has run.
#[derive(Debug)]
struct Started {
    tree: Tree,
    input: Option<Sender>,
    /// `None` at its end, as the next.
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
}

impl Started {
    fn output(&mut self, which: Output) -> &mut Option<Receiver> {
        match which {
            Output::Frames => &mut self.stdout,
            Output::Log => &mut self.stderr,
        }
    }
}

impl Transport for Started {
    fn try_read(&mut self, from: Output, into: &mut [u8]) -> io::Result<usize> {
        let pipe = self.output(from);
        let read = pipe.as_ref().map_or(Ok(0), |pipe| pipe.try_read(into));
        if let Ok(0) = read {
            *pipe = None;
        }
        read
    }

    fn poll_readable(&mut self, from: Output, cx: &mut Context<'_>) -> Poll<()> {
        match self.output(from) {
            // An error shows itself when it is read.
            Some(pipe) => pipe.poll_read_ready(cx).map(drop),
            None => Poll::Ready(()),
        }
    }

    fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let closed = || Err(io::ErrorKind::BrokenPipe.into());
        self.input.as_ref().map_or_else(closed, |input| input.try_write(bytes))
    }

    fn poll_writable(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &self.input {
            // An error shows itself when it is written.
            Some(input) => input.poll_write_ready(cx).map(drop),
            None => Poll::Pending,
        }
    }

    fn untaken(&self) -> usize {
        let waiting = self.input.as_ref().and_then(|input| rustix::io::ioctl_fionread(input).ok());
        waiting.map_or(0, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    fn close_input(&mut self) {
        self.input = None;
    }

    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.tree.poll_exit(cx)
    }

    fn starved(&self) -> Duration {
        self.tree.starved()
    }

    fn kill(&mut self) {
        self.tree.kill();
    }

    fn is_deserted(&mut self) -> bool {
        self.tree.sweep() == Sweep::None
    }

    fn ending(&mut self, why: Option<&'static str>) -> Ending {
        let signal = |why: String| Ending { kind: FailureKind::Signal, why };
        match (why, self.tree.take_status()) {
            (Some(why), _) => signal(format!("the worker was killed: {why}")),
            (None, Status::Known(status)) => match status.signal() {
                Some(number) => signal(format!("the worker was ended by signal {number}")),
                None => Ending {
                    kind: FailureKind::Exit,
                    why: format!("the worker ended with status {}", status.code().unwrap_or_default()),
                },
            },
            (None, Status::Lost) => Ending { kind: FailureKind::Exit, why: "the worker ended".to_owned() },
        }
    }
}
