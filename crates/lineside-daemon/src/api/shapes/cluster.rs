//! The form of what the daemon says of its cluster.

use lineside::json::Map;
use serde::{Deserialize, Serialize};

use super::Finding;

/// The cluster that the daemon has joined.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct ClusterStatus {
    /// Its name.
    pub cluster: String,
    /// What this machine is called there.
    pub machine: String,
    /// Whether it is connected and has read the registry.
    pub together: bool,
    /// Whether this machine leaves, or has left, because a person said so.
    pub draining: bool,
    /// Since when that is so, in milliseconds.
    pub since_ms: u64,
    /// Why it is not connected, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The server that it was connected to last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ClusterServer>,
    /// The machines that were heard.
    pub members: Vec<ClusterMember>,
    /// How many sessions of this machine the others know.
    pub sessions: usize,
    /// How many of them are not written yet.
    pub unwritten: usize,
    /// How many sessions of others are in memory, and how many did not fit.
    pub mirrored: usize,
    /// See `mirrored`.
    pub not_mirrored: usize,
    /// How many sessions of others are kept up with, as something here is below them or may be soon.
    pub followed: usize,
    /// How many sessions of other machines something here is below.
    pub stand_ins: usize,
    /// Jobs that any machine of the cluster may run.
    pub jobs: ClusterJobs,
    /// Projects of other machines whose hooks hold for something here, and whose guards stand closed: nothing of their
    /// content was trusted on this machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untrusted: Vec<ClusterUntrusted>,
}

/// Jobs that any machine of a cluster may run.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct ClusterJobs {
    /// How many times jobs of this machine were named to the others, since it was started.
    pub published: u64,
    /// How many jobs of other machines are under way here.
    pub here: usize,
    /// How many jobs of other machines wait here for a key of the cluster.
    pub waiting: usize,
    /// How many jobs of this machine are under way on others.
    pub elsewhere: usize,
}

/// A project of another machine whose guards stand closed here.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct ClusterUntrusted {
    /// The machine that it is on.
    pub machine: String,
    /// Where it lies there.
    pub root: String,
    /// The digest of its content, as it was trusted there; none where that has changed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// How many sessions are in it that something here is below.
    pub sessions: usize,
}

/// A server of NATS.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct ClusterServer {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// When it has on the disk what it acknowledges: `always`, `within 120s`, or `unknown` where it does not say so.
    pub sync: String,
}

/// A machine of the cluster.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct ClusterMember {
    /// Its name.
    pub machine: String,
    /// Whether it is this one.
    pub this: bool,
    /// Whether it is there.
    pub there: bool,
    /// How long ago it was heard, in milliseconds.
    pub heard_ms: u64,
    /// How many of its sessions something here is below.
    pub stand_ins: usize,
}

/// What is looked for in the logs of all machines.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::IntoParams))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "describe", into_params(parameter_in = Query))]
pub struct ClusterLogQuery {
    /// In the words of `lineside log`; everything without it.
    pub query: Option<String>,
    /// At most so many of each machine, the latest; 50 without it, 10,000 at most.
    pub most: Option<usize>,
    /// Instead: the event with this id, or with the only one that begins or ends so, with everything that is known of it.
    pub event: Option<String>,
}

/// How a machine leaves.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ClusterDrain {
    /// How long it waits at most for what is under way, in milliseconds; an hour at most.
    pub within_ms: u64,
}

/// What was still under way when a machine left.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct ClusterDrained {
    /// How many sessions of others had something below them here.
    pub here: usize,
    /// How many times something on another machine was below a session of this one.
    pub elsewhere: usize,
    /// How many keys of the cluster this machine had.
    pub keys: usize,
    /// How many jobs ran on another machine than theirs: of others here, and of this one elsewhere.
    pub jobs: usize,
    /// In how many windows of the cluster this machine held events: they were run for here, and may be elsewhere as well.
    pub windows: usize,
}

impl ClusterDrained {
    #[cfg_attr(not(feature = "nats"), allow(dead_code, reason = "a member asks it"))]
    pub(crate) fn is_over(self) -> bool {
        self.here + self.elsewhere + self.keys + self.jobs + self.windows == 0
    }
}

/// What is heard of all machines.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::IntoParams))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "describe", into_params(parameter_in = Query))]
pub struct ClusterSignalsQuery {
    /// In the words of `lineside log`; everything without it.
    pub query: Option<String>,
}

/// What the machines of a cluster have in their logs.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct ClusterLog {
    /// By name.
    pub machines: Vec<ClusterLogOf>,
}

/// What one machine has in its log.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct ClusterLogOf {
    /// The machine.
    pub machine: String,
    /// Why it has not answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<String>,
    /// How many records of the time that is asked for are not in its log.
    pub lost: u64,
    /// How many decisions more there are of those that are asked for, before those here: they did not fit into one message.
    pub left_out: usize,
    /// As `lineside log --json` has them, or `lineside why --json`; the oldest first.
    #[cfg_attr(feature = "describe", schema(value_type = Vec<Object>))]
    pub decisions: Vec<Map>,
}

impl ClusterStatus {
    /// What is wrong with it.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let finding = |text| Finding { of: "cluster", severity: "warning", text };
        let seconds = |millis: u64| millis / 1_000;
        let away = (!self.together).then(|| {
            let why = self.why.as_deref().unwrap_or("the server has not answered yet");
            let text = format!(
                "cluster `{}` is not connected, for {} s: {why}; hooks in programs on other machines mean their on_failure",
                self.cluster,
                seconds(self.since_ms)
            );
            finding(text)
        });
        let gone =
            self.members.iter().filter(|member| self.together && !member.there && member.stand_ins > 0);
        let gone = gone.map(|member| {
            let text = format!(
                "machine `{}` is away, heard {} s ago: {} of its sessions have others below them here, and their hooks in \
                 programs mean their on_failure",
                member.machine,
                seconds(member.heard_ms),
                member.stand_ins
            );
            finding(text)
        });
        let untrusted = self.untrusted.iter().map(|ClusterUntrusted { machine, root, digest, sessions }| {
            let closed = format!("{root} of machine `{machine}`: its guards stand closed below {sessions} of its sessions");
            let text = match digest {
                Some(digest) => format!(
                    "{closed}: no project here was trusted with that content (digest {digest}); have it here, look at it and \
                     say: lineside trust DIR"
                ),
                None => format!("{closed}: it is not what was trusted there"),
            };
            Finding { of: "cluster", severity: "error", text }
        });
        away.into_iter().chain(gone).chain(untrusted).collect()
    }
}
