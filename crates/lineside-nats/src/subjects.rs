//! The subjects of a cluster, and its bucket. `docs/cluster.md` lists them, with the permissions that they need.

use crate::registry::EntryName;
use crate::settings::{JoinSettings, Token};

/// The names of one member's cluster.
#[derive(Debug, Clone)]
pub(crate) struct Subjects {
    cluster: Token,
    machine: Token,
    life: Token,
}

impl Subjects {
    pub(crate) fn of(settings: &JoinSettings) -> Self {
        let JoinSettings { cluster, machine, life, .. } = settings;
        Self { cluster: cluster.clone(), machine: machine.clone(), life: life.clone() }
    }

    /// The bucket of the registry.
    pub(crate) fn bucket(&self) -> String {
        format!("lineside_{}_sessions", self.cluster)
    }

    /// The bucket of concurrency keys.
    pub(crate) fn keys_bucket(&self) -> String {
        format!("lineside_{}_keys", self.cluster)
    }

    /// The bucket of windows and of rates.
    pub(crate) fn windows_bucket(&self) -> String {
        format!("lineside_{}_windows", self.cluster)
    }

    /// The subject of the entry of a concurrency key.
    pub(crate) fn key_entry(&self, key: &Token) -> String {
        format!("$KV.{}.{key}", self.keys_bucket())
    }

    /// The subject of what has become of the last window of a key.
    pub(crate) fn closed_window(&self, key: &Token) -> String {
        format!("$KV.{}.closed.{key}", self.windows_bucket())
    }

    /// The stream of the names of jobs.
    pub(crate) fn jobs(&self) -> String {
        format!("lineside_{}_jobs", self.cluster)
    }

    /// The subject of the names of jobs of a hook.
    pub(crate) fn jobs_of(&self, hook: &str) -> String {
        format!("lineside.{}.jobs.{hook}", self.cluster)
    }

    /// The key of an entry of this machine.
    pub(crate) fn key(&self, name: EntryName) -> String {
        format!("{}.{}.{name}", self.machine, self.life)
    }

    /// The subject of every entry of this name, whichever machine has it.
    pub(crate) fn entries_named(&self, name: EntryName) -> String {
        format!("$KV.{}.*.*.{name}", self.bucket())
    }

    /// The subjects of all entries of a life of this machine.
    pub(crate) fn entries_of(&self, life: &str) -> String {
        format!("$KV.{}.{}.{life}.>", self.bucket(), self.machine)
    }

    /// Where this machine says that it is there.
    pub(crate) fn alive(&self) -> String {
        format!("lineside.{}.alive.{}", self.cluster, self.machine)
    }

    /// Where all machines say so.
    pub(crate) fn all_alive(&self) -> String {
        format!("lineside.{}.alive.*", self.cluster)
    }

    /// Where a machine is asked.
    pub(crate) fn to(&self, machine: &str) -> String {
        format!("lineside.{}.to.{machine}", self.cluster)
    }

    /// Where this machine is asked.
    pub(crate) fn to_this(&self) -> String {
        self.to(self.machine.as_str())
    }
}

/// The machine, the life and the name of a key.
pub(crate) fn parts(key: &str) -> Option<(&str, &str, EntryName)> {
    let mut parts = key.split('.');
    let found = (parts.next()?, parts.next()?, EntryName::parse(parts.next()?)?);
    parts.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_machine_its_life_and_a_name() {
        let name = EntryName(0xa1);
        assert_eq!(parts("m.l.00000000000000a1"), Some(("m", "l", name)));
        for wrong in ["", "m.l", "m.l.a1", "m.l.00000000000000a1.x", "m.00000000000000a1"] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }
}
