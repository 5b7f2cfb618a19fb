//! One connection for events.
//!
//! An event that is alone under way reads its answer itself: the task that waits for it is the one that the system wakes.
//! When another one is sent meanwhile, a task of the connection reads for all of them, so that none depends on another one
//! being polled.

use std::future::{Future, poll_fn};
use std::io::{self, Write as _};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker, ready};

use lineside_core::json::from_slice;
use lineside_stream::Stream;
use serde::Deserialize;

use crate::tasks::{Running, start};

/// How many events of a connection are under way at most, and how many bytes they have together. The daemon takes no
/// more; one that is longer goes alone.
const MOST: usize = 64;
const MOST_BYTES: usize = 64 << 10;

/// How much is read at once, in bytes.
const CHUNK: usize = 8 << 10;

/// A connection for events.
pub(super) struct Connection {
    stream: Stream,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: u64,
    under_way: Vec<UnderWay>,
    /// How long the bodies of these are together.
    bytes: usize,
    incoming: Vec<u8>,
    /// What the system has not taken yet.
    outgoing: Vec<u8>,
    /// The task that reads, since there was a second event for the first time.
    reader: Option<Running>,
    /// Whether that reads, and how it is woken.
    is_shared: bool,
    wakes_reader: Option<Waker>,
    /// Why nothing can be sent or read any more.
    broken: Option<String>,
}

/// An event without an answer, or with one that is not taken yet.
struct UnderWay {
    id: u64,
    length: usize,
    answer: Option<(Kind, Vec<u8>)>,
    waker: Option<Waker>,
}

/// What an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Decision,
    Problem,
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "type", borrow)]
    kind: std::borrow::Cow<'a, str>,
    id: Option<u64>,
    bytes: Option<usize>,
}

/// An event that was sent, to its answer. Dropping it has the event cancelled.
pub(super) struct Published {
    connection: Arc<Connection>,
    id: u64,
}

impl Connection {
    /// A connection that has become one for events, of which this much was read already.
    pub(super) fn new(stream: Stream, begun: &[u8]) -> Self {
        let state = State { incoming: begun.to_vec(), ..State::default() };
        Self { stream, state: Mutex::new(state) }
    }

    /// How many events are under way.
    pub(super) fn load(&self) -> usize {
        self.state().under_way.len()
    }

    /// Whether nothing can be sent or read any more, as far as that is known.
    pub(super) fn is_broken(&self) -> bool {
        self.state().broken.is_some()
    }

    /// Sends an event, where there is room for it. `None` as well where the daemon has closed the connection meanwhile:
    /// the system takes nothing of the event then.
    pub(super) fn publish(this: &Arc<Self>, body: &[u8], within_ms: Option<u128>) -> Option<Published> {
        let mut state = this.state();
        let count = state.under_way.len();
        let has_room = count == 0 || (count < MOST && state.bytes + body.len() <= MOST_BYTES);
        if state.broken.is_some() || !has_room {
            return None;
        }
        state.last += 1;
        let (id, length) = (state.last, body.len());
        let mut frame = Vec::with_capacity(length + 80);
        let within = within_ms.map_or_else(String::new, |time| format!(",\"within_ms\":{time}"));
        // Writing to memory does not fail.
        writeln!(frame, "{{\"type\":\"publish\",\"id\":{id},\"bytes\":{length}{within}}}").ok()?;
        frame.extend_from_slice(body);
        state.under_way.push(UnderWay { id, length, answer: None, waker: None });
        state.bytes += length;
        if count > 0 && !state.is_shared {
            this.share(&mut state);
        }
        if !this.send(&mut state, &frame) {
            state.take(id);
            return None;
        }
        drop(state);
        Some(Published { connection: Arc::clone(this), id })
    }

    /// Has the task of the connection read from here on, until no event is under way.
    fn share(self: &Arc<Self>, state: &mut State) {
        state.is_shared = true;
        state.wake_reader();
        if state.reader.is_none() {
            let connection = Arc::downgrade(self);
            state.reader = Some(start(poll_fn(move |cx| read_for_all(&connection, cx))));
        }
    }

    /// Sends bytes behind those that were not taken yet. `false` when none of them can arrive.
    fn send(&self, state: &mut State, bytes: &[u8]) -> bool {
        let mut rest = bytes;
        while state.outgoing.is_empty() && !rest.is_empty() {
            match self.stream.try_write(rest) {
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    state.break_off(&error);
                    return rest.len() < bytes.len();
                }
            }
        }
        if !rest.is_empty() {
            state.outgoing.extend_from_slice(rest);
            state.wake_reader();
        }
        true
    }

    /// Writes and reads what can be, until this event has its answer; that of all, without one.
    fn poll_answers(&self, state: &mut State, id: Option<u64>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let is_done = |one: &UnderWay| Some(one.id) == id && one.answer.is_some();
            if state.broken.is_some() || state.under_way.iter().any(is_done) {
                return Poll::Ready(());
            }
            if let Err(error) = self.poll_write(state, cx) {
                state.break_off(&error);
                continue;
            }
            match ready!(self.poll_read(state, cx)) {
                Ok(0) => state.break_off(&io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {
                    if let Err(error) = state.take_answers(id) {
                        state.break_off(&error);
                    }
                }
                Err(error) => state.break_off(&error),
            }
        }
    }

    /// Writes what the system takes, and has the task woken for the rest.
    fn poll_write(&self, state: &mut State, cx: &mut Context<'_>) -> io::Result<()> {
        while !state.outgoing.is_empty() {
            match self.stream.try_write(&state.outgoing) {
                Ok(count) => drop(state.outgoing.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.stream.poll_writable(cx)?.is_pending() {
                        return Ok(());
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn poll_read(&self, state: &mut State, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_readable(cx))?;
            state.incoming.reserve(CHUNK);
            match self.stream.try_read_into(&mut state.incoming) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read),
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads for all events that are under way, and rests while none is.
fn read_for_all(connection: &Weak<Connection>, cx: &mut Context<'_>) -> Poll<()> {
    let Some(connection) = connection.upgrade() else { return Poll::Ready(()) };
    let mut state = connection.state();
    if !state.wakes_reader.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
        state.wakes_reader = Some(cx.waker().clone());
    }
    match state.is_shared {
        true => connection.poll_answers(&mut state, None, cx),
        false => Poll::Pending,
    }
}

impl State {
    /// Takes the answers that are whole, and wakes those who wait for them: not the one who reads, which looks itself.
    fn take_answers(&mut self, reads: Option<u64>) -> io::Result<()> {
        let mut start = 0;
        while let Some((head, length)) = line(self.incoming.get(start..).unwrap_or_default()) {
            if head.is_empty() {
                start += length;
                continue;
            }
            let head: Head<'_> = from_slice(head).map_err(io::Error::other)?;
            let bytes = head.bytes.unwrap_or_default();
            let Some(body) = self.incoming.get(start + length..(start + length).saturating_add(bytes)) else {
                break;
            };
            let kind = match &*head.kind {
                "decision" => Some(Kind::Decision),
                "problem" => Some(Kind::Problem),
                // Of a later version.
                _ => None,
            };
            if head.id.is_none() && kind == Some(Kind::Problem) {
                return Err(io::Error::other(String::from_utf8_lossy(body).into_owned()));
            }
            // One that was cancelled may have been on its way.
            let asked = self.under_way.iter_mut().find(|one| Some(one.id) == head.id);
            if let (Some(asked), Some(kind)) = (asked, kind) {
                asked.answer = Some((kind, body.to_vec()));
                if let Some(waker) = asked.waker.take().filter(|_| Some(asked.id) != reads) {
                    waker.wake();
                }
            }
            start += length + bytes;
        }
        self.incoming.drain(..start);
        self.incoming.shrink_to(CHUNK);
        Ok(())
    }

    fn wake_reader(&self) {
        if let Some(waker) = &self.wakes_reader {
            waker.wake_by_ref();
        }
    }

    fn break_off(&mut self, error: &io::Error) {
        self.broken.get_or_insert_with(|| error.to_string());
        for waker in self.under_way.iter_mut().filter_map(|one| one.waker.take()) {
            waker.wake();
        }
    }

    /// Takes an event out; its answer, if it has one.
    fn take(&mut self, id: u64) -> Option<(Kind, Vec<u8>)> {
        let place = self.under_way.iter().position(|one| one.id == id)?;
        let UnderWay { length, answer, .. } = self.under_way.swap_remove(place);
        self.bytes -= length;
        if self.under_way.is_empty() {
            self.is_shared = false;
        }
        answer
    }
}

/// The first line, and how long it is with its end.
fn line(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some((bytes.get(..end)?, end + 1))
}

impl Future for Published {
    type Output = io::Result<(Kind, Vec<u8>)>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { connection, id } = &*self;
        let mut state = connection.state();
        if !state.is_shared && connection.poll_answers(&mut state, Some(*id), cx).is_pending() {
            // Kept for the task of the connection, should that take over.
            state.wait(*id, cx);
            return Poll::Pending;
        }
        let is_answered = state.under_way.iter().any(|one| one.id == *id && one.answer.is_some());
        if !is_answered && state.broken.is_none() {
            state.wait(*id, cx);
            return Poll::Pending;
        }
        let broken = state.broken.clone();
        match state.take(*id) {
            Some(answer) => Poll::Ready(Ok(answer)),
            None => Poll::Ready(Err(io::Error::other(broken.unwrap_or_default()))),
        }
    }
}

impl State {
    fn wait(&mut self, id: u64, cx: &Context<'_>) {
        if let Some(one) = self.under_way.iter_mut().find(|one| one.id == id) {
            match &mut one.waker {
                Some(waker) => waker.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
        }
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        let Self { connection, id } = &*self;
        let mut state = connection.state();
        let is_under_way = state.under_way.iter().any(|one| one.id == *id);
        if !is_under_way || state.take(*id).is_some() || state.broken.is_some() {
            return;
        }
        connection.send(&mut state, format!("{{\"type\":\"cancel\",\"id\":{id}}}\n").as_bytes());
        if state.under_way.is_empty() && !state.outgoing.is_empty() {
            // Nothing goes on with writing; the end of the connection cancels it as well.
            state.break_off(&io::Error::other("an event was given up before it was sent"));
            connection.stream.close().ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use tokio::io::AsyncWriteExt as _;
    use tokio::net::UnixStream;

    use super::*;

    /// How often its task was woken, which wakes the task of the test.
    struct Woken(AtomicUsize, Waker);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
            self.1.wake_by_ref();
        }
    }

    /// Who reads its answer itself needs not be woken for it once more, which would cost a runtime a turn for nothing.
    #[tokio::test]
    async fn an_event_that_is_alone_is_woken_once() {
        let (here, mut there) = UnixStream::pair().unwrap();
        let connection = Arc::new(Connection::new(Stream::new(here).unwrap(), &[]));
        let mut published = pin!(Connection::publish(&connection, b"{}", None).unwrap());
        let mut woken = None;
        let (kind, answer) = poll_fn(|cx| {
            let woken = woken.get_or_insert_with(|| Arc::new(Woken(AtomicUsize::new(0), cx.waker().clone())));
            let polled = published.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(woken))));
            if polled.is_pending() {
                let answer = there.write_all(b"{\"type\":\"decision\",\"id\":1,\"bytes\":2}\n{}");
                assert!(pin!(answer).poll(&mut Context::from_waker(Waker::noop())).is_ready());
            }
            polled
        })
        .await
        .unwrap();
        assert_eq!((kind, &*answer), (Kind::Decision, &b"{}"[..]));
        assert_eq!(woken.unwrap().0.load(Ordering::Relaxed), 1);
    }
}
