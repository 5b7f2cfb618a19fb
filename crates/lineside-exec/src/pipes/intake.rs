//! One output of a hook: its first bytes kept, the rest counted.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};

use lineside_core::invocation::Captured;
use tokio::net::unix::pipe::Receiver;

use super::{TURNS_IN_A_ROW, try_again};

/// One read; half of the usual capacity of a pipe.
const READ_BYTES: usize = 32 * 1024;
/// Reads of a last look at an output: more than the largest pipe an ordinary user can make (1 MiB) holds.
const READS_OF_A_LAST_LOOK: usize = 40;

/// One output and what is kept of it.
#[derive(Debug)]
pub(super) struct Intake {
    /// `None` at the end of the output.
    pipe: Option<Receiver>,
    captured: Captured,
    limit: usize,
}

impl Intake {
    pub(super) fn new(pipe: Option<OwnedFd>, limit: usize) -> io::Result<Self> {
        let watch = |pipe: OwnedFd| {
            rustix::io::ioctl_fionbio(&pipe, true)?;
            Receiver::from_owned_fd_unchecked(pipe)
        };
        Ok(Self { pipe: pipe.map(watch).transpose()?, captured: Captured::default(), limit })
    }

    /// Ready at the end of the output; asks to be polled again after [`TURNS_IN_A_ROW`].
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..TURNS_IN_A_ROW {
            let Some(pipe) = &self.pipe else {
                return Poll::Ready(());
            };
            let step = match ready!(pipe.poll_read_ready(cx)) {
                Ok(()) => pipe.try_io(|| read(pipe, &mut self.captured, self.limit)),
                Err(error) => Err(error),
            };
            match step {
                Ok(Step::More) => {}
                Err(error) if try_again(&error) => {}
                Ok(Step::End) | Err(_) => self.pipe = None,
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Whether all of it was read.
    pub(super) fn is_at_end(&self) -> bool {
        self.pipe.is_none()
    }

    /// Closes the pipe; what was kept.
    pub(super) fn close(&mut self) -> Captured {
        self.pipe = None;
        std::mem::take(&mut self.captured)
    }

    /// Reads what is there now.
    pub(super) fn look(&mut self) {
        for _ in 0..READS_OF_A_LAST_LOOK {
            let Some(pipe) = &self.pipe else { return };
            match read(pipe, &mut self.captured, self.limit) {
                Ok(Step::More) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if try_again(&error) => {}
                Ok(Step::End) | Err(_) => self.pipe = None,
            }
        }
    }
}

/// What one read found.
enum Step {
    /// Bytes.
    More,
    /// The end of the output.
    End,
}

fn read(pipe: &Receiver, captured: &mut Captured, limit: usize) -> io::Result<Step> {
    let mut buffer = [MaybeUninit::uninit(); READ_BYTES];
    let bytes = match rustix::io::read(pipe, &mut buffer) {
        Ok(([], _)) => return Ok(Step::End),
        Ok((bytes, _)) => bytes,
        Err(error) => return Err(error.into()),
    };
    let kept = bytes.len().min(limit - captured.bytes.len());
    captured.bytes.extend_from_slice(&bytes[..kept]);
    captured.dropped += (bytes.len() - kept) as u64;
    Ok(Step::More)
}
