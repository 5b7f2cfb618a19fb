//! What comes over a connection for events: heads, which are lines of JSON, and the bodies behind them.
//!
//! A body that is small is read in place. A longer one waits for room before more of it is read.

use std::borrow::Cow;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use serde::Deserialize;
use tokio::time::timeout;

use crate::api::shapes::PublishQuery;
use crate::body::{busy, too_large};
use crate::daemon::Daemon;
use crate::lineage::Process;
use crate::problem::Problem;
use crate::room::{SMALL, Taken};

/// The longest head, in bytes.
const LONGEST_HEAD: usize = 4096;

/// How much is read at once, in bytes.
const CHUNK: usize = 8 << 10;

/// Room that is waited for.
type Room = Pin<Box<dyn Future<Output = Option<Taken>> + Send>>;

/// The bytes that were read and are no whole frame yet.
#[derive(Default)]
pub(super) struct Incoming {
    bytes: Vec<u8>,
    /// Where the first byte is that belongs to no frame before.
    start: usize,
    state: State,
    /// The process that sends them.
    peer: Option<Process>,
}

#[derive(Default)]
enum State {
    /// A head is next.
    #[default]
    Head,
    /// A small body of this length is next.
    Small(Publish, usize),
    /// A body of this length is next, for which room is waited for.
    Waiting(Publish, usize, Room),
    /// A body that is longer, as far as it is there.
    Long(Publish, usize, Vec<u8>, Taken),
    /// So many bytes are no concern of this version, or were refused.
    Passing(u64),
}

/// An event is to be published.
#[derive(Debug, Default)]
pub(super) struct Publish {
    /// By which the answer is known.
    pub(super) id: u64,
    pub(super) query: PublishQuery,
}

/// A frame.
pub(super) enum Frame {
    /// An event whose body stands at this place of the buffer until more is read.
    Small(Publish, Range<usize>),
    /// An event whose body has room of its own.
    Long(Publish, Vec<u8>, Taken),
    /// An event that is refused before it is read.
    Refused(u64, Problem),
    /// The publisher does not wait for this one any more.
    Cancel(u64),
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    id: Option<u64>,
    bytes: Option<u64>,
    #[serde(default)]
    open: bool,
    #[serde(default)]
    receipt: bool,
    within_ms: Option<u64>,
    #[serde(default)]
    unkept: bool,
}

impl Incoming {
    /// Begins with what was read already.
    pub(super) fn new(begun: Vec<u8>, peer: Option<Process>) -> Self {
        Self { bytes: begun, peer, ..Self::default() }
    }

    /// Where the next bytes are to be put behind those before. What was given out is gone by then.
    pub(super) fn space(&mut self) -> &mut Vec<u8> {
        self.bytes.drain(..self.start);
        self.start = 0;
        if self.bytes.is_empty() {
            self.bytes.shrink_to(CHUNK);
        }
        self.bytes.reserve(CHUNK);
        &mut self.bytes
    }

    /// The bytes of a small body.
    pub(super) fn body(&self, at: Range<usize>) -> &[u8] {
        self.bytes.get(at).unwrap_or_default()
    }

    /// Whether a frame has begun that is not whole.
    pub(super) fn is_within_a_frame(&self) -> bool {
        !matches!(self.state, State::Head) || self.start < self.bytes.len()
    }

    /// Whether an event may not begin yet, or waits for room, so that nothing more has to be read.
    pub(super) fn is_held_up(&self) -> bool {
        match &self.state {
            State::Small(_, length) => self.start + length <= self.bytes.len(),
            State::Waiting(..) => true,
            State::Head | State::Long(..) | State::Passing(_) => false,
        }
    }

    /// The next frame that is whole; not ready while there is none. `may_begin` says whether an event may begin: it is
    /// asked for each, with its length, and one that may not waits in its place.
    ///
    /// # Errors
    /// What comes is not the documented protocol; what follows it cannot be read.
    pub(super) fn poll_next(
        &mut self,
        daemon: &Arc<Daemon>,
        may_begin: impl Fn(usize) -> bool,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Frame, Problem>> {
        loop {
            match &mut self.state {
                State::Head => {
                    if let Some(frame) = ready!(self.poll_head(daemon)?) {
                        return Poll::Ready(Ok(frame));
                    }
                }
                State::Small(publish, length) => {
                    let (start, end) = (self.start, self.start + *length);
                    if end > self.bytes.len() || !may_begin(*length) {
                        return Poll::Pending;
                    }
                    let publish = std::mem::take(publish);
                    (self.start, self.state) = (end, State::Head);
                    return Poll::Ready(Ok(Frame::Small(publish, start..end)));
                }
                State::Waiting(publish, length, room) => {
                    if !may_begin(*length) {
                        return Poll::Pending;
                    }
                    let (taken, id) = (ready!(room.as_mut().poll(cx)), publish.id);
                    let Some(taken) = taken else {
                        self.state = State::Passing(*length as u64);
                        return Poll::Ready(Ok(Frame::Refused(id, busy())));
                    };
                    self.state = State::Long(std::mem::take(publish), *length, Vec::new(), taken);
                }
                State::Long(_, length, body, _) => {
                    let rest = self.bytes.get(self.start..).unwrap_or_default();
                    let part = rest.get(..*length - body.len()).unwrap_or(rest);
                    body.extend_from_slice(part);
                    self.start += part.len();
                    if body.len() < *length {
                        return Poll::Pending;
                    }
                    let State::Long(publish, _, body, taken) = std::mem::take(&mut self.state) else {
                        continue;
                    };
                    return Poll::Ready(Ok(Frame::Long(publish, body, taken)));
                }
                State::Passing(rest) => {
                    let there = self.bytes.len() - self.start;
                    let passed = usize::try_from(*rest).unwrap_or(usize::MAX).min(there);
                    self.start += passed;
                    *rest -= passed as u64;
                    if *rest > 0 {
                        return Poll::Pending;
                    }
                    self.state = State::Head;
                }
            }
        }
    }

    /// The next head; a frame where that is the whole of it. Nothing where a body follows.
    fn poll_head(&mut self, daemon: &Arc<Daemon>) -> Poll<Result<Option<Frame>, Problem>> {
        let rest = self.bytes.get(self.start..).unwrap_or_default();
        let end = rest.iter().take(LONGEST_HEAD).position(|byte| *byte == b'\n');
        let Some(end) = end else {
            if rest.len() < LONGEST_HEAD {
                return Poll::Pending;
            }
            let detail = format!("the head of a frame is one line of at most {LONGEST_HEAD} bytes");
            return Poll::Ready(Err(Problem::bad_request(detail).blocks()));
        };
        let line = rest.get(..end).unwrap_or_default();
        self.start += end + 1;
        if line.trim_ascii().is_empty() {
            return Poll::Ready(Ok(None));
        }
        let head: Head<'_> = match lineside::json::from_slice(line) {
            Ok(head) => head,
            Err(error) => {
                let detail = format!("the head of a frame cannot be read: {error}");
                return Poll::Ready(Err(Problem::bad_request(detail).blocks()));
            }
        };
        let Head { kind, id, bytes, open, receipt, within_ms, unkept } = head;
        let frame = match (&*kind, id, bytes) {
            ("publish", Some(id), Some(bytes)) => {
                let query = PublishQuery { open, receipt, within_ms, unkept };
                return Poll::Ready(Ok(self.begin(daemon, Publish { id, query }, bytes)));
            }
            ("publish", ..) => {
                let detail = "the head of an event needs `id` and `bytes`, which are whole numbers";
                return Poll::Ready(Err(Problem::bad_request(detail).blocks()));
            }
            ("cancel", Some(id), _) => Some(Frame::Cancel(id)),
            // Of a later version.
            _ => None,
        };
        if let Some(bytes) = bytes {
            self.state = State::Passing(bytes);
        }
        Poll::Ready(Ok(frame))
    }

    /// A body of this length follows.
    fn begin(&mut self, daemon: &Arc<Daemon>, publish: Publish, bytes: u64) -> Option<Frame> {
        let most = daemon.settings.limits.body;
        let length = match usize::try_from(bytes) {
            Ok(length) if length <= most => length,
            _ => {
                self.state = State::Passing(bytes);
                return Some(Frame::Refused(publish.id, too_large(most)));
            }
        };
        self.state = if length <= SMALL {
            State::Small(publish, length)
        } else {
            let (daemon, within) = (Arc::clone(daemon), daemon.settings.limits.whole);
            let tree = daemon.agents.tree(self.peer);
            let room = async move { timeout(within, daemon.room.read(length, tree)).await.ok() };
            State::Waiting(publish, length, Box::pin(room))
        };
        None
    }
}
