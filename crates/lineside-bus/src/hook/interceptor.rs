//! What runs an interceptor: one trait, behind which stand closures, kameo actors, and whatever else answers; and the
//! right to run for an event that it has received.

use std::sync::{Arc, OnceLock};

use lineside_core::envelope::Cause;
use lineside_core::hook::Hook;
use lineside_core::{AnyEvent, Failure, Outcome, Said, SessionId, SkipReason};
use tokio_util::sync::CancellationToken;

pub use crate::base::caught::BoxFuture;
#[cfg(feature = "actors")]
pub use crate::hook::asked::Intercept;

use crate::base::background::{Holder, Release};
use crate::hook::cx::{ChainTime, Cx};
use crate::hook::durable_run::{Accepted, Attachment, RunRecorder};
use crate::hook::state::Session;

/// Something that answers events of any point.
///
/// Dropping the future cancels the call; an implementation ends what it has started then.
pub trait Interceptor: Send + Sync {
    /// Answers one event.
    fn intercept(&self, event: AnyEvent, cx: Cx) -> BoxFuture<Result<Said, Failure>>;

    /// The name under which it is known in another life of the process, when what it runs without being waited for is
    /// kept until then; `None` when it is not.
    fn kept_as(&self) -> Option<&str> {
        None
    }

    /// Takes over a detached run, if it is [kept](Self::kept_as): it uses the ticket when the run is on
    /// record. By default it gives the ticket back.
    ///
    /// # Errors
    /// The ticket, when it cannot be kept; then it runs without a record.
    fn accept(&self, event: &AnyEvent, ticket: Ticket) -> Result<Accepted, Ticket> {
        let _ = event;
        Err(ticket)
    }

    /// Takes an event, to run for it later or never, and returns what it did with it. By default it
    /// gives the ticket back, which means that it runs at once.
    ///
    /// # Errors
    /// The ticket, when it does not take the event.
    fn hold(&self, event: &AnyEvent, ticket: Ticket) -> Result<Outcome, Ticket> {
        let _ = event;
        Err(ticket)
    }

    /// Runs at once for the events of a session that it holds.
    fn release(&self, session: &SessionId, which: Release) {
        let _ = (session, which);
    }

    /// Waits until everything is over that it holds or runs for a session by itself, up to now: what the next model
    /// call waits for, or what the end of the session does. Runs of tickets are waited for anyway.
    fn settled(&self, session: &SessionId, which: Release) -> BoxFuture<()> {
        let _ = (session, which);
        Box::pin(std::future::ready(()))
    }

    /// A session has ended, and what it runs by itself for that has no more time.
    fn cut(&self, session: &SessionId) {
        let _ = session;
    }

    /// It would have had its turn, and does not run.
    fn skipped(&self, event: &AnyEvent, why: SkipReason) {
        let _ = (event, why);
    }
}

/// The right to run once for events that are held. Dropping it runs nothing.
pub struct Ticket {
    pub(crate) detached: DetachedRun,
}

impl Ticket {
    pub(crate) fn new(detached: DetachedRun) -> Self {
        Self { detached }
    }

    /// The session whose event is held.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.detached.session
    }

    /// The hook.
    #[must_use]
    pub fn hook(&self) -> &Hook {
        &self.detached.hook
    }
}

/// A hook that is to run on behalf of an event.
#[derive(Clone)]
pub(crate) struct DetachedRun {
    pub(crate) session: Session,
    pub(crate) hook: Arc<Hook>,
    /// The hook's place in plan order.
    pub(crate) place: u32,
    pub(crate) run: Arc<dyn Interceptor>,
    pub(crate) cause: Cause,
    /// Until when hooks of its lane may be started, where its ensemble bounds that; set by the first of them.
    pub(crate) chain: Arc<OnceLock<ChainTime>>,
    /// Where it is on record, and what cancels it, if it is.
    pub(crate) durable: Option<(Arc<dyn RunRecorder>, CancellationToken)>,
    /// What it was given when it was accepted.
    pub(crate) attachment: Option<Attachment>,
    /// Its recorder starts it when the one before it in its lane is over.
    pub(crate) is_behind: bool,
}

impl DetachedRun {
    pub(crate) fn new(
        session: &Session,
        hook: &Arc<Hook>,
        place: u32,
        run: &Arc<dyn Interceptor>,
        cause: Cause,
    ) -> Self {
        let (session, hook, run) = (session.clone(), Arc::clone(hook), Arc::clone(run));
        let (chain, durable, attachment) = (Arc::default(), None, None);
        Self { session, hook, place, run, cause, chain, durable, attachment, is_behind: false }
    }
}

impl Holder for Arc<dyn Interceptor> {
    fn release(&self, session: &SessionId, which: Release) {
        (**self).release(session, which);
    }

    fn settled(&self, session: &SessionId, which: Release) -> BoxFuture<()> {
        (**self).settled(session, which)
    }

    fn cut(&self, session: &SessionId) {
        (**self).cut(session);
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(self, other)
    }
}
