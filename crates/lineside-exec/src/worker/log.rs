//! What a worker says beside its answers, as typed values, with a bound on how much of it there is (OC-61, OC-68).

use std::time::Duration;

use lineside_core::worker::WorkerReady;
use lineside_redact::redact_head;
use tokio::time::Instant;

/// How loud a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// For authors.
    Debug,
    /// For the curious.
    Info,
    /// Something is not as it should be.
    Warn,
    /// Something went wrong.
    Error,
}

impl LogLevel {
    fn of(word: &str) -> Self {
        match word {
            "debug" => Self::Debug,
            "warn" => Self::Warn,
            "error" => Self::Error,
            _ => Self::Info,
        }
    }
}

/// Where a line comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LogSource {
    /// A `log` frame: a plugin, or the worker about one.
    Frame,
    /// The standard error of the process.
    Stderr,
    /// The standard output of the process, where only frames should be.
    Stray,
    /// The supervisor itself.
    Supervisor,
}

/// Something that a worker, or its supervisor, has to say.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkerLog {
    /// One line or text.
    Line {
        /// Where it comes from.
        source: LogSource,
        /// How loud it is.
        level: LogLevel,
        /// The plugin, where it is known.
        plugin: Option<String>,
        /// The text, at most 8 KiB and a sign that it was cut. Redacted before it reaches a listener.
        text: String,
    },
    /// The worker ended unasked too often and is not started for a while; every call fails. For the user.
    GaveUp {
        /// In one line.
        text: String,
    },
    /// The worker was started again, and this is how the loading of its plugins ended.
    Restarted(WorkerReady),
}

impl WorkerLog {
    /// Something that the supervisor says.
    pub(super) fn supervisor(level: LogLevel, text: impl Into<String>) -> Self {
        Self::Line { source: LogSource::Supervisor, level, plugin: None, text: text.into() }
    }

    /// A `log` frame.
    pub(super) fn frame(level: &str, plugin: Option<String>, text: String) -> Self {
        Self::Line { source: LogSource::Frame, level: LogLevel::of(level), plugin, text }
    }

    /// A line of one of the outputs, which says nothing of how loud it is.
    pub(super) fn output(source: LogSource, text: String) -> Self {
        Self::Line { source, level: LogLevel::Warn, plugin: None, text }
    }
}

/// The longest text of a line.
const LONGEST: usize = 8192;
/// The most lines in a second.
const PER_SECOND: u32 = 1000;
/// This many bytes of each output pass at once,
const AT_ONCE: usize = 64 * 1024;
/// and so many in a second afterwards. To look for secrets in them is what a flood costs, and while it is looked for
/// them an answer behind the flood waits.
const BYTES_PER_SECOND: usize = 16 * 1024;

/// The text of a line, up to the longest one.
pub(super) fn cut(line: &[u8]) -> String {
    if line.len() <= LONGEST {
        return String::from_utf8_lossy(line).into_owned();
    }
    format!("{} … [cut]", redact_head(&String::from_utf8_lossy(line), LONGEST))
}

/// Counts lines and drops those that are too many.
#[derive(Debug)]
pub(super) struct Limiter {
    since: Instant,
    passed: u32,
    dropped: u64,
}

impl Limiter {
    pub(super) fn new(now: Instant) -> Self {
        Self { since: now, passed: 0, dropped: 0 }
    }

    /// Whether a line may pass, and how many were dropped before it without a report.
    pub(super) fn pass(&mut self, now: Instant) -> Option<u64> {
        let mut untold = 0;
        if now.duration_since(self.since) >= Duration::from_secs(1) {
            self.since = now;
            self.passed = 0;
            untold = std::mem::take(&mut self.dropped);
        }
        if self.passed == PER_SECOND {
            self.dropped += 1;
            return None;
        }
        self.passed += 1;
        Some(untold)
    }

    /// A line does not pass for another reason.
    pub(super) fn drop_one(&mut self) {
        self.dropped += 1;
    }
}

/// How much of one output passes, so that a flood of one does not hide the other.
#[derive(Debug)]
pub(super) struct Allowance {
    left: usize,
    since: Instant,
}

impl Allowance {
    pub(super) fn new(now: Instant) -> Self {
        Self { left: AT_ONCE, since: now }
    }

    /// Whether a line of this length passes.
    pub(super) fn takes(&mut self, now: Instant, bytes: usize) -> bool {
        let bytes = bytes.min(LONGEST);
        if self.left < bytes {
            let seconds = now.duration_since(self.since).as_secs();
            if seconds > 0 {
                let more = usize::try_from(seconds).unwrap_or(usize::MAX).saturating_mul(BYTES_PER_SECOND);
                self.left = self.left.saturating_add(more).min(AT_ONCE);
                self.since = now;
            }
        }
        let Some(left) = self.left.checked_sub(bytes) else { return false };
        self.left = left;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // OC-68.
    #[test]
    fn more_than_a_thousand_lines_in_a_second_are_dropped_and_counted() {
        let now = Instant::now();
        let mut limiter = Limiter::new(now);
        let passed = (0..1500).filter(|_| limiter.pass(now).is_some()).count();
        assert_eq!(passed, 1000);
        assert_eq!(limiter.pass(now + Duration::from_secs(1)), Some(500));
        assert_eq!(limiter.pass(now + Duration::from_secs(1)), Some(0));
    }

    #[test]
    fn what_is_told_of_a_flood_is_little() {
        let now = Instant::now();
        let mut allowance = Allowance::new(now);
        let mut told = |now| (0..100).filter(|_| allowance.takes(now, 1 << 20)).count();
        assert_eq!(told(now), 8, "each counts with the length that passes");
        let later = |seconds| now + Duration::from_secs(seconds);
        assert_eq!([told(later(0)), told(later(1)), told(later(1)), told(later(3))], [0, 2, 0, 4]);
        assert_eq!(told(later(1000)), 8);
    }

    // OC-68.
    #[test]
    fn a_long_line_is_cut_with_a_mark() {
        assert_eq!(cut("é".repeat(5000).as_bytes()), format!("{} … [cut]", "é".repeat(4096)));
    }
}
