//! Who is told what a worker says: a function, and `tracing`; a flood is cut (OC-68), and secrets are taken out.

use std::fmt;
use std::sync::Arc;

use lineside_core::redact::{Lines, redact};
use tokio::time::Instant;

use super::frames::Frame;
use super::log::{Limiter, LogLevel, LogSource, WorkerLog};

/// A function that is told. It runs in the task of the worker and must not block.
#[derive(Clone)]
pub struct WorkerListener(Arc<dyn Fn(WorkerLog) + Send + Sync>);

impl WorkerListener {
    /// This function.
    pub fn new(told: impl Fn(WorkerLog) + Send + Sync + 'static) -> Self {
        Self(Arc::new(told))
    }
}

impl Default for WorkerListener {
    /// Nobody; `tracing` hears everything all the same.
    fn default() -> Self {
        Self::new(|_| {})
    }
}

impl fmt::Debug for WorkerListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WorkerListener")
    }
}

/// The listener and the bound on what it is told.
#[derive(Debug)]
pub(super) struct Voice {
    listener: WorkerListener,
    limiter: Limiter,
    /// A private key is longer than a line of standard error, or of standard output.
    stderr: Lines,
    stray: Lines,
}

impl Voice {
    pub(super) fn new(listener: WorkerListener) -> Self {
        let limiter = Limiter::new(Instant::now());
        Self { listener, limiter, stderr: Lines::default(), stray: Lines::default() }
    }

    /// A frame that answers nothing.
    pub(super) fn frame(&mut self, frame: Frame) {
        match frame {
            Frame::Log { level, plugin, text } => self.say(WorkerLog::frame(&level, plugin, text)),
            Frame::Unknown | Frame::Bye | Frame::Pong | Frame::Cancelled { .. } => {}
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

    pub(super) fn say(&mut self, mut log: WorkerLog) {
        if let WorkerLog::Line { source, text, .. } = &mut log {
            // Also of a line that is dropped: it may be the end of a key.
            *text = match source {
                LogSource::Stderr => self.stderr.redact(text),
                LogSource::Stray => self.stray.redact(text),
                LogSource::Frame | LogSource::Supervisor => redact(text),
            }
            .into_owned();
            match self.limiter.pass(Instant::now()) {
                None => return,
                Some(0) => {}
                Some(untold) => {
                    let text = format!("{untold} lines of the worker were dropped");
                    self.tell(WorkerLog::supervisor(LogLevel::Warn, text));
                }
            }
        }
        self.tell(log);
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
                let mut voice = Voice::new(WorkerListener::new(move |log| {
                    let WorkerLog::Line { text, .. } = log else { panic!("no line: {log:?}") };
                    into.lock().unwrap_or_else(PoisonError::into_inner).extend([text.as_str(), "\n"]);
                }));
                // A key whose beginning nobody has seen is known by its end, which comes too late line by line.
                let begins = canary.text.contains("-----BEGIN") || !canary.text.contains('\n');
                for line in canary.text.split('\n').filter(|_| begins) {
                    voice.say(WorkerLog::output(source, line.as_bytes()));
                }
                voice.frame(Frame::Log { level: "info".to_owned(), plugin: None, text: canary.text.clone() });
                voice.supervisor(LogLevel::Warn, canary.text.clone());
            }
            let heard = heard.lock().unwrap();
            assert!(heard.len() > 3000);
            assert_eq!(canaries::told(&heard, &all), [""; 0]);
        }
    }
}
