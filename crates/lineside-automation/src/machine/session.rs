//! Time passes, and sessions end.

use std::sync::Arc;

use lineside_core::SessionId;
use lineside_core::hook::Join;

use super::job::{JobId, State, Why};
use super::timers::Timer;
use super::{Machine, Occurrence, UnfinishedJobs};
use crate::control::AtEnd;
use crate::unix_micros::UnixMicros;

/// Which jobs of a session are awaited.
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
                Timer::Overdue(job) => {
                    if self.jobs.get(&job).is_some_and(|job| job.drain_by <= self.now) {
                        self.has_no_time(job);
                    }
                }
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

    /// What the session has up to now is drained; what it may have later is not this end's.
    pub(super) fn session_ends(&mut self, session: &SessionId) {
        let jobs: Vec<JobId> = self.sessions.get(session).into_iter().flatten().copied().collect();
        for id in jobs {
            let Some(deadline) = self.drain_of(id).filter(|_| !self.is_adopted(id)) else { continue };
            let by = self.now + deadline;
            if self.jobs.get(&id).is_some_and(|job| by < job.drain_by) {
                self.set_drain_by(id, by);
            }
        }
        for job in self.held_of(session) {
            if self.drain_of(job).is_some() {
                self.close_now(job);
            }
        }
    }

    /// Until when a job has time because its session has ended; [`UnixMicros::NEVER`] when that is not its end.
    pub(super) fn set_drain_by(&mut self, id: JobId, by: UnixMicros) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        if job.drain_by < UnixMicros::NEVER {
            self.timers.remove(job.drain_by, Timer::Overdue(id));
        }
        job.drain_by = by;
        if by < UnixMicros::NEVER {
            self.timers.set(by, Timer::Overdue(id));
        }
    }

    /// A session that has ended gives its jobs no more time.
    pub(super) fn session_cut(&mut self, session: &SessionId) {
        for id in self.awaited(session, Awaited::Draining) {
            if self.is_in_memory(id) {
                self.cut_in_memory(id);
            } else if self.is_adopted(id) {
                self.leave_for_later(id);
            } else if self.jobs.get(&id).is_some_and(|job| job.drain_by < UnixMicros::NEVER) {
                self.has_no_time(id);
            }
        }
    }

    /// The bus is about to end.
    pub(super) fn bus_ends(&mut self, remains: UnfinishedJobs) {
        self.remains = Some(remains);
        // What is in a window of the cluster stays on record, and goes on there.
        self.release_which(|own, place| !own.stays_in_window(place));
    }

    /// The bus has ended, and with it the time of everything.
    pub(super) fn bus_cut(&mut self) {
        self.has_ended = true;
        let mut live: Vec<JobId> = self.sessions.values().flatten().copied().collect();
        live.sort_unstable();
        live.into_iter().for_each(|job| self.has_no_time(job));
    }

    /// A job has no more time: its session has ended, or the bus with everything.
    fn has_no_time(&mut self, job: JobId) {
        if self.is_in_memory(job) {
            return self.cut_in_memory(job);
        }
        match self.remains {
            None => self.cancel(job, Why::SessionEnded),
            Some(UnfinishedJobs::Nowhere) => self.cancel(job, Why::BusEnded),
            Some(UnfinishedJobs::OnRecord) => self.leave_for_later(job),
        }
    }

    /// The jobs that settle by themselves or by an immediate act of another party: all but those that wait until
    /// their automation or their session is there.
    pub(crate) fn under_way(&self) -> Vec<JobId> {
        let moves = |id: &&JobId| {
            self.jobs.get(*id).is_some_and(|job| match &job.state {
                State::Held(_) => {
                    self.rules(job.automation).is_some() && !self.stays_in_window(job.automation)
                }
                State::Parked(_) | State::Rests(..) => false,
                State::Waiting(_) | State::Running(..) | State::Delayed(_) | State::Delivering(_) => true,
            })
        };
        self.sessions.values().flatten().filter(moves).copied().collect()
    }

    /// Whether what is held stays so at the end of the bus.
    fn stays_in_window(&self, place: usize) -> bool {
        self.remains == Some(UnfinishedJobs::OnRecord) && self.shares_window(place)
    }

    fn is_adopted(&self, job: JobId) -> bool {
        let rules = self.jobs.get(&job).and_then(|job| self.rules(job.automation));
        rules.is_some_and(|rules| rules.is_adopted())
    }

    /// How long a job has when its session ends; `None` if it goes on.
    fn drain_of(&self, job: JobId) -> Option<std::time::Duration> {
        let job = self.jobs.get(&job)?;
        match self.rules(job.automation)?.at_end {
            AtEnd::Drain(deadline) => Some(deadline),
            AtEnd::LeaveRunning => None,
        }
    }

    /// The unsettled jobs of a session that are awaited.
    #[must_use]
    pub fn awaited(&self, session: &SessionId, which: Awaited) -> Vec<JobId> {
        let jobs = self.sessions.get(session).into_iter().flatten();
        let is_awaited = |id: &&JobId| match which {
            Awaited::Draining => self.drain_of(**id).is_some(),
            Awaited::Joining => self.jobs.get(*id).is_some_and(|job| {
                self.rules(job.automation).is_some_and(|rules| rules.join == Join::BeforeNextModel)
            }),
        };
        jobs.filter(|id| !self.waits_for_session(**id)).filter(is_awaited).copied().collect()
    }
}
