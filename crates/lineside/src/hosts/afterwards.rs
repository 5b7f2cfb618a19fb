//! The work that a call of an agent program leaves behind its answer.

use std::sync::Arc;

use lineside_bus::Session;
use lineside_bus::publish::PublishError;
use lineside_core::envelope::Cause;
use lineside_core::{EventId, Receipt};
use lineside_dialects::hosts::serve::Derived;

use super::{Hosts, payload};

/// What is left to be done when the answer has been handed over.
#[derive(Default)]
#[must_use = "events that follow from the call are published by `run`"]
pub struct Afterwards {
    pub(super) session: Option<(Hosts, Session)>,
    pub(super) derived: Vec<Derived>,
    pub(super) cause: Option<EventId>,
    pub(super) ends: bool,
}

impl Afterwards {
    /// The session of the call.
    #[must_use]
    pub fn session(&self) -> Option<&Session> {
        self.session.as_ref().map(|(_, session)| session)
    }

    /// Whether the session ends with it.
    #[must_use]
    pub fn ends(&self) -> bool {
        self.ends
    }

    /// Has the session stay open behind a call that was its end, where this holds for it. It ends by [`Hosts::end`] then.
    pub fn keep_open_if(&mut self, stays: impl FnOnce(&Session) -> bool) {
        self.ends = self.ends && !self.session().is_some_and(stays);
    }

    /// Publishes the events that follow from the call, then ends the session if the call was its end; what the session
    /// runs in the background has its own time.
    ///
    /// Gives the receipts. Cancel safe in so far as what was published stays published.
    ///
    /// # Errors
    /// The bus no longer takes events.
    pub async fn run(self) -> Result<Vec<Arc<Receipt>>, PublishError> {
        let Some((hosts, session)) = self.session.filter(|(_, session)| session.is_open()) else {
            return Ok(Vec::new());
        };
        let mut receipts = Vec::new();
        for payload in self.derived.iter().filter_map(payload) {
            let mut event = session.any_event(payload);
            if let Some(event_id) = self.cause {
                event = event.cause(Cause { event: event_id, depth: 0 });
            }
            receipts.push(event.publish_any().await?);
        }
        if self.ends {
            hosts.end(&session).await;
        }
        Ok(receipts)
    }
}
