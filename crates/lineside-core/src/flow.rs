//! How the work that events start is paced: held until it is quiet, and tried again.

use std::time::Duration;

use serde::Serialize;

use crate::failure::FailureKind;

/// Events are held until none has come for a while; then there is one run for all of them.
///
/// ```
/// use std::time::Duration;
///
/// use lineside_core::flow::Debounce;
///
/// let pace = Debounce::quiet(Duration::from_millis(300));
/// assert_eq!(pace.at_most, Duration::from_secs(3));
/// assert_eq!(pace.at_most(Duration::from_secs(1)).at_most, Duration::from_secs(1));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Debounce {
    /// No further event may come for this long.
    pub quiet: Duration,
    /// The run starts this long after the first event in any case.
    pub at_most: Duration,
}

impl Debounce {
    /// No further event may come for this long; the run starts ten times as long after the first event in any case.
    #[must_use]
    pub const fn quiet(quiet: Duration) -> Self {
        Self { quiet, at_most: quiet.saturating_mul(10) }
    }

    /// The run starts this long after the first event in any case.
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
    ///
    /// ```
    /// use lineside_core::FailureKind;
    /// use lineside_core::flow::RetryAfter;
    ///
    /// assert!(RetryAfter::AnyFailure.covers(FailureKind::Output));
    /// assert!(!RetryAfter::AnyButOutput.covers(FailureKind::Output));
    /// ```
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
    ///
    /// ```
    /// use lineside_core::FailureKind;
    /// use lineside_core::flow::Retries;
    ///
    /// let retries = Retries { again: 1, ..Retries::default() };
    /// assert!(retries.tries_again(1, FailureKind::Exit));
    /// assert!(!retries.tries_again(2, FailureKind::Exit));
    /// ```
    #[must_use]
    pub fn tries_again(&self, attempts: u32, failed: FailureKind) -> bool {
        self.after.covers(failed) && attempts <= self.again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_burst_lasts_ten_times_its_quiet_unless_it_is_bounded() {
        assert_eq!(Debounce::quiet(SECOND), Debounce { quiet: SECOND, at_most: 10 * SECOND });
        assert_eq!(
            Debounce::quiet(SECOND).at_most(3 * SECOND),
            Debounce { quiet: SECOND, at_most: 3 * SECOND }
        );
        assert_eq!(Debounce::quiet(Duration::MAX).at_most, Duration::MAX);
    }

    #[test]
    fn there_are_as_many_further_attempts_as_declared_after_the_failures_that_are_covered() {
        let retries = |again, after| Retries { again, after, ..Retries::default() };
        for (again, after, attempts, failed, tries_again) in [
            (0, RetryAfter::AnyFailure, 1, FailureKind::Exit, false),
            (2, RetryAfter::AnyFailure, 1, FailureKind::Exit, true),
            (2, RetryAfter::AnyFailure, 2, FailureKind::Output, true),
            (2, RetryAfter::AnyFailure, 3, FailureKind::Exit, false),
            (2, RetryAfter::AnyButOutput, 2, FailureKind::Exit, true),
            (2, RetryAfter::AnyButOutput, 1, FailureKind::Output, false),
            (2, RetryAfter::AnyButOutput, 3, FailureKind::Timeout, false),
        ] {
            let is_tried = retries(again, after).tries_again(attempts, failed);
            assert_eq!(is_tried, tries_again, "{again} {after:?} {attempts} {failed}");
        }
    }
}
