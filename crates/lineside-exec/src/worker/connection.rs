//! One worker that is there: what is written to it, and what comes out of it, its frames as events and the rest as its log.
//!
//! Its input and its outputs are moved at the same time, so that neither side can block the other (OC-70).
//! What a frame means is the supervisor's business, and where the bytes go that of its transport.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::calls::Ending;
use super::frames::{self, Frame};
use super::lines::{Line, Lines, READ_BYTES};
use super::log::{LogLevel, LogSource};
use super::log_sink::LogSink;
use super::transport::{Output, Transport};
use crate::pipes::try_again;

/// How long outputs are read after the process has exited, and an exit is waited for after `SIGKILL`.
const SETTLE: Duration = Duration::from_millis(400);
/// How often those who were killed are looked at.
const TICK: Duration = Duration::from_millis(2);
/// So much is handed to the input before more calls are written into its buffer.
const ENOUGH: usize = 64 * 1024;
/// What stands in a frame of the worker beside its value.
const MARGIN: usize = 4096;
/// The longest line of a log.
const LINE_OF_LOG: usize = 64 * 1024;

/// A worker that is there.
#[derive(Debug)]
pub(super) struct Connection {
    transport: Box<dyn Transport>,
    unwritten: VecDeque<u8>,
    writes: bool,
    /// What an end has kept from being taken, in bytes.
    left: usize,
    /// Whether anything is expected of it; one that only listens may close its output.
    answers: bool,
    /// A sender waits for room.
    crowded: bool,
    frames: Lines,
    log: Lines,
    chunk: Box<[u8]>,
    turn: bool,
    /// Absent where frames bear none.
    token: Option<String>,
    events: VecDeque<Event>,
    end: End,
}

/// What a worker does.
#[derive(Debug)]
pub(super) enum Event {
    /// It wrote a frame.
    Frame(Frame),
    /// There is room again for more frames.
    Room,
    /// It has ended, its whole tree with it; nothing comes after this.
    Ended(Ending),
}

/// How near the end is.
#[derive(Debug, Clone, Copy)]
enum End {
    /// It runs.
    Far,
    /// It closed its output, and is killed unless it has exited by then.
    Silent { by: Instant },
    /// It was killed, because of this, and must have exited by then.
    Killed { why: &'static str, by: Instant },
    /// It has exited, and what it wrote is read until then.
    Exited { why: Option<&'static str>, by: Instant },
}

/// What has happened while an event was waited for.
enum Woken {
    Readable(Output),
    Writable,
    Gone,
    Late,
}

impl Connection {
    /// A worker that is there, and this to be said to it first.
    pub(super) fn new(
        mut transport: Box<dyn Transport>,
        token: Option<String>,
        largest: usize,
        hello: Vec<u8>,
    ) -> Self {
        let frames = Lines::new(largest.saturating_add(MARGIN)).within(transport.line_room());
        let mut connection = Self {
            transport,
            unwritten: hello.into(),
            writes: true,
            left: 0,
            answers: true,
            crowded: false,
            frames,
            log: Lines::new(LINE_OF_LOG),
            chunk: vec![0; READ_BYTES].into(),
            turn: false,
            token,
            events: VecDeque::new(),
            end: End::Far,
        };
        connection.write();
        connection
    }

    /// Nothing is expected of it; one that does not listen is killed.
    pub(super) fn that_listens(self) -> Self {
        Self { answers: false, ..self }
    }

    /// How much of what was pushed it has not taken, at its end as well.
    pub(super) fn untaken(&self) -> usize {
        self.left + self.unwritten.len() + self.transport.untaken()
    }

    /// Puts a frame behind those that are not written yet.
    pub(super) fn push(&mut self, frame: &[u8]) {
        self.unwritten.extend(frame);
    }

    /// Whether more than frames that cannot wait may be pushed; if not, an event says when.
    pub(super) fn has_room(&mut self) -> bool {
        self.crowded = self.unwritten.len() >= ENOUGH;
        !self.crowded
    }

    /// Whether it has exited or was killed.
    pub(super) fn is_ending(&self) -> bool {
        !matches!(self.end, End::Far | End::Silent { .. })
    }

    /// How long the worker has waited for a processor, since its start.
    pub(super) fn starved(&self) -> Duration {
        self.transport.starved()
    }

    /// Kills the whole tree; the event of the end follows.
    pub(super) fn kill(&mut self, why: &'static str) {
        if let End::Far | End::Silent { .. } = self.end {
            self.transport.kill();
            self.end = End::Killed { why, by: Instant::now() + SETTLE };
        }
    }

    /// Ends the whole tree and waits for it, without a look at what it says.
    pub(super) async fn ended(mut self, log_sink: &mut LogSink) {
        self.kill("it was not needed any more");
        while !matches!(self.event(log_sink).await, Event::Ended(_)) {}
    }

    /// Waits for the next event, writes meanwhile, and has told whatever else the worker says. Cancel safe.
    pub(super) async fn event(&mut self, log_sink: &mut LogSink) -> Event {
        loop {
            if let Some(event) = self.events.pop_front() {
                return event;
            }
            self.write();
            if !self.events.is_empty() {
                continue;
            }
            if let Some(ending) = self.concluded() {
                return Event::Ended(ending);
            }
            let by = match self.end {
                End::Far => None,
                End::Silent { by } | End::Killed { by, .. } => Some(by),
                // Those who left its group are looked for again and again.
                End::Exited { by, .. } => Some(by.min(Instant::now() + TICK)),
            };
            match self.woken(by).await {
                Woken::Readable(output) => self.read(output, log_sink),
                Woken::Writable => {}
                Woken::Gone => self.exited(),
                Woken::Late => self.too_late(),
            }
        }
    }

    async fn woken(&mut self, by: Option<Instant>) -> Woken {
        let exited = matches!(self.end, End::Exited { .. });
        let Self { transport, unwritten, frames, log, turn, .. } = self;
        // Neither output can keep the other one waiting.
        *turn = !*turn;
        let both = if *turn { [Output::Frames, Output::Log] } else { [Output::Log, Output::Frames] };
        let mut late = pin!(until(by));
        poll_fn(|cx| {
            for output in both {
                let lines = match output {
                    Output::Frames => &*frames,
                    Output::Log => &*log,
                };
                if !lines.is_at_end() && transport.poll_readable(output, cx).is_ready() {
                    return Poll::Ready(Woken::Readable(output));
                }
            }
            if !unwritten.is_empty() && transport.poll_writable(cx).is_ready() {
                return Poll::Ready(Woken::Writable);
            }
            if !exited && transport.poll_gone(cx).is_ready() {
                return Poll::Ready(Woken::Gone);
            }
            late.as_mut().poll(cx).map(|()| Woken::Late)
        })
        .await
    }

    /// What was waited for has not come.
    fn too_late(&mut self) {
        match self.end {
            // Only this process closes the output of a running worker.
            End::Silent { .. } => self.kill("it closed its output"),
            _ => self.exited(),
        }
    }

    /// The leader has exited, or is not waited for any more.
    fn exited(&mut self) {
        let why = match self.end {
            End::Far | End::Silent { .. } => None,
            End::Killed { why, .. } => Some(why),
            End::Exited { .. } => return,
        };
        // Helpers of plugins hold the pipes, and end with the worker.
        self.transport.kill();
        self.end = End::Exited { why, by: Instant::now() + SETTLE };
        self.stop_writing();
    }

    /// There is nothing more for it; what it has not taken counts as left.
    pub(super) fn stop_writing(&mut self) {
        self.left += self.transport.untaken();
        self.transport.close_input();
        self.writes = false;
    }

    /// How it ended, once everything that it wrote is read.
    fn concluded(&mut self) -> Option<Ending> {
        let End::Exited { why, by } = self.end else {
            if let End::Far = self.end
                && self.answers
                && self.frames.is_at_end()
            {
                self.end = End::Silent { by: Instant::now() + SETTLE };
            }
            return None;
        };
        let over = self.transport.is_deserted() && self.frames.is_at_end() && self.log.is_at_end();
        if !over && Instant::now() < by {
            return None;
        }
        Some(self.transport.ending(why))
    }

    /// Writes what there is room for.
    pub(super) fn write(&mut self) {
        while self.writes && !self.unwritten.is_empty() {
            match self.transport.try_write(self.unwritten.as_slices().0) {
                Ok(bytes) => drop(self.unwritten.drain(..bytes)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if try_again(&error) => {}
                // The worker no longer reads: it is about to end.
                Err(_) => {
                    self.writes = false;
                    if !self.answers {
                        self.kill("it closed its input");
                    }
                }
            }
        }
        if !self.writes {
            self.left += self.unwritten.len();
            self.unwritten.clear();
        }
        if self.crowded && self.unwritten.len() < ENOUGH {
            self.crowded = false;
            self.events.push_back(Event::Room);
        }
    }

    fn read(&mut self, output: Output, log_sink: &mut LogSink) {
        let Self { transport, frames, log, chunk, events, token, .. } = self;
        let (lines, token) = match output {
            Output::Frames => (frames, token.as_deref()),
            Output::Log => (log, None),
        };
        let source = |chunk: &mut [u8]| transport.try_read(output, chunk);
        lines.read(chunk, source, |line| match (line, output) {
            (Line::Whole(line), Output::Frames) => match frames::read(line, token) {
                Some(frame) => events.push_back(Event::Frame(frame)),
                None => log_sink.output(LogSource::Stray, line),
            },
            (Line::Whole(line), Output::Log) => log_sink.output(LogSource::Stderr, line),
            (Line::TooLong(bytes), _) => {
                log_sink.supervisor(LogLevel::Warn, format!("a line of {bytes} bytes was dropped"));
            }
        });
    }
}

/// The moment, if there is one.
pub(super) async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
