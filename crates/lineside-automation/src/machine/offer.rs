//! An event is offered: it is refused, held with others, or becomes a job at once.

use std::sync::Arc;

use lineside_core::hook::Join;

use super::job::{AutomationId, JobId, State, Why};
use super::timers::Timer;
use super::{Announcement, Effect, Machine, News, Occurrence};
use crate::control::{Excess, Hold, Rules};
use crate::machine::job::Stage;
use crate::record::Record;

impl<E: Occurrence> Machine<E> {
    pub(super) fn offer(&mut self, id: &AutomationId, event: E) {
        let known = self.names.get(id).and_then(|place| Some((*place, self.rules(*place)?)));
        let Some((place, rules)) = known else { return self.refuse(id, &event, Why::Unregistered) };
        match rules.hold {
            Some(hold) => self.hold(place, &rules, hold, event),
            None => {
                if let Some(why) = self.shut_out(place, &rules, &event) {
                    return self.refuse(id, &event, why);
                }
                if !rules.is_adopted() && self.automations[place].seen.ids.contains(&event.id()) {
                    return self.refuse(id, &event, Why::Duplicate);
                }
                let job = self.new_job(place, event, State::Waiting(Stage::Rate));
                self.accept(job, &rules);
            }
        }
    }

    /// Why no further job may begin for an event.
    fn shut_out(&mut self, place: usize, rules: &Rules, event: &E) -> Option<Why> {
        if self.live >= self.bounds.jobs || !self.has_bytes_for(event) {
            return Some(Why::Full);
        }
        let (rate, template) = rules.rate.as_ref()?;
        let key = self.rate_key(template, event);
        let (now, has_room_for_key) = (self.now, self.has_room_for_rate(&key));
        let waits = rate.excess == Excess::Wait || self.shares(rate);
        // One that is not known has had no start; it is not made known by asking.
        match self.automations[place].rates.get_mut(&key) {
            None => (!has_room_for_key).then_some(Why::Full),
            Some(state) => (!waits && !state.has_room(rate, now)).then_some(Why::Rate),
        }
    }

    fn hold(&mut self, place: usize, rules: &Arc<Rules>, hold: Hold, event: E) {
        let mut key = std::mem::take(&mut self.text);
        key.clear();
        event.render(&rules.hold_key, &mut key);
        self.hold_under(place, rules, hold, &key, event);
        self.text = key;
    }

    fn hold_under(&mut self, place: usize, rules: &Arc<Rules>, hold: Hold, key: &str, event: E) {
        let now = self.now;
        if !self.has_bytes_for(&event) {
            let id = self.automation_id(place);
            return self.refuse(&id, &event, Why::Full);
        }
        let mut job = JobId(0);
        let joined = self.automations[place].held.as_mut().and_then(|held| {
            held.join(key, now, |(last, _)| {
                job = *last;
                (job, event.clone())
            })
        });
        if let Some(count) = joined {
            self.weigh_more(job, &event);
            self.persist_held(place, job, event);
            self.tell(job, News::Held);
            if self.shares_window(place) {
                let window = Arc::from(key);
                if count >= hold.count {
                    self.close_soon(place, &window);
                }
                self.tell_of_window(place, &window);
            } else if count >= hold.count {
                self.close_if_due(place, key, rules);
            }
            return;
        }
        if let Some(why) = self.shut_out(place, rules, &event) {
            let id = self.automation_id(place);
            return self.refuse(&id, &event, why);
        }
        let window: Arc<str> = Arc::from(key);
        let job = self.new_job(place, event.clone(), State::Held(Arc::clone(&window)));
        if rules.rate.as_ref().is_some_and(|(rate, _)| rate.excess == Excess::Drop && !self.shares(rate)) {
            self.give_rate(job, rules);
        }
        self.open(place, &window, job, event.clone());
        self.persist_held(place, job, event);
        self.tell(job, News::Held);
        self.look_after(place, &window);
        if hold.count <= 1 && !self.shares_window(place) {
            self.close_if_due(place, key, rules);
        }
    }

    /// Holds the first event of a burst.
    pub(super) fn open(&mut self, place: usize, window: &Arc<str>, job: JobId, event: E) {
        let now = self.now;
        if let Some(held) = self.automations[place].held.as_mut() {
            held.push_with(&**window, || Arc::clone(window), now, |_| (job, event));
        }
    }

    /// Has a burst looked at when it is due by what is known now.
    pub(super) fn look_after(&mut self, place: usize, window: &Arc<str>) {
        if self.shares_window(place) {
            return self.tell_of_window(place, window);
        }
        let due = self.automations[place].held.as_ref().and_then(|held| held.due(&**window));
        if let Some(due) = due {
            self.timers.set(due, Timer::Held(place, Arc::clone(window)));
        }
    }

    fn persist_held(&mut self, place: usize, id: JobId, event: E) {
        let (automation, at) = (self.automation_id(place), self.now);
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let State::Held(window) = &job.state else { return };
        if job.in_memory {
            return;
        }
        job.recorded = true;
        let record = Record::Held { job: id, automation, window: Arc::clone(window), event, at };
        self.persist(record);
    }

    /// Ends a burst that is due.
    pub(super) fn close_if_due(&mut self, place: usize, window: &str, rules: &Arc<Rules>) {
        let now = self.now;
        let held = self.automations[place].held.as_mut();
        if let Some(events) = held.and_then(|held| held.take_due(window, now)) {
            self.close(place, events, rules);
        }
    }

    /// Ends a burst, due or not; one that is kept with other machines as soon as it can be.
    pub(super) fn close_now(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id) else { return };
        let State::Held(window) = &job.state else { return };
        let (place, window) = (job.automation, Arc::clone(window));
        let Some(rules) = self.rules(place) else { return };
        if self.shares_window(place) {
            return self.close_soon(place, &window);
        }
        let held = self.automations[place].held.as_mut();
        if let Some(events) = held.and_then(|held| held.take_if(&*window, |_| true)) {
            self.close(place, events, &rules);
        }
    }

    /// What was held becomes one job. Only now is asked which of the events the automation has had before: one that
    /// came twice still shows that it is not quiet.
    pub(super) fn close(&mut self, place: usize, held: Vec<(JobId, E)>, rules: &Arc<Rules>) {
        let Some((id, _)) = held.first().map(|(id, event)| (*id, event.id())) else { return };
        let seen = &self.automations[place].seen.ids;
        let mut events: Vec<E> = Vec::with_capacity(held.len());
        let mut ids = Vec::with_capacity(held.len());
        let mut own = std::collections::HashSet::new();
        let is_alone = held.len() == 1;
        for (_, event) in held {
            let mut is_first = |id| !seen.contains(&id) && (is_alone || own.insert(id));
            if rules.is_adopted() || is_first(event.id()) {
                ids.push(event.id());
                events.push(event);
            }
        }
        let Some(event) = E::merge(&events) else { return self.cancel(id, Why::Duplicate) };
        self.set_event(id, event, ids);
        let due = rules.is_adopted().then(|| self.next_place());
        if let Some(job) = self.jobs.get_mut(&id) {
            (job.state, job.due) = (State::Waiting(Stage::Rate), due);
        }
        self.accept(id, rules);
    }

    /// Ends the bursts of a session that its next model call waits for.
    pub(super) fn release(&mut self, session: &lineside_core::SessionId) {
        for job in self.held_of(session) {
            let place = self.jobs.get(&job).map(|job| job.automation);
            let rules = place.and_then(|place| self.rules(place));
            if rules.is_some_and(|rules| rules.join == Join::BeforeNextModel) {
                self.close_now(job);
            }
        }
    }

    /// Ends all bursts of automations that are there.
    pub(super) fn release_all(&mut self) {
        self.release_which(|_, _| true);
    }

    /// Ends all bursts for which this holds of their automation.
    pub(super) fn release_which(&mut self, which: impl Fn(&Self, usize) -> bool) {
        let mut held: Vec<JobId> = self.held(self.sessions.values().flatten()).collect();
        held.retain(|id| self.jobs.get(id).is_some_and(|job| which(self, job.automation)));
        held.sort_unstable();
        held.into_iter().for_each(|job| self.close_now(job));
    }

    pub(super) fn held_of(&self, session: &lineside_core::SessionId) -> Vec<JobId> {
        self.held(self.sessions.get(session).into_iter().flatten()).collect()
    }

    /// Those of these jobs whose events are held.
    fn held<'a>(&self, jobs: impl Iterator<Item = &'a JobId>) -> impl Iterator<Item = JobId> {
        let is_held = |id: &&JobId| self.jobs.get(id).is_some_and(|job| matches!(job.state, State::Held(_)));
        jobs.filter(is_held).copied()
    }

    fn refuse(&mut self, automation: &AutomationId, event: &E, why: Why) {
        let told = Announcement {
            automation: Arc::clone(automation),
            job: None,
            event: event.id(),
            session: event.session().clone(),
            news: News::Refused(why),
        };
        self.refused_so_far += 1;
        self.refused.push_back(told.clone());
        if self.refused.len() > self.bounds.finished {
            self.refused.pop_front();
        }
        self.effects.push(Effect::Announce(told));
    }
}
