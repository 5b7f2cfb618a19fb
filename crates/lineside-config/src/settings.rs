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
    /// Which questions of hooks wait in the daemon for an answer, or `off`, as without it.
    pub approvals: Option<Approvals>,
    /// The cluster of machines that the daemon joins.
    pub cluster: Option<Cluster>,
    /// Whether agents are kept from changing what decides about them; `on` without it as soon as lineside is installed in
    /// an agent program. A layer below does not switch it off.
    #[serde(rename = "protect-policy")]
    pub protect_policy: Option<OnOrOff>,
    /// What hears everything that the daemon decides, and what else happens in it.
    pub observe: Option<Vec<Observer>>,
}

/// Whether something is on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OnOrOff {
    /// A word for it.
    Word(OnWord),
    /// The same, as a truth value.
    Switch(bool),
}

/// `on` or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnWord {
    /// It is.
    On,
    /// It is not.
    Off,
}

/// One that hears everything that is decided, refused events as well. One of `file`, `command`, `worker` and `post` is needed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observer {
    /// Its name: letters, digits, hyphens and underscores.
    pub name: String,
    /// What it hears, in the words of `lineside log`, such as `verdict:refused`; everything without it.
    pub query: Option<String>,
    /// A file that lines of JSON are appended to.
    pub file: Option<ObserverFile>,
    /// A program and its arguments, which has lines of JSON on its standard input.
    pub command: Option<Vec<String>>,
    /// The same, of a program that is kept and started again when it ends.
    pub worker: Option<Vec<String>>,
    /// Where lists of JSON objects are posted to.
    pub post: Option<ObserverPost>,
}

/// A file of an observer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ObserverFile {
    /// Its path, absolute or below `~/`; another one is begun at 64 MiB, and five are kept.
    Path(String),
    /// The same, with how much of it there is.
    Rotated(Rotated),
}

/// A file with how much of it there is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rotated {
    /// Its path, absolute or below `~/`.
    pub path: String,
    /// Another one is begun when it is as large, such as `100MiB`; `64MiB` without it.
    pub size: Option<String>,
    /// How many earlier ones are kept, 1 to 100; 5 without it.
    pub keep: Option<u32>,
}

/// Where an observer posts to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ObserverPost {
    /// The URL.
    Url(String),
    /// The URL with headers.
    WithHeaders(PostWithHeaders),
}

/// A URL with headers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PostWithHeaders {
    /// An absolute http or https URL.
    pub url: String,
    /// Names of headers and their texts, in which `${NAME}` stands for a variable that `secrets` lists.
    pub headers: Option<BTreeMap<String, String>>,
    /// Names of variables that headers may hold.
    pub secrets: Option<Vec<String>>,
}

/// Which questions of hooks wait in the daemon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Approvals {
    /// `off`: none does.
    Off(String),
    /// The same, as a truth value.
    Switch(bool),
    /// These do.
    Waiting(Waiting),
}

/// How questions wait.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waiting {
    /// For how long one waits, as far as its agent program waits: such as `90s`, `10min` or `1h`; `10min` without it.
    pub wait: Option<String>,
    /// What one comes to that was not answered; `block` without it.
    pub default: Option<Unanswered>,
    /// Whose questions wait; `unattended` without it.
    #[serde(rename = "for")]
    pub of: Option<WhoseAsks>,
    /// What is notified of each question.
    pub notify: Option<Notify>,
}

/// What a question comes to that was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unanswered {
    /// A refusal that names the command that answers.
    Block,
    /// The agent program's own question.
    Ask,
}

/// Whose questions wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum WhoseAsks {
    /// `unattended`: those that their agent program cannot put to a person; `all`: all of them.
    Word(AsksWord),
    /// All of these agent programs, by the names that `lineside hook` knows, and those that another one cannot put.
    Of(Vec<String>),
}

/// A word for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AsksWord {
    /// Those that their agent program cannot put to a person.
    Unattended,
    /// All.
    All,
}

/// What is notified of each question, with the question as JSON.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Notify {
    /// A program and its arguments, which has the question on its standard input.
    pub command: Option<Vec<String>>,
    /// A URL that the question is posted to.
    pub post: Option<String>,
}

/// A cluster of machines, on a server of NATS.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cluster {
    /// The servers, separated by commas, such as `nats://n1:4222,tls://n2:4222`.
    pub nats: Option<String>,
    /// A file with the credentials for them, absolute or below `~/`: what `nsc` writes, a seed, or one line `USER:PASSWORD`.
    pub creds: Option<String>,
    /// A file with further roots of their certificates, in PEM, absolute or below `~/`.
    pub roots: Option<String>,
    /// Which cluster; `default` without it. Letters, digits, hyphens and underscores.
    pub name: Option<String>,
    /// What this machine is called there; made of its host's name without it.
    pub machine: Option<String>,
    /// What a grant is worth that another machine has given out; `claimed` without it.
    pub grants: Option<RemoteGrants>,
    /// Whether a server is refused that acknowledges what it does not have on the disk.
    pub require_fsync: Option<bool>,
}

/// What a grant is worth that another machine has given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RemoteGrants {
    /// Hooks above refuse and ask, and do nothing else.
    Claimed,
    /// As much as one of this machine.
    Proved,
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
