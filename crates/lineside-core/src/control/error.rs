//! What cannot be meant in the settings of an automation.

use super::template::TemplateError;

/// An invalid setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// It is zero.
    #[error("`{setting}` is zero; it has to be more than that")]
    Zero {
        /// The setting.
        setting: &'static str,
    },
    /// It is longer than any automation may wait or run.
    #[error("`{setting}` is longer than 30 days, which is the longest there may be; is it another unit?")]
    TooLong {
        /// The setting.
        setting: &'static str,
    },
    /// It is more than there may be.
    #[error("`{setting}` is more than {most}, which is the most there may be")]
    TooMany {
        /// The setting.
        setting: &'static str,
        /// The most.
        most: usize,
    },
    /// It is shorter than something that it bounds.
    #[error("`{setting}` is shorter than `{than}`; it has to be as long at least")]
    Shorter {
        /// The setting.
        setting: &'static str,
        /// What it bounds.
        than: &'static str,
    },
    /// It is about a key, and there is no key.
    #[error(
        "`{setting}` says what happens to runs of one key; it needs a `concurrency` that says what the key is"
    )]
    NeedsKey {
        /// The setting.
        setting: &'static str,
    },
    /// Events of all machines are to be held together, and none are held.
    #[error(
        "`debounce.scope` says of which machines events are held together; it needs a `debounce` or a `batch`"
    )]
    NeedsHold,
    /// More than one run at a time under a key that holds over machines.
    #[error("`limit` has to be 1 with `scope: cluster`: such a key is one machine's at a time")]
    LimitOfCluster,
    /// A key that cannot be made.
    #[error("`{setting}` is not a template of keys")]
    Key {
        /// The setting.
        setting: &'static str,
        /// What is wrong with it.
        source: TemplateError,
    },
    /// The next model call is to wait for it, and no model call follows.
    #[error("`join` is before_next_model, and no model is called after {point}; it has to be background")]
    NoModelAfter {
        /// The point.
        point: &'static str,
    },
}

impl ControlError {
    /// The setting, with dots between it and what it is part of.
    #[must_use]
    pub fn setting(&self) -> &'static str {
        match self {
            Self::Zero { setting }
            | Self::TooLong { setting }
            | Self::TooMany { setting, .. }
            | Self::Shorter { setting, .. }
            | Self::NeedsKey { setting }
            | Self::Key { setting, .. } => setting,
            Self::NeedsHold => "debounce.scope",
            Self::LimitOfCluster => "limit",
            Self::NoModelAfter { .. } => "join",
        }
    }
}
