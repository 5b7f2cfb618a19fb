//! Letting an event in: a number, the hooks in force, and what its envelope says.

use std::sync::Arc;

use lineside_core::Timestamp;
use lineside_core::budget::Budget;
use lineside_core::envelope::Cause;
use lineside_core::point::PointRole;
use lineside_core::{CoverageMismatch, Envelope, EventId, Extra, PointInfo, SessionId, Source, Verdict};
use tokio::time::Instant;

use crate::base::approver::{Approver, CarriedOut};
use crate::base::clock;
use crate::dispatch::event::Dispatch;
use crate::hook::cx::handled;
use crate::hook::state::{Node, Session};

/// How long a line of events that lead to one another may become.
pub const DEEPEST_CAUSE: u8 = 8;

/// Why an event was not published. No hook has seen it, and it has no number.
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

/// What one event says differently from its session.
#[derive(Default)]
pub(crate) struct Details {
    pub(crate) turn: Option<u64>,
    pub(crate) cause: Option<Cause>,
    pub(crate) budget: Budget,
    pub(crate) id: Option<EventId>,
    pub(crate) time: Option<Timestamp>,
    pub(crate) extra: Option<Arc<Extra>>,
    pub(crate) source: Option<Arc<Source>>,
    pub(crate) coverage: Option<Arc<str>>,
    pub(crate) decided: Option<Verdict>,
    pub(crate) stops: StopBound,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) carried: Option<CarriedOut>,
}

/// Who sees to it that an agent is not kept working for ever, and tells it why it is to go on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StopBound {
    /// The bus: it overrides the fourth block in a row, and puts the reason into the context of the agent.
    #[default]
    Bus,
    /// The publisher, who has a limit and words of its own. The limit that a hook's own format sets holds as well.
    Publisher,
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
        decided: None,
        stops: StopBound::Bus,
        approver: None,
        carried: None,
    };

    /// Lets the event in: it has a number from here on. What is in force is looked up before that: a session that is
    /// open now was under these hooks, which closing releases.
    #[inline]
    pub(crate) fn admit<'a>(
        &'a self,
        session: &'a Session,
        point: &'static PointInfo,
    ) -> Result<Dispatch<'a>, PublishError> {
        let node = session.node();
        let cause = self
            .cause
            .or_else(|| handled().map(|cause| Cause { depth: cause.depth.saturating_add(1), ..cause }));
        if let Some(Cause { depth, .. }) = cause
            && depth > DEEPEST_CAUSE
        {
            return Err(PublishError::TooDeep { point: point.name, depth });
        }
        let (seq, in_flight) = node.state.in_flight.enter().ok_or_else(|| refusal(session))?;
        forget_stops(node, point, self.source.as_deref());
        Ok(Dispatch { session, seq, cause, details: self, in_flight })
    }

    /// Whether its publisher has stated what hooks it is under.
    #[inline]
    pub(crate) fn believes(&self) -> bool {
        self.coverage.is_some()
    }

    /// What was stated, where that is not so.
    #[inline]
    pub(crate) fn mismatch(&self, session: &Session) -> Option<CoverageMismatch> {
        let believed = self.coverage.clone()?;
        let in_force = session.coverage();
        (believed != in_force).then_some(CoverageMismatch { believed, in_force })
    }

    /// The smaller of the event's own bound and that of the bus.
    #[inline]
    pub(crate) fn budget(&self, bus: Budget) -> Budget {
        self.budget.within(bus)
    }

    /// The envelope of the event.
    #[inline]
    pub(crate) fn envelope(
        &self,
        source: &Arc<Source>,
        seq: u64,
        cause: Option<Cause>,
        now: Instant,
    ) -> Envelope {
        let (id, time) = clock::stamp(now.into_std());
        Envelope {
            id: self.id.unwrap_or(id),
            // What is counted over a time would be forgotten by one event that says that it comes later.
            time: self.time.map_or(time, |said| said.min(time)),
            seq,
            source: Arc::clone(self.source.as_ref().unwrap_or(source)),
            cause,
            turn: self.turn,
            extra: self.extra.clone(),
        }
    }
}

/// Why a session lets in no event.
#[cold]
fn refusal(session: &Session) -> PublishError {
    if session.shared().is_draining() && session.is_open() {
        PublishError::Draining
    } else {
        PublishError::Closed(session.id().clone())
    }
}

/// The agent has got something new to work on: its stops are counted anew.
#[inline]
fn forget_stops(node: &Node, point: &PointInfo, different: Option<&Source>) {
    let Some(stops) = node.state.stops_so_far() else { return };
    if point.role == PointRole::NewWork {
        stops.reset(&different.unwrap_or(&node.source).agent.id);
    }
}
