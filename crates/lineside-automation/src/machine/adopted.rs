//! Jobs that are the work of a session and are done by a hook with rules of its own.
//!
//! The machine puts on record that they were accepted, which attempts they made and how they ended, and has those of a
//! lane go one after another. When their attempts are made and what they do is the hook's.

use lineside_core::{FailureKind, SessionId};

use super::job::{Attempt, AttemptEnd, AutomationId, Fence, Job, JobId, Parked, Stage, State, Why};
use super::{Effect, Machine, News, Occurrence, UnfinishedJobs};
use crate::control::{Rules, Work};
use crate::hook_id::Owner;
use crate::record::Record;
use crate::unix_micros::UnixMicros;

impl<E: Occurrence> Machine<E> {
    /// An attempt has failed, and the run goes on with another one after a pause.
    pub(super) fn attempt_failed(
        &mut self,
        id: JobId,
        fence: Fence,
        kind: FailureKind,
        detail: String,
        pause: std::time::Duration,
    ) {
        let (at, again) = (self.now, self.now + pause);
        let Some(attempt) = self.attempt_of(id, fence) else { return self.stale(id) };
        let end = AttemptEnd::Failed(kind, detail.clone());
        (attempt.ended, attempt.again) = (Some((at, end.clone())), Some(again));
        let fence = attempt.fence;
        if self.is_recorded(id) {
            self.persist(Record::Ended { job: id, fence, at, end, again: Some(again) });
        }
        self.tell(id, News::Retried { failed: detail, again });
    }

    /// The run begins an attempt; it counts from here on.
    pub(super) fn begins(&mut self, id: JobId, run: Fence) {
        let runs = |job: &&mut Box<Job<E>>| matches!(job.state, State::Running(own, _) if own == run);
        if self.jobs.get_mut(&id).filter(runs).is_none() {
            return self.stale(id);
        }
        let attempt = self.count_attempt(id);
        self.tell(id, News::Started(attempt));
    }

    /// Puts an attempt of a run that is under way on record; returns how many there are.
    pub(super) fn count_attempt(&mut self, id: JobId) -> u32 {
        let (at, fence) = (self.now, Fence(self.last_fence + 1));
        let Some(job) = self.jobs.get_mut(&id) else { return 0 };
        self.last_fence = fence.0;
        job.attempts.push(Attempt::begun(fence, at));
        let (attempt, place, recorded) = (job.made(), job.automation, job.recorded);
        let rate = job.rate.clone().filter(|_| std::mem::take(&mut job.admitted));
        if recorded {
            self.persist(Record::Started { job: id, fence, at });
        }
        if let Some(rate) = rate {
            self.count_start(place, &rate);
        }
        attempt
    }

    /// The last attempt of a run that is under way.
    fn attempt_of(&mut self, id: JobId, run: Fence) -> Option<&mut Attempt> {
        let job = self.jobs.get_mut(&id)?;
        match &job.state {
            State::Running(own, _) if *own == run => job.attempts.last_mut(),
            _ => None,
        }
    }

    /// The session is there, and has the hook: what rested goes on.
    pub(super) fn take_up_again(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id) else { return };
        let (place, state) = (job.automation, job.state.clone());
        let Some(rules) = self.rules(place) else { return };
        match state {
            State::Parked(how) => {
                self.automations[place].parked.remove(&id);
                self.take_up(id, how, &rules);
            }
            State::Held(window) => self.look_after(place, &window),
            _ => {}
        }
    }

    /// The session is there, and the hook is not: the job comes to a bad end.
    pub(super) fn hook_is_gone(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id) else { return };
        if matches!(job.state, State::Parked(_) | State::Held(_)) {
            self.withdraw(id);
            self.die(id, Why::HookGone, None);
        }
    }

    /// The session had no more time for a run: it rests, and counts as an attempt when it goes on.
    pub(super) fn left(&mut self, id: JobId) {
        self.give_back_key(id);
        let Some(how) = self.jobs.get(&id).map(|job| job.parked()) else { return };
        self.rest_for_later(id, how);
    }

    /// There is no more time for a job without records: what waits is cut short. What runs is cut by its session.
    pub(super) fn cut_in_memory(&mut self, id: JobId) {
        if self.jobs.get(&id).is_some_and(|job| !matches!(job.state, State::Running(..))) {
            self.cancel(id, Why::SessionEnded);
        }
    }

    /// There is no more time for what waits: it rests. Where the bus ends, so does what runs.
    pub(super) fn leave_for_later(&mut self, id: JobId) {
        let ends = self.remains == Some(UnfinishedJobs::OnRecord);
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let how = match &mut job.state {
            State::Waiting(_) | State::Delayed(_) => job.parked(),
            State::Running(fence, cancelling @ None) if ends => {
                *cancelling = Some(Why::BusEnded);
                let fence = *fence;
                return self.effects.push(Effect::Cancel(id, fence));
            }
            _ => return,
        };
        self.withdraw(id);
        self.rest_for_later(id, how);
    }

    fn rest_for_later(&mut self, id: JobId, how: Parked) {
        self.set_drain_by(id, UnixMicros::NEVER);
        if let Some(job) = self.jobs.get(&id) {
            job.last().let_go();
        }
        self.park(id, how);
    }

    /// Whether a job is the work of a session, and waits for that to be there.
    pub(super) fn waits_for_session(&self, id: JobId) -> bool {
        self.jobs.get(&id).is_some_and(|job| {
            let automation = self.automations.get(job.automation);
            matches!(job.state, State::Parked(_)) && automation.is_some_and(|own| own.owner == Owner::Hook)
        })
    }

    /// How many unsettled jobs are the work of hooks, and end with their sessions.
    pub(crate) fn of_hooks(&self) -> usize {
        self.of_hooks
    }

    /// How many unsettled jobs have records, or are of automations.
    pub(crate) fn accounted(&self) -> usize {
        self.live - self.in_memory
    }

    /// Whether a job is the work of a hook.
    pub(crate) fn is_of_hook(&self, id: JobId) -> bool {
        let automation = self.jobs.get(&id).and_then(|job| self.automations.get(job.automation));
        automation.is_some_and(|own| own.owner == Owner::Hook)
    }

    pub(super) fn is_recorded(&self, id: JobId) -> bool {
        self.jobs.get(&id).is_some_and(|job| job.recorded)
    }

    pub(super) fn is_in_memory(&self, id: JobId) -> bool {
        self.jobs.get(&id).is_some_and(|job| job.in_memory)
    }

    /// Whether a job's waiters may be released: it is settled, its session has to be opened first, or it is
    /// left to the next life.
    pub(crate) fn is_over_for_now(&self, id: JobId) -> bool {
        let is_left = || {
            self.remains == Some(UnfinishedJobs::OnRecord)
                && self.jobs.get(&id).is_some_and(|job| matches!(job.state, State::Parked(_)))
        };
        self.is_settled(id) || self.waits_for_session(id) || is_left()
    }

    /// Whether a job was started as often as it may without having come to an end.
    pub(super) fn is_lost(&self, id: JobId, rules: &Rules) -> bool {
        let Some(job) = self.jobs.get(&id) else { return false };
        match rules.work {
            Work::Own | Work::ExternalSlot | Work::InMemory => job.made() >= rules.retry.attempts,
            Work::Adopted { restarts } => {
                let counted = job.attempts.iter().skip(job.spent as usize);
                counted.filter(|attempt| attempt.ended.is_none()).count() > restarts as usize
            }
        }
    }

    /// The jobs of a session that rest or are held, with their automations and their events, oldest first.
    pub(crate) fn resting(&self, session: &SessionId) -> Vec<(JobId, AutomationId, E)> {
        let of_session = self.sessions.get(session).into_iter().flatten();
        let resting = of_session.filter_map(|id| {
            let job = self.jobs.get(id)?;
            let rests = !job.in_memory && matches!(job.state, State::Parked(_) | State::Held(_));
            rests.then(|| (*id, self.automation_id(job.automation), job.whole()))
        });
        resting.collect()
    }

    /// The failed attempts of a job that count.
    pub(crate) fn failures(&self, id: JobId) -> Vec<(FailureKind, String)> {
        let Some(job) = self.jobs.get(&id) else { return Vec::new() };
        let counted = job.attempts.iter().skip(job.spent as usize);
        let failed = counted.filter_map(|attempt| match &attempt.ended {
            Some((_, AttemptEnd::Failed(kind, detail))) => Some((*kind, detail.clone())),
            _ => None,
        });
        failed.collect()
    }

    /// Whether a hook that is there has room for an event, so that offering it makes or joins a job.
    pub(crate) fn takes(&self, hook: &AutomationId, event: &E) -> bool {
        let is_known = self.names.get(hook).is_some_and(|place| self.rules(*place).is_some());
        let has_room = self.live == 0 || self.weights.live < self.bounds.bytes;
        is_known && self.live < self.bounds.jobs && has_room && self.has_bytes_for(event)
    }

    /// Gives a job that has everything else its turn; one that needs none is due at once.
    pub(super) fn queue_for_turn(&mut self, id: JobId, rules: &Rules) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.state = State::Waiting(Stage::Turn);
        self.line_up_for_turn(id, std::cmp::Reverse(rules.priority));
    }

    /// Whether an attempt of an automation counts when the machine starts it, and not when the run says so.
    pub(super) fn attempt_starts_with_run(&self, place: usize) -> bool {
        let rules = self.automations.get(place).and_then(|own| own.rules.as_deref());
        rules.is_none_or(|rules| rules.work == Work::Own)
    }

    /// Whether a run of an automation takes a turn.
    pub(super) fn uses_slot(&self, place: usize) -> bool {
        let rules = self.automations.get(place).and_then(|own| own.rules.as_deref());
        !rules.is_some_and(Rules::is_adopted)
    }
}
