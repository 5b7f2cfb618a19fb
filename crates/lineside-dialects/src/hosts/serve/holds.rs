//! Holds as they are written down. What they answer, and when they end, is for `root`.

use serde::{Deserialize, Serialize};

/// What holds a session and its subagents (HO-29), to be written down.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Holds {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) turn: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) subagents: Vec<HeldSubagent>,
}

/// A subagent that is held; with its name where it has not stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HeldSubagent {
    pub(super) session: String,
    pub(super) name: Option<String>,
    pub(super) reason: String,
    pub(super) at_large: bool,
}

impl Holds {
    /// Of what is held in a way that is not known here.
    #[must_use]
    pub fn unknown() -> Self {
        let turn = "a hook holds this, as another version of lineside has written down".to_owned();
        Self { turn: Some(turn), ..Self::default() }
    }

    /// Whether nothing is held.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}
