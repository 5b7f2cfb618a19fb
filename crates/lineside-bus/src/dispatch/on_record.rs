//! Runs that somebody has on record: given to an interceptor as tickets, and started from there.

use std::any::Any;
use std::sync::{Arc, Mutex};

use lineside_core::AnyEvent;
use lineside_core::envelope::Cause;
use lineside_core::hook::Standby;

use crate::dispatch::detached::Beginning;
use crate::hook::interceptor::{Errand, Ticket};
use crate::hook::ledger::{Accepted, Begun, OnRecord};
use crate::hook::state::Session;

impl Session {
    /// The right to run for an event of an earlier life of this session; `None` when no hook of that name that is
    /// [kept](crate::Interceptor::kept_as) is ready here at the point of the event.
    #[must_use]
    pub fn ticket(&self, event: &AnyEvent, kept_as: &str) -> Option<Ticket> {
        let in_force = self.shared().tree.in_force(self.node(), event.point());
        let plan = in_force.interceptors(event);
        let mut entries = (0..).map_while(|place| Some((place, plan.entry(place)?)));
        let (place, (hook, run)) = entries.find(|(_, (hook, run))| {
            hook.standby == Standby::Ready && run.kept_as().is_some_and(|name| name == kept_as)
        })?;
        self.node().state.background().holds(run);
        let envelope = event.envelope();
        let cause = Cause { event: envelope.id, depth: envelope.cause.map_or(0, |cause| cause.depth) };
        Some(Ticket::new(Errand::new(self, hook, place, run, cause)))
    }
}

impl Ticket {
    /// Runs for this event now, on record, without being waited for.
    pub fn start_on_record(self, event: AnyEvent, on_record: OnRecord) -> Begun {
        let OnRecord { ledger, cancel, accepted, behind } = on_record;
        let mut errand = self.into_errand(&event);
        if accepted == Accepted::Holds {
            errand.released(&event, None);
        }
        errand.on_record = Some((ledger, cancel));
        let turn = Beginning { after: None, behind: behind.map(|Begun(behind)| behind) };
        Begun(errand.start(event, turn).begun)
    }

    /// Whether the run begins when another one of its lane is over.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.errand.is_behind
    }

    /// Gives the run something that it [takes](crate::Cx::take) when it begins. It is dropped with the ticket.
    #[must_use]
    pub fn with(mut self, luggage: impl Any + Send) -> Self {
        self.errand.luggage = Some(Arc::new(Mutex::new(Some(Box::new(luggage)))));
        self
    }
}
