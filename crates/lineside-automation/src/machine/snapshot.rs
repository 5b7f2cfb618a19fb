//! The jobs as they are, as the fewest records that say so: what a journal is compacted to.

use std::sync::Arc;

use super::job::{Fence, Job, JobId, State, Why};
use super::{Machine, Occurrence};
use crate::record::Record;

impl<E: Occurrence> Machine<E> {
    /// Records from which the machine as it is can be recovered, without those that are settled otherwise than
    /// dead.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Record<E>> {
        let mut records = vec![Record::Numbers { job: JobId(self.last_job), fence: Fence(self.last_fence) }];
        for automation in &self.automations {
            let ids: Vec<_> = automation.seen.order.iter().copied().collect();
            if !ids.is_empty() {
                records.push(Record::Seen { automation: Arc::clone(&automation.id), ids });
            }
            let mut rates: Vec<_> =
                automation.rates.iter().filter(|(_, state)| !state.starts.is_empty()).collect();
            rates.sort_unstable_by_key(|(key, _)| *key);
            for (rate, state) in rates {
                let starts = state.starts.iter().copied().collect();
                let automation = Arc::clone(&automation.id);
                records.push(Record::Starts { automation, rate: Arc::clone(rate), starts });
            }
        }
        // The dead ones come last, in the order in which they go.
        let live = self.jobs().into_iter().filter(|id| !self.is_settled(*id) && !self.is_in_memory(*id));
        for id in live.chain(self.dead.iter().copied()) {
            if let Some(job) = self.jobs.get(&id) {
                self.snapshot_of(id, job, &mut records);
            }
        }
        records
    }

    fn snapshot_of(&self, id: JobId, job: &Job<E>, records: &mut Vec<Record<E>>) {
        let automation = self.automation_id(job.automation);
        let settled = match &job.state {
            State::Held(window) => {
                let held = self.automations.get(job.automation).and_then(|own| own.held.as_ref());
                let first = held.and_then(|held| held.since(&**window));
                let all = held.and_then(|held| held.held(&**window)).unwrap_or_default();
                for (number, (_, event)) in all.iter().enumerate() {
                    // Only the first time and the last one count.
                    let at =
                        first.map_or(job.accepted, |(first, last)| if number == 0 { first } else { last });
                    let (automation, window, event) =
                        (Arc::clone(&automation), Arc::clone(window), event.clone());
                    records.push(Record::Held { job: id, automation, window, event, at });
                }
                return;
            }
            State::Delivering(what) => Some((what.1.clone(), Some(what.0.clone()), job.ended())),
            State::Rests(how, at) => Some(((**how).clone(), None, *at)),
            State::Parked(_) | State::Waiting(_) | State::Delayed(_) | State::Running(..) => None,
        };
        let replaced_by = match &job.state {
            State::Running(_, Some(Why::Restarted(by))) => Some(*by),
            _ => None,
        };
        records.push(Record::Job {
            job: id,
            replaced_by,
            automation,
            event: job.whole(),
            ids: job.ids.clone(),
            key: job.key.clone(),
            lane: job.lane.clone(),
            rate: job.rate.clone(),
            at: job.accepted,
            attempts: job.attempts.clone(),
            spent: job.spent,
            settled,
        });
    }

    pub(super) fn replay_snapshot(&mut self, record: Record<E>) {
        match record {
            Record::Numbers { job, fence } => {
                self.number(job);
                self.last_fence = self.last_fence.max(fence.0);
            }
            Record::Seen { automation, ids } => {
                let (own, most) = (self.place(&automation), self.bounds.remembered);
                ids.into_iter().for_each(|id| self.automations[own].seen.insert(id, most));
            }
            Record::Starts { automation, rate, starts } => {
                let own = self.place(&automation);
                self.rate_of(own, &rate).starts.extend(starts);
            }
            Record::Job {
                job: id,
                automation,
                event,
                ids,
                key,
                lane,
                rate,
                at,
                attempts,
                spent,
                settled,
                ..
            } => {
                self.number(id);
                let own = self.place(&automation);
                self.remember(own, &event, &ids);
                let mut job = Job::new(own, event, at, State::Parked(super::job::Parked::Accepted));
                (job.ids, job.key, job.lane) = (ids, key, lane);
                (job.rate, job.recorded) = (rate, true);
                (job.attempts, job.spent) = (attempts, spent);
                job.state = State::Parked(job.parked());
                self.add_job(id, job);
                self.automations[own].parked.insert(id);
                if let Some((settled, hand_over, at)) = settled {
                    self.now = at;
                    self.come_to_rest_silently(id, settled, hand_over);
                    self.now = super::UnixMicros::default();
                }
            }
            _ => {}
        }
    }
}
