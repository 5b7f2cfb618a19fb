//! Custody: who takes over the runs of hooks that nobody waits for, so that they are found again in another life of the
//! process.
//!
//! A bus has none unless somebody offers it, and then runs begin and end with the process. Here is only what custody
//! needs of the bus and the bus of it; what is kept, and where, is not known here; see `lineside-automation`.

use std::sync::Arc;
use std::time::Duration;

use lineside_core::envelope::Cause;
use lineside_core::hook::Standby;
use lineside_core::{AnyEvent, Failure, SessionId};
use tokio_util::sync::CancellationToken;

use crate::bus::Bus;
use crate::detached::{Beginning, Errand, Ticket};
use crate::interceptor::BoxFuture;
use crate::session::Session;

/// Keeps runs over the end of the process.
pub trait Custody: Send + Sync {
    /// A session was opened: what is kept for it may run from now on.
    fn opened(&self, session: &Session);

    /// How many runs of a session that has ended are kept for another life of it.
    fn left(&self, session: &SessionId) -> u64;
}

/// What an interceptor that has taken over a run does with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// It runs for the event as soon as that is on record.
    Runs,
    /// It holds the event, and perhaps others with it, until it is due.
    Holds,
}

/// How a run that is kept is over, as far as this life of the process is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It has answered, and what it said is delivered.
    Answered,
    /// It has failed for the last time.
    Failed(Failure),
    /// Whoever keeps it has cancelled it.
    Cancelled,
    /// The session had no more time for it. It may run again.
    Left,
}

/// Keeps the record of one run.
pub trait Keeper: Send + Sync {
    /// The attempts that failed in earlier lives.
    fn earlier(&self) -> Vec<Failure>;

    /// An attempt has failed, and there is another one after so long.
    fn failed(&self, failure: &Failure, pause: Duration);

    /// Another attempt is about to begin; resolves when that is on record.
    fn again(&self) -> BoxFuture<()>;

    /// It is over.
    fn ended(&self, ending: Ending);
}

/// What a run that is kept is started with.
pub struct Kept {
    /// Who keeps its record.
    pub keeper: Arc<dyn Keeper>,
    /// Cancels it.
    pub cancel: CancellationToken,
    /// What was said of it when it was taken over.
    pub accepted: Accepted,
    /// The run that was started before it; it begins behind that one.
    pub behind: Option<Begun>,
}

/// Tells when a run has begun.
#[derive(Clone)]
pub struct Begun(CancellationToken);

impl Bus {
    /// Has somebody keep the runs of interceptors that take them over. `false` when somebody does so already.
    pub fn entrust(&self, custody: Arc<dyn Custody>) -> bool {
        self.shared.custody.set(custody).is_ok()
    }
}

impl Session {
    /// The right to run for an event of an earlier life of this session; `None` when no hook of that name that is
    /// [kept](crate::Interceptor::kept_as) is ready here at the point of the event.
    #[must_use]
    pub fn ticket(&self, event: &AnyEvent, kept_as: &str) -> Option<Ticket> {
        let tables = self.node().tables.load();
        let plan = tables.own.plan(event.point())?;
        let mut entries = (0..).map_while(|place| Some((place, plan.interceptors.entry(place)?)));
        let (place, (hook, run)) = entries.find(|(_, (hook, run))| {
            hook.standby == Standby::Ready && run.kept_as().is_some_and(|name| name == kept_as)
        })?;
        self.node().background().holds(run);
        let envelope = event.envelope();
        let cause = Cause { event: envelope.id, depth: envelope.cause.map_or(0, |cause| cause.depth) };
        let (session, hook, run) = (self.clone(), Arc::clone(hook), Arc::clone(run));
        Some(Ticket::new(Errand { session, hook, place, run, cause, chain: Arc::default(), kept: None }))
    }
}

impl Ticket {
    /// Runs for this event now, on record, without being waited for.
    pub fn start_kept(self, event: AnyEvent, kept: Kept) -> Begun {
        let Kept { keeper, cancel, accepted, behind } = kept;
        let mut errand = self.into_errand(&event);
        if accepted == Accepted::Holds {
            errand.released(&event, None);
        }
        errand.kept = Some((keeper, cancel));
        let turn = Beginning { after: None, behind: behind.map(|Begun(behind)| behind) };
        Begun(errand.start(event, turn).begun)
    }
}
