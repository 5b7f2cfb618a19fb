//! After a restart: from the records to the jobs as they were, all waiting until their automations are registered.

use std::sync::Arc;

use super::job::{Attempt, Job, JobId, Parked, Settled, State, Why};
use super::{Bounds, Machine, Occurrence};
use crate::bursts::Bursts;
use crate::control::LONGEST;
use crate::record::Record;

/// A record that does not fit to those before it. Nothing is done with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// It is about a job that was never accepted.
    #[error("it is about job {job}, which was never accepted")]
    UnknownJob {
        /// Which record, counted from 0.
        place: usize,
        /// The job.
        job: JobId,
    },
    /// It is about an attempt that never began.
    #[error("it ends an attempt of job {job} that never began")]
    UnknownAttempt {
        /// Which record, counted from 0.
        place: usize,
        /// The job.
        job: JobId,
    },
}

impl ReplayError {
    /// Which record it was, counted from 0.
    #[must_use]
    pub fn place(&self) -> usize {
        match self {
            Self::UnknownJob { place, .. } | Self::UnknownAttempt { place, .. } => *place,
        }
    }
}

impl<E: Occurrence> Machine<E> {
    /// The machine that these records are of. A run that was started and has no end counts as an attempt.
    #[must_use]
    pub fn recover(bounds: Bounds, records: impl IntoIterator<Item = Record<E>>) -> (Self, Vec<ReplayError>) {
        // What is to be forgotten is on record: until all is read, nothing is forgotten that a later record is about.
        let all = Bounds { finished: usize::MAX, dead: usize::MAX, bytes: usize::MAX, ..bounds };
        let mut machine = Self::new(all);
        let (mut troubles, mut replaced) = (Vec::new(), Vec::new());
        for (place, record) in records.into_iter().enumerate() {
            match &record {
                Record::Accepted { job, restarts: Some(other), .. } => replaced.push((*other, *job)),
                Record::Job { job, replaced_by: Some(by), .. } => replaced.push((*job, *by)),
                _ => {}
            }
            if let Err(trouble) = machine.replay(place, record) {
                troubles.push(trouble);
            }
            machine.effects.clear();
        }
        replaced.into_iter().for_each(|(job, by)| machine.give_way(job, by));
        machine.bounds = bounds;
        machine.forget_finished();
        machine.look_at_rates();
        (machine, troubles)
    }

    /// Ends a job whose run was to end for another one, which has its events, and had not when the process did.
    fn give_way(&mut self, id: JobId, by: JobId) {
        let Some(job) = self.jobs.get(&id) else { return };
        let at = job.ended();
        if !matches!(&job.state, State::Parked(how) if *how != Parked::Done) {
            return;
        }
        self.now = at;
        self.come_to_rest_silently(id, Settled::Cancelled(Why::Restarted(by)), None);
        self.now = super::UnixMicros::default();
        self.effects.clear();
    }

    fn replay(&mut self, place: usize, record: Record<E>) -> Result<(), ReplayError> {
        let unknown = |job| ReplayError::UnknownJob { place, job };
        match record {
            Record::Held { job, automation, window, event, at } => {
                self.number(job);
                let own = self.place(&automation);
                let held = self.automations[own].held.get_or_insert_with(|| {
                    Bursts::new(lineside_core::flow::Debounce { quiet: LONGEST, at_most: LONGEST })
                });
                held.push_with(&*window, || Arc::clone(&window), at, |_| (job, event.clone()));
                if self.jobs.contains_key(&job) {
                    self.weigh_more(job, &event);
                } else {
                    let mut held = Job::new(own, event, at, State::Held(window));
                    held.recorded = true;
                    self.add_job(job, held);
                }
            }
            Record::Accepted { job, automation, event, ids, key, lane, rate, restarts, at } => {
                self.number(job);
                let other = restarts.and_then(|other| self.jobs.get(&other));
                let before = other.map(|other| (other.whole(), other.all_ids()));
                let own = self.place(&automation);
                self.end_burst(job);
                self.remember(own, &event, &ids);
                let accepted = self.jobs.get(&job).map_or(at, |held| held.accepted);
                let mut next = Job::new(own, event, accepted, State::Parked(Parked::Accepted));
                (next.ids, next.key, next.lane) = (ids, key, lane);
                (next.rate, next.recorded) = (rate, true);
                self.replace(job, next);
                if let (Some((event, ids)), Some(job)) = (before, self.jobs.get_mut(&job)) {
                    job.take_over(event, ids);
                }
                self.weigh(job);
                self.automations[own].parked.insert(job);
            }
            Record::Joined { into, from, event, ids, at } => {
                self.now = at;
                self.number(from);
                self.end_burst(from);
                self.come_to_rest_silently(from, Settled::Cancelled(Why::Coalesced(into)), None);
                if !self.jobs.contains_key(&into) {
                    return Err(unknown(into));
                }
                self.join(into, &event, &ids);
            }
            Record::Merged { into, from, event, ids, at } => {
                self.now = at;
                self.number(from);
                self.end_burst(from);
                self.come_to_rest_silently(from, Settled::Cancelled(Why::Coalesced(into)), None);
                let own = self.jobs.get(&into).ok_or_else(|| unknown(into))?.automation;
                self.remember(own, &event, &ids);
                self.set_event(into, event, ids);
            }
            Record::Started { job: id, fence, at } => {
                self.last_fence = self.last_fence.max(fence.0);
                let job = self.jobs.get_mut(&id).ok_or_else(|| unknown(id))?;
                if let (0, Some(rate)) = (job.made(), job.rate.clone()) {
                    let own = job.automation;
                    self.rate_of(own, &rate).starts.push_back(at);
                }
                if let Some(job) = self.jobs.get_mut(&id) {
                    job.attempts.push(Attempt::begun(fence, at));
                    job.state = State::Parked(Parked::Interrupted);
                }
            }
            Record::Ended { job: id, fence, at, end, again } => {
                let job = self.jobs.get_mut(&id).ok_or_else(|| unknown(id))?;
                let attempt = job.attempts.iter_mut().rev().find(|attempt| attempt.fence == fence);
                let attempt = attempt.ok_or(ReplayError::UnknownAttempt { place, job: id })?;
                (attempt.ended, attempt.again) = (Some((at, end)), again);
                job.state = State::Parked(job.parked());
            }
            Record::Settled { job, at, settled, hand_over } => {
                self.now = at;
                self.end_burst(job);
                if !self.jobs.contains_key(&job) {
                    return Err(unknown(job));
                }
                self.come_to_rest_silently(job, settled, hand_over);
            }
            Record::Delivered { job: id, at } => {
                self.now = at;
                let job = self.jobs.get_mut(&id).ok_or_else(|| unknown(id))?;
                if let State::Delivering(what) = &job.state {
                    let settled = what.1.clone();
                    self.come_to_rest_silently(id, settled, None);
                }
            }
            Record::Revived { job: id, .. } => {
                let job = self.jobs.get_mut(&id).ok_or_else(|| unknown(id))?;
                job.spent = u32::try_from(job.attempts.len()).unwrap_or(u32::MAX);
                *self.weights.part(job.state.is_at_rest()) -= std::mem::take(&mut job.weight);
                job.state = State::Parked(Parked::Accepted);
                let (own, session) = (job.automation, job.last().session().clone());
                self.weigh(id);
                self.dead.retain(|dead| *dead != id);
                self.count_live(own, 1);
                self.sessions.entry(session).or_default().insert(id);
                self.automations[own].parked.insert(id);
            }
            Record::Forgotten { job } => {
                self.dead.retain(|dead| *dead != job);
                if !self.jobs.contains_key(&job) {
                    return Err(unknown(job));
                }
                self.remove(job);
            }
            of_snapshot => self.replay_snapshot(of_snapshot),
        }
        self.now = super::UnixMicros::default();
        Ok(())
    }

    /// Numbers that were given are not given again.
    pub(super) fn number(&mut self, job: JobId) {
        self.last_job = self.last_job.max(job.0);
    }

    /// Skips this many numbers of jobs and of runs, which another process may have given.
    pub(crate) fn skip_numbers(&mut self, count: u64) {
        self.last_job = self.last_job.saturating_add(count);
        self.last_fence = self.last_fence.saturating_add(count);
    }

    /// What was held for a job is in its event, or is dropped with it.
    fn end_burst(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id) else { return };
        let State::Held(window) = &job.state else { return };
        let window = Arc::clone(window);
        if let Some(held) = self.automations[job.automation].held.as_mut() {
            held.take_if(&*window, |held| held.first().is_some_and(|(job, _)| *job == id));
        }
    }

    pub(super) fn remember(&mut self, own: usize, event: &E, ids: &[lineside_core::EventId]) {
        let most = self.bounds.remembered;
        let seen = &mut self.automations[own].seen;
        ids.iter().for_each(|id| seen.insert(*id, most));
        seen.insert(event.id(), most);
    }

    /// Puts a job in the place of what it was while it was held.
    fn replace(&mut self, id: JobId, mut job: Job<E>) {
        match self.jobs.get_mut(&id) {
            Some(held) => {
                let (event, ids) = (job.event.clone(), std::mem::take(&mut job.ids));
                job.event = held.event.clone();
                job.weight = held.weight;
                **held = job;
                self.set_event(id, event, ids);
            }
            None => self.add_job(id, job),
        }
    }

    /// Ends a job without an announcement: it was announced before.
    pub(super) fn come_to_rest_silently(
        &mut self,
        id: JobId,
        settled: Settled,
        hand_over: Option<crate::report::Handover>,
    ) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        match hand_over {
            Some(hand_over) => {
                let own = job.automation;
                job.state = State::Delivering(Box::new((hand_over, settled)));
                self.automations[own].parked.insert(id);
            }
            None if job.state.is_at_rest() => {}
            None => {
                let own = job.automation;
                self.automations[own].parked.remove(&id);
                self.finish(id, settled);
            }
        }
    }
}
