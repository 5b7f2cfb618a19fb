//! How events reach the engine: post-decision hooks take every event and run for none of them themselves.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use lineside_bus::durable_run::sealed::Sealed;
use lineside_bus::interceptor::BoxFuture;
use lineside_bus::{BackgroundRuns, Release, Ticket};
use lineside_core::journal::{Durability, Unavailable};
use lineside_core::{Acceptance, AnyEvent, EventId, Outcome, SessionId};

use super::driver::announce_refused;
use super::recent::job_of;
use super::{Engine, MOST_BEHIND};
use crate::machine::job::{AutomationId, JobId};
use crate::machine::{Awaited, Effect, Input, News, Occurrence};
use crate::offered::Offered;
use crate::record::Record;

/// Offers every event to an automation.
pub(crate) struct Trigger {
    pub(crate) engine: Arc<Engine>,
    pub(crate) automation: AutomationId,
    pub(crate) registration: u64,
}

impl Drop for Trigger {
    /// No session is under it: it was removed, or the last session that was has ended.
    fn drop(&mut self) {
        self.engine.leaves(&self.automation, self.registration);
    }
}

/// Cancels the held and waiting work of an automation that has the key of an event.
pub(crate) struct Canceller {
    pub(crate) engine: Arc<Engine>,
    pub(crate) automation: AutomationId,
}

impl Sealed for Trigger {}
impl Sealed for Canceller {}

impl BackgroundRuns for Trigger {
    fn accept(&self, event: &AnyEvent, _ticket: Ticket) -> Result<Outcome, Ticket> {
        Ok(Outcome::Offered(self.engine.offer(&self.automation, event)))
    }

    fn release(&self, session: &SessionId, which: Release) {
        self.engine.release(session, which);
    }

    fn settled(&self, session: &SessionId, which: Release) -> BoxFuture<()> {
        self.engine.settling(session, which)
    }

    fn cut(&self, session: &SessionId) {
        self.engine.step(Input::SessionCut(session.clone()));
    }

    /// The engine does all of it for the session.
    fn holder(&self) -> Option<usize> {
        Some(Arc::as_ptr(&self.engine).addr())
    }
}

impl BackgroundRuns for Canceller {
    fn accept(&self, event: &AnyEvent, _ticket: Ticket) -> Result<Outcome, Ticket> {
        let cancelling = Input::Cancelling(Arc::clone(&self.automation), event.clone().into());
        let jobs = self.engine.step_and_see(cancelling, |effects| {
            let cancelled = |effect: &&Effect<Offered>| {
                matches!(effect, Effect::Announce(told) if matches!(told.news, News::Cancelled(_)))
            };
            effects.iter().filter(cancelled).count()
        });
        Ok(Outcome::Offered(Acceptance::Cancels(jobs)))
    }

    /// It holds nothing of its own.
    fn release(&self, _session: &SessionId, _which: Release) {}

    fn settled(&self, _session: &SessionId, _which: Release) -> BoxFuture<()> {
        Box::pin(std::future::ready(()))
    }

    fn cut(&self, _session: &SessionId) {}
}

impl Engine {
    /// Offers an event, unless its records could not be kept.
    pub(crate) fn offer(&self, automation: &AutomationId, event: &AnyEvent) -> Acceptance {
        let core = self.core();
        let unavailable = match &core.failed {
            Some(failed) => Some(failed.clone()),
            None if core.outbox.len() >= MOST_BEHIND => {
                Some(Unavailable::because("its records are too far behind"))
            }
            None => None,
        };
        match unavailable {
            None => {
                let offered = Input::Offered(Arc::clone(automation), event.clone().into());
                let id = event.envelope().id;
                let (acceptance, job) = self.step_in(core, offered, |effects| {
                    (acceptance(id, effects, self.durability), job_of(id, effects))
                });
                self.recent.note(id, Arc::clone(automation), job.filter(|_| acceptance.is_accepted()));
                acceptance
            }
            Some(unavailable) => {
                drop(core);
                self.refused.fetch_add(1, Ordering::Relaxed);
                announce_refused(self, automation, event, unavailable.to_string());
                Acceptance::Unavailable(unavailable)
            }
        }
    }

    pub(crate) fn settling(self: &Arc<Self>, session: &SessionId, which: Release) -> BoxFuture<()> {
        let (engine, session) = (Arc::clone(self), session.clone());
        Box::pin(async move { engine.settled(session, which.into()).await })
    }

    pub(crate) fn release(&self, session: &SessionId, which: Release) {
        self.step(match which {
            Release::Joining => Input::Release(session.clone()),
            Release::All => Input::SessionEnds(session.clone()),
        });
    }
}

impl From<Release> for Awaited {
    fn from(which: Release) -> Self {
        match which {
            Release::Joining => Self::Joining,
            Release::All => Self::Draining,
        }
    }
}

/// What has become of an event that was offered, by what is to be done about it.
pub(super) fn acceptance(event: EventId, effects: &[Effect<Offered>], durability: Durability) -> Acceptance {
    let (mut acceptance, mut job): (_, Option<JobId>) = (None, None);
    for effect in effects {
        match effect {
            Effect::Persist(Record::Held { event: held, .. }) if held.id() == event => {
                acceptance = Some(Acceptance::Held(durability));
            }
            Effect::Persist(
                Record::Accepted { job: into, event: last, ids, .. }
                | Record::Joined { into, event: last, ids, .. },
            ) if last.id() == event || ids.contains(&event) => {
                (acceptance, job) = (Some(Acceptance::Queued(durability)), Some(*into));
            }
            Effect::Start(run) if job == Some(run.job) => {
                acceptance = Some(Acceptance::Started(durability));
            }
            Effect::Announce(told) if told.event == event => match &told.news {
                News::Refused(why) => acceptance = Some(Acceptance::Refused(why.to_string().into())),
                // It is merged, or there is no record of it.
                News::Cancelled(why) if job.is_none() => {
                    acceptance = Some(Acceptance::Refused(why.to_string().into()));
                }
                _ => {}
            },
            _ => {}
        }
    }
    acceptance.unwrap_or(Acceptance::Refused("nothing has become of it".into()))
}
