//! How the work that events start is paced: held until it is quiet, and tried again.

use std::time::Duration;

use serde::Serialize;

use crate::failure::FailureKind;

/// Events are held until none has come for a while; then there is one run for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Debounce {
    /// For so long no further event may come.
    pub quiet: Duration,
    /// So long after the first event the run starts in any case.
    pub at_most: Duration,
}

impl Debounce {
    /// For so long no further event may come; ten times as long after the first event the run starts in any case.
    #[must_use]
    pub const fn quiet(quiet: Duration) -> Self {
        Self { quiet, at_most: quiet.saturating_mul(10) }
    }

    /// So long after the first event the run starts in any case.
    #[must_use]
    pub const fn at_most(self, at_most: Duration) -> Self {
        Self { at_most, ..self }
    }
}

/// How often a run that failed is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retries {
    /// How many further attempts there are at most.
    pub again: u32,
    /// From the end of one attempt to the start of the next.
    pub delay: Duration,
    /// Which failures are tried again.
    pub after: RetryAfter,
}

/// Which failures are tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryAfter {
    /// All of them.
    #[default]
    AnyFailure,
    /// All but an output that cannot be read, which the next attempt would give again.
    AnyButOutput,
}

impl RetryAfter {
    /// Whether a failure of this kind is tried again.
    #[must_use]
    pub fn covers(self, failed: FailureKind) -> bool {
        match self {
            Self::AnyFailure => true,
            Self::AnyButOutput => failed != FailureKind::Output,
        }
    }
}

impl Retries {
    /// Whether there is another attempt after `attempts` of them, the last of which failed like this.
    #[must_use]
    pub fn tries_again(&self, attempts: u32, failed: FailureKind) -> bool {
        self.after.covers(failed) && attempts <= self.again
    }
}
