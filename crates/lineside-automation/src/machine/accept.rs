//! A job is accepted: it has its key, is merged with another one or takes its place, and is put in line.

use std::sync::Arc;

use super::job::{JobId, Settled, Stage, State, Why};
use super::{Effect, Machine, News, Occurrence};
use crate::control::{KeyTemplate, OnBusy, Rules};
use crate::record::Record;

impl<E: Occurrence> Machine<E> {
    /// Puts a job in line, or does what its automation says of keys that are taken.
    pub(super) fn accept(&mut self, id: JobId, rules: &Arc<Rules>) {
        let Some(job) = self.jobs.get(&id) else { return };
        let (place, event, ids) = (job.automation, job.event.clone(), job.ids.clone());
        let key = rules.concurrency.as_ref().map(|(template, _)| self.key(template, &event));
        let lane = rules.lane.as_ref().map(|template| self.key(template, &event));
        let mut restarts = None;
        if let Some(key) = &key {
            match self.meet(id, place, key, rules) {
                Met::Free => {}
                Met::Merged => return,
                Met::Dropped => return self.cancel(id, Why::Busy),
                Met::Replaces(other) => {
                    self.take_over(id, other);
                    restarts = Some(other);
                }
            }
            if rules.on_busy != OnBusy::Queue {
                self.keys.entry(Arc::clone(key)).or_default().pending.push((place, id));
            }
        }
        self.give_rate(id, rules);
        let at = self.now;
        let automation = self.automation_id(place);
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.key.clone_from(&key);
        job.lane.clone_from(&lane);
        job.recorded = !job.in_memory;
        let (rate, is_recorded) = (job.rate.clone(), job.recorded);
        self.can_be_cancelled(id);
        if is_recorded {
            self.remember(place, &event, &ids);
            self.persist(Record::Accepted { job: id, automation, event, ids, key, lane, rate, restarts, at });
            self.tell(id, News::Queued);
        }
        self.line_up(id, rules);
        // Its events are kept with the new job by now.
        if let Some(other) = restarts {
            self.cancel(other, Why::Restarted(id));
        }
    }

    /// Asks what the key of a new job has to say.
    fn meet(&mut self, id: JobId, place: usize, key: &Arc<str>, rules: &Arc<Rules>) -> Met {
        let Some(state) = self.keys.get(key).filter(|_| rules.on_busy != OnBusy::Queue) else {
            return Met::Free;
        };
        let pending = state.pending.iter().find(|(other, _)| *other == place).map(|(_, job)| *job);
        let limit = rules.concurrency.as_ref().map_or(1, |(_, limit)| *limit);
        let busy = pending.is_some() || !state.waiting.is_empty() || !state.has_room(limit);
        match (rules.on_busy, pending) {
            (OnBusy::Coalesce | OnBusy::Restart, Some(pending)) => {
                self.merge_into(pending, id);
                Met::Merged
            }
            (OnBusy::Drop, _) if busy => Met::Dropped,
            (OnBusy::Restart, None) if busy => {
                let mut holders = state.jobs_that_hold();
                let own = holders.find(|holder| {
                    self.jobs.get(holder).is_some_and(|job| {
                        job.automation == place && !matches!(job.state, State::Running(_, Some(_)))
                    })
                });
                own.map_or(Met::Free, Met::Replaces)
            }
            _ => Met::Free,
        }
    }

    /// Merges the events of a new job into one that waits. On record are only those of the new one: what both come to is
    /// found again by merging.
    fn merge_into(&mut self, into: JobId, from: JobId) {
        let Some((event, ids)) = self.jobs.get(&from).map(|job| (job.event.clone(), job.ids.clone())) else {
            return;
        };
        let at = self.now;
        self.join(into, &event, &ids);
        self.persist(Record::Joined { into, from, event, ids, at });
        self.withdraw(from);
        self.finish(from, Settled::Cancelled(Why::Coalesced(into)));
    }

    /// A job has these events as well. It belongs to the session of the last one.
    pub(super) fn join(&mut self, into: JobId, event: &E, ids: &[lineside_core::EventId]) {
        let Some(job) = self.jobs.get_mut(&into) else { return };
        let (before, place) = (job.last().session().clone(), job.automation);
        let one = [event.id()];
        job.add(event.clone(), if ids.is_empty() { &one } else { ids });
        self.weigh_more(into, event);
        self.change_session(into, &before);
        self.remember(place, event, ids);
    }

    /// Gives a new job the events of the one that it replaces.
    fn take_over(&mut self, id: JobId, other: JobId) {
        let Some((event, ids)) = self.jobs.get(&other).map(|other| (other.whole(), other.all_ids())) else {
            return;
        };
        if let Some(job) = self.jobs.get_mut(&id) {
            job.take_over(event, ids);
        }
        self.weigh(id);
    }

    /// Puts an accepted job in line: for its rate, if its automation still has one, then for its key.
    pub(super) fn line_up(&mut self, id: JobId, rules: &Arc<Rules>) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        match job.rate.clone().filter(|_| rules.rate.is_some() && !job.admitted) {
            Some(rate) => {
                job.state = State::Waiting(Stage::Rate);
                let place = job.automation;
                self.rate_of(place, &rate).waiting.insert((std::cmp::Reverse(rules.priority), id));
                self.admit_waiting(place, &rate);
            }
            None => self.queue_for_key(id, rules),
        }
    }

    /// The key of an event.
    pub(super) fn key(&mut self, template: &KeyTemplate, event: &E) -> Arc<str> {
        self.text.clear();
        event.render(template, &mut self.text);
        match self.keys.get_key_value(&*self.text) {
            Some((key, _)) => Arc::clone(key),
            None => Arc::from(&*self.text),
        }
    }

    /// Cancels a job: at once, or if it runs, when its run has ended.
    pub(super) fn cancel(&mut self, id: JobId, why: Why) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        match &mut job.state {
            State::Rests(..) | State::Delivering(_) | State::Running(_, Some(_)) => {}
            State::Running(fence, cancelling) => {
                *cancelling = Some(why);
                let fence = *fence;
                self.effects.push(Effect::Cancel(id, fence));
            }
            State::Held(_) | State::Parked(_) | State::Waiting(_) | State::Delayed(_) => {
                if job.in_memory {
                    let event = job.last().clone();
                    self.effects.push(Effect::CutShort(event));
                }
                self.withdraw(id);
                self.settle(id, Settled::Cancelled(why), None);
            }
        }
    }
}

/// What a new job meets at its key.
enum Met {
    /// The key is free.
    Free,
    /// Another one has its events now.
    Merged,
    /// It is not wanted.
    Dropped,
    /// It takes the place of this one.
    Replaces(JobId),
}
