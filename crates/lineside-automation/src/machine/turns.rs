//! Turns: so many runs go at a time. A run that waits for a key of the cluster has none before it has that key.

use std::cmp::Reverse;

use super::job::{Fence, JobId, Seat, Stage, State};
use super::{Effect, Machine, Occurrence};
use crate::control::{Scope, Work};

/// How many runs may wait for keys of the cluster.
const MOST_AWAITING: usize = 1_024;

/// A place in a line: by priority, then by age.
type Place = (Reverse<i32>, JobId);

impl<E: Occurrence> Machine<E> {
    /// Puts a job that has everything else in line for a turn; one that needs none is due at once.
    pub(super) fn line_up_for_turn(&mut self, id: JobId, priority: Reverse<i32>) {
        let Some(place) = self.jobs.get(&id).map(|job| job.automation) else { return };
        if !self.uses_slot(place) {
            self.due.insert(id);
            return;
        }
        // One that may run elsewhere is begun here when there is a turn: where there is none, another machine takes its key.
        if self.may_be_spare(id, place) || !self.wants_shared_key(place) {
            self.ready.insert((priority, id));
        } else {
            self.for_shared.insert((priority, id));
        }
    }

    pub(super) fn leave_line_for_turn(&mut self, entry: &Place) {
        self.ready.remove(entry);
        self.for_shared.remove(entry);
        self.due.remove(&entry.1);
    }

    /// Whether the runs of an automation wait for a key of the cluster.
    fn wants_shared_key(&self, place: usize) -> bool {
        let rules = self.automations.get(place).and_then(|own| own.rules.as_deref());
        self.sharing.keys
            && rules.is_some_and(|rules| {
                rules.scope == Scope::Cluster
                    && rules.concurrency.is_some()
                    && rules.work == Work::ExternalSlot
            })
    }

    /// Starts ready jobs, as long as there are free slots.
    pub(super) fn start_ready(&mut self) {
        if self.has_ended {
            return;
        }
        while let Some(id) = self.due.pop_first() {
            self.start(id);
        }
        while self.awaiting_shared < MOST_AWAITING {
            let Some((_, id)) = self.for_shared.pop_first() else { break };
            self.start(id);
        }
        while self.has_turn() {
            let Some((_, id)) = self.ready.pop_first() else { return };
            match self.jobs.get(&id).map(|job| (&job.state, job.seat)) {
                Some((State::Waiting(Stage::Turn), _)) => self.start(id),
                Some((State::Running(fence, _), Seat::Waits)) => {
                    let fence = *fence;
                    self.seat(id, Seat::Turn);
                    self.effects.push(Effect::Turn(id, fence));
                }
                // Its rules have changed while it stood there, and it has come by another place.
                _ => {}
            }
        }
    }

    /// Whether there is a turn.
    pub(super) fn has_turn(&self) -> bool {
        self.running < self.bounds.running
    }

    /// A run begins: it has a turn, or waits for a key of the cluster without one.
    pub(super) fn take_seat(&mut self, id: JobId, place: usize) {
        match self.uses_slot(place) {
            true if self.wants_shared_key(place) && self.awaiting_shared < MOST_AWAITING => {
                self.seat(id, Seat::Waits);
            }
            true => self.seat(id, Seat::Turn),
            false => {}
        }
    }

    /// A run has ended.
    pub(super) fn leave_seat(&mut self, id: JobId) {
        let waits = self.jobs.get(&id).is_some_and(|job| job.seat == Seat::Waits);
        let rules = self.jobs.get(&id).and_then(|job| self.automations.get(job.automation)?.rules.as_ref());
        if let Some(entry) = rules.filter(|_| waits).map(|rules| (Reverse(rules.priority), id)) {
            self.ready.remove(&entry);
        }
        self.seat(id, Seat::None);
    }

    fn seat(&mut self, id: JobId, seat: Seat) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        match std::mem::replace(&mut job.seat, seat) {
            Seat::None => {}
            Seat::Waits => self.awaiting_shared -= 1,
            Seat::Turn => self.running = self.running.saturating_sub(1),
        }
        match seat {
            Seat::None => {}
            Seat::Waits => self.awaiting_shared += 1,
            Seat::Turn => self.running += 1,
        }
    }

    /// A run has the key of the cluster that it has waited for, and stands in line for a turn.
    pub(super) fn has_shared_key(&mut self, id: JobId, fence: Fence) {
        let Some(job) = self.jobs.get(&id) else { return };
        let runs = matches!(&job.state, State::Running(own, _) if *own == fence);
        let rules = self.automations.get(job.automation).and_then(|own| own.rules.as_ref());
        let priority = rules.map_or(0, |rules| rules.priority);
        match job.seat {
            Seat::Waits if runs => {
                self.ready.insert((Reverse(priority), id));
            }
            Seat::Turn if runs => self.effects.push(Effect::Turn(id, fence)),
            _ => {}
        }
    }
}
