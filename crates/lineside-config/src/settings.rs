//! `config.yaml`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The settings of a user for lineside.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettingsFile {
    /// What a daemon that a call starts has.
    pub daemon: Option<Daemon>,
}

/// What a daemon that a call starts has beside the environment of the account.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Daemon {
    /// Folders that stand before those of its `PATH`: absolute, or below `~/`.
    pub path: Option<Vec<String>>,
    /// Further variables, by name.
    pub environment: Option<BTreeMap<String, Value>>,
}
