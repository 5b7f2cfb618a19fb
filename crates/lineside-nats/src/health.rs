//! How a member stands: whether it is connected, and what its server says of itself.

use std::fmt;
use std::time::Duration;

use lineside_core::json::{self, Value};
use tokio::time::Instant;

/// How a member stands with its cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Link {
    /// It has not been there yet, or is no longer: since when, and why, where that is known.
    Away {
        /// When it was there last, or was started.
        since: Instant,
        /// Why, one line; empty while it is not known.
        why: String,
    },
    /// It is connected, and has read the registry.
    Together {
        /// Since when.
        since: Instant,
        /// How often it has come, from 1.
        times: u64,
    },
}

impl Link {
    /// Whether it is connected and has read the registry.
    #[must_use]
    pub fn is_together(&self) -> bool {
        self.times().is_some()
    }

    /// How often it has come, if it is connected and has read the registry.
    pub(crate) fn times(&self) -> Option<u64> {
        match self {
            Self::Together { times, .. } => Some(*times),
            Self::Away { .. } => None,
        }
    }
}

/// What is known of a cluster, and of the way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// Whether it is there.
    pub link: Link,
    /// The server that it was connected to last.
    pub server: Option<ServerFacts>,
    /// Entries of other machines that did not fit into memory, and are asked for one by one.
    pub not_mirrored: usize,
}

/// What a server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerFacts {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The longest message, in bytes.
    pub longest: usize,
    /// When it has entries on the disk.
    pub sync: ServerSync,
}

/// When a server has what it acknowledges on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerSync {
    /// Before it acknowledges it.
    Always,
    /// This long after it at most.
    Within(Duration),
    /// It does not say so to this user.
    Unknown,
}

impl fmt::Display for ServerSync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => f.write_str("always"),
            Self::Within(time) => write!(f, "within {time:?}"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

impl ServerSync {
    /// What the answer of a server to a question for its JetStream says.
    pub(crate) fn read(answer: &[u8]) -> Self {
        let read = || {
            let answer: Value = json::from_slice(answer).ok()?;
            let config = answer.get("data")?.get("config")?;
            if config.get("sync_always").and_then(Value::as_bool) == Some(true) {
                return Some(Self::Always);
            }
            config.get("sync_interval")?.as_u64().map(Duration::from_nanos).map(Self::Within)
        };
        read().unwrap_or(Self::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_a_server_syncs_is_read_from_its_answer() {
        let read = |text: &str| ServerSync::read(text.as_bytes());
        let two_minutes = r#"{"server": {}, "data": {"config": {"sync_interval": 120000000000}}}"#;
        assert_eq!(read(two_minutes), ServerSync::Within(Duration::from_secs(120)));
        let always = r#"{"data": {"config": {"sync_interval": 1, "sync_always": true}}}"#;
        assert_eq!(read(always), ServerSync::Always);
        for none in ["", "{}", r#"{"data": {}}"#, r#"{"data": {"config": {"sync_interval": "x"}}}"#] {
            assert_eq!(read(none), ServerSync::Unknown, "{none}");
        }
    }
}
