//! Time passes, and sessions end.

use std::collections::BTreeSet;
use std::sync::Arc;

use lineside_core::SessionId;
use lineside_core::hook::Join;

use super::job::{JobId, Why};
use super::timers::Timer;
use super::{Machine, Occurrence};
use crate::control::AtEnd;

/// Which jobs of a session somebody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// Those that its next model call waits for.
    Joining,
    /// Those that are drained when it ends.
    Draining,
}

impl<E: Occurrence> Machine<E> {
    /// Does what the time has come for.
    pub(super) fn expire(&mut self) {
        while let Some(timer) = self.timers.pop(self.now) {
            match timer {
                Timer::Held(place, window) => self.held_timer(place, &window),
                Timer::Rate(place, key) => self.rate_timer(place, &key),
                Timer::Retry(job) => self.retry_timer(job),
                Timer::Session(session) => self.cancel_overdue(&session),
            }
        }
    }

    fn held_timer(&mut self, place: usize, window: &Arc<str>) {
        let Some(rules) = self.rules(place) else { return };
        let due = self.automations[place].held.as_ref().and_then(|held| held.due(&**window));
        match due {
            Some(due) if due > self.now => self.timers.set(due, Timer::Held(place, Arc::clone(window))),
            Some(_) => self.close_if_due(place, window, &rules),
            None => {}
        }
    }

    pub(super) fn session_ends(&mut self, session: &SessionId) {
        let now = self.now;
        let Some(sitting) = self.sessions.get_mut(session) else { return };
        sitting.ended.get_or_insert(now);
        let jobs: Vec<JobId> = sitting.jobs.iter().copied().collect();
        let deadlines: BTreeSet<_> = jobs.iter().filter_map(|job| self.drain_of(*job)).collect();
        for deadline in deadlines {
            self.timers.set(now + deadline, Timer::Session(session.clone()));
        }
        for job in self.held_of(session) {
            if self.drain_of(job).is_some() {
                self.close_now(job);
            }
        }
    }

    /// What has no more time is cancelled.
    fn cancel_overdue(&mut self, session: &SessionId) {
        let now = self.now;
        let Some(sitting) = self.sessions.get(session) else { return };
        let Some(ended) = sitting.ended else { return };
        let overdue = |job: &JobId| self.drain_of(*job).is_some_and(|deadline| ended + deadline <= now);
        let overdue: Vec<JobId> = sitting.jobs.iter().copied().filter(overdue).collect();
        for job in overdue {
            self.cancel(job, Why::SessionEnded);
        }
    }

    pub(super) fn session_cut(&mut self, session: &SessionId) {
        for job in self.awaited(session, Awaited::Draining) {
            self.cancel(job, Why::SessionEnded);
        }
    }

    /// How long a job has when its session ends; `None` if it goes on.
    fn drain_of(&self, job: JobId) -> Option<std::time::Duration> {
        let job = self.jobs.get(&job)?;
        match self.automations.get(job.automation)?.rules.as_ref()?.at_end {
            AtEnd::Drain(deadline) => Some(deadline),
            AtEnd::LeaveRunning => None,
        }
    }

    /// The jobs of a session that have not come to rest and that somebody waits for.
    #[must_use]
    pub fn awaited(&self, session: &SessionId, which: Awaited) -> Vec<JobId> {
        let jobs = self.sessions.get(session).into_iter().flat_map(|sitting| &sitting.jobs);
        let is_awaited = |id: &&JobId| match which {
            Awaited::Draining => self.drain_of(**id).is_some(),
            Awaited::Joining => self.jobs.get(*id).is_some_and(|job| {
                self.rules(job.automation).is_some_and(|rules| rules.join == Join::BeforeNextModel)
            }),
        };
        jobs.filter(is_awaited).copied().collect()
    }
}
