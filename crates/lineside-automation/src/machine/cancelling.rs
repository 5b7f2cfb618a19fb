//! Events cancel work: what one of them is about is found by its key, whatever else is live.

use std::sync::Arc;

use super::job::{AutomationId, JobId, State, Why};
use super::{Machine, Occurrence};
use crate::control::{KeyTemplate, Rules};

impl<E: Occurrence> Machine<E> {
    /// Cancels the held and waiting work of the key that an event has. What runs is left alone.
    pub(super) fn cancel_key(&mut self, id: &AutomationId, event: &E) {
        let known = self.names.get(id).and_then(|place| Some((*place, self.rules(*place)?)));
        let Some((place, rules)) = known else { return };
        let key = self.key(own_key(&rules), event);
        let meant = self.automations[place].cancellable.get(&key);
        let waits = |id: &&JobId| {
            let state = self.jobs.get(id).map(|job| &job.state);
            matches!(state, Some(State::Held(_) | State::Parked(_) | State::Waiting(_) | State::Delayed(_)))
        };
        let meant: Vec<JobId> = meant.into_iter().flatten().filter(waits).copied().collect();
        for job in meant {
            self.cancel(job, Why::Event(event.id()));
        }
    }

    /// A job is live, or has another key than before: events of its key cancel it from here on.
    pub(super) fn can_be_cancelled(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id).filter(|job| !job.state.is_at_rest()) else { return };
        let place = job.automation;
        let rules = self.automations.get(place).and_then(|own| own.rules.clone());
        let Some(rules) = rules.filter(|rules| rules.cancellable) else { return };
        let key = match &job.key {
            Some(key) => Arc::clone(key),
            None => {
                let event = job.event.clone();
                self.key(own_key(&rules), &event)
            }
        };
        self.cannot_be_cancelled(id);
        if let Some(job) = self.jobs.get_mut(&id) {
            job.cancelled_under = Some(Arc::clone(&key));
            self.automations[place].cancellable.entry(key).or_default().insert(id);
        }
    }

    /// No event cancels a job any more.
    pub(super) fn cannot_be_cancelled(&mut self, id: JobId) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let Some(key) = job.cancelled_under.take() else { return };
        let Some(own) = self.automations.get_mut(job.automation) else { return };
        if let Some(jobs) = own.cancellable.get_mut(&key) {
            jobs.remove(&id);
            if jobs.is_empty() {
                own.cancellable.remove(&key);
            }
        }
    }

    /// The rules of an automation are others than before: its live jobs, which are these and those that rest or are held,
    /// have the keys that these say.
    pub(super) fn find_keys_anew(&mut self, place: usize, others: Vec<JobId>) {
        let own = &self.automations[place];
        let held =
            own.held.iter().flat_map(|held| held.keys(|_| true).into_iter().map(move |key| (held, key)));
        let held = held.filter_map(|(held, key)| held.held(&*key)?.first().map(|(job, _)| *job));
        let jobs: Vec<JobId> = own.parked.iter().copied().chain(held).chain(others).collect();
        for id in jobs {
            self.cannot_be_cancelled(id);
            self.can_be_cancelled(id);
        }
    }
}

/// By what one piece of the work of an automation is known from another.
fn own_key(rules: &Rules) -> &KeyTemplate {
    rules.concurrency.as_ref().map_or(&rules.hold_key, |(template, _)| template)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;
    use std::time::Duration;

    use lineside_core::flow::Debounce;
    use lineside_core::{EventId, SessionId};

    use super::super::tests::POINT;
    use super::super::{Bounds, Input, Machine, Occurrence};
    use crate::control::{Control, KeyTemplate};
    use crate::unix_micros::UnixMicros;

    thread_local!(static RENDERED: Cell<usize> = const { Cell::new(0) });

    /// An event whose key is its number.
    #[derive(Clone)]
    struct Ev(u128, SessionId);

    impl Occurrence for Ev {
        fn id(&self) -> EventId {
            EventId::from_u128(self.0)
        }

        fn session(&self) -> &SessionId {
            &self.1
        }

        fn render(&self, _: &KeyTemplate, key: &mut String) {
            RENDERED.set(RENDERED.get() + 1);
            key.push_str(&(self.0 % 1_000).to_string());
        }

        fn merge(events: &[Self]) -> Option<Self> {
            events.last().cloned()
        }
    }

    #[test]
    fn an_event_looks_at_what_it_cancels_alone() {
        let quiet = Debounce::quiet(Duration::from_secs(60));
        let control = Control { debounce: Some(quiet), ..Control::default() };
        let mut rules = control.check(&POINT, &[]).unwrap();
        rules.cancellable = true;
        let (id, rules) = (Arc::from("a"), Arc::new(rules));
        let mut machine = Machine::new(Bounds::default());
        let mut step = |input| drop(machine.step(UnixMicros::millis(1), input));
        step(Input::Registered(Arc::clone(&id), Arc::clone(&rules)));
        for number in 0..1_000 {
            step(Input::Offered(Arc::clone(&id), Ev(number, "s".into())));
        }
        RENDERED.set(0);
        step(Input::Cancelling(Arc::clone(&id), Ev(1_007, "s".into())));
        assert_eq!(RENDERED.get(), 1, "its own key");
        // With rules of other keys they are found anew, and so is what they are cancelled by.
        step(Input::Registered(Arc::clone(&id), rules));
        step(Input::Cancelling(id, Ev(1_008, "s".into())));
        assert_eq!(machine.live(), 998);
    }
}
