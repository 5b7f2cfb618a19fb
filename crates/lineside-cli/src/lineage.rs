//! What the events of a stream say of the sessions: which one is below which, in what role, and which have ended.
//!
//! It opens none of them. A stream of this process and one of the daemon ask it the same questions.

use std::collections::{HashMap, HashSet};

use anyhow::{Result, bail};
use lineside::core::Agent;
use lineside::wire::EventDraft;

/// The session of an event that names none.
pub(crate) const SESSION: &str = "s1";

/// The session that an event names.
pub(crate) fn named(draft: &EventDraft) -> &str {
    draft.session.as_deref().unwrap_or(SESSION)
}

/// What events have said so far.
#[derive(Default)]
pub(crate) struct Lineage {
    /// Sessions that a `before_subagent` has announced.
    announced: HashMap<String, Announced>,
    closed: HashSet<String>,
}

/// A session that will be below another one.
struct Announced {
    parent: String,
    role: Option<String>,
}

impl Lineage {
    /// Keeps what an event announces.
    pub(crate) fn hear(&mut self, line: &EventDraft) {
        if line.point.name == "before_subagent"
            && let Some(child) = line.payload.text("child_session")
        {
            let role = line.payload.text("agent_type").map(str::to_owned);
            self.announced.insert(child.to_owned(), Announced { parent: named(line).to_owned(), role });
        }
    }

    /// No session of this id is opened from now on.
    pub(crate) fn closed(&mut self, id: &str) {
        self.closed.insert(id.to_owned());
    }

    /// The sessions above one that is not open, from the nearest up to the first that is open or has none above it.
    ///
    /// # Errors
    /// It would be below itself.
    pub(crate) fn above(
        &self,
        id: &str,
        parent: Option<&str>,
        is_open: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>> {
        let announced = |id: &str| self.announced.get(id).map(|announced| announced.parent.clone());
        let mut above = Vec::new();
        let mut next = parent.map(str::to_owned).or_else(|| announced(id));
        while let Some(parent) = next {
            if parent == id || above.contains(&parent) {
                bail!("session `{id}` cannot be below itself");
            }
            next = if is_open(&parent) { None } else { announced(&parent) };
            above.push(parent);
        }
        Ok(above)
    }

    /// Refuses a session that was closed before.
    ///
    /// # Errors
    /// It was.
    pub(crate) fn admit(&self, id: &str) -> Result<()> {
        if self.closed.contains(id) {
            bail!("session `{id}` is closed");
        }
        Ok(())
    }

    /// The agent of a session below another one: that of its event, or one in the role that was announced.
    pub(crate) fn agent_below(&self, id: &str, of_event: Option<&Agent>) -> Agent {
        let role = || self.announced.get(id).and_then(|announced| announced.role.as_deref());
        of_event.cloned().unwrap_or_else(|| Agent::subagent(role().unwrap_or("subagent")))
    }
}
