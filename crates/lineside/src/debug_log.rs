//! Where the debug log of a dialect is written, the lines of one moment together.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use lineside_dialects::LogTarget;
use lineside_files::open_own;

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
            LogTarget::File(path) => open_own(path, OpenOptions::new().create(true).append(true))
                .map_err(std::io::Error::from)
                .and_then(|mut file| file.write_all(text.as_bytes())),
        };
        if let Err(error) = written {
            tracing::warn!(%error, "failed to write the debug log of a dialect");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lines_are_appended_to_a_file_and_to_nothing_that_is_planted_there() {
        let room = tempfile::tempdir().unwrap();
        let at = |name: &str| room.path().join(name);
        fs::write(at("target"), "kept").unwrap();
        std::os::unix::fs::symlink(at("target"), at("link")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        for name in ["log", "link", "pipe"] {
            let log = DebugLog::to(LogTarget::File(at(name)));
            log.write(&["a".to_owned(), "b".to_owned()]);
            log.write(&[]);
            log.write(&["c".to_owned()]);
        }
        assert_eq!(fs::read_to_string(at("log")).unwrap(), "a\nb\nc\n");
        assert_eq!(fs::read_to_string(at("target")).unwrap(), "kept");
    }
}
