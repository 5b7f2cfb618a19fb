//! The forms of what the daemon says of itself.

use serde::Serialize;

use super::ClusterStatus;

/// That the daemon lives.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Health {
    /// `ok`, or `ending` while it drains.
    pub status: &'static str,
    /// The version of the program.
    pub version: &'static str,
    /// Its process.
    pub pid: u32,
    /// How long it has run, in milliseconds.
    pub uptime_ms: u64,
}

/// How the daemon stands.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Status {
    /// That it lives.
    #[serde(flatten)]
    pub health: Health,
    /// Whether hooks are switched off.
    pub off: bool,
    /// Which load of hook files is in force, from 1.
    pub generation: u64,
    /// How many of its hooks are in force, each counted once; those that are not trusted or switched off are not.
    pub hooks: usize,
    /// What is wrong: with hook files, each with file and line, and with the coverage of sessions.
    pub findings: Vec<Finding>,
    /// The projects that sessions work in, or worked in lately, and that have hooks.
    pub projects: Vec<Project>,
    /// The root of the project whose hooks are in force for every session, where the program that holds the daemon has
    /// named one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The cluster that it has joined, where it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterStatus>,
    /// How many sessions are open.
    pub sessions: usize,
    /// Programs that are attached and there.
    pub attached: usize,
    /// Hooks whose programs are away: each has failed, and means what its `on_failure` says.
    pub orphaned_hooks: usize,
    /// How many events stated another coverage than that of their sessions.
    pub coverage_mismatches: u64,
    /// How many hooks have failed so far.
    pub failures: u64,
    /// Which hooks have failed within the last hour, as far as their events are still known; sixteen at most.
    pub failing: Vec<Failing>,
    /// The tools in no class that were called within the last hour, as far as their events are still known; sixteen at
    /// most, in the order of their names.
    pub unclassed_tools: Vec<String>,
    /// What accepted work survives: `memory`, `process` or `disk`.
    pub durability: &'static str,
    /// The folder of its journals.
    pub journal: String,
    /// The file of its decision log, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// Jobs that are not settled.
    pub live_jobs: usize,
    /// Jobs in the dead letters.
    pub dead_jobs: usize,
}

/// A project that has hooks.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Project {
    /// Its root.
    pub root: String,
    /// `trusted`; `untrusted`, so that nothing of it runs; or `closed`: it is not what was trusted, and its guards refuse.
    pub stands: &'static str,
    /// How many of its hooks are in force, each counted once.
    pub hooks: usize,
    /// How many open sessions are in it.
    pub sessions: usize,
}

/// A hook that has failed of late.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Failing {
    /// Its name.
    pub hook: String,
    /// How often.
    pub times: usize,
    /// The point of the last time.
    pub point: &'static str,
    /// How it failed then, in a word.
    pub failed: String,
    /// What is known of that, in 200 characters at most.
    pub detail: String,
}

/// Something that is wrong.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Finding {
    /// What with: `hooks`, the files that each load reads; `settings`, the daemon's own file, which it reads when it
    /// starts; `daemon`, how it fares; or `log`, its decision log.
    pub of: &'static str,
    /// `error` or `warning`.
    pub severity: &'static str,
    /// What, where, and what to do.
    pub text: String,
}

/// What a load of hook files found.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Reloaded {
    /// Which load it was.
    pub generation: u64,
    /// How many of its hooks are in force, each counted once; those that are not trusted or switched off are not.
    pub hooks: usize,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// The end was asked for.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Ending {
    /// `ending`.
    pub status: &'static str,
    /// The process that is going to end.
    pub pid: u32,
}
