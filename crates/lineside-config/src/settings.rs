//! `config.yaml`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The settings of the machine, or of a user, for lineside.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettingsFile {
    /// What a daemon that a call starts has.
    pub daemon: Option<Daemon>,
    /// What the decision log keeps, or `off`.
    pub log: Option<Log>,
}

/// The decision log of the daemon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Log {
    /// `off`: none is written.
    Off(String),
    /// The same, as a truth value.
    Switch(bool),
    /// What it keeps.
    Kept(LogKept),
}

/// What the decision log keeps.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LogKept {
    /// For how long a decision is kept, such as `30d` or `12h`.
    pub age: Option<String>,
    /// How large the file may be, such as `1GiB` or `500MiB`.
    pub size: Option<String>,
}

/// What a daemon that a call starts has beside the environment of the account.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Daemon {
    /// Folders that stand before those of its `PATH`: absolute, or below `~/`.
    pub path: Option<Vec<String>>,
    /// Further variables, by name.
    pub environment: Option<BTreeMap<String, Value>>,
}
