//! Agent programs that run `lineside hook HOST` as their hook command: their events on a bus, and its decisions in their
//! words.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use lineside_bus::publish::{PublishError, Stops};
use lineside_bus::session::OpenSessionError;
use lineside_bus::{Bus, Session};
use lineside_core::context::Bounds;
use lineside_core::envelope::Cause;
use lineside_core::{EventId, Receipt};
use lineside_dialects::hosts::serve::{
    self, Arrival, Arrived, CallId, Derived, Incoming, Outcome, Publishing, Reading,
};
use tokio::sync::Notify;

pub use lineside_dialects::hosts::serve::{HostAnswer, HostCall, unreachable};
pub use lineside_dialects::hosts::{HOSTS, Host, install};

/// The session below which a host's sessions are, if it is open.
const PARENT: &str = "LINESIDE_SESSION";

/// Serves agent programs from one bus. Cloning it costs one reference count; all clones know the same sessions.
#[derive(Clone)]
pub struct Hosts {
    bus: Bus,
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    served: Mutex<serve::Served>,
    /// Something was settled or given up.
    changed: Notify,
}

/// A call that was answered.
pub struct HostReply {
    /// What the process prints, and how it exits.
    pub answer: HostAnswer,
    /// The receipts of its events, the first that of the call itself; none for a call that is no event of its own.
    pub receipts: Vec<Arc<Receipt>>,
    /// What is left to be done, which nobody waits for.
    pub afterwards: Afterwards,
}

/// What is left to be done when the answer has been handed over.
#[derive(Default)]
#[must_use = "events that follow from the call are published by `run`"]
pub struct Afterwards {
    session: Option<(Bus, Arc<str>)>,
    derived: Vec<Derived>,
    cause: Option<EventId>,
    ends: bool,
}

/// Why a host could not be served. Its gates are closed then, as without a runtime.
#[derive(Debug, thiserror::Error)]
pub enum ServeHostError {
    /// Its session cannot be opened.
    #[error(transparent)]
    Session(#[from] OpenSessionError),
    /// Its event was not published.
    #[error(transparent)]
    Publish(#[from] PublishError),
}

impl Hosts {
    /// Serves from this bus.
    #[must_use]
    pub fn new(bus: Bus) -> Self {
        lineside_dialects::hosts::declare_points();
        Self { bus, inner: Arc::default() }
    }

    /// Answers a call: opens its session, publishes its event, waits for the decision and puts it into the host's
    /// words. A second arrival of one call waits for the first and gets its decision.
    ///
    /// Dropping the future leaves the event undecided; the host has no answer then.
    ///
    /// # Errors
    /// The bus takes no events. [`unreachable()`] is the answer then.
    pub async fn answer(&self, call: HostCall) -> Result<HostReply, ServeHostError> {
        let parent = call.environment.get(PARENT).cloned();
        let mut arrival = match serve::read(call) {
            Reading::Answer(answer) => return Ok(HostReply::of(answer)),
            Reading::Event(arrival) => arrival,
        };
        loop {
            let changed = self.inner.changed.notified();
            let mut changed = std::pin::pin!(changed);
            // What changes between the look and the wait is not missed.
            changed.as_mut().enable();
            match self.arrive(arrival) {
                Arrived::Answer(answer) => return Ok(HostReply::of(answer)),
                Arrived::Publish(publishing) => return self.publish(*publishing, parent.as_deref()).await,
                Arrived::Later(again) => arrival = again,
            }
            changed.await;
        }
    }

    fn arrive(&self, arrival: Box<Arrival>) -> Arrived {
        self.served().arrive(arrival, Instant::now())
    }

    fn served(&self) -> MutexGuard<'_, serve::Served> {
        self.inner.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn publish(
        &self,
        publishing: Publishing,
        parent: Option<&str>,
    ) -> Result<HostReply, ServeHostError> {
        let guard = Undecided { inner: &self.inner, what: Some(publishing.if_abandoned()) };
        let session = self.session(&publishing, parent)?;
        let receipt = self.event(&session, &publishing).publish_any().await?;
        let mut outcome = Outcome::of(&receipt);
        let mut receipts = vec![receipt];
        if let Some(derived) = publishing.folded(&outcome)
            && let Some(payload) = payload(&derived)
        {
            let cause = Cause { event: receipts[0].event.envelope().id, depth: 0 };
            let folded = session.any_event(payload).cause(cause).publish_any().await?;
            outcome.fold(Outcome::of(&folded));
            receipts.push(folded);
        }
        let own: Vec<EventId> = receipts.iter().map(|receipt| receipt.event.envelope().id).collect();
        let delivery = session.collect().at_most(Bounds::NONE).ready();
        let late = delivery.accept().into_iter().filter(|message| !own.contains(&message.event));
        let late = late.map(|message| message.text).collect();
        let settled = guard.settle(|served| served.settle(publishing, &outcome, late));
        for line in &settled.log {
            tracing::info!(session = %session.id(), "{line}");
        }
        let afterwards = Afterwards {
            session: Some((self.bus.clone(), session.id().as_str().into())),
            derived: settled.after,
            cause: own.first().copied(),
            ends: settled.ends,
        };
        Ok(HostReply { answer: settled.answer, receipts, afterwards })
    }

    /// The session of an event, opened if it is not open.
    fn session(&self, publishing: &Publishing, parent: Option<&str>) -> Result<Session, OpenSessionError> {
        if let Some(session) = self.bus.find(&publishing.session) {
            return Ok(session);
        }
        let incoming = &publishing.incoming;
        let root = match self.bus.find(&incoming.root) {
            Some(root) => root,
            None => {
                let above = parent.filter(|parent| *parent != incoming.root).and_then(|id| self.bus.find(id));
                let opening = match above {
                    Some(above) => above.subagent(incoming.root.as_str()),
                    None => self.bus.session(incoming.root.as_str()),
                };
                found_or(&self.bus, &incoming.root, about(opening, incoming).open_now())?
            }
        };
        match (&publishing.parent, &publishing.agent) {
            (Some(_), Some(agent)) => {
                let opening =
                    about(root.subagent(publishing.session.as_str()), incoming).agent(agent.clone());
                found_or(&self.bus, &publishing.session, opening.open_now())
            }
            _ => Ok(root),
        }
    }

    fn event(
        &self,
        session: &Session,
        publishing: &Publishing,
    ) -> lineside_bus::publish::Publication<Arc<dyn lineside_core::Payload>> {
        let Incoming { payload, cwd, project_root, model, time, extra, .. } = &publishing.incoming;
        let source = session.source();
        let mut event = session.any_event(Arc::clone(payload)).extra(extra.clone()).stops(Stops::OfPublisher);
        if let Some(verdict) = &publishing.decided {
            event = event.decided(verdict.clone());
        }
        if let Some(cwd) = cwd.as_deref().filter(|cwd| source.cwd.as_deref() != Some(cwd)) {
            event = event.cwd(cwd);
        }
        if let Some(root) =
            project_root.as_deref().filter(|root| source.project_root.as_deref() != Some(root))
        {
            event = event.project_root(root);
        }
        if let Some(model) = model.clone().filter(|model| source.model.as_ref() != Some(model)) {
            event = event.model(model);
        }
        match time {
            Some(time) => event.time(*time),
            None => event,
        }
    }
}

/// What all events of a session share.
fn about(
    opening: lineside_bus::session::OpenSession,
    incoming: &Incoming,
) -> lineside_bus::session::OpenSession {
    let mut opening = opening.host(incoming.host.name());
    if let Some(cwd) = &incoming.cwd {
        opening = opening.cwd(cwd.as_str());
    }
    if let Some(root) = &incoming.project_root {
        opening = opening.project_root(root.as_str());
    }
    if let Some(model) = &incoming.model {
        opening = opening.model(model.clone());
    }
    opening
}

/// Two calls at the same time may both find that a session is not open.
fn found_or(
    bus: &Bus,
    id: &str,
    opened: Result<Session, OpenSessionError>,
) -> Result<Session, OpenSessionError> {
    match opened {
        Err(OpenSessionError::Taken(taken)) => bus.find(id).ok_or(OpenSessionError::Taken(taken)),
        other => other,
    }
}

fn payload(derived: &Derived) -> Option<Arc<dyn lineside_core::Payload>> {
    let point = lineside_points::find(derived.point).ok()?;
    (point.decode)(point, derived.payload.clone()).ok()
}

/// Lets others go on if the event is never decided.
struct Undecided<'a> {
    inner: &'a Inner,
    what: Option<(String, Option<CallId>, bool)>,
}

impl Undecided<'_> {
    fn settle<T>(mut self, settle: impl FnOnce(&mut serve::Served) -> T) -> T {
        self.what = None;
        let settled = settle(&mut self.inner.served.lock().unwrap_or_else(PoisonError::into_inner));
        self.inner.changed.notify_waiters();
        settled
    }
}

impl Drop for Undecided<'_> {
    fn drop(&mut self) {
        if let Some((root, call, is_start)) = self.what.take() {
            let mut served = self.inner.served.lock().unwrap_or_else(PoisonError::into_inner);
            served.abandon(&root, call, is_start);
            drop(served);
            self.inner.changed.notify_waiters();
        }
    }
}

impl HostReply {
    fn of(answer: HostAnswer) -> Self {
        Self { answer, receipts: Vec::new(), afterwards: Afterwards::default() }
    }
}

impl Afterwards {
    /// Publishes the events that follow from the call, then ends the session if the call was its end; what the session
    /// runs in the background has its own time.
    ///
    /// Gives the receipts. Cancel safe in so far as what was published stays published.
    ///
    /// # Errors
    /// The bus takes no events any more.
    pub async fn run(self) -> Result<Vec<Arc<Receipt>>, PublishError> {
        let Some(session) = self.session.and_then(|(bus, id)| bus.find(&id)) else { return Ok(Vec::new()) };
        let mut receipts = Vec::new();
        for payload in self.derived.iter().filter_map(payload) {
            let mut event = session.any_event(payload);
            if let Some(event_id) = self.cause {
                event = event.cause(Cause { event: event_id, depth: 0 });
            }
            receipts.push(event.publish_any().await?);
        }
        if self.ends {
            session.close().await;
        }
        Ok(receipts)
    }
}
