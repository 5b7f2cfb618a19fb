//! Settling a job: its result is delivered, and it is kept to be shown. It may be taken up again.

use std::sync::Arc;

use super::job::{JobId, Parked, Settled, State, Why};
use super::{Effect, Machine, News, Occurrence};
use crate::control::{OnBusy, Rules};
use crate::record::Record;
use crate::report::Handover;
use crate::unix_micros::UnixMicros;

impl<E: Occurrence> Machine<E> {
    /// Decides how a job ends. It has left all queues.
    pub(super) fn settle(&mut self, id: JobId, settled: Settled, hand_over: Option<Handover>) {
        let at = self.now;
        let Some(job) = self.jobs.get_mut(&id) else { return };
        if job.recorded {
            let record =
                Record::Settled { job: id, at, settled: settled.clone(), hand_over: hand_over.clone() };
            self.effects.push(Effect::Persist(record));
        }
        match hand_over {
            Some(hand_over) => {
                job.state = State::Delivering(Box::new((hand_over, settled)));
                self.hand_over(id);
            }
            None => self.finish(id, settled),
        }
    }

    /// Whether a job whose result is being handed over has come to a bad end.
    pub(crate) fn is_dying(&self, id: JobId) -> bool {
        let state = self.jobs.get(&id).map(|job| &job.state);
        matches!(state, Some(State::Delivering(what)) if matches!(what.1, Settled::Dead(_)))
    }

    pub(super) fn hand_over(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id) else { return };
        let State::Delivering(what) = &job.state else { return };
        let (event, what) = (job.last().clone(), what.0.clone());
        let automation = self.automation_id(job.automation);
        self.effects.push(Effect::Deliver(id, automation, event, what));
    }

    /// Records that a job's result was delivered.
    pub(super) fn delivered(&mut self, id: JobId) {
        let at = self.now;
        let Some(job) = self.jobs.get(&id) else { return };
        let State::Delivering(what) = &job.state else { return };
        let settled = what.1.clone();
        self.persist(Record::Delivered { job: id, at });
        self.finish(id, settled);
    }

    pub(super) fn finish(&mut self, id: JobId, settled: Settled) {
        let now = self.now;
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let news = match &settled {
            Settled::Done => News::Finished,
            Settled::Dead(why) => News::Dead(why.clone()),
            Settled::Cancelled(why) => News::Cancelled(why.clone()),
        };
        if job.in_memory {
            return self.forget(id);
        }
        let is_dead = matches!(settled, Settled::Dead(_));
        if is_dead {
            // It may be taken up again.
            job.fold();
        } else {
            (job.event, job.more) = (job.last().clone(), Vec::new());
        }
        job.event.let_go();
        *self.weights.part(job.state.is_at_rest()) -= std::mem::take(&mut job.weight);
        job.state = State::Rests(Box::new(settled), now);
        let (place, session) = (job.automation, job.event.session().clone());
        self.weigh(id);
        self.leave(id, place, &session);
        self.tell(id, news);
        if is_dead {
            self.dead.push_back(id);
        } else {
            self.finished.push_back(id);
        }
        self.forget_oldest();
    }

    /// Forgets a job without records, which is over.
    fn forget(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id) else { return };
        let (place, session) = (job.automation, job.last().session().clone());
        self.in_memory -= 1;
        self.leave(id, place, &session);
        self.effects.push(Effect::Over(id));
        self.remove(id);
    }

    fn leave(&mut self, id: JobId, place: usize, session: &lineside_core::SessionId) {
        self.count_live(place, -1);
        self.leave_session(id, session);
        // Of one that is taken up again, too: the end of its session is not the end of what a person wants.
        self.set_drain_by(id, UnixMicros::NEVER);
        self.cannot_be_cancelled(id);
        self.let_go(place);
    }

    pub(super) fn forget_finished(&mut self) {
        while self.finished.len() > self.bounds.finished || self.keeps_too_much() {
            let Some(oldest) = self.finished.pop_front() else { return };
            self.remove(oldest);
        }
    }

    fn forget_oldest(&mut self) {
        self.forget_finished();
        while self.dead.len() > self.bounds.dead || self.keeps_too_much() && self.dead.len() > 1 {
            if let Some(oldest) = self.dead.pop_front() {
                self.forgotten += 1;
                self.tell(oldest, News::Forgotten);
                self.persist(Record::Forgotten { job: oldest });
                self.remove(oldest);
            }
        }
    }

    /// A person takes a dead job up again: it has all its attempts before it, and its history.
    pub(super) fn revive(&mut self, id: JobId) {
        let at = self.now;
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let State::Rests(settled, _) = &job.state else { return };
        if !matches!(**settled, Settled::Dead(_)) {
            return;
        }
        job.spent = u32::try_from(job.attempts.len()).unwrap_or(u32::MAX);
        *self.weights.part(job.state.is_at_rest()) -= std::mem::take(&mut job.weight);
        job.state = State::Parked(Parked::Accepted);
        let (place, session) = (job.automation, job.last().session().clone());
        self.weigh(id);
        self.dead.retain(|dead| *dead != id);
        self.count_live(place, 1);
        self.sessions.entry(session).or_default().insert(id);
        self.persist(Record::Revived { job: id, at });
        self.tell(id, News::Revived);
        match self.rules(place) {
            Some(rules) => {
                self.can_be_cancelled(id);
                self.take_up(id, Parked::Accepted, &rules);
            }
            None => self.park(id, Parked::Accepted),
        }
    }

    /// How many attempts a job had made when a person took it up again for the last time: what it finds after that is
    /// something new, and what it finds until then is the same, however often it is run or handed over.
    #[must_use]
    pub fn taken_up_after(&self, id: JobId) -> u32 {
        self.jobs.get(&id).map_or(0, |job| job.spent)
    }

    /// A person drops a job: it is cancelled, or forgotten if it is dead.
    pub(super) fn drop_job(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id) else { return };
        match &job.state {
            State::Rests(settled, _) if matches!(**settled, Settled::Dead(_)) => {
                self.dead.retain(|dead| *dead != id);
                self.persist(Record::Forgotten { job: id });
                self.tell(id, News::Forgotten);
                self.remove(id);
            }
            _ => self.cancel(id, Why::Person),
        }
    }

    /// Has a job rest until its automation is there.
    pub(super) fn park(&mut self, id: JobId, how: Parked) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.state = State::Parked(how);
        let place = job.automation;
        if let Some(automation) = self.automations.get_mut(place) {
            automation.parked.insert(id);
        }
        self.tell(id, News::Parked);
    }

    /// Goes on with a job that has rested.
    pub(super) fn take_up(&mut self, id: JobId, how: Parked, rules: &Arc<Rules>) {
        let Some(job) = self.jobs.get(&id) else { return };
        let (place, made, started) = (job.automation, job.made(), !job.attempts.is_empty());
        let now = self.now;
        let again = match how {
            Parked::Accepted => {
                if let Some(key) = job.key.clone().filter(|_| rules.on_busy != OnBusy::Queue && !started) {
                    let pending = &mut self.keys.entry(key).or_default().pending;
                    if !pending.iter().any(|(other, _)| *other == place) {
                        pending.push((place, id));
                    }
                }
                return self.line_up(id, rules);
            }
            Parked::Interrupted if self.is_lost(id, rules) => {
                return self.die(id, Why::Lost { attempts: made }, Some(rules));
            }
            Parked::Interrupted => {
                let kind = lineside_core::FailureKind::Closed;
                now + rules.retry.pause(made, kind, id.0 << 10 | u64::from(made)).unwrap_or_default()
            }
            Parked::Done => return self.settle(id, Settled::Done, None),
            // The clock may have been put back since.
            Parked::Delayed(again) => again.min(now + rules.retry.longest()),
        };
        if self.keep_key(id, rules) {
            self.delay(id, again);
        } else {
            self.queue_for_key(id, rules);
        }
    }
}
