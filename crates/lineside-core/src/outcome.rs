//! What became of one hook: why it did not run, or what it said in which round, and what it gave.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::acceptance::Acceptance;
use crate::failure::Failure;
use crate::verdict::Verdict;

/// Why a hook did not run.
///
/// ```
/// use lineside_core::SkipReason;
///
/// assert_eq!(SkipReason::Blocked.as_str(), "blocked");
/// assert_eq!(format!("skipped: {}", SkipReason::Untrusted), "skipped: untrusted");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SkipReason {
    /// Its matcher left the event out.
    Filter,
    /// An earlier hook had blocked or stopped the event.
    Blocked,
    /// It is switched off.
    Disabled,
    /// Its project is not trusted.
    Untrusted,
    /// It is of a session above of which nothing proves that the event's is below it, and has nothing to refuse here.
    Unproven,
    /// It is broken and was never loaded; a remark says how.
    NotLoaded,
    /// The event was held to be merged with later ones.
    Debounced,
    /// A later event took its place.
    Superseded,
}

impl SkipReason {
    /// The word for it, as in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Blocked => "blocked",
            Self::Disabled => "disabled",
            Self::Untrusted => "untrusted",
            Self::Unproven => "unproven",
            Self::NotLoaded => "not_loaded",
            Self::Debounced => "debounced",
            Self::Superseded => "superseded",
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What became of one hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It answered.
    Answered(Verdict),
    /// It could not answer, and this is what it is taken to have said.
    Failed {
        /// How it failed.
        failure: Box<Failure>,
        /// The verdict by its declared `on_failure`.
        verdict: Verdict,
    },
    /// It did not run.
    Skipped(SkipReason),
    /// It was started and not waited for.
    Detached,
    /// It has taken the event, to run for it by itself.
    Offered(Acceptance),
}

impl Outcome {
    /// What the hook said, or is taken to have said; `None` when it has no say.
    ///
    /// ```
    /// use lineside_core::{Failure, FailureKind, Outcome, SkipReason, Verdict};
    ///
    /// let failure = Box::new(Failure::new(FailureKind::Timeout, "timed out after 0.3 s"));
    /// let failed = Outcome::Failed { failure, verdict: Verdict::Continue };
    /// assert_eq!(failed.verdict(), Some(&Verdict::Continue));
    /// assert_eq!(Outcome::Skipped(SkipReason::Filter).verdict(), None);
    /// ```
    #[inline]
    #[must_use]
    pub fn verdict(&self) -> Option<&Verdict> {
        match self {
            Self::Answered(verdict) | Self::Failed { verdict, .. } => Some(verdict),
            Self::Skipped(_) | Self::Detached | Self::Offered(_) => None,
        }
    }

    /// Whether the hook was started.
    ///
    /// ```
    /// use lineside_core::{Failure, FailureKind, Outcome, Verdict};
    ///
    /// let failure = Box::new(Failure::not_started(FailureKind::Spawn, "no such file"));
    /// assert!(!Outcome::Failed { failure, verdict: Verdict::Continue }.has_run());
    /// assert!(Outcome::Detached.has_run());
    /// ```
    #[must_use]
    pub fn has_run(&self) -> bool {
        match self {
            Self::Answered(_) | Self::Detached => true,
            Self::Failed { failure, .. } => failure.started,
            Self::Offered(acceptance) => matches!(acceptance, Acceptance::Started(_)),
            Self::Skipped(_) => false,
        }
    }
}

/// Which time a hook judges one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Round {
    /// The first time, in plan order.
    First,
    /// The second time, because the payload has changed since the first.
    Rejudge,
}

/// One run of one hook for one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Its place in plan order.
    pub hook: u32,
    /// The version of the payload that it leaves behind: the one that it judged, or the one that it made.
    pub version: u32,
    /// The round in which it ran.
    pub round: Round,
    /// How long it took; zero for a hook that did not run.
    pub took: Duration,
    /// What became of it.
    pub outcome: Outcome,
    /// The attempts before the one that counts, all of which failed.
    pub earlier: Vec<Failure>,
}

impl Run {
    /// The first turn of a hook, with the payload as it was published.
    pub(crate) fn first(hook: u32, took: Duration, outcome: Outcome) -> Self {
        Self { hook, version: 0, round: Round::First, took, outcome, earlier: Vec::new() }
    }
}

/// Something that one hook gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FromHook<T> {
    /// The hook's place in plan order.
    pub hook: u32,
    /// What it gave.
    pub what: T,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::check_words;

    #[test]
    fn the_word_of_a_skip_reason_is_that_of_its_json() {
        let words = [
            (SkipReason::Filter, "filter"),
            (SkipReason::Blocked, "blocked"),
            (SkipReason::Disabled, "disabled"),
            (SkipReason::Untrusted, "untrusted"),
            (SkipReason::Unproven, "unproven"),
            (SkipReason::NotLoaded, "not_loaded"),
            (SkipReason::Debounced, "debounced"),
            (SkipReason::Superseded, "superseded"),
        ];
        check_words(SkipReason::as_str, &words);
    }
}
