//! Jobs of an earlier process and their sessions: they are waited for when the session is opened again, and their
//! results wait until then.

use std::sync::Arc;
use std::time::Duration;

use lineside_bus::durable_run::sealed::Sealed;
use lineside_bus::interceptor::BoxFuture;
use lineside_bus::{BackgroundRuns, JobCounts, JobStore, Release, Ticket};
use lineside_core::journal::Unavailable;
use lineside_core::{AnyEvent, Outcome, SessionId};
use tokio_util::sync::CancellationToken;

use super::waiting::Waiting;
use super::{Engine, tell, until};
use crate::machine::job::{AutomationId, JobId};
use crate::machine::{Input, UnfinishedJobs};
use crate::offered::Offered;
use crate::report::Handover;

/// The engine as the bus's job store.
pub(super) struct KeptBy(pub(super) Arc<Engine>);

impl Sealed for KeptBy {}

impl JobStore for KeptBy {
    fn opened(&self, session: &SessionId) -> Option<Arc<dyn BackgroundRuns>> {
        let Self(engine) = self;
        let open = engine.bus.upgrade().and_then(|bus| bus.find(session.as_str()));
        if let Some(open) = open {
            engine.opened(&open);
        }
        let (waiting, has_work) = {
            let mut core = engine.core();
            (core.absent.remove(session), core.machine.has_work(session))
        };
        for Waiting { job, automation, event, what } in waiting.into_iter().flatten() {
            engine.give(job, &automation, &event, what);
        }
        has_work.then(|| Arc::new(Rejoined(Arc::clone(engine))) as _)
    }

    fn bus_ends(&self) {
        let remains =
            if self.0.journal.is_some() { UnfinishedJobs::OnRecord } else { UnfinishedJobs::Nowhere };
        self.0.step(Input::BusEnds(remains));
    }

    fn rested(&self) -> BoxFuture<()> {
        let engine = Arc::clone(&self.0);
        Box::pin(async move { engine.rested().await })
    }

    fn bus_ended(&self) -> BoxFuture<JobCounts> {
        let engine = Arc::clone(&self.0);
        Box::pin(async move { engine.bus_ended().await })
    }
}

/// How long the end of the bus waits for runs that were cancelled and for records that are on their way, beyond its
/// limit: much longer than a disk takes, and no reason to kill the process.
const GRACE: Duration = Duration::from_secs(2);

impl Engine {
    /// Delivers a job's result, unless its session is of an earlier process and still to be opened.
    pub(super) fn hand_over(
        self: &Arc<Self>,
        job: JobId,
        automation: AutomationId,
        event: Offered,
        what: Handover,
    ) {
        if matches!(what, Handover::Append(_) | Handover::Keep(_)) {
            let mut core = self.core();
            if let Some(waiting) = core.absent.get_mut(crate::machine::Occurrence::session(&event)) {
                waiting.push(Waiting { job, automation, event, what });
                // It is over when the session is opened, which cannot be awaited.
                return core.waits.over(job);
            }
        }
        self.give(job, &automation, &event, what);
    }

    /// Leaves everything as it is.
    pub(super) fn leave(&self) {
        let (runs, granted): (Vec<CancellationToken>, Vec<_>) = {
            let mut core = self.core();
            core.is_left |= core.failed.is_none();
            core.failed.get_or_insert_with(|| Unavailable::because("the work is left to the next life"));
            core.waits.all_over();
            let effects = if core.is_left { core.machine.leave_keys() } else { Vec::new() };
            (core.runs.values().cloned().collect(), core.granted(&effects))
        };
        tell(granted);
        runs.iter().for_each(CancellationToken::cancel);
        self.work.notify_one();
        self.done.send_modify(|done| *done += 1);
    }

    /// Ends the engine with the bus. Unsettled jobs have no more time; when what became of everything is recorded, or
    /// cannot be, nothing happens any more.
    async fn bus_ended(&self) -> JobCounts {
        let running = self.core().runs.len();
        self.step(Input::BusCut);
        let is_told = tokio::time::timeout(GRACE, self.told_of_everything()).await.is_ok();
        self.leave();
        let core = self.core();
        let live = core.machine.accounted();
        let keeps = self.journal.is_some() && core.is_left && is_told;
        let (kept, lost) = if keeps { (live, 0) } else { (0, live) };
        let forgotten = core.machine.forgotten();
        JobCounts { finished: core.finished, running, kept, lost: core.lost + lost, forgotten }
    }

    /// Waits until no run is under way and everything is done that was wanted.
    async fn told_of_everything(&self) {
        let told = until(&self.done, || {
            let core = self.core();
            let nothing_follows = core.failed.is_some() && !core.is_left;
            let is_done = core.outbox.has_done(core.outbox.wanted());
            (nothing_follows || is_done && (core.is_left || core.runs.is_empty())).then_some(())
        });
        told.await.unwrap_or_default();
    }
}

/// The work of an earlier life for one session, as the session knows its hooks.
struct Rejoined(Arc<Engine>);

impl Sealed for Rejoined {}

impl BackgroundRuns for Rejoined {
    /// No event comes by it.
    fn accept(&self, _event: &AnyEvent, ticket: Ticket) -> Result<Outcome, Ticket> {
        Err(ticket)
    }

    fn release(&self, session: &SessionId, which: Release) {
        self.0.release(session, which);
    }

    fn settled(&self, session: &SessionId, which: Release) -> BoxFuture<()> {
        self.0.settling(session, which)
    }

    fn cut(&self, session: &SessionId) {
        self.0.step(Input::SessionCut(session.clone()));
    }

    /// The engine does all of it for the session.
    fn holder(&self) -> Option<usize> {
        Some(Arc::as_ptr(&self.0).addr())
    }
}
