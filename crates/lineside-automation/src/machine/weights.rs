//! How many bytes the events of jobs take: those that have not come to rest bound what is accepted, the others what is
//! kept of them.

use super::job::{Job, JobId};
use super::{Machine, Occurrence};

/// The bytes of all events, in two parts.
#[derive(Debug, Default)]
pub(super) struct Weights {
    /// Of jobs that have not come to rest.
    pub(super) live: usize,
    /// Of those that have.
    pub(super) at_rest: usize,
}

impl Weights {
    fn part<E>(&mut self, job: &Job<E>) -> &mut usize {
        if job.state.is_at_rest() { &mut self.at_rest } else { &mut self.live }
    }

    /// A job is not known any more, or goes from one part to the other.
    pub(super) fn take<E>(&mut self, job: &mut Job<E>) {
        let part = self.part(job);
        *part = part.saturating_sub(std::mem::take(&mut job.weight));
    }
}

impl<E: Occurrence> Machine<E> {
    /// The events of a job have changed.
    pub(super) fn weigh(&mut self, id: JobId) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        self.weights.take(job);
        job.weight = job.event.weight() + job.more.iter().map(E::weight).sum::<usize>();
        *self.weights.part(job) += job.weight;
    }

    /// A job has one event more, and the others are as they were.
    pub(super) fn weigh_more(&mut self, id: JobId, event: &E) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let more = event.weight();
        job.weight += more;
        *self.weights.part(job) += more;
    }

    /// Whether the events of live jobs leave room for one more.
    pub(super) fn has_bytes_for(&self, event: &E) -> bool {
        self.live == 0 || self.weights.live.saturating_add(event.weight()) <= self.bounds.bytes
    }

    /// Whether what is kept of jobs at rest is too much.
    pub(super) fn keeps_too_much(&self) -> bool {
        self.weights.at_rest > self.bounds.bytes
    }
}
