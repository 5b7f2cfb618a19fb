//! How the bus tells of events: hooks that are told, take every event, and run for none of them themselves.

use std::sync::Arc;

use lineside_bus::interceptor::{BoxFuture, Interceptor};
use lineside_bus::{Cx, Release, Ticket};
use lineside_core::{AnyEvent, Failure, FailureKind, Said, SessionId};

use super::Engine;
use crate::machine::job::AutomationId;
use crate::machine::{Awaited, Input};

/// Offers every event to an automation.
pub(crate) struct Trigger {
    pub(crate) engine: Arc<Engine>,
    pub(crate) automation: AutomationId,
}

/// Cancels the held and waiting work of an automation that has the key of an event.
pub(crate) struct Canceller {
    pub(crate) engine: Arc<Engine>,
    pub(crate) automation: AutomationId,
}

impl Interceptor for Trigger {
    fn intercept(&self, _event: AnyEvent, _cx: Cx) -> BoxFuture<Result<Said, Failure>> {
        takes_every_event()
    }

    fn hold(&self, event: &AnyEvent, _ticket: Ticket) -> Result<(), Ticket> {
        self.engine.offer(&self.automation, event);
        Ok(())
    }

    fn release(&self, session: &SessionId, which: Release) {
        self.engine.step(match which {
            Release::Joining => Input::Release(session.clone()),
            Release::All => Input::SessionEnds(session.clone()),
        });
    }

    fn settled(&self, session: &SessionId, which: Release) -> BoxFuture<()> {
        let (engine, session) = (Arc::clone(&self.engine), session.clone());
        let which = match which {
            Release::Joining => Awaited::Joining,
            Release::All => Awaited::Draining,
        };
        Box::pin(async move { engine.settled(session, which).await })
    }

    fn cut(&self, session: &SessionId) {
        self.engine.step(Input::SessionCut(session.clone()));
    }
}

impl Interceptor for Canceller {
    fn intercept(&self, _event: AnyEvent, _cx: Cx) -> BoxFuture<Result<Said, Failure>> {
        takes_every_event()
    }

    fn hold(&self, event: &AnyEvent, _ticket: Ticket) -> Result<(), Ticket> {
        self.engine.step(Input::Cancelling(Arc::clone(&self.automation), event.clone().into()));
        Ok(())
    }
}

/// What would be seen if the bus ran what has taken the event.
fn takes_every_event() -> BoxFuture<Result<Said, Failure>> {
    let failure = Failure::not_started(FailureKind::Closed, "an automation runs by itself");
    Box::pin(std::future::ready(Err(failure)))
}
