//! A worker that is asked nothing: it is given lines, and what it writes is its log.
//!
//! It is kept running, and started anew by the rules of every worker that is started here. What it has not taken out of its
//! pipe when it ends is given to the next one, from the beginning of the first line that it has not taken whole.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use lineside_core::invocation::{Environment, Program};
use lineside_core::worker::StartWorkerError;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::connection::{Connection, Event};
use super::kept_program;
use super::log::{LogLevel, WorkerLog};
use super::log_sink::{LogSink, WorkerListener};
use super::restarts::{Next, Restarts, STARTED};
use super::transport::{Connect as _, Start};
use crate::containment::Containment;

/// The longest line of its output.
const LINE: usize = 64 * 1024;
/// How often what is to end is asked whether it has taken everything.
const LOOK: Duration = Duration::from_millis(2);

/// A program that is kept and has lines on its standard input.
///
/// It runs as long as [`keep`](Self::keep), [`give`](Self::give) or [`end`](Self::end) is awaited, and between two of them;
/// its outputs are read meanwhile alone. Dropping it kills its processes.
///
/// ```
/// use std::time::Duration;
///
/// use lineside_core::invocation::{Environment, Program};
/// use lineside_exec::LineWorker;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut worker = LineWorker::new(Program::argv(["cat"]), Environment::default(), None);
/// worker.give(b"one\ntwo\n").await.unwrap();
/// assert!(worker.end(Duration::from_secs(5)).await.is_empty());
/// # }
/// ```
#[derive(Debug)]
pub struct LineWorker {
    start: Start,
    restarts: Restarts,
    log_sink: LogSink,
    /// Whole lines that are not known to have been taken.
    lines: VecDeque<u8>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// None runs, and one is started then.
    Down { at: Instant },
    /// None runs because of this, and one is started then.
    Paused { until: Instant, why: String },
    /// One runs.
    Runs(Box<Connection>),
}

impl LineWorker {
    /// One that is not started yet.
    ///
    /// # Panics
    ///
    /// It is used outside a tokio runtime with I/O and time enabled.
    #[must_use]
    pub fn new(program: Program, environment: Environment, working_directory: Option<PathBuf>) -> Self {
        let invocation = kept_program(program, environment, working_directory);
        let start = Start { invocation, containment: Containment::new(), _script: None };
        Self {
            start,
            restarts: Restarts::new(STARTED),
            log_sink: LogSink::new(WorkerListener::default()),
            lines: VecDeque::new(),
            state: State::Down { at: Instant::now() },
        }
    }

    /// Keeps it running; returns why it is not started for a while once it has ended too often. Awaited again, it goes on.
    /// Cancel safe.
    pub async fn keep(&mut self) -> String {
        loop {
            self.step().await;
            if let State::Paused { why, .. } = &self.state {
                return why.clone();
            }
        }
    }

    /// Gives it whole lines, and waits until there is room for more; as long as that takes, and over restarts.
    ///
    /// Cancel safe: the lines are given all the same, as far as it is kept or ended after that.
    ///
    /// # Errors
    ///
    /// It has ended too often and is not started for a while. The lines are not given then; a worker that ended meanwhile may
    /// have had some of them.
    pub async fn give(&mut self, lines: &[u8]) -> Result<(), String> {
        self.lines.extend(lines);
        if let State::Runs(connection) = &mut self.state {
            connection.push(lines);
            connection.write();
        }
        loop {
            match &mut self.state {
                State::Paused { why, until } if *until > Instant::now() => {
                    self.lines.truncate(self.lines.len().saturating_sub(lines.len()));
                    return Err(why.clone());
                }
                State::Runs(connection) => {
                    if connection.has_room() {
                        self.forget_taken();
                        return Ok(());
                    }
                }
                State::Down { .. } | State::Paused { .. } => {}
            }
            self.step().await;
        }
    }

    /// Waits until it has taken everything, closes its input and waits for its end; at most for this time, and then kills it.
    /// Returns the lines that it has not taken.
    ///
    /// Cancel safe: dropped, it goes on when it is awaited again.
    pub async fn end(&mut self, grace: Duration) -> Vec<u8> {
        let by = Instant::now() + grace;
        let mut closed = false;
        while let State::Runs(connection) = &mut self.state {
            let now = Instant::now();
            if connection.untaken() == 0 && !std::mem::replace(&mut closed, true) {
                connection.stop_writing();
            }
            if now >= by {
                connection.kill("it did not end in time");
            }
            let look = if closed && now < by { by } else { now + LOOK };
            match timeout_at(look, connection.event(&mut self.log_sink)).await {
                Ok(Event::Ended(_)) => {
                    self.forget_taken();
                    self.state = State::Down { at: Instant::now() };
                }
                Ok(Event::Frame(frame)) => self.log_sink.frame(frame),
                Ok(Event::Room) | Err(_) => {}
            }
        }
        self.lines.drain(..).collect()
    }

    /// Until something has happened.
    async fn step(&mut self) {
        match &mut self.state {
            State::Down { at } | State::Paused { until: at, .. } => {
                sleep_until(*at).await;
                match self.start.connect().await {
                    Ok(transport) => {
                        self.restarts.came();
                        self.log_sink.forget();
                        let lines = self.lines.iter().copied().collect();
                        let connection = Connection::new(transport, None, LINE, lines).that_listens();
                        self.state = State::Runs(Box::new(connection));
                    }
                    Err(StartWorkerError::NotFound { why } | StartWorkerError::Failed { why, .. }) => {
                        self.ended(&format!("it could not be started: {why}"));
                    }
                }
            }
            State::Runs(connection) => match connection.event(&mut self.log_sink).await {
                Event::Room => {}
                Event::Frame(frame) => self.log_sink.frame(frame),
                Event::Ended(ending) => {
                    self.forget_taken();
                    let why = self.log_sink.with_stderr(&ending.why);
                    self.ended(&why);
                }
            },
        }
    }

    /// There is none because of this.
    fn ended(&mut self, why: &str) {
        self.log_sink.supervisor(LogLevel::Error, format!("the worker is gone: {why}"));
        let now = Instant::now();
        self.state = match self.restarts.ended(now) {
            Next::Start(wait) => State::Down { at: now + wait },
            Next::Pause(pause) => {
                let why = format!("it is not started for {} s: {why}", pause.as_secs());
                if self.restarts.tells() {
                    self.log_sink.say(WorkerLog::GaveUp { text: why.clone() });
                }
                State::Paused { until: now + pause, why }
            }
        };
    }

    /// Forgets the lines that have been taken.
    fn forget_taken(&mut self) {
        let State::Runs(connection) = &self.state else { return };
        let taken = self.lines.len().saturating_sub(connection.untaken());
        let whole = self.lines.iter().take(taken).rposition(|byte| *byte == b'\n');
        self.lines.drain(..whole.map_or(0, |end| end + 1));
    }
}
