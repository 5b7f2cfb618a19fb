//! Durable runs: given to an interceptor as tickets, and started from there.

use lineside_core::AnyEvent;
use lineside_core::envelope::Cause;
use lineside_core::hook::Standby;

use crate::dispatch::detached::Beginning;
use crate::hook::durable_run::{Accepted, Begun, DurableRun};
use crate::hook::interceptor::{DetachedRun, Ticket};
use crate::hook::state::Session;

impl Session {
    /// The right to run for an event of an earlier life of this session; `None` when no hook of that name that is
    /// [kept](crate::BackgroundRuns::kept_as) is ready here at the point of the event.
    #[must_use]
    pub fn ticket(&self, event: &AnyEvent, kept_as: &str) -> Option<Ticket> {
        let tables = self.shared().tree.tables(self.node(), event.point());
        let plan = tables.at(event.point()).interceptors(event);
        let mut entries = (0..).map_while(|place| Some((place, plan.entry(place)?)));
        let (place, (hook, run)) = entries.find(|(_, (hook, run))| {
            let runs = run.background().filter(|_| hook.standby == Standby::Ready);
            runs.is_some_and(|runs| runs.kept_as() == Some(kept_as))
        })?;
        self.node().state.background().holds(&run.background()?);
        let envelope = event.envelope();
        let cause = Cause { event: envelope.id, depth: envelope.cause.map_or(0, |cause| cause.depth) };
        Some(Ticket::new(DetachedRun::new(self, hook, place, run, cause)))
    }
}

impl Ticket {
    /// Runs for this event now, on record, without being waited for.
    pub fn start_durable(self, event: AnyEvent, durable: DurableRun) -> Begun {
        let DurableRun { recorder, cancel, accepted, behind } = durable;
        let mut detached = self.into_detached(&event);
        if accepted == Accepted::Holds {
            detached.released(&event, None);
        }
        detached.durable = Some(recorder);
        let behind = behind.map(|Begun(behind)| behind);
        let turn = Beginning { after: None, behind, cancel: Some(cancel) };
        Begun(detached.start(event, turn).begun)
    }
}
