//! Distributes the log of a worker to a function and to `tracing`; limits a flood (OC-68) and redacts secrets.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use lineside_redact::{Lines, redact};
use tokio::time::Instant;

use super::frames::Frame;
use super::log::{Allowance, Limiter, LogLevel, LogSource, WorkerLog, cut};

/// The function that receives a worker's log. It runs in the task of the worker and must not block.
#[derive(Clone)]
pub struct WorkerListener(Arc<dyn Fn(WorkerLog) + Send + Sync>);

impl WorkerListener {
    /// This function.
    pub fn new(told: impl Fn(WorkerLog) + Send + Sync + 'static) -> Self {
        Self(Arc::new(told))
    }
}

impl Default for WorkerListener {
    /// No function; `tracing` receives everything all the same.
    fn default() -> Self {
        Self::new(|_| {})
    }
}

impl fmt::Debug for WorkerListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WorkerListener")
    }
}

/// The listener and the limits on what it receives.
#[derive(Debug)]
pub(super) struct LogSink {
    listener: WorkerListener,
    limiter: Limiter,
    stderr: Heard,
    stray: Heard,
    /// The last lines of standard error, without secrets.
    last: VecDeque<String>,
}

/// One output.
#[derive(Debug)]
struct Heard {
    /// A private key is longer than a line.
    keys: Lines,
    allowance: Allowance,
}

impl Heard {
    fn new(now: Instant) -> Self {
        Self { keys: Lines::default(), allowance: Allowance::new(now) }
    }
}

/// So many of the last lines stand in a failure,
const LAST_LINES: usize = 12;
/// and so many bytes of them, as of a command.
const LAST_BYTES: usize = 2048;
/// What stands between them there, where all has to be one line.
const SEAM: &str = " | ";

impl LogSink {
    pub(super) fn new(listener: WorkerListener) -> Self {
        let now = Instant::now();
        let limiter = Limiter::new(now);
        Self { listener, limiter, stderr: Heard::new(now), stray: Heard::new(now), last: VecDeque::new() }
    }

    /// A frame that answers nothing.
    pub(super) fn frame(&mut self, frame: Frame) {
        match frame {
            Frame::Log { level, plugin, text } => self.say(WorkerLog::frame(&level, plugin, text)),
            Frame::Unknown | Frame::Bye | Frame::Pong | Frame::Cancelled { .. } | Frame::Waiting { .. } => {}
            Frame::Hello(_)
            | Frame::Loaded { .. }
            | Frame::Started { .. }
            | Frame::Result { .. }
            | Frame::Unasked => {
                self.supervisor(LogLevel::Warn, "an answer of the worker to nothing was dropped");
            }
        }
    }

    pub(super) fn supervisor(&mut self, level: LogLevel, text: impl Into<String>) {
        self.say(WorkerLog::supervisor(level, text));
    }

    /// A line of one of the outputs.
    pub(super) fn output(&mut self, source: LogSource, line: &[u8]) {
        let heard = if source == LogSource::Stderr { &mut self.stderr } else { &mut self.stray };
        if !heard.allowance.takes(Instant::now(), line.len()) {
            heard.keys.pass_over(&String::from_utf8_lossy(line));
            return self.limiter.drop_one();
        }
        let text = heard.keys.redact(&cut(line)).into_owned();
        if !self.passes() {
            return;
        }
        if source == LogSource::Stderr {
            self.last.push_back(text.trim_end().to_owned());
            if self.last.len() > LAST_LINES {
                self.last.pop_front();
            }
        }
        self.tell(WorkerLog::output(source, text));
    }

    pub(super) fn say(&mut self, mut log: WorkerLog) {
        if let WorkerLog::Line { text, .. } = &mut log {
            if !self.passes() {
                return;
            }
            *text = redact(text).into_owned();
        }
        self.tell(log);
    }

    /// Whether a line passes; the number of dropped lines before it is reported first.
    fn passes(&mut self) -> bool {
        let Some(untold) = self.limiter.pass(Instant::now()) else {
            return false;
        };
        if untold > 0 {
            let text = format!("{untold} lines of the worker were dropped");
            self.tell(WorkerLog::supervisor(LogLevel::Warn, text));
        }
        true
    }

    /// What was said so far has nothing to do with what may go wrong from now on.
    pub(super) fn forget(&mut self) {
        self.last.clear();
    }

    /// Why something went wrong, in one line, with the last lines of standard error.
    pub(super) fn with_stderr(&self, why: &str) -> String {
        let mut bytes = 0;
        let fits = |line: &&String| {
            bytes += line.len() + SEAM.len();
            bytes <= LAST_BYTES
        };
        let mut lines: Vec<&str> = self.last.iter().rev().take_while(fits).map(String::as_str).collect();
        lines.reverse();
        if lines.is_empty() { why.to_owned() } else { format!("{why} (stderr: {})", lines.join(SEAM)) }
    }

    fn tell(&self, log: WorkerLog) {
        match &log {
            WorkerLog::Line { source, level, plugin, text } => {
                let plugin = plugin.as_deref();
                match level {
                    LogLevel::Debug => tracing::debug!(?source, plugin, "{text}"),
                    LogLevel::Info => tracing::info!(?source, plugin, "{text}"),
                    LogLevel::Warn => tracing::warn!(?source, plugin, "{text}"),
                    LogLevel::Error => tracing::error!(?source, plugin, "{text}"),
                }
            }
            WorkerLog::GaveUp { text } => tracing::error!("{text}"),
            WorkerLog::Restarted(ready) => {
                tracing::warn!(plugins = ready.plugins.len(), "the worker was started again");
            }
        }
        (self.listener.0)(log);
    }
}

#[cfg(test)]
#[path = "../../../../tests/redaction/canaries.rs"]
mod canaries;

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use super::*;

    #[test]
    fn c04_what_a_worker_says_is_told_without_secrets() {
        let all = canaries::all();
        for source in [LogSource::Stderr, LogSource::Stray] {
            let heard = Arc::new(Mutex::new(String::new()));
            for canary in &all {
                let into = Arc::clone(&heard);
                let mut log_sink = LogSink::new(WorkerListener::new(move |log| {
                    let WorkerLog::Line { text, .. } = log else { panic!("no line: {log:?}") };
                    into.lock().unwrap_or_else(PoisonError::into_inner).extend([text.as_str(), "\n"]);
                }));
                // A key without its beginning is known by its end, which comes too late line by line.
                let begins = canary.text.contains("-----BEGIN") || !canary.text.contains('\n');
                for line in canary.text.split('\n').filter(|_| begins) {
                    log_sink.output(source, line.as_bytes());
                }
                log_sink.frame(Frame::Log {
                    level: "info".to_owned(),
                    plugin: None,
                    text: canary.text.clone(),
                });
                log_sink.supervisor(LogLevel::Warn, canary.text.clone());
            }
            let heard = heard.lock().unwrap();
            assert!(heard.len() > 3000);
            assert_eq!(canaries::told(&heard, &all), [""; 0]);
        }
    }
}
