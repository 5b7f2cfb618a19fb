//! The input of a hook: written at once where its pipe has room, the rest as it is read.

use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};

use rustix::io::Errno;
use tokio::net::unix::pipe::Sender;

use super::{TURNS_IN_A_ROW, try_again};

/// The rest of an input that its pipe did not take at once.
#[derive(Debug)]
pub(super) struct Feed {
    pipe: Sender,
    rest: Vec<u8>,
    written: usize,
}

impl Feed {
    /// Writes what fits; `None` when nothing is left to write, which is the case for most events.
    pub(super) fn start(pipe: OwnedFd, input: &[u8]) -> io::Result<Option<Self>> {
        rustix::io::ioctl_fionbio(&pipe, true)?;
        let mut written = 0;
        while written < input.len() {
            match rustix::io::write(&pipe, &input[written..]) {
                Ok(bytes) => written += bytes,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let pipe = Sender::from_owned_fd_unchecked(pipe)?;
                    let rest = input[written..].to_vec();
                    return Ok(Some(Self { pipe, rest, written: 0 }));
                }
                // `EPIPE`: a hook need not read its input.
                Err(_) => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Ready when all is written or the reader has closed the pipe; asks to be polled again after [`TURNS_IN_A_ROW`].
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..TURNS_IN_A_ROW {
            if self.written == self.rest.len() {
                return Poll::Ready(());
            }
            if ready!(self.pipe.poll_write_ready(cx)).is_err() {
                return Poll::Ready(());
            }
            match self.pipe.try_write(&self.rest[self.written..]) {
                Ok(bytes) => self.written += bytes,
                Err(error) if try_again(&error) => {}
                Err(_) => return Poll::Ready(()),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
