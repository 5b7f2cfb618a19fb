//! The form of what the daemon says of its cluster.

use serde::Serialize;
use utoipa::ToSchema;

use super::Finding;

/// The cluster that the daemon has joined.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ClusterStatus {
    /// Its name.
    pub cluster: String,
    /// What this machine is called there.
    pub machine: String,
    /// Whether it is connected and has read the registry.
    pub together: bool,
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
    /// How many sessions of other machines something here is below.
    pub stand_ins: usize,
}

/// A server of NATS.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ClusterServer {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// When it has on the disk what it acknowledges: `always`, `within 120s`, or `unknown` where it does not say so.
    pub sync: String,
}

/// A machine of the cluster.
#[derive(Debug, Clone, Serialize, ToSchema)]
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
        away.into_iter().chain(gone).collect()
    }
}
