//! What carries the frames of a worker, and who is at its other end: the one thing in which a program that we start, a
//! program that listens and a program that comes to us differ.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use lineside_core::worker::StartWorkerError;

use super::calls::Ending;
use super::lines::LineRoom;

mod child;
mod socket;

pub(super) use child::Start;
pub(super) use socket::{Await, Come, Dial};

/// What a worker may write to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    /// Its frames.
    Frames,
    /// Its log.
    Log,
}

/// A way to a worker and back, and the worker behind it.
pub(super) trait Transport: fmt::Debug + Send {
    /// Reads what is there. Nothing is the end of that output.
    fn try_read(&mut self, from: Output, into: &mut [u8]) -> io::Result<usize>;

    /// Ready when there is something to read, or the end of that output.
    fn poll_readable(&mut self, from: Output, cx: &mut Context<'_>) -> Poll<()>;

    /// Writes what there is room for.
    fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Ready when there is room.
    fn poll_writable(&mut self, cx: &mut Context<'_>) -> Poll<()>;

    /// How much of what was written the worker has not taken yet. Zero where that is not known.
    fn untaken(&self) -> usize {
        0
    }

    /// The room for lines of the worker that have no end yet, where these are bounded together with others. Given once.
    fn line_room(&mut self) -> Option<Box<dyn LineRoom>> {
        None
    }

    /// There is nothing more to write.
    fn close_input(&mut self);

    /// Ready when the worker has ended, whatever of it is still to be read.
    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()>;

    /// How long the worker has waited for a processor while it could have run, since its start. Zero where that is not
    /// known.
    fn starved(&self) -> Duration;

    /// Ends the worker, with all processes that it has started if it was started here.
    fn kill(&mut self);

    /// Whether no process is left.
    fn is_deserted(&mut self) -> bool;

    /// How it ended, and why it was killed if it was.
    fn ending(&mut self, why: Option<&'static str>) -> Ending;
}

/// Brings a transport about, now and whenever one is needed again.
pub(super) trait Connect: fmt::Debug + Send + Sync {
    /// A new one. Dropping the future leaves nothing behind.
    fn connect(&mut self) -> Connecting<'_>;
}

/// A transport that is being brought about.
pub(super) type Connecting<'a> =
    Pin<Box<dyn Future<Output = Result<Box<dyn Transport>, StartWorkerError>> + Send + 'a>>;
