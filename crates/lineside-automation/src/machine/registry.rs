//! Automations come and go, and take with them what was known of them.

use std::sync::Arc;

use super::job::{AutomationId, Job, JobId, Parked, State, Why};
use super::weights::of_rate;
use super::{Automation, Effect, Machine, Occurrence};
use crate::bursts::Bursts;
use crate::control::Rules;
use crate::hook_id::{Owner, is_of_file};

impl<E: Occurrence> Machine<E> {
    /// No further event will come for it: it goes when its work is over.
    pub(super) fn leaves(&mut self, id: &AutomationId) {
        let Some(place) = self.names.get(id).copied() else { return };
        self.automations[place].leaves = true;
        self.let_go(place);
    }

    /// It is declared and switched off in this process, or no longer is. What an automation that was on has not begun
    /// comes to a bad end: a person, or the lack of trust, forbids it to run.
    pub(super) fn switched_off(&mut self, id: &AutomationId, off: bool) {
        let Some(place) = self.names.get(id).copied() else { return };
        self.automations[place].off = off;
        let Some(rules) = self.rules(place).filter(|rules| off && !rules.is_adopted()) else { return };
        for id in self.jobs_of(place) {
            let state = self.jobs.get(&id).map(|job| &job.state);
            if matches!(state, Some(State::Held(_) | State::Waiting(_) | State::Delayed(_))) {
                self.withdraw(id);
                self.die(id, Why::HookGone, Some(&rules));
            }
        }
    }

    /// The jobs of an automation, oldest first.
    fn jobs_of(&self, place: usize) -> Vec<JobId> {
        let own = self.jobs.iter().filter(|(_, job)| job.automation == place);
        let mut own: Vec<JobId> = own.map(|(id, _)| *id).collect();
        own.sort_unstable();
        own
    }

    /// How many jobs rest for automations of files that are switched off; those of hooks are counted with
    /// [hooks](Self::of_hooks).
    pub(crate) fn switched_off_jobs(&self) -> usize {
        let is_off = |own: &Automation<E>| own.off && own.live > 0 && own.owner == Owner::Automation;
        if !self.automations.iter().any(is_off) {
            return 0;
        }
        let rests = |job: &&Job<E>| {
            matches!(job.state, State::Held(_) | State::Parked(_))
                && is_off(&self.automations[job.automation])
        };
        self.jobs.values().map(|job| &**job).filter(rests).count()
    }

    /// Lets go of an automation that leaves and has no work, except for its name while there are jobs to be shown. That
    /// of a file keeps the starts of its rate, with the rules that say for how long: it comes back when its project does.
    pub(super) fn let_go(&mut self, place: usize) {
        let Some(own) = self.automations.get_mut(place).filter(|own| own.leaves && own.live == 0) else {
            return;
        };
        let id = Arc::clone(&own.id);
        let keeps_rates = is_of_file(&id);
        if own.active || !own.seen.order.is_empty() || !keeps_rates && !own.rates.is_empty() {
            let (jobs, leaves, rules, mut rates) =
                (own.jobs, own.leaves, own.rules.take(), std::mem::take(&mut own.rates));
            rates.retain(|key, state| {
                let is_kept = keeps_rates && !state.starts.is_empty();
                self.weights.rates -= if is_kept { 0 } else { of_rate(key) };
                is_kept
            });
            let rules = rules.filter(|_| !rates.is_empty());
            *own = Automation { jobs, leaves, rules, rates, ..Automation::new(Arc::clone(&id)) };
            self.effects.push(Effect::Gone(Arc::clone(&id)));
        }
        if own.jobs == 0 && own.rates.is_empty() && self.names.get(&id) == Some(&place) {
            self.names.remove(&id);
            self.free.push(place);
        }
    }

    /// Whether an automation is there, and is to stay.
    pub(crate) fn is_there(&self, id: &AutomationId) -> bool {
        let own = self.names.get(id).and_then(|place| self.automations.get(*place));
        own.is_some_and(|own| own.active && !own.leaves)
    }

    /// Whether an automation is there and on, is to stay, and has just these rules.
    pub(crate) fn is_paced(&self, id: &AutomationId, rules: &Rules) -> bool {
        let own = self.names.get(id).and_then(|place| self.automations.get(*place));
        self.is_there(id) && own.is_some_and(|own| !own.off && own.rules.as_deref() == Some(rules))
    }

    /// A job is not known any more.
    pub(super) fn remove(&mut self, id: JobId) {
        self.weigh_as_nothing(id);
        let Some(job) = self.jobs.remove(&id) else { return };
        if let Some(own) = self.automations.get_mut(job.automation) {
            own.jobs = own.jobs.saturating_sub(1);
        }
        self.let_go(job.automation);
    }

    /// The events of a job have changed.
    pub(super) fn weigh(&mut self, id: JobId) {
        self.weigh_as_nothing(id);
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.weight = job.event.weight() + job.more.iter().map(E::weight).sum::<usize>();
        *self.weights.part(job.state.is_at_rest()) += job.weight;
    }

    /// A job is about to be settled, to be taken up again, or to be forgotten.
    pub(super) fn weigh_as_nothing(&mut self, id: JobId) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        *self.weights.part(job.state.is_at_rest()) -= std::mem::take(&mut job.weight);
    }

    /// A job has one event more, and the others are as they were.
    pub(super) fn weigh_more(&mut self, id: JobId, event: &E) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let more = event.weight();
        job.weight += more;
        *self.weights.part(job.state.is_at_rest()) += more;
    }

    /// Whether the events of live jobs leave room for one more.
    pub(super) fn has_bytes_for(&self, event: &E) -> bool {
        self.live == 0 || self.weights.live.saturating_add(event.weight()) <= self.bounds.bytes
    }

    /// Whether too many settled jobs are kept.
    pub(super) fn keeps_too_much(&self) -> bool {
        self.weights.all_settled > self.bounds.bytes
    }

    /// Adds to the number of an automation's unsettled jobs.
    pub(super) fn count_live(&mut self, place: usize, more: isize) {
        self.live = self.live.saturating_add_signed(more);
        if let Some(own) = self.automations.get_mut(place) {
            own.live = own.live.saturating_add_signed(more);
            if own.owner == Owner::Hook {
                self.of_hooks = self.of_hooks.saturating_add_signed(more);
            }
        }
    }

    /// Parks what waits, and gives all jobs of the automation.
    fn park_all(&mut self, place: usize) -> Vec<JobId> {
        let own = self.jobs_of(place);
        for id in &own {
            let Some(job) = self.jobs.get(id) else { continue };
            let how = match job.state {
                State::Waiting(_) | State::Delayed(_) => job.parked(),
                _ => continue,
            };
            self.withdraw(*id);
            self.park(*id, how);
        }
        self.automations[place].active = false;
        own
    }

    pub(super) fn register(&mut self, id: &AutomationId, rules: &Arc<Rules>) {
        let place = self.place(id);
        let own = if self.automations[place].active { self.park_all(place) } else { Vec::new() };
        let now = self.now;
        let automation = &mut self.automations[place];
        (automation.active, automation.leaves, automation.off) = (true, false, false);
        automation.rules = Some(Arc::clone(rules));
        self.find_keys_anew(place, own);
        let automation = &mut self.automations[place];
        match (&mut automation.held, rules.hold) {
            (Some(held), Some(hold)) => held.change(hold.pace, hold.count, now),
            (held @ None, Some(hold)) => *held = Some(Bursts::new(hold.pace).due_at(hold.count)),
            (_, None) => {}
        }
        let rates: Vec<Arc<str>> = automation.rates.keys().cloned().collect();
        let windows = automation.held.as_ref().map(|held| held.keys(|_| true)).unwrap_or_default();
        rates.iter().for_each(|key| self.admit_waiting(place, key));
        if rules.is_adopted() {
            return;
        }
        let parked = std::mem::take(&mut self.automations[place].parked);
        // What was under way has its key again before what waited for it asks.
        let waited = |id: &JobId| {
            matches!(self.jobs.get(id).map(|job| &job.state), Some(State::Parked(Parked::Accepted)))
        };
        let (waited, under_way): (Vec<JobId>, Vec<JobId>) = parked.into_iter().partition(waited);
        for id in under_way.into_iter().chain(waited) {
            match self.jobs.get(&id).map(|job| &job.state) {
                Some(State::Parked(how)) => {
                    let how = *how;
                    self.take_up(id, how, rules);
                }
                Some(State::Delivering(_)) => self.hand_over(id),
                _ => {}
            }
        }
        for window in windows {
            if rules.hold.is_some() {
                self.look_after(place, &window);
            } else {
                let first =
                    self.automations[place].held.as_ref().and_then(|held| held.held(&*window)?.first());
                if let Some(job) = first.map(|(job, _)| *job) {
                    self.close_now(job);
                }
            }
        }
    }
}
