//! Jobs that another machine may run: those that wait for a turn here. A job that does is on record here as if it ran here,
//! and has no turn.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::job::{AutomationId, Fence, JobId, Stage, State};
use super::{Effect, Machine, News, Occurrence, StartedRun};
use crate::control::Place;

/// What is shared with other machines.
#[derive(Debug, Default)]
pub(super) struct Sharing {
    /// Keys with the scope of the cluster are.
    pub(super) keys: bool,
    /// Windows and rates are, and which windows are to be over.
    pub(super) windows: bool,
    pub(super) closing: HashSet<(usize, Arc<str>)>,
    /// Jobs that may run anywhere are.
    jobs: bool,
    /// Those that have come into the line for a turn in this step.
    lined_up: Vec<JobId>,
    /// Those that wait for a turn and are not named to the other machines yet.
    spare: BTreeSet<JobId>,
}

impl<E: Occurrence> Machine<E> {
    /// Keys with the scope of the cluster are shared from now on.
    pub(crate) fn share_keys(&mut self) {
        self.sharing.keys = true;
    }

    /// Jobs that may run anywhere are shared from now on, or no longer. Those that wait are to be named, again where they were.
    pub(crate) fn share_jobs(&mut self, shared: bool) {
        self.sharing.jobs = shared;
        self.sharing.spare.clear();
        let is_anywhere = |id: &JobId| self.jobs.get(id).is_some_and(|job| self.is_anywhere(job.automation));
        let waiting = self.ready.iter().chain(&self.for_shared).map(|(_, id)| *id);
        self.sharing.lined_up = waiting.filter(|id| shared && is_anywhere(id)).collect();
        self.spare();
    }

    fn is_anywhere(&self, place: usize) -> bool {
        self.rules(place).is_some_and(|rules| rules.place == Place::Anywhere)
    }

    /// A job comes into the line for a turn: whether another machine may run it.
    pub(super) fn may_be_spare(&mut self, id: JobId, place: usize) -> bool {
        let may = self.sharing.jobs && self.is_anywhere(place);
        self.sharing.lined_up.extend(may.then_some(id));
        may
    }

    /// Finds out which of those that have come into the line in this step wait there still.
    pub(super) fn spare(&mut self) {
        for id in std::mem::take(&mut self.sharing.lined_up) {
            if self.waits_for_turn(id) {
                self.sharing.spare.insert(id);
            }
        }
    }

    fn waits_for_turn(&self, id: JobId) -> bool {
        self.jobs.get(&id).is_some_and(|job| job.state == State::Waiting(Stage::Turn))
    }

    /// Takes the oldest that are not named yet, at most this many.
    pub(crate) fn take_spare(&mut self, most: usize) -> Vec<JobId> {
        let mut taken = Vec::new();
        while taken.len() < most
            && let Some(id) = self.sharing.spare.pop_first()
        {
            // It may run by now.
            if self.waits_for_turn(id) {
                taken.push(id);
            }
        }
        taken
    }

    /// How many are not named yet.
    pub(crate) fn spare_count(&self) -> usize {
        self.sharing.spare.len()
    }

    /// The automation of a job.
    pub(crate) fn automation_of(&self, id: JobId) -> Option<AutomationId> {
        self.jobs.get(&id).map(|job| self.automation_id(job.automation))
    }

    /// Whether a job runs that is to be given up.
    pub(crate) fn is_cancelling(&self, id: JobId) -> bool {
        self.jobs.get(&id).is_some_and(|job| matches!(job.state, State::Running(_, Some(_))))
    }

    /// How many attempts a job has made, with those that do not count any more, and how many bytes its events take, about.
    pub(crate) fn size_of(&self, id: JobId) -> (usize, usize) {
        self.jobs.get(&id).map_or((0, 0), |job| (job.attempts.len(), job.weight))
    }

    /// What a run of a job that begins now is for.
    pub(crate) fn event_for_run(&self, id: JobId) -> Option<E> {
        self.jobs.get(&id).map(|job| job.whole())
    }

    /// Has another machine run a job that waits for a turn; nothing becomes of any other.
    pub(super) fn lend(&mut self, id: JobId) {
        let Some(place) = self.jobs.get(&id).map(|job| job.automation) else { return };
        let Some(rules) = self.rules(place).filter(|rules| rules.place == Place::Anywhere) else { return };
        if self.has_ended || !self.sharing.jobs || !self.waits_for_turn(id) {
            return;
        }
        self.leave_line_for_turn(&(Reverse(rules.priority), id));
        self.close_to_others(id);
        let fence = Fence(self.last_fence + 1);
        let Some(job) = self.jobs.get_mut(&id) else { return };
        self.last_fence = fence.0;
        job.fold();
        job.state = State::Running(fence, None);
        let event = job.event.clone();
        let attempt = self.count_attempt(id);
        self.tell(id, News::Started(attempt));
        let automation = self.automation_id(place);
        self.effects.push(Effect::Lent(StartedRun { job: id, automation, attempt, fence, event }));
    }

    /// Takes a turn for a run of another machine, if there is one that no job of this one waits for.
    pub(crate) fn take_turn(&mut self) -> bool {
        let has_one = self.has_spare_turn();
        self.running += usize::from(has_one);
        has_one
    }

    /// Whether there is a turn that no job of this machine waits for.
    pub(crate) fn has_spare_turn(&self) -> bool {
        !self.has_ended && self.has_turn() && self.ready.is_empty()
    }
}
