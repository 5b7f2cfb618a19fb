//! `cluster` of `config.yaml`: which cluster of machines the daemon joins, and what it takes from there.

use std::path::PathBuf;

use super::Reading;
use crate::dialect::at_home;
use crate::yaml::Node;

/// What is set for a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterSettings {
    /// The servers of NATS, separated by commas.
    pub servers: String,
    /// A file with the credentials for them.
    pub credentials: Option<PathBuf>,
    /// A file with further roots of their certificates, in PEM.
    pub roots: Option<PathBuf>,
    /// Which cluster; `default` where it is not named.
    pub name: Option<String>,
    /// What this machine is called there; made of its host's name without it.
    pub machine: Option<String>,
    /// What a grant is worth that another machine has given out.
    pub grants: RemoteGrants,
    /// Whether the server has to have what it acknowledges on the disk.
    pub require_fsync: bool,
}

/// What a grant is worth that another machine of the cluster has given out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RemoteGrants {
    /// What one is that nothing proves: hooks above refuse and ask, and do nothing else.
    #[default]
    Claimed,
    /// What one of this machine is that is proved.
    Proved,
}

/// The keys of texts.
const KEYS: [&str; 7] = ["nats", "creds", "roots", "name", "machine", "grants", "require_fsync"];

impl Reading<'_> {
    pub(super) fn cluster(&mut self, value: &Node) {
        for (key, value) in self.mapping("cluster", value, &KEYS) {
            let name = format!("cluster.{key}");
            match &*key {
                "grants" => match value.written() {
                    Some("claimed") => {
                        self.set_cluster(&name, value, |set| set.grants = RemoteGrants::Claimed);
                    }
                    Some("proved") => self.set_cluster(&name, value, |set| set.grants = RemoteGrants::Proved),
                    _ => self.wrong(&name, value, "claimed or proved"),
                },
                "require_fsync" => match value.written() {
                    Some("true" | "on") => self.set_cluster(&name, value, |set| set.require_fsync = true),
                    Some("false" | "off") => self.set_cluster(&name, value, |set| set.require_fsync = false),
                    _ => self.wrong(&name, value, "true or false"),
                },
                "creds" | "roots" => {
                    let path = value.text().and_then(|text| self.path_of(text));
                    match path {
                        Some(path) if key == "creds" => {
                            self.set_cluster(&name, value, |set| set.credentials = Some(path));
                        }
                        Some(path) => self.set_cluster(&name, value, |set| set.roots = Some(path)),
                        None => self.wrong(&name, value, "an absolute path, or one below ~/"),
                    }
                }
                _ => match value.text().filter(|text| !text.is_empty()).map(str::to_owned) {
                    Some(text) if key == "nats" => self.set_cluster(&name, value, |set| set.servers = text),
                    Some(text) if key == "name" => {
                        self.set_cluster(&name, value, |set| set.name = Some(text));
                    }
                    Some(text) => self.set_cluster(&name, value, |set| set.machine = Some(text)),
                    None => self.wrong(&name, value, "a text"),
                },
            }
        }
    }

    fn path_of(&self, text: &str) -> Option<PathBuf> {
        let path = at_home(text, self.places.home()).unwrap_or_else(|| text.into());
        path.is_absolute().then_some(path)
    }

    /// Sets a value of a key, unless it is set above.
    fn set_cluster(&mut self, key: &str, value: &Node, set: impl FnOnce(&mut ClusterSettings)) {
        if self.sets(key, value) {
            set(self.settings.cluster.get_or_insert_default());
        }
    }
}
