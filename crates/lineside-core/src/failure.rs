//! A hook that could not answer. Failing is not refusing: what a failure means is declared by the hook, not by the
//! failure.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::verdict::Verdict;
use lineside_redact::redact;

/// How a hook failed.
///
/// ```
/// use lineside_core::FailureKind;
///
/// assert_eq!(FailureKind::Timeout.as_str(), "timeout");
/// assert_eq!(format!("{:>8}", FailureKind::Exit), "    exit");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum FailureKind {
    /// Its process ended with a status that means failure.
    Exit,
    /// A signal ended its process.
    Signal,
    /// It had not answered when its time was over.
    Timeout,
    /// It could not be started.
    Spawn,
    /// It answered something that cannot be read.
    Output,
    /// It panicked.
    Panic,
    /// Its owner is gone, or the runtime ended before it did.
    Closed,
    /// It returned an error.
    Error,
}

impl FailureKind {
    /// The word for it, as in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exit => "exit",
            Self::Signal => "signal",
            Self::Timeout => "timeout",
            Self::Spawn => "spawn",
            Self::Output => "output",
            Self::Panic => "panic",
            Self::Closed => "closed",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One failure.
///
/// ```
/// use lineside_core::{Failure, FailureKind};
///
/// let failure = Failure::new(FailureKind::Timeout, "timed out after 0.3 s");
/// assert_eq!(failure.to_string(), "timed out after 0.3 s");
/// assert!(failure.started && !Failure::not_started(FailureKind::Spawn, "no such file").started);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{detail}")]
pub struct Failure {
    /// How it failed.
    pub kind: FailureKind,
    /// What a person needs to know, one line: `exit status 1`, `timed out after 0.3 s`. Without secrets.
    pub detail: Cow<'static, str>,
    /// Whether the hook had been started when it failed.
    pub started: bool,
    /// What a refusal because of this failure says, where it is not the usual `hook "…" failed: …`.
    #[serde(skip)]
    pub refusal: Option<Cow<'static, str>>,
    /// What the hook is taken to have said, where its format says more than its `on_failure`.
    #[serde(skip)]
    pub taken_as: Option<Box<Answer>>,
    /// The attempts before this one.
    #[serde(skip)]
    pub earlier: Vec<Failure>,
}

impl Failure {
    /// About how many bytes its texts take beside its own size.
    pub(crate) fn weight(&self) -> usize {
        let refusal = self.refusal.as_ref().map_or(0, |refusal| refusal.len());
        let earlier: usize = self.earlier.iter().map(|failure| size_of::<Self>() + failure.weight()).sum();
        self.detail.len() + refusal + earlier
    }

    /// A failure of a hook that had been started. Secrets are taken out of the detail.
    pub fn new(kind: FailureKind, detail: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            detail: told(detail.into()),
            started: true,
            refusal: None,
            taken_as: None,
            earlier: Vec::new(),
        }
    }

    /// A failure of a hook that was never started. Secrets are taken out of the detail.
    pub fn not_started(kind: FailureKind, detail: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            detail: told(detail.into()),
            started: false,
            refusal: None,
            taken_as: None,
            earlier: Vec::new(),
        }
    }
}

/// A text as it may be shown. What is written in a programme is no secret.
fn told(text: Cow<'static, str>) -> Cow<'static, str> {
    let Cow::Owned(text) = text else { return text };
    let changed = match redact(&text) {
        Cow::Borrowed(_) => None,
        Cow::Owned(changed) => Some(changed),
    };
    Cow::Owned(changed.unwrap_or(text))
}

/// What a failure of a hook means for the event.
///
/// ```
/// use lineside_core::{Hook, OnFailure, Part};
///
/// let guard = Hook::native("licence-server", Part::Gate).on_failure(OnFailure::Continue);
/// assert_eq!(guard.on_failure, OnFailure::Continue);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// The event is refused. The default of native gates, because a guard that vanishes when it breaks guards nothing.
    Block,
    /// The event goes on; the pass is recorded and counted.
    Continue,
}

impl OnFailure {
    /// What the hook is taken to have said.
    ///
    /// ```
    /// use lineside_core::{Failure, FailureKind, OnFailure, Verdict};
    ///
    /// let failure = Failure::new(FailureKind::Exit, "exit status 1");
    /// let blocked = Verdict::block("hook \"licences\" failed: exit status 1");
    /// assert_eq!(OnFailure::Block.verdict("licences", &failure), blocked);
    /// assert_eq!(OnFailure::Continue.verdict("licences", &failure), Verdict::Continue);
    /// ```
    #[must_use]
    pub fn verdict(self, hook: &str, failure: &Failure) -> Verdict {
        match self {
            Self::Block => match &failure.refusal {
                Some(refusal) => Verdict::block(told(refusal.clone())),
                None => Verdict::block(format!("hook \"{hook}\" failed: {failure}")),
            },
            Self::Continue => Verdict::Continue,
        }
    }
}

/// Drops what a panic carried, which may panic in its turn; what that carries is never dropped.
pub fn drop_payload(panic: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        let _leaked = Box::leak(again);
    }
}

/// A duration in seconds without trailing zeros, as in `timed out after 0.3 s`.
///
/// ```
/// use std::time::Duration;
///
/// use lineside_core::failure::seconds;
///
/// assert_eq!(seconds(Duration::from_millis(300)), "0.3");
/// assert_eq!(seconds(Duration::from_secs(30)), "30");
/// ```
#[must_use]
pub fn seconds(duration: std::time::Duration) -> String {
    let text = format!("{:.3}", duration.as_secs_f64());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::check_words;

    #[test]
    fn the_word_of_a_kind_of_failure_is_that_of_its_json() {
        let words = [
            (FailureKind::Exit, "exit"),
            (FailureKind::Signal, "signal"),
            (FailureKind::Timeout, "timeout"),
            (FailureKind::Spawn, "spawn"),
            (FailureKind::Output, "output"),
            (FailureKind::Panic, "panic"),
            (FailureKind::Closed, "closed"),
            (FailureKind::Error, "error"),
        ];
        check_words(FailureKind::as_str, &words);
    }
}
