//! Publishing: from a payload to a decision.

use std::sync::Arc;

use jiff::Timestamp;
use lineside_core::budget::Budget;
use lineside_core::envelope::{Agent, Cause, Model};
use lineside_core::json::Map;
use lineside_core::payload::Point;
use lineside_core::{
    AnyEvent, CoverageMismatch, Envelope, EventId, Payload, PointInfo, Receipt, SessionId, Source,
};
use tokio::time::Instant;

use crate::api::decision::Decision;
use crate::api::session::Session;
use crate::base::clock;
use crate::dispatch::event::{Dispatch, forget_stops};
use crate::hook::cx::handled;

/// How long a line of events that lead to one another may become.
pub const DEEPEST_CAUSE: u8 = 8;

/// Why an event was not published. Nobody has heard of it, and it has no number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The session is closed.
    #[error("session `{0}` is closed")]
    Closed(SessionId),
    /// The bus is shutting down.
    #[error("the bus is shutting down")]
    Draining,
    /// Hooks publish events whose hooks publish events, and so on.
    #[error(
        "{point} is the {depth}th event in a line of events that led to one another, at most {DEEPEST_CAUSE} may"
    )]
    TooDeep {
        /// The point.
        point: &'static str,
        /// How long the line would have become.
        depth: u8,
    },
}

/// An event about to be published. What is not said about it is that of its session.
#[must_use = "an event is published by `publish().await`"]
pub struct Publication<P> {
    session: Session,
    payload: P,
    details: Details,
}

/// What one event says differently from its session.
#[derive(Default)]
pub(crate) struct Details {
    turn: Option<u64>,
    cause: Option<Cause>,
    budget: Budget,
    id: Option<EventId>,
    time: Option<Timestamp>,
    extra: Option<Arc<Map>>,
    source: Option<Box<Source>>,
    coverage: Option<Arc<str>>,
}

impl<P> Publication<P> {
    pub(crate) fn new(session: Session, payload: P) -> Self {
        Self { session, payload, details: Details::default() }
    }

    /// The turn of the agent.
    pub fn turn(mut self, turn: u64) -> Self {
        self.details.turn = Some(turn);
        self
    }

    /// The event that led to it. Events published by a closure while it handles another one have it anyway.
    pub fn cause(mut self, cause: Cause) -> Self {
        self.details.cause = Some(Cause { depth: cause.depth.saturating_add(1), ..cause });
        self
    }

    /// At most this much time for all hooks together, in the smaller of this and the bus's own bound.
    pub fn within(mut self, time: std::time::Duration) -> Self {
        self.details.budget = self.details.budget.within(Budget::of(time));
        self
    }

    /// The id it already has, for events that were recorded elsewhere.
    pub fn id(mut self, id: EventId) -> Self {
        self.details.id = Some(id);
        self
    }

    /// The time at which it happened, for events that were recorded elsewhere.
    pub fn time(mut self, time: Timestamp) -> Self {
        self.details.time = Some(time);
        self
    }

    /// Fields of the host without a canonical name.
    pub fn extra(mut self, extra: Map) -> Self {
        self.details.extra = (!extra.is_empty()).then(|| Arc::new(extra));
        self
    }

    /// Another agent than the session's.
    pub fn agent(self, agent: Agent) -> Self {
        self.differs(|source| source.agent = agent)
    }

    /// Another model than the session's.
    pub fn model(self, model: Model) -> Self {
        self.differs(|source| source.model = Some(model))
    }

    /// Another working directory than the session's.
    pub fn cwd(self, cwd: impl Into<Arc<str>>) -> Self {
        self.differs(|source| source.cwd = Some(cwd.into()))
    }

    /// Another project than the session's.
    pub fn project_root(self, root: impl Into<Arc<str>>) -> Self {
        self.differs(|source| source.project_root = Some(root.into()))
    }

    /// Another trace than the session's.
    pub fn traceparent(self, traceparent: impl Into<Arc<str>>) -> Self {
        self.differs(|source| source.traceparent = Some(traceparent.into()))
    }

    /// Another connection than that of the session.
    pub fn connection(self, connection: impl Into<Arc<str>>) -> Self {
        self.differs(|source| source.connection = Some(connection.into()))
    }

    /// The digest of the hooks that its publisher believes it is under, as [`Session::coverage`] gives it. When it is
    /// another one, the event is decided all the same; the receipt and a signal tell it.
    pub fn believing(mut self, coverage: impl Into<Arc<str>>) -> Self {
        self.details.coverage = Some(coverage.into());
        self
    }

    fn differs(mut self, change: impl FnOnce(&mut Source)) -> Self {
        let source = &self.session.node().source;
        change(self.details.source.get_or_insert_with(|| Box::new((**source).clone())));
        self
    }
}

impl<P: Point> Publication<P> {
    /// Publishes it and waits for the decision.
    ///
    /// Not cancel safe: dropping the future cancels the hooks that run and leaves the event undecided, which a signal
    /// tells.
    ///
    /// # Errors
    /// The session is closed, the bus is shutting down, or the line of causes is too long.
    pub async fn publish(self) -> Result<Decision<P>, PublishError> {
        let Self { session, payload, details } = self;
        let dispatch = details.admit(&session, P::INFO)?;
        if !dispatch.is_heard() {
            return Ok(Decision::unheard(payload, dispatch.seq));
        }
        let now = Instant::now();
        let event = AnyEvent::of(dispatch.envelope(now), payload);
        Ok(Decision::settled(dispatch.run(event, now).await))
    }
}

impl Publication<Arc<dyn Payload>> {
    /// Publishes it and waits for the decision, which is in the receipt.
    ///
    /// Not cancel safe, as [`Publication::publish`].
    ///
    /// # Errors
    /// As [`Publication::publish`].
    pub async fn publish_any(self) -> Result<Arc<Receipt>, PublishError> {
        let Self { session, payload, details } = self;
        let dispatch = details.admit(&session, payload.info())?;
        let now = Instant::now();
        let event = AnyEvent::new(dispatch.envelope(now), payload);
        Ok(dispatch.run(event, now).await)
    }
}

impl Details {
    /// An event that says nothing different from its session.
    pub(crate) const NONE: &'static Self = &Self {
        turn: None,
        cause: None,
        budget: Budget::unbounded(),
        id: None,
        time: None,
        extra: None,
        source: None,
        coverage: None,
    };

    /// Lets the event in: it has a number and a plan from here on.
    pub(crate) fn admit<'a>(
        &'a self,
        session: &'a Session,
        point: &'static PointInfo,
    ) -> Result<Dispatch<'a>, PublishError> {
        let node = session.node();
        // Before it is known to be open: one that was open then was under these hooks, which closing releases.
        let in_force = session.shared().tree.in_force(node, point);
        let of_session =
            node.in_flight.enter().ok_or_else(|| PublishError::Closed(node.source.session.clone()))?;
        let cause = self
            .cause
            .or_else(|| handled().map(|cause| Cause { depth: cause.depth.saturating_add(1), ..cause }));
        if let Some(Cause { depth, .. }) = cause
            && depth > DEEPEST_CAUSE
        {
            return Err(PublishError::TooDeep { point: point.name, depth });
        }
        let shared = session.shared();
        let in_flight = [of_session, shared.in_flight.enter().ok_or(PublishError::Draining)?];
        forget_stops(node, point, self.source.as_deref());
        Ok(Dispatch { session, in_force, seq: node.next_seq(), cause, details: self, in_flight })
    }

    /// Whether its publisher has stated what hooks it is under.
    pub(crate) fn believes(&self) -> bool {
        self.coverage.is_some()
    }

    /// What was stated, where that is not so.
    pub(crate) fn mismatch(&self, session: &Session) -> Option<CoverageMismatch> {
        let believed = self.coverage.clone()?;
        let in_force = session.coverage();
        (believed != in_force).then_some(CoverageMismatch { believed, in_force })
    }

    /// The smaller of the event's own bound and that of the bus.
    pub(crate) fn budget(&self, bus: Budget) -> Budget {
        self.budget.within(bus)
    }

    /// The envelope of the event.
    pub(crate) fn envelope(
        &self,
        source: &Arc<Source>,
        seq: u64,
        cause: Option<Cause>,
        now: Instant,
    ) -> Envelope {
        let (id, time) = clock::stamp(now.into_std());
        let source = match &self.source {
            Some(different) => Arc::new((**different).clone()),
            None => Arc::clone(source),
        };
        Envelope {
            id: self.id.unwrap_or(id),
            time: self.time.unwrap_or(time),
            seq,
            source,
            cause,
            turn: self.turn,
            extra: self.extra.clone(),
        }
    }
}
