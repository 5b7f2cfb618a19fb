//! A call that was read, before anything is done about it.

use std::borrow::Cow;

use lineside_dialects::hosts::serve::{HostAnswer, HostCall, Reading, read};

/// A call that was read, and not looked into.
pub struct ReadCall(pub(super) Reading);

impl From<HostCall> for ReadCall {
    fn from(call: HostCall) -> Self {
        Self(read(call))
    }
}

impl ReadCall {
    /// Whether it tells of what has happened: such an event is to be decided also where its host is gone.
    #[must_use]
    pub fn is_fact(&self) -> bool {
        match &self.0 {
            Reading::Event(arrival) => arrival.is_fact(),
            Reading::Answer(_) => false,
        }
    }

    /// The session of the main agent that it names; `None` for one whose answer is known.
    #[must_use]
    pub fn root(&self) -> Option<Cow<'_, str>> {
        match &self.0 {
            Reading::Event(arrival) => Some(arrival.root()),
            Reading::Answer(_) => None,
        }
    }

    /// The answer while its event cannot be decided, for a reason that people read: its gate is closed with that, and
    /// what is no gate passes.
    #[must_use]
    pub fn undecided(&self, why: &str) -> HostAnswer {
        match &self.0 {
            Reading::Event(arrival) => arrival.undecided(why),
            Reading::Answer(answer) => answer.clone(),
        }
    }
}
