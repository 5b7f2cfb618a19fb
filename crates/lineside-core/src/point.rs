//! What a point is: its name, what may be done there, and the fields of its payload.
//!
//! The list of points is another crate's; this one only says what an entry of that list holds.

use std::sync::Arc;

use crate::json::Map;

use crate::payload::{DecodePayloadError, Payload};

/// The moment of a point relative to what it is about, which fixes the authority of an interceptor there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// It has not happened yet: block, ask, allow, stop, amend, append context.
    Before,
    /// It has happened: withhold, stop, amend, append context.
    After,
    /// It is a fact: only observers and automations may listen.
    On,
}

impl Phase {
    /// The phase that a name states, from its prefix or, for `x.<vendor>.<name>`, from that of its last part.
    ///
    /// ```
    /// use lineside_core::Phase;
    ///
    /// assert_eq!(Phase::of("before_tool"), Some(Phase::Before));
    /// assert_eq!(Phase::of("x.acme.on_deploy"), Some(Phase::On));
    /// assert_eq!(Phase::of("deploy"), None);
    /// ```
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let own = match name.strip_prefix("x.") {
            Some(rest) => rest.split_once('.')?.1,
            None => name,
        };
        [(Self::Before, "before_"), (Self::After, "after_"), (Self::On, "on_")]
            .into_iter()
            .find(|(_, prefix)| own.len() > prefix.len() && own.starts_with(prefix))
            .map(|(phase, _)| phase)
    }

    /// Whether an interceptor has any authority at a point of this phase.
    ///
    /// ```
    /// use lineside_core::Phase;
    ///
    /// assert!(Phase::Before.may_intercept() && Phase::After.may_intercept());
    /// assert!(!Phase::On.may_intercept());
    /// ```
    #[must_use]
    pub fn may_intercept(self) -> bool {
        self != Self::On
    }
}

/// What a point is in an agent's life, where something depends on that beside its phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PointRole {
    /// Nothing depends on it.
    #[default]
    None,
    /// The agent gets something new to work on; how often it was kept from stopping is counted anew.
    NewWork,
    /// The agent wants to stop; a block keeps it working.
    Stop,
    /// A subagent wants to stop, the one of the session that `child_session` names; a block keeps it working.
    SubagentStop,
}

/// One field of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its name in JSON.
    pub name: &'static str,
    /// Whether an event without it is refused.
    pub required: bool,
    /// Whether an amendment may change it.
    pub amendable: bool,
}

/// Where a point stands in a plan table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slot {
    /// A point of the catalogue, by its position there.
    Catalogue(u8),
    /// A point that a vendor declared, found by its name.
    Declared,
}

/// Reads the payload of a point from JSON.
pub type Decode = fn(&'static PointInfo, Map) -> Result<Arc<dyn Payload>, DecodePayloadError>;

/// Everything that is known about a point before an event of it occurs.
#[derive(Debug)]
pub struct PointInfo {
    /// The only spelling of its name.
    pub name: &'static str,
    /// Its moment and so its authority.
    pub phase: Phase,
    /// What it is in an agent's life.
    pub role: PointRole,
    /// Its place in plan tables.
    pub slot: Slot,
    /// The fields of its payload, in the order of the catalogue.
    pub fields: &'static [Field],
    /// Reads a payload from JSON.
    pub decode: Decode,
}

impl PointInfo {
    /// The field of that name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Whether an event has happened when it is published, and no block of it keeps an agent working: it is decided also
    /// where its publisher does not wait for that.
    #[must_use]
    pub fn is_fact(&self) -> bool {
        self.phase != Phase::Before && self.role != PointRole::SubagentStop
    }

    /// The names of the fields that may be amended.
    pub fn amendable(&self) -> impl Iterator<Item = &'static str> + use<'_> {
        self.fields.iter().filter(|field| field.amendable).map(|field| field.name)
    }
}

impl PartialEq for PointInfo {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for PointInfo {}

#[cfg(test)]
mod tests {
    use super::Phase;

    #[test]
    fn a_name_states_its_phase() {
        assert_eq!(Phase::of("before_tool"), Some(Phase::Before));
        assert_eq!(Phase::of("x.acme.after_deploy"), Some(Phase::After));
        assert_eq!(Phase::of("on_idle"), Some(Phase::On));
        for not_a_point in ["", "before_", "tool", "x.acme", "x.before_tool", "x.acme.deploy"] {
            assert_eq!(Phase::of(not_a_point), None, "{not_a_point}");
        }
    }
}
