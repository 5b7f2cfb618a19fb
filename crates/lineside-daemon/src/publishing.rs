//! A connection for events: many of them under way at once, and the answers that are ready written together.
//!
//! It is decided here what is read when, and what becomes of an event whose publisher is gone or no longer waits. What an
//! event is, and what the answer to it, is the same as over HTTP.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::io::{self, Write as _};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::FuturesUnordered;
use lineside::json::to_string;
use lineside::stream::Stream;
use lineside::wire::EventDraft;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::api::shapes::PublishQuery;
use crate::body::{Document, fields, is_small};
use crate::caller::Caller;
use crate::daemon::{Counts, Daemon};
use crate::deciding::{decide, decide_document, read};
use crate::inline_waker::Inline;
use crate::problem::Problem;
use crate::room::{SMALL, Taken};
use incoming::{Frame, Incoming, Publish};

mod incoming;

/// How many events of one connection are under way at most. Further ones wait in it.
const MOST: usize = 64;
/// How many bytes of bodies, likewise; one that is longer is under way alone.
const MOST_BYTES: usize = SMALL;
/// How many bytes of answers may be unread before nothing more is read.
const MOST_UNREAD: usize = 256 << 10;
/// After how many frames others have their turn.
const TURN: usize = 8;
/// How often a connection that is not read is looked at, whether the publisher is gone.
const LOOK: Duration = Duration::from_secs(1);

/// The decision, and the room that it takes until it is read.
type Decided = Result<(String, Taken), Problem>;
type Deciding = Pin<Box<dyn Future<Output = Decided> + Send>>;

/// Serves a connection until its publisher closes it, or the daemon ends: then what is under way is answered, and
/// nothing more is read. Dropping the future cancels everything that is under way.
pub(crate) async fn serve(daemon: Arc<Daemon>, stream: Stream, begun: Vec<u8>, caller: Caller) {
    let (ending, cut) = (daemon.ending.clone(), daemon.cut.clone());
    let mut publishing = Publishing {
        daemon,
        stream,
        incoming: Incoming::new(begun, caller.peer),
        caller: Arc::new(caller),
        deciding: FuturesUnordered::new(),
        inline: Inline::default(),
        under_way: HashMap::new(),
        bytes: 0,
        outgoing: Vec::new(),
        written: 0,
        unread: Vec::new(),
        since: Since::default(),
        timer: None,
        is_last: false,
        has_left: false,
    };
    let served = tokio::select! {
        biased;
        served = publishing.run() => served,
        () = cut.cancelled() => return,
        () = ending.cancelled() => {
            publishing.is_last = true;
            tokio::select! {
                served = publishing.run() => served,
                () = cut.cancelled() => return,
            }
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection for events is over");
    }
}

/// What is to be published.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are small texts, and each is moved into its future at once"
)]
enum Body {
    /// The event that a small text is.
    Read(Result<EventDraft, Problem>),
    /// A text whose values need room.
    Long(Document),
}

impl Body {
    /// Whether it is an event that has happened; `None` while that is not known.
    fn is_fact(&self) -> Option<bool> {
        match self {
            Self::Read(draft) => Some(draft.as_ref().is_ok_and(|draft| draft.point.is_fact())),
            Self::Long(_) => None,
        }
    }
}

struct Publishing {
    daemon: Arc<Daemon>,
    stream: Stream,
    caller: Arc<Caller>,
    incoming: Incoming,
    /// Events that are not decided at once.
    deciding: FuturesUnordered<Abortable<UnderWay>>,
    /// Has them wake the task only when there is something to be done.
    inline: Inline,
    /// The same by their ids.
    under_way: HashMap<u64, Begun>,
    /// How long their bodies are together.
    bytes: usize,
    /// Answers that are not written yet.
    outgoing: Vec<u8>,
    /// How much of them is.
    written: usize,
    /// The room that they take.
    unread: Vec<Taken>,
    since: Since,
    timer: Option<Pin<Box<Sleep>>>,
    /// Nothing more is read: what is under way is answered, and that is the end.
    is_last: bool,
    /// The publisher has left: nothing is answered, and what has happened is taken in as far as it was sent.
    has_left: bool,
}

/// An event that is under way.
struct Begun {
    handle: AbortHandle,
    length: usize,
    is_fact: Option<bool>,
}

/// Since when something is waited for.
#[derive(Default)]
struct Since {
    /// The rest of a frame.
    frame: Option<Instant>,
    /// The publisher, to read its answers.
    unread: Option<Instant>,
}

/// An event that waits for something.
struct UnderWay {
    id: u64,
    deciding: Deciding,
}

impl Future for UnderWay {
    type Output = (u64, Decided);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let decided = ready!(self.deciding.as_mut().poll(cx));
        Poll::Ready((self.id, decided))
    }
}

impl Publishing {
    /// To the end. Cancel safe.
    async fn run(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll(cx)).await
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut has_more = match self.poll_frames(cx) {
                Ok(has_more) => has_more,
                Err(problem) => {
                    // Where the next frame begins is not known.
                    self.put(None, Err(problem));
                    self.poll_write(cx)?.is_ready();
                    return Poll::Ready(Err(io::Error::other("what came is not the protocol")));
                }
            };
            // After the frames: what they have begun or cancelled is polled in any case.
            has_more |= self.poll_decided(cx) && self.incoming.is_held_up();
            let is_written = match self.poll_write(cx) {
                Poll::Ready(Err(_)) => {
                    self.leave(false);
                    continue;
                }
                written => written.is_ready(),
            };
            if has_more {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if self.is_last {
                let is_over = is_written && self.under_way.is_empty();
                return if is_over { Poll::Ready(Ok(())) } else { Poll::Pending };
            }
            if self.is_read() {
                match self.poll_read(cx) {
                    Poll::Ready(Ok(0) | Err(_)) => {
                        self.leave(true);
                        continue;
                    }
                    Poll::Ready(Ok(_)) => continue,
                    Poll::Pending => {}
                }
            } else if !self.has_left && self.stream.is_peer_gone() {
                self.leave(false);
                continue;
            }
            if ready!(self.poll_timer(cx)).is_err() {
                self.leave(true);
            }
        }
    }

    /// Puts the answers in line that are ready; whether there were any.
    fn poll_decided(&mut self, cx: &mut Context<'_>) -> bool {
        let before = self.under_way.len();
        while let Poll::Ready(Some(decided)) = self.inline.poll(pin!(self.deciding.next()), cx) {
            // One that was cancelled has no answer.
            if let Ok((id, decided)) = decided {
                self.forget(id);
                self.put(Some(id), decided);
            }
        }
        self.under_way.len() < before
    }

    /// Begins the events that are there, and decides those that wait for nothing. `true` when there may be more, and others
    /// are to have their turn.
    fn poll_frames(&mut self, cx: &mut Context<'_>) -> Result<bool, Problem> {
        for _ in 0..TURN {
            let (count, bytes) = (self.under_way.len(), self.bytes);
            let may_begin = |length| count == 0 || (count < MOST && bytes + length <= MOST_BYTES);
            let Poll::Ready(frame) = self.incoming.poll_next(&self.daemon, may_begin, cx) else {
                return Ok(false);
            };
            // The next one has its own time.
            self.since.frame = None;
            match frame? {
                Frame::Small(publish, at) => {
                    let (length, text) = (at.len(), self.incoming.body(at));
                    let body = match is_small(&self.daemon, text) {
                        true => Body::Read(self.read(text)),
                        false => Body::Long(Document(text.to_vec(), None, self.caller.peer)),
                    };
                    self.begin(publish, length, body, cx)?;
                }
                Frame::Long(publish, text, read) => {
                    self.begin(
                        publish,
                        text.len(),
                        Body::Long(Document(text, Some(read), self.caller.peer)),
                        cx,
                    )?;
                }
                Frame::Refused(id, problem) => self.put(Some(id), Err(problem)),
                Frame::Cancel(id) => self.forget(id),
            }
        }
        Ok(true)
    }

    /// Begins one event, and answers it where it waits for nothing.
    ///
    /// # Errors
    /// Another event of that id is under way, so that an answer would not say which it is for.
    fn begin(
        &mut self,
        publish: Publish,
        length: usize,
        body: Body,
        cx: &mut Context<'_>,
    ) -> Result<(), Problem> {
        let Publish { id, query } = publish;
        if self.under_way.contains_key(&id) {
            let detail = format!("event {id} of this connection is under way; give each an `id` of its own");
            return Err(Problem::bad_request(detail).blocks());
        }
        let is_fact = body.is_fact();
        if self.has_left && is_fact == Some(false) {
            return Ok(());
        }
        let mut deciding: Deciding =
            Box::pin(answer(Arc::clone(&self.daemon), Arc::clone(&self.caller), query, body));
        match deciding.as_mut().poll(cx) {
            Poll::Ready(decided) => self.put(Some(id), decided),
            // What it is, it finds out by itself.
            Poll::Pending if self.has_left && is_fact.is_none() => {}
            Poll::Pending => {
                let (handle, registration) = AbortHandle::new_pair();
                self.under_way.insert(id, Begun { handle, length, is_fact });
                self.bytes += length;
                self.deciding.push(Abortable::new(UnderWay { id, deciding }, registration));
            }
        }
        Ok(())
    }

    /// An event is not under way any more; what runs for it is cancelled.
    fn forget(&mut self, id: u64) {
        if let Some(Begun { handle, length, .. }) = self.under_way.remove(&id) {
            handle.abort();
            self.bytes -= length;
        }
    }

    /// The publisher is gone, with or without more behind what was read. What has not happened is cancelled.
    fn leave(&mut self, is_last: bool) {
        (self.has_left, self.is_last) = (true, self.is_last || is_last);
        // What was sent until here can be read still; where it is closed already, that is so too.
        self.stream.close().ok();
        self.outgoing.clear();
        self.unread.clear();
        (self.written, self.since.unread) = (0, None);
        let cancelled = self.under_way.iter().filter(|(_, begun)| begun.is_fact != Some(true));
        for id in cancelled.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.forget(id);
        }
    }

    fn read(&self, text: &[u8]) -> Result<EventDraft, Problem> {
        read(&self.daemon, fields(text)?)
    }

    /// Puts an answer in line.
    fn put(&mut self, id: Option<u64>, decided: Decided) {
        Counts::one(&self.daemon.counts.requests);
        if decided.is_err() {
            Counts::one(&self.daemon.counts.problems);
        }
        let (kind, (body, room)) = match decided {
            Ok(decision) => ("decision", decision),
            Err(problem) => ("problem", (to_string(&problem).unwrap_or_default(), Taken::default())),
        };
        if self.has_left {
            return;
        }
        self.unread.extend(room.shrunk(body.len()));
        // Writing to memory does not fail.
        let _written: io::Result<()> = match id {
            Some(id) => writeln!(
                self.outgoing,
                "{{\"type\":\"{kind}\",\"id\":{id},\"bytes\":{}}}\n{body}",
                body.len()
            ),
            None => writeln!(self.outgoing, "{{\"type\":\"{kind}\",\"bytes\":{}}}\n{body}", body.len()),
        };
    }

    /// Writes what the system takes; ready when that is everything.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest) = self.outgoing.get(self.written..).filter(|rest| !rest.is_empty()) {
            match self.stream.try_write(rest) {
                Ok(written) => {
                    self.written += written;
                    self.since.unread = None;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.since.unread.get_or_insert_with(Instant::now);
                    ready!(self.stream.poll_writable(cx))?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        self.outgoing.clear();
        self.outgoing.shrink_to(MOST_UNREAD);
        self.unread.clear();
        self.written = 0;
        Poll::Ready(Ok(()))
    }

    /// Whether more is to be read.
    fn is_read(&self) -> bool {
        self.outgoing.len() - self.written < MOST_UNREAD && !self.incoming.is_held_up()
    }

    /// Reads what is there; nothing is the end of the connection.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_readable(cx))?;
            match self.stream.try_read_into(self.incoming.space()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read),
            }
        }
    }

    /// Ready when a time is over, and everything is to be looked at again; an error when that is the end. Not ready
    /// while nothing is waited for.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let limits = &self.daemon.settings.limits;
        let is_late = self.is_read() && self.incoming.is_within_a_frame();
        self.since.frame = is_late.then(|| self.since.frame.unwrap_or_else(Instant::now));
        let frame = self.since.frame.map(|since| since + limits.whole);
        let unread = self.since.unread.map(|since| since + limits.unread);
        let look = (!self.is_read()).then(|| Instant::now() + LOOK);
        let Some(due) = [frame, unread, look].into_iter().flatten().min() else { return Poll::Pending };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
        if due < timer.deadline() {
            timer.as_mut().reset(due);
        }
        ready!(timer.as_mut().poll(cx));
        timer.as_mut().reset(due);
        let now = Instant::now();
        if [frame, unread].into_iter().flatten().any(|due| due <= now) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Poll::Ready(Ok(()))
    }
}

/// One event to its decision, as its body says.
async fn answer(daemon: Arc<Daemon>, caller: Arc<Caller>, query: PublishQuery, body: Body) -> Decided {
    caller.stands()?;
    match body {
        Body::Read(draft) => decide(&daemon, &caller, &query, draft?, Taken::default()).await,
        Body::Long(document) => decide_document(&daemon, &caller, &query, document).await,
    }
}
