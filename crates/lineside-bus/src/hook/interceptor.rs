//! What runs an interceptor: one trait, behind which stand closures, kameo actors, and whatever else answers; what takes
//! over the runs that no publisher waits for, to start them later, several together, or never; and the right to run for an
//! event that it has received.

use std::sync::{Arc, OnceLock};

use lineside_core::envelope::Cause;
use lineside_core::hook::Hook;
use lineside_core::{AnyEvent, Failure, FailureKind, Outcome, Response, SessionId, SkipReason};

pub use crate::base::caught::BoxFuture;
#[cfg(feature = "actors")]
pub use crate::hook::asked::Intercept;

use crate::base::background::{Holder, Release};
use crate::hook::cx::{ChainTime, Cx};
use crate::hook::durable_run::RunRecorder;
use crate::hook::durable_run::sealed::Sealed;
use crate::hook::state::Session;

/// Something that answers events of any point.
///
/// Dropping the future cancels the call; an implementation ends what it has started then.
///
/// ```
/// use std::sync::Arc;
///
/// use lineside_bus::interceptor::{BoxFuture, Interceptor};
/// use lineside_bus::{Bus, Cx, Installed};
/// use lineside_core::{AnyEvent, Failure, Hook, Part, Point as _, Response, Verdict};
/// use lineside_points::{BeforePrompt, BeforeTool};
///
/// /// Refuses the events of whatever point it is installed at.
/// struct Closed;
///
/// impl Interceptor for Closed {
///     fn intercept(&self, event: AnyEvent, _cx: Cx) -> BoxFuture<Result<Response, Failure>> {
///         let verdict = Verdict::block(format!("{} is closed", event.point().name));
///         Box::pin(async move { Ok(Response::from(verdict)) })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bus = Bus::new();
/// let closed = |point| Installed { point, hook: Hook::native("closed", Part::Gate), run: Arc::new(Closed) };
/// bus.install("maintenance", vec![closed(BeforePrompt::INFO), closed(BeforeTool::INFO)])?;
/// let session = bus.session("s1").open().await?;
/// let decision = session.publish(BeforePrompt::new("hello")).await?;
/// assert_eq!(decision.verdict(), &Verdict::block("before_prompt is closed"));
/// # Ok(())
/// # }
/// ```
pub trait Interceptor: Send + Sync {
    /// Answers one event.
    fn intercept(&self, event: AnyEvent, cx: Cx) -> BoxFuture<Result<Response, Failure>>;

    /// How long a call takes that has not answered when it was first polled.
    fn latency(&self) -> Latency {
        Latency::Short
    }

    /// Whether it is of this process alone, so that events which happen elsewhere, below the session that it is registered on,
    /// are to be brought here for it to answer.
    fn lives_here(&self) -> bool {
        false
    }

    /// What takes over its runs that no publisher waits for. By default nothing does, and they start at once.
    fn background(&self) -> Option<Arc<dyn BackgroundRuns>> {
        None
    }

    /// It would have had its turn, and does not run, or not yet.
    fn skipped(&self, event: &AnyEvent, why: SkipReason) {
        let _ = (event, why);
    }
}

/// How long a call takes that has not answered when it was first polled; says when its timer is armed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Latency {
    /// It answers once other tasks of the runtime have had their turn, as an actor does: it is polled again after them,
    /// and the timer is armed if it has not answered then.
    Short,
    /// It waits for something outside the process: the timer is armed at once, and it is polled again when that has come.
    Long,
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
    pub(crate) durable: Option<Arc<dyn RunRecorder>>,
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
        Self { session, hook, place, run, cause, chain: Arc::default(), durable: None }
    }
}

/// Takes over the detached and the post-decision runs of a hook. A session releases, settles and cuts what it has taken
/// over.
///
/// Sealed: `lineside-automation` implements it, and further functions may be added.
pub trait BackgroundRuns: Sealed + Send + Sync {
    /// Takes over a run, and returns what becomes of it, for the receipt. The ticket starts it.
    ///
    /// # Errors
    /// The ticket, when it does not take the run; the bus starts it at once then.
    fn accept(&self, event: &AnyEvent, ticket: Ticket) -> Result<Outcome, Ticket>;

    /// Runs at once for the events of a session that it holds.
    fn release(&self, session: &SessionId, which: Release);

    /// Waits until everything is over that it holds or runs for a session by itself, up to now: what the next model
    /// call waits for, or what the end of the session does. Runs of tickets are waited for anyway.
    fn settled(&self, session: &SessionId, which: Release) -> BoxFuture<()>;

    /// A session has ended, and what it runs by itself for that has no more time.
    fn cut(&self, session: &SessionId);

    /// The address of what holds and settles for it, which lives as long as this does: of several hooks with the same one a
    /// session asks one alone. `None` for a hook that does so itself.
    fn holder(&self) -> Option<usize> {
        None
    }

    /// The name under which the hook is known in another life of the process, when its runs are kept until then; `None`
    /// when they are not.
    fn kept_as(&self) -> Option<&str> {
        None
    }
}

/// An interceptor that runs for no event itself: all are taken over.
pub(crate) struct TakenOver(pub(crate) Arc<dyn BackgroundRuns>);

impl Interceptor for TakenOver {
    fn intercept(&self, _event: AnyEvent, _cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        let failure = Failure::not_started(FailureKind::Closed, "it runs by itself, in the background");
        Box::pin(std::future::ready(Err(failure)))
    }

    fn background(&self) -> Option<Arc<dyn BackgroundRuns>> {
        Some(Arc::clone(&self.0))
    }
}

impl Holder for Arc<dyn BackgroundRuns> {
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
        match (self.holder(), other.holder()) {
            (Some(own), Some(other)) => own == other,
            _ => Arc::ptr_eq(self, other),
        }
    }
}
