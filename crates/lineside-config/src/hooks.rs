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

/// The hooks of the machine, of a user or of a project.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HooksFile {
    /// Policies by their names, each with another verdict, in shadow, or without what is excepted: `standard`, `git-safety: ask`,
    /// `no-exfiltration: shadow`.
    #[serde(rename = "use")]
    pub used: Option<OneOrMore<Used>>,
    /// Programs that start the program in their operands, as `sudo` does. Only in the user's file.
    pub wrappers: Option<OneOrMore<String>>,
    /// Files and globs from the root of the project whose bytes are trusted with its hooks, because what these start loads
    /// them. Only in the file of a project.
    pub trusts: Option<OneOrMore<String>>,
    /// The hooks, in the order in which they run where their priorities are the same.
    pub hooks: Option<Vec<Hook>>,
    /// Whether its hooks count that do not say it themselves.
    pub mode: Option<Mode>,
    /// What the hooks of all files inherit that do not say it themselves. Only in the user's file.
    pub environment: Option<Inherited>,
}

/// A policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Used {
    /// As it is.
    Name(String),
    /// With what is said of it.
    Changed(BTreeMap<String, UsedAs>),
}

/// What is said of a policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum UsedAs {
    /// Its verdict.
    Verdict(UsedVerdict),
    /// Whether what it says counts.
    Mode(Mode),
    /// Its verdict, whether that counts, and what it leaves out.
    Both {
        /// Its verdict.
        verdict: Option<UsedVerdict>,
        /// Whether what it says counts.
        mode: Option<Mode>,
        /// Globs of paths, and programs.
        except: Option<OneOrMore<PathOrProgram>>,
    },
}

/// What a policy says of what it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UsedVerdict {
    /// It does not happen.
    Block,
    /// A person is asked.
    Ask,
    /// It does not happen, and the run of the agent ends.
    Stop,
}

/// A hook, which has `on` and one of `command`, `worker` and `post`, or `verdict`, `context` or `amend`; or, without these,
/// what is asked of the hooks of its name in the layers above.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hook {
    /// A text of one line, once in its file.
    pub name: String,
    /// A point, the beginning of names with a `*`, or a list of them.
    pub on: Option<OneOrMore<String>>,
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
    /// What it says of what its filters let through, without starting anything.
    pub verdict: Option<Verdict>,
    /// Why; a text with fields such as `{program}`, `{path}`, `{way}`, `{command}` and `{why}`.
    pub reason: Option<String>,
    /// A text for the agent's context, with the same fields.
    pub context: Option<String>,
    /// New texts of fields such as `tool_input.command`, or what is redacted in them.
    pub amend: Option<BTreeMap<String, Value>>,
    /// How often it may happen before the verdict is given.
    pub limit: Option<EventLimit>,
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
    /// Whether what it says counts; what its file says for all without it, and `enforced` without that.
    pub mode: Option<Mode>,
    /// It does nothing but answer, from its input alone, so that a replay may run it.
    pub pure: Option<bool>,
    /// The directory of a command or a worker, relative to the root of the project.
    pub dir: Option<String>,
    /// Further variables and their texts.
    pub env: Option<BTreeMap<String, Value>>,
    /// What a command or a worker inherits.
    pub environment: Option<Inherited>,
    /// Events are refused that it cannot be started for. In the files of the machine and of the user.
    pub required: Option<bool>,
    /// Makes it background work, with these settings.
    pub automate: Option<Automate>,
}

/// So many events in so long a time, or so many calls at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct EventLimit {
    /// So many events in a time.
    #[schemars(range(max = 1_000))]
    pub at_most: Option<u32>,
    /// So many calls at once, instead.
    #[schemars(range(max = 1_000))]
    pub at_once: Option<u32>,
    /// The time: `30s`, `1m`, `24h`, or a number of milliseconds. A call of which no end is heard counts for so long; an
    /// hour without it.
    pub per: Option<Value>,
    /// For each key, as a template; `{session}` without it.
    pub key: Option<String>,
}

/// What a hook says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It does not happen.
    Block,
    /// A person is asked.
    Ask,
    /// It happens, and no person is asked.
    Allow,
    /// It does not happen, and the run of the agent ends.
    Stop,
}

/// Whether what a hook says counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It counts.
    Enforced,
    /// The hook runs and is recorded, and changes nothing.
    Shadow,
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
    /// What a call does; one call has to meet all of it.
    #[serde(flatten)]
    pub acts: Acts,
}

/// What a call does: a shell command or a tool that reads, writes or edits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Acts {
    /// A program that it may start.
    pub runs: Option<OneOrMore<Program>>,
    /// Globs of paths that it may read.
    pub reads: Option<Paths>,
    /// Globs of paths that it may create, change or empty.
    pub writes: Option<Paths>,
    /// Globs of paths that it may delete.
    pub deletes: Option<Paths>,
    /// What else it may do.
    pub does: Option<OneOrMore<Does>>,
    /// A glob of `NAME=value` for variables that it sets.
    pub sets: Option<OneOrMore<String>>,
    /// Something of this kind is not known.
    pub cannot_tell: Option<OneOrMore<Unknown>>,
    /// One of these matches.
    pub any: Option<Vec<Acts>>,
    /// Each of these matches.
    pub all: Option<Vec<Acts>>,
    /// This does not match.
    pub not: Option<Box<Acts>>,
    /// Globs of paths, and programs, that count for nothing.
    pub except: Option<OneOrMore<PathOrProgram>>,
    /// What it counts as where it is not known whether the call does it.
    pub unclear: Option<WhenUnclear>,
}

/// A program, by its name or by more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Program {
    /// Its name, or a glob.
    Name(String),
    /// Its words as well.
    Words(Box<ProgramWords>),
}

/// A program and its words.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ProgramWords {
    /// Its name: a glob, or a list of them.
    pub program: Option<OneOrMore<String>>,
    /// The words behind its own options; `|` stands between words of which one is meant.
    pub subcommand: Option<String>,
    /// Options, all of which are given; `-r|-R|--recursive` names one.
    pub flags: Option<OneOrMore<String>>,
    /// Options of which one is given.
    pub any_flag: Option<OneOrMore<String>>,
    /// Options of which none is given.
    pub no_flag: Option<OneOrMore<String>>,
    /// Globs of which one fits an operand.
    pub operand: Option<OneOrMore<Value>>,
    /// Globs of which none fits an operand.
    pub no_operand: Option<OneOrMore<Value>>,
    /// A regular expression for the code, statements or input that it is given.
    pub text: Option<String>,
    /// Also where it runs on another machine or in a container.
    pub elsewhere: Option<bool>,
    /// What it counts as where it is not known whether such a program runs.
    pub unclear: Option<WhenUnclear>,
}

/// Paths, by globs or by more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Paths {
    /// A glob, or a list of them.
    Globs(OneOrMore<String>),
    /// More than globs.
    Wanted(Box<WantedPaths>),
}

/// Paths that are asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct WantedPaths {
    /// A glob, or a list of them; `~` is home, and what is relative lies in the project.
    pub path: Option<OneOrMore<String>>,
    /// Not those that one of these globs fits.
    pub not: Option<OneOrMore<String>>,
    /// Whatever lies outside of the project and of the folders for temporary files.
    pub outside: Option<Outside>,
    /// Folders, all in them, and what they lie in.
    pub root: Option<OneOrMore<String>>,
    /// Files that hold secrets, by their names.
    pub secret: Option<bool>,
    /// Only where all below is meant, or only where it is not.
    pub whole: Option<bool>,
    /// What it counts as where it is not known which paths are touched.
    pub unclear: Option<WhenUnclear>,
}

/// Outside of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outside {
    /// Of the project.
    Project,
}

/// A glob of paths, or a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PathOrProgram {
    /// A glob of paths.
    Path(String),
    /// A program and its words.
    Program(Box<ProgramWords>),
}

/// What a call may do beside running programs and touching paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Does {
    /// A secret goes to another machine.
    SendsSecret,
    /// What was fetched from another machine is run.
    RunsFetched,
    /// Text that was decoded is run.
    RunsDecoded,
    /// The environment is printed.
    ShowsEnvironment,
    /// Data of a database is lost.
    DestroysData,
    /// Whole directories of names that are not known are deleted.
    DeletesUnclear,
    /// Files of the work tree are overwritten by those of a commit.
    OverwritesFiles,
    /// A function starts itself without an end.
    RunsAway,
}

/// What may be not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unknown {
    /// Which program runs.
    Program,
    /// Which paths are touched.
    Paths,
}

/// What counts where it is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenUnclear {
    /// It matches, as it does without this for a hook that may refuse.
    Match,
    /// It does not match.
    Skip,
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
    /// How far the key holds: on this machine, or on all of its cluster.
    pub scope: Option<Scope>,
    /// Where it may run: where its event came from, or on any machine of the cluster that has the hook.
    #[serde(rename = "where")]
    pub place: Option<Place>,
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

/// How far a key holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// On this machine.
    Machine,
    /// On all machines of its cluster.
    Cluster,
}

/// Where background work may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// On the machine that its event came from.
    Origin,
    /// On any machine of its cluster that has the hook.
    Anywhere,
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
