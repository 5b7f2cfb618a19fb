//! Learning that a process has exited, without taking its exit status.
//!
//! Until the status is taken the process stays as a zombie, its number cannot be given to another process, and
//! signals to the group of that number cannot reach another process.
//! Taking the status is [`crate::tree`]'s business.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::Sleep;

/// How often a process without a descriptor is looked at.
const TICK: Duration = Duration::from_millis(5);

/// A way to learn of an exit.
#[derive(Debug)]
pub(crate) enum Watch {
    /// A descriptor of the process, which becomes readable at its exit.
    Descriptor(AsyncFd<OwnedFd>),
    /// Looking again and again: the system had no descriptor to give, or the runtime that watched it is gone.
    Looking(Pin<Box<Sleep>>),
}

impl Watch {
    /// Watches a child of this process whose status is not taken.
    pub(crate) fn new(pid: Pid) -> Self {
        let descriptor = rustix::process::pidfd_open(pid, PidfdFlags::empty());
        let watched = descriptor.map_err(Into::into).and_then(watch);
        watched.map_or_else(|_| Self::looking(), Self::Descriptor)
    }

    /// The watch for when there is no descriptor.
    pub(crate) fn looking() -> Self {
        Self::Looking(Box::pin(tokio::time::sleep(TICK)))
    }

    /// Ready when the process has exited, or is not our child any more.
    pub(crate) fn poll(&mut self, pid: Pid, cx: &mut Context<'_>) -> Poll<()> {
        if let Self::Descriptor(descriptor) = self {
            match std::task::ready!(descriptor.poll_read_ready(cx)) {
                Ok(_) => return Poll::Ready(()),
                Err(_) => *self = Self::looking(),
            }
        }
        let Self::Looking(tick) = self else {
            return Poll::Pending;
        };
        loop {
            if look(pid) != Look::Running {
                return Poll::Ready(());
            }
            std::task::ready!(tick.as_mut().poll(cx));
            tick.set(tokio::time::sleep(TICK));
        }
    }

    /// Signals the process itself, wherever it has moved to.
    pub(crate) fn signal(&self, pid: Pid, signal: Signal) {
        // It fails when the process has exited, which is as good as the signal.
        let _exited = match self {
            Self::Descriptor(descriptor) => rustix::process::pidfd_send_signal(descriptor, signal),
            Self::Looking(_) => rustix::process::kill_process(pid, signal),
        };
    }
}

#[allow(
    deprecated,
    reason = "deprecated for types whose descriptor can change under the runtime, which an `OwnedFd` cannot; \
              the replacement is `unsafe`"
)]
fn watch(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(descriptor, Interest::READABLE)
}

/// What a look at a child shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// It has not exited.
    Running,
    /// It has, and its status is not taken.
    Exited,
    /// Another part of the program took its status: the number may belong to any process.
    Gone,
}

/// Looks at a child without taking its status.
pub(crate) fn look(pid: Pid) -> Look {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    match rustix::process::waitid(WaitId::Pid(pid), options) {
        Ok(None) => Look::Running,
        Ok(Some(_)) => Look::Exited,
        Err(_) => Look::Gone,
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::process::Command;

    use super::*;

    #[tokio::test]
    async fn without_a_descriptor_an_exit_is_learned_by_looking() {
        let mut child = Command::new("/bin/sleep").arg("0.02").spawn().unwrap();
        let pid = Pid::from_child(&child);
        let mut watch = Watch::looking();
        assert_eq!(look(pid), Look::Running);
        poll_fn(|cx| watch.poll(pid, cx)).await;
        assert_eq!(look(pid), Look::Exited);
        assert!(child.wait().unwrap().success());
        assert_eq!(look(pid), Look::Gone);
    }

    #[test]
    fn a_descriptor_outlives_its_runtime_as_a_look() {
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (first, second) = (runtime(), runtime());
        let mut child = Command::new("/bin/cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_child(&child);
        let mut watch = first.block_on(async { Watch::new(pid) });
        assert!(matches!(watch, Watch::Descriptor(_)));
        drop(first);
        drop(child.stdin.take());
        second.block_on(poll_fn(|cx| watch.poll(pid, cx)));
        assert!(matches!(watch, Watch::Looking(_)));
        assert!(child.wait().unwrap().success());
    }
}
