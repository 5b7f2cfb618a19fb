//! `hooks.yaml`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One of something, or a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMore<T> {
    /// One.
    One(T),
    /// A list.
    More(Vec<T>),
}

/// The hooks of a user or a project.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HooksFile {
    /// The hooks, in the order in which they run where their priorities are the same.
    pub hooks: Option<Vec<Hook>>,
    /// What the hooks of all files inherit that do not say it themselves. Only in the user's file.
    pub environment: Option<Inherited>,
}

/// A hook. It has one of `command`, `worker` and `post`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hook {
    /// A text of one line, once in its file.
    pub name: String,
    /// A point, the beginning of names with a `*`, or a list of them.
    pub on: OneOrMore<String>,
    /// The filters, all of which have to let an event through.
    #[serde(rename = "match")]
    pub filters: Option<Filters>,
    /// The greater runs first; 0 without it.
    pub priority: Option<i32>,
    /// A list of program and arguments, or a line for `sh -c`.
    pub command: Option<OneOrMore<String>>,
    /// A program that is kept and called again and again.
    pub worker: Option<Worker>,
    /// A post to a server.
    pub post: Option<Post>,
    /// How long it may take, in milliseconds; 60000 without it.
    #[schemars(range(min = 1, max = 600_000))]
    pub timeout: Option<u64>,
    /// What its failure means; `block` without it where the hook may block.
    pub on_failure: Option<OnFailure>,
    /// It is not waited for, and decides nothing.
    #[serde(rename = "async")]
    pub detached: Option<bool>,
    /// It may change the payload, and runs alone.
    pub amends: Option<bool>,
    /// The directory of a command or a worker, relative to the root of the project.
    pub dir: Option<String>,
    /// Further variables and their texts.
    pub env: Option<BTreeMap<String, Value>>,
    /// What a command or a worker inherits.
    pub environment: Option<Inherited>,
    /// Makes it background work, with these settings.
    pub automate: Option<Automate>,
}

/// What its failure means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The event does not happen.
    Block,
    /// It is as if the hook had not been there.
    Continue,
}

/// What a program inherits of the environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Inherited {
    /// Everything, or what a program needs to find others.
    Word(InheritedWord),
    /// That, and these variables.
    Names(Vec<String>),
}

/// How much is inherited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InheritedWord {
    /// Everything.
    Inherit,
    /// What a program needs to find others, its user, its language and a place for temporary files.
    Minimal,
}

/// The filters of a hook.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Filters {
    /// The tool: a name or a glob. `Shell`, `WriteFile`, `StrReplaceFile`, `ReadFile` and `Task` are those of every program.
    pub tool: Option<OneOrMore<String>>,
    /// A regular expression for each argument of the tool.
    pub argument: Option<BTreeMap<String, String>>,
    /// A glob for the paths of the event; `*` stops at `/`.
    pub path: Option<OneOrMore<String>>,
    /// The id or type of the agent: a name or a glob.
    pub agent: Option<OneOrMore<String>>,
    /// Whether a person or another agent started it.
    pub agent_kind: Option<OneOrMore<AgentKind>>,
    /// The model: a name or a glob.
    pub model: Option<OneOrMore<String>>,
    /// The root of the project: an absolute path or a glob.
    pub project: Option<OneOrMore<String>>,
    /// A regular expression for any text of the payload.
    pub text: Option<String>,
}

/// Who started an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// A person.
    Main,
    /// Another agent.
    Subagent,
}

/// A program that is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worker {
    /// The program and its arguments.
    pub program: Vec<String>,
    /// When it is started; at its first use without it.
    pub start: Option<Start>,
    /// After how many milliseconds without a call it ends.
    #[schemars(range(min = 1_000, max = 86_400_000))]
    pub idle: Option<u64>,
}

/// When a worker is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// At its first use.
    Use,
    /// When hooks are loaded.
    Ahead,
}

/// A post to a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Post {
    /// Where to.
    pub url: String,
    /// Headers; `${NAME}` is a variable that stands among the secrets.
    pub headers: Option<BTreeMap<String, String>>,
    /// The variables that the headers may name.
    pub secrets: Option<Vec<String>>,
}

/// How background work is paced. Times are in milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Automate {
    /// At most so many starts in a time.
    pub rate: Option<BTreeMap<String, Value>>,
    /// One run for all events, once no further one has come for `quiet`; at the latest after `at_most`.
    pub debounce: Option<BTreeMap<String, Value>>,
    /// One run for `count` events, or for those `within` a time.
    pub batch: Option<BTreeMap<String, Value>>,
    /// What is held together, as a template.
    pub hold_key: Option<String>,
    /// Runs with the same key go one at a time.
    pub concurrency: Option<String>,
    /// So many at a time instead of one.
    #[schemars(range(min = 1))]
    pub limit: Option<u64>,
    /// What happens when the key is taken.
    pub on_busy: Option<OnBusy>,
    /// Attempts, and the pauses between them.
    pub retry: Option<BTreeMap<String, Value>>,
    /// Whether the next model call waits for it.
    pub join: Option<Join>,
    /// When the result goes to the context, and in which form.
    pub result: Option<Value>,
    /// What the end of the session does with it.
    pub at_end: Option<Value>,
    /// Events that cancel its held and waiting work.
    pub cancelled_by: Option<OneOrMore<BTreeMap<String, Value>>>,
}

/// What happens when a key is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnBusy {
    /// It waits in line.
    Queue,
    /// It is joined with what waits.
    Coalesce,
    /// It is dropped.
    Drop,
    /// What runs is cancelled.
    Restart,
}

/// Whether the next model call waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// It does not.
    Background,
    /// It does.
    BeforeNextModel,
}
