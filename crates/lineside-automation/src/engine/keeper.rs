//! Work of an earlier life and the sessions that it is of: it is waited for when they are opened again, and what it
//! has for them waits until then.

use std::sync::Arc;

use lineside_bus::interceptor::{BoxFuture, Interceptor};
use lineside_bus::{Cx, JobCounts, Keeper, Release};
use lineside_core::{AnyEvent, Failure, Said, SessionId};

use super::Engine;
use super::trigger::takes_every_event;
use crate::machine::Input;
use crate::machine::job::{AutomationId, JobId};
use crate::offered::Offered;
use crate::report::Handover;

/// Something that a job has for a session that has not been opened in this life.
pub(super) struct Waiting {
    job: JobId,
    automation: AutomationId,
    event: Offered,
    what: Handover,
}

/// The bus's way to the engine.
pub(super) struct KeptBy(pub(super) Arc<Engine>);

impl Keeper for KeptBy {
    fn opened(&self, session: &SessionId) -> Option<Arc<dyn Interceptor>> {
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

    fn jobs(&self) -> JobCounts {
        self.0.counts()
    }
}

impl Engine {
    /// Hands over what a job has for somebody, unless that is a session of an earlier life that is still to be opened.
    pub(super) fn hand_over(
        self: &Arc<Self>,
        job: JobId,
        automation: AutomationId,
        event: Offered,
        what: Handover,
    ) {
        if matches!(what, Handover::Append(_))
            && let Some(waiting) = self.core().absent.get_mut(crate::machine::Occurrence::session(&event))
        {
            return waiting.push(Waiting { job, automation, event, what });
        }
        self.give(job, &automation, &event, what);
    }

    fn counts(&self) -> JobCounts {
        let core = self.core();
        let keeps = self.journal.is_some() && (core.failed.is_none() || core.is_left);
        let live = core.machine.live();
        JobCounts {
            finished: core.finished,
            running: core.runs.len(),
            kept: if keeps { live } else { 0 },
            lost: if keeps { 0 } else { live },
        }
    }
}

/// The work of an earlier life for one session, as the session knows its hooks.
struct Rejoined(Arc<Engine>);

impl Interceptor for Rejoined {
    fn intercept(&self, _event: AnyEvent, _cx: Cx) -> BoxFuture<Result<Said, Failure>> {
        takes_every_event()
    }

    fn release(&self, session: &SessionId, which: Release) {
        self.0.release(session, which);
    }

    fn settled(&self, session: &SessionId, which: Release) -> BoxFuture<()> {
        let (engine, session) = (Arc::clone(&self.0), session.clone());
        Box::pin(async move { engine.settled(session, which.into()).await })
    }

    fn cut(&self, session: &SessionId) {
        self.0.step(Input::SessionCut(session.clone()));
    }
}
