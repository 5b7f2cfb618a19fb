//! What a lower layer may ask of a hook of a layer above it.

use std::time::Duration;

use super::Hook;
use crate::failure::OnFailure;

/// What is asked of a hook: less time, and that its failure refuses. Nothing of it loosens a hook.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tighter {
    /// The longest time that it may take.
    pub timeout: Option<Duration>,
    /// What its failure means.
    pub on_failure: Option<OnFailure>,
}

impl Tighter {
    /// Both at once, of each the stricter.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use lineside_core::OnFailure;
    /// use lineside_core::hook::Tighter;
    ///
    /// let secs = |n| Some(Duration::from_secs(n));
    /// let user = Tighter { timeout: secs(10), on_failure: None };
    /// let project = Tighter { timeout: secs(20), on_failure: Some(OnFailure::Block) };
    /// assert_eq!(user.and(project), Tighter { timeout: secs(10), on_failure: Some(OnFailure::Block) });
    /// ```
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let timeout = [self.timeout, other.timeout].into_iter().flatten().min();
        let blocks = [self.on_failure, other.on_failure].contains(&Some(OnFailure::Block));
        Self {
            timeout,
            on_failure: if blocks { Some(OnFailure::Block) } else { self.on_failure.or(other.on_failure) },
        }
    }
}

impl Hook {
    /// The same hook with the shorter time and the stricter meaning of its failure; `None` where it is as strict already.
    ///
    /// ```
    /// use std::time::Duration;
    /// use lineside_core::hook::Tighter;
    /// use lineside_core::{Hook, OnFailure, Part};
    ///
    /// let hook = Hook::native("notify", Part::Gate).on_failure(OnFailure::Continue);
    /// let asked = Tighter { timeout: Some(Duration::from_secs(600)), on_failure: Some(OnFailure::Block) };
    /// let tightened = hook.tightened(asked).expect("its failure let events pass");
    /// assert_eq!((tightened.timeout, tightened.on_failure), (hook.timeout, OnFailure::Block));
    /// assert!(tightened.tightened(asked).is_none());
    /// ```
    #[must_use]
    pub fn tightened(&self, asked: Tighter) -> Option<Self> {
        let timeout = asked.timeout.map_or(self.timeout, |timeout| timeout.min(self.timeout));
        let on_failure =
            if asked.on_failure == Some(OnFailure::Block) { OnFailure::Block } else { self.on_failure };
        let is_other = (timeout, on_failure) != (self.timeout, self.on_failure);
        is_other.then(|| Self { timeout, on_failure, ..self.clone() })
    }

    /// The same hook as strict as another state of it; `None` where it is already.
    #[must_use]
    pub(crate) fn as_strict_as(&self, other: &Self) -> Option<Self> {
        self.tightened(Tighter { timeout: Some(other.timeout), on_failure: Some(other.on_failure) })
    }
}
