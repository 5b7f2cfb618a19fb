//! What a hook does, apart from the events that it does it at: the keys of JC-8 less `events`.

use std::time::Duration;

use super::filter::Conditions;
use super::template::Template;

/// What a hook does.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    /// What it runs.
    pub(super) run: Run,
    /// How long one attempt may take.
    pub(super) timeout: Duration,
    /// How often it is started again when it has failed.
    pub(super) retry: u32,
    /// What its failure means.
    pub(super) on_error: OnError,
    /// For which events it runs.
    pub(super) filter: Conditions,
}

/// What a hook runs.
#[derive(Debug, Clone)]
pub(super) enum Run {
    /// A shell command.
    Command(String),
    /// A question to the judge.
    Prompt {
        /// The prompt.
        prompt: Template,
        /// In place of the judge's model.
        model: Option<String>,
    },
}

/// What a failure means (JC-21).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnError {
    /// The chain goes on.
    Skip,
    /// The chain ends.
    Stop,
}
