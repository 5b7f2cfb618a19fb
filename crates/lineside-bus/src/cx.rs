//! What a hook knows beside the event: how long it has, and how to publish on behalf of the event that it handles.

use std::cell::Cell;
use std::sync::Arc;

use lineside_core::envelope::Cause;
use lineside_core::payload::Point;
use tokio::time::Instant;

use crate::custody::Keeper;
use crate::publish::Publication;
use crate::session::Session;

thread_local! {
    /// The event whose hook is being polled on this thread.
    static HANDLING: Cell<Option<Cause>> = const { Cell::new(None) };
}

/// The surroundings of one call of a hook.
#[derive(Clone)]
pub struct Cx {
    session: Session,
    cause: Cause,
    deadline: Instant,
    chain: Option<ChainTime>,
    keeper: Option<Arc<dyn Keeper>>,
}

/// Until when hooks whose answers count together may be started.
#[derive(Debug, Clone, Copy)]
pub struct ChainTime {
    /// The end.
    pub ends: Instant,
    /// All of the time.
    pub whole: std::time::Duration,
}

impl Cx {
    pub(crate) fn new(session: Session, cause: Cause, deadline: Instant) -> Self {
        Self { session, cause, deadline, chain: None, keeper: None }
    }

    /// The session whose event is handled.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// When the hook's time is over: the smaller of its own timeout and what remains of the event's.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Until when hooks may be started whose answers count together with this one's.
    #[must_use]
    pub fn chain_time(&self) -> Option<ChainTime> {
        self.chain
    }

    /// Who keeps the record of the run, if somebody does; a run that makes several attempts tells of each.
    #[must_use]
    pub fn keeper(&self) -> Option<&Arc<dyn Keeper>> {
        self.keeper.as_ref()
    }

    pub(crate) fn kept_by(mut self, keeper: Option<Arc<dyn Keeper>>) -> Self {
        self.keeper = keeper;
        self
    }

    pub(crate) fn within(mut self, chain: Option<ChainTime>) -> Self {
        self.chain = chain;
        self
    }

    /// An event that the handled one has led to; it carries its `cause`.
    pub fn event<P: Point>(&self, payload: P) -> Publication<P> {
        self.session.event(payload).cause(self.cause)
    }

    pub(crate) fn cause(&self) -> Cause {
        self.cause
    }
}

/// Runs `work` as part of handling `cause`, so that what it publishes carries that cause.
pub(crate) fn handling<T>(cause: Cause, work: impl FnOnce() -> T) -> T {
    let outer = HANDLING.replace(Some(cause));
    let result = work();
    HANDLING.set(outer);
    result
}

/// The event whose hook is being polled on this thread.
pub(crate) fn handled() -> Option<Cause> {
    HANDLING.get()
}
