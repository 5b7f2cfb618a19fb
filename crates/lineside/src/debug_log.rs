//! Where the debug log of a dialect is written, the lines of one moment together.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use lineside_dialects::LogTarget;

/// The debug log of one load of a dialect.
pub(crate) struct DebugLog {
    target: LogTarget,
    writing: Mutex<()>,
}

impl DebugLog {
    pub(crate) fn to(target: LogTarget) -> Self {
        Self { target, writing: Mutex::new(()) }
    }

    pub(crate) fn write(&self, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        let mut text = lines.join("\n");
        text.push('\n');
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match &self.target {
            LogTarget::Stderr => std::io::stderr().write_all(text.as_bytes()),
            LogTarget::File(path) => OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .and_then(|mut file| file.write_all(text.as_bytes())),
        };
        if let Err(error) = written {
            tracing::warn!(%error, "failed to write the debug log of a dialect");
        }
    }
}
