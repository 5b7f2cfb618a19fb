//! Who is told what a worker says: a function, and `tracing`; a flood is cut (OC-68).

use std::fmt;
use std::sync::Arc;

use tokio::time::Instant;

use super::frames::Frame;
use super::log::{Limiter, LogLevel, WorkerLog};

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
}

impl Voice {
    pub(super) fn new(listener: WorkerListener) -> Self {
        Self { listener, limiter: Limiter::new(Instant::now()) }
    }

    /// A frame that answers nothing.
    pub(super) fn frame(&mut self, frame: Frame) {
        match frame {
            Frame::Log { level, plugin, text } => self.say(WorkerLog::frame(&level, plugin, text)),
            Frame::Unknown | Frame::Bye | Frame::Pong | Frame::Cancelled { .. } => {}
            Frame::Hello(_) | Frame::Loaded { .. } | Frame::Started { .. } | Frame::Result { .. } => {
                self.supervisor(LogLevel::Warn, "an answer of the worker to nothing was dropped");
            }
        }
    }

    pub(super) fn supervisor(&mut self, level: LogLevel, text: impl Into<String>) {
        self.say(WorkerLog::supervisor(level, text));
    }

    pub(super) fn say(&mut self, log: WorkerLog) {
        if let WorkerLog::Line { .. } = log {
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
