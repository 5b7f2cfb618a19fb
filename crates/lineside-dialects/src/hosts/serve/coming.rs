//! A call whose document was read, before its session is asked for what it knows of it.

use std::sync::Arc;

use lineside_core::plan::Generation;

use super::call::HostEvent;
use super::calls::Arriving;
use super::holds::Holds;
use super::incoming::{self, Incoming};

/// An event that a document was read into, and what it is known by. Made of an [`HostEvent`], without
/// anything that other calls wait for.
#[derive(Debug)]
pub struct Coming {
    pub(super) arrival: Box<HostEvent>,
    pub(super) incoming: Box<Incoming>,
    pub(super) arriving: Arc<Arriving>,
    pub(super) tree: Option<Arc<str>>,
    pub(super) under: Option<Generation>,
    pub(super) holds: Option<Holds>,
}

impl From<Box<HostEvent>> for Coming {
    fn from(arrival: Box<HostEvent>) -> Self {
        let incoming = Box::new(incoming::read(&arrival));
        let arriving = Arc::new(Arriving::of(&incoming, &incoming.session(), &arrival));
        Self { arrival, incoming, arriving, tree: None, under: None, holds: None }
    }
}

impl From<Box<Coming>> for Coming {
    fn from(coming: Box<Self>) -> Self {
        *coming
    }
}

impl Coming {
    /// Its session is in the tree of this one, which has a part of all that are remembered.
    #[must_use]
    pub fn in_tree(mut self, root: Arc<str>) -> Self {
        self.tree = Some(root);
        self
    }

    /// Its session is under these hooks, on which a decision that came before depends; under none that are known while it
    /// is not open.
    #[must_use]
    pub fn under(mut self, hooks: Option<Generation>) -> Self {
        self.under = hooks;
        self
    }

    /// Its session is held by these where nothing is known of it yet.
    #[must_use]
    pub fn held(mut self, holds: Option<Holds>) -> Self {
        self.holds = holds;
        self
    }

    /// The event, apart from what the memory of its session makes of it.
    #[must_use]
    pub fn incoming(&self) -> &Incoming {
        &self.incoming
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use lineside_core::json::json;

    use super::*;
    use crate::hosts::program::Host;
    use crate::hosts::serve::{HostCall, NextStep, Outcome, Reading, Served, read};

    #[test]
    fn what_was_decided_by_other_hooks_is_no_decision_of_a_call_that_comes_again() {
        let (served, now) = (Served::default(), Instant::now());
        let document = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_use_id": "t",
            "tool_name": "Bash", "tool_input": {"command": "ls"}});
        let comes = |changes: Option<u64>| {
            let call = HostCall { host: Host::Claude, event: None, stdin: document.to_string().into_bytes() };
            let Reading::Event(arrival) = read(call) else { panic!("it is an event") };
            let under = changes.map(|changes| Generation { session: 1, changes });
            served.arrive(Coming::from(arrival).under(under), now)
        };
        let publishing = |arrived| match arrived {
            NextStep::Publish(publishing) => *publishing,
            other => panic!("it is not published: {other:?}"),
        };
        let first = publishing(comes(Some(1)));
        let NextStep::Later(meanwhile) = comes(Some(2)) else { panic!("it is judged twice at a time") };
        served.settle(first, &Outcome::default(), &[]);
        assert!(matches!(comes(Some(1)), NextStep::Answer(_)));
        let anew = publishing(served.arrive(meanwhile, now));
        served.settle(anew, &Outcome::default(), &[]);
        assert!(matches!(comes(Some(2)), NextStep::Answer(_)), "it was judged by those in force");
        publishing(comes(None));
    }
}
