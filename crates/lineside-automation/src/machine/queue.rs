//! Lines: for a rate, for a key, for a turn. Each goes by priority, then by age; none stands behind another one.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::job::{ClaimId, JobId, Place, Stage, State};
use super::timers::Timer;
use super::weights::of_rate;
use super::{Effect, Machine, Occurrence};
use crate::control::{Excess, KeyTemplate, LONGEST, Rate, Rules};
use crate::unix_micros::UnixMicros;

/// What has a key or waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Waiter {
    Job(JobId),
    Claim(ClaimId),
}

/// Who has a key and who waits for it.
#[derive(Debug, Default)]
pub(super) struct Key {
    /// Each with the limit that it was given the key under.
    pub(super) holders: Vec<(Waiter, u32)>,
    pub(super) waiting: BTreeSet<(Reverse<i32>, Place, Waiter)>,
    /// The one job of an automation that has not started and that others are merged into.
    pub(super) pending: Vec<(usize, JobId)>,
}

impl Key {
    /// Whether one more may have it: the smallest limit of all that have it, and of the one more, holds.
    pub(super) fn has_room(&self, limit: u32) -> bool {
        let limit = self.holders.iter().map(|(_, limit)| *limit).fold(limit, u32::min);
        self.holders.len() < limit as usize
    }

    /// The jobs that have it.
    pub(super) fn jobs_that_hold(&self) -> impl Iterator<Item = JobId> {
        self.holders.iter().filter_map(|(holder, _)| match holder {
            Waiter::Job(job) => Some(*job),
            Waiter::Claim(_) => None,
        })
    }

    fn is_idle(&self) -> bool {
        self.holders.is_empty() && self.waiting.is_empty() && self.pending.is_empty()
    }
}

/// The starts of one key of a rate.
#[derive(Debug, Default)]
pub(super) struct RateState {
    /// The last ones, those within the period.
    pub(super) starts: VecDeque<UnixMicros>,
    /// How many have been let in and have not happened.
    pub(super) admitted: usize,
    pub(super) waiting: BTreeSet<(Reverse<i32>, JobId)>,
    timer: Option<UnixMicros>,
}

impl RateState {
    /// Whether one more may be let in: with those that have been, and those within the period.
    pub(super) fn has_room(&mut self, rate: &Rate, now: UnixMicros) -> bool {
        // The clock may have been put back since they were recorded.
        if self.starts.back().is_some_and(|start| *start > now) {
            self.starts.iter_mut().for_each(|start| *start = (*start).min(now));
        }
        while self.starts.front().is_some_and(|start| *start + rate.period <= now) {
            self.starts.pop_front();
        }
        self.starts.len() + self.admitted < rate.starts as usize
    }
}

impl<E: Occurrence> Machine<E> {
    pub(super) fn rate_of(&mut self, place: usize, key: &Arc<str>) -> &mut RateState {
        self.automations[place].rates.entry(Arc::clone(key)).or_insert_with(|| {
            self.weights.rates += of_rate(key);
            RateState::default()
        })
    }

    /// Whether a further key of a rate may be kept.
    pub(super) fn has_room_for_rate(&self, key: &str) -> bool {
        self.weights.rates.saturating_add(of_rate(key)) <= self.bounds.rates
    }

    fn forget_rate(&mut self, place: usize, key: &Arc<str>) {
        if self.automations[place].rates.remove(key).is_some() {
            self.weights.rates -= of_rate(key);
        }
    }

    pub(super) fn rate_key(&mut self, template: &KeyTemplate, event: &E) -> Arc<str> {
        self.text.clear();
        event.render(template, &mut self.text);
        Arc::from(&*self.text)
    }

    /// Gives a job its rate, if it has none yet; where more than the rate allows is dropped, it is let in at once.
    pub(super) fn give_rate(&mut self, id: JobId, rules: &Rules) {
        let Some((rate, template)) = &rules.rate else { return };
        let Some(job) = self.jobs.get(&id) else { return };
        if job.rate.is_some() {
            return;
        }
        let (place, event) = (job.automation, job.last().clone());
        let key = self.rate_key(template, &event);
        let lets_in = rate.excess == Excess::Drop && !self.shares(rate);
        if lets_in {
            self.rate_of(place, &key).admitted += 1;
        }
        if let Some(job) = self.jobs.get_mut(&id) {
            job.rate = Some(key);
            job.admitted = lets_in;
        }
    }

    /// Admits waiting jobs.
    pub(super) fn admit_waiting(&mut self, place: usize, key: &Arc<str>) {
        let now = self.now;
        let Some(rules) = self.automations.get(place).and_then(|automation| automation.rules.clone()) else {
            // Of an earlier life, and its automation has not come: no period is longer.
            return self.keep_starts(place, key, &Rate::new(1, LONGEST));
        };
        let Some((rate, _)) = &rules.rate else {
            // No job waits for it: when rules change, everything is put in line anew.
            self.forget_rate(place, key);
            return;
        };
        let shares = self.shares(rate);
        if shares && !self.rate_of(place, key).waiting.is_empty() {
            let automation = self.automation_id(place);
            self.effects.push(Effect::Rate(automation, Arc::clone(key)));
        }
        loop {
            let state = self.rate_of(place, key);
            let next = state.waiting.first().copied().filter(|_| !shares && state.has_room(rate, now));
            let Some(next) = next else { break };
            state.waiting.remove(&next);
            state.admitted += 1;
            if let Some(job) = self.jobs.get_mut(&next.1) {
                job.admitted = true;
            }
            self.queue_for_key(next.1, &rules);
        }
        self.keep_starts(place, key, rate);
    }

    /// Keeps the starts of a rate until they have left its period.
    fn keep_starts(&mut self, place: usize, key: &Arc<str>, rate: &Rate) {
        let now = self.now;
        let state = self.rate_of(place, key);
        state.has_room(rate, now);
        match state.starts.front().map(|start| *start + rate.period) {
            Some(over) if state.timer.is_none_or(|timer| over < timer) => {
                state.timer = Some(over);
                self.timers.set(over, Timer::Rate(place, Arc::clone(key)));
            }
            None if state.waiting.is_empty() && state.admitted == 0 => self.forget_rate(place, key),
            _ => {}
        }
    }

    /// A start has left the period.
    pub(super) fn rate_timer(&mut self, place: usize, key: &Arc<str>) {
        let known = self.automations.get_mut(place).and_then(|own| own.rates.get_mut(key));
        if let Some(state) = known {
            state.timer = None;
            self.admit_waiting(place, key);
            self.let_go(place);
        }
    }

    /// Has the starts that were read looked at in the first step, which knows the time.
    pub(super) fn look_at_rates(&mut self) {
        for (place, own) in self.automations.iter().enumerate() {
            let timers = own.rates.keys().map(|key| Timer::Rate(place, Arc::clone(key)));
            timers.for_each(|timer| self.timers.set(UnixMicros(0), timer));
        }
    }

    /// A job that was let in has started.
    pub(super) fn count_start(&mut self, place: usize, key: &Arc<str>) {
        let now = self.now;
        let state = self.rate_of(place, key);
        state.admitted = state.admitted.saturating_sub(1);
        state.starts.push_back(now);
        self.admit_waiting(place, key);
    }

    /// A job that was let in will not start.
    pub(super) fn give_back_start(&mut self, place: usize, key: &Arc<str>) {
        let state = self.rate_of(place, key);
        state.admitted = state.admitted.saturating_sub(1);
        self.admit_waiting(place, key);
    }

    /// A place in the line for a key behind all that is due.
    pub(super) fn next_place(&mut self) -> Place {
        self.places += 1;
        (self.last_job, self.places)
    }

    /// Puts a job in line for its lane, then for its key; without them it has everything but a turn.
    pub(super) fn queue_for_key(&mut self, id: JobId, rules: &Rules) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let (key, stage) = match (&job.lane, &job.key) {
            (Some(lane), _) if !job.has_lane => (Arc::clone(lane), Stage::Lane),
            (_, Some(key)) => (Arc::clone(key), Stage::Key),
            _ => return self.queue_for_turn(id, rules),
        };
        job.state = State::Waiting(stage);
        let entry = (Reverse(rules.priority), job.place(id), Waiter::Job(id));
        self.keys.entry(Arc::clone(&key)).or_default().waiting.insert(entry);
        self.hand_on(&key);
    }

    /// Gives a key to who is next, as long as it may be given.
    pub(super) fn hand_on(&mut self, key: &Arc<str>) {
        loop {
            let Some(state) = self.keys.get_mut(key) else { return };
            // Most keys with waiters are held, and then it does not matter which waiter is first.
            let next = state.waiting.first().copied().filter(|_| state.has_room(u32::MAX));
            let Some(next @ (priority, _, waiter)) = next else { break };
            let id = match waiter {
                Waiter::Job(id) => id,
                Waiter::Claim(claim) => {
                    if !state.has_room(1) {
                        break;
                    }
                    state.waiting.remove(&next);
                    state.holders.push((waiter, 1));
                    self.effects.push(Effect::Granted(claim));
                    continue;
                }
            };
            let Some(job) = self.jobs.get_mut(&id) else { break };
            let rules = self.automations.get(job.automation).and_then(|own| own.rules.as_ref());
            let lane_of = rules.filter(|_| job.state == State::Waiting(Stage::Lane)).cloned();
            let limit = if lane_of.is_some() { 1 } else { limit_of(rules.map(|rules| &**rules)) };
            if !state.has_room(limit) {
                break;
            }
            state.waiting.remove(&next);
            state.holders.push((waiter, limit));
            if let Some(rules) = lane_of {
                job.has_lane = true;
                let due = self.next_place();
                if let Some(job) = self.jobs.get_mut(&id) {
                    job.due = Some(due);
                }
                self.queue_for_key(id, &rules);
                continue;
            }
            job.has_key = true;
            job.state = State::Waiting(Stage::Turn);
            self.line_up_for_turn(id, priority);
        }
        if self.keys.get(key).is_some_and(Key::is_idle) {
            self.keys.remove(key);
        }
    }

    /// Takes its lane and its key for a job that was under way, if they are free.
    pub(super) fn keep_key(&mut self, id: JobId, rules: &Rules) -> bool {
        let Some(job) = self.jobs.get(&id) else { return false };
        let own = [(job.lane.clone(), 1), (job.key.clone(), limit_of(Some(rules)))];
        let own = own.map(|(key, limit)| key.map(|key| (key, limit)));
        let is_free =
            |(key, limit): &(Arc<str>, u32)| self.keys.get(key).is_none_or(|state| state.has_room(*limit));
        if !own.iter().flatten().all(is_free) {
            return false;
        }
        for (key, limit) in own.into_iter().flatten() {
            self.keys.entry(key).or_default().holders.push((Waiter::Job(id), limit));
        }
        if let Some(job) = self.jobs.get_mut(&id) {
            (job.has_lane, job.has_key) = (job.lane.is_some(), job.key.is_some());
        }
        true
    }

    /// A job does not need its lane and its key any more.
    pub(super) fn give_back_key(&mut self, id: JobId) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let key = job.key.clone().filter(|_| std::mem::take(&mut job.has_key));
        let lane = job.lane.clone().filter(|_| std::mem::take(&mut job.has_lane));
        for key in [key, lane].into_iter().flatten() {
            if let Some(state) = self.keys.get_mut(&key) {
                state.holders.retain(|(holder, _)| *holder != Waiter::Job(id));
            }
            self.hand_on(&key);
        }
    }

    /// Nothing is merged into a job any more.
    pub(super) fn close_to_others(&mut self, id: JobId) {
        let Some(key) = self.jobs.get(&id).and_then(|job| job.key.clone()) else { return };
        if let Some(state) = self.keys.get_mut(&key) {
            state.pending.retain(|(_, pending)| *pending != id);
            if state.is_idle() {
                self.keys.remove(&key);
            }
        }
    }

    /// Takes a job out of every line that it stands in.
    pub(super) fn withdraw(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id) else { return };
        let (place, key, lane, rate) = (job.automation, job.key.clone(), job.lane.clone(), job.rate.clone());
        let in_line = job.place(id);
        let (state, admitted) = (job.state.clone(), job.admitted);
        let Some(automation) = self.automations.get_mut(place) else { return };
        let entry = (Reverse(automation.rules.as_ref().map_or(0, |rules| rules.priority)), id);
        let mut window = None;
        match state {
            State::Held(key) => {
                let key = window.insert(key);
                let held = automation.held.as_mut();
                held.and_then(|held| {
                    held.take_if(&**key, |held| held.first().is_some_and(|(job, _)| *job == id))
                });
            }
            State::Parked(_) => {
                automation.parked.remove(&id);
            }
            State::Waiting(Stage::Rate) => {
                if let Some(rate) = &rate {
                    self.rate_of(place, rate).waiting.remove(&entry);
                    self.admit_waiting(place, rate);
                }
            }
            State::Waiting(stage @ (Stage::Lane | Stage::Key)) => {
                let key = if stage == Stage::Lane { &lane } else { &key };
                if let Some(state) = key.as_ref().and_then(|key| self.keys.get_mut(key)) {
                    state.waiting.remove(&(entry.0, in_line, Waiter::Job(id)));
                }
            }
            State::Waiting(Stage::Turn) => {
                self.leave_line_for_turn(&entry);
            }
            State::Running(..) | State::Delayed(_) | State::Delivering(_) | State::Rests(..) => {}
        }
        if let Some(window) = window {
            self.sharing.closing.remove(&(place, window));
        }
        self.close_to_others(id);
        if let Some(rate) = rate.filter(|_| admitted) {
            if let Some(job) = self.jobs.get_mut(&id) {
                job.admitted = false;
            }
            self.give_back_start(place, &rate);
        }
        self.give_back_key(id);
        for key in [key, lane].into_iter().flatten() {
            self.hand_on(&key);
        }
    }
}

fn limit_of(rules: Option<&Rules>) -> u32 {
    rules.and_then(|rules| rules.concurrency.as_ref()).map_or(1, |(_, limit)| *limit)
}
