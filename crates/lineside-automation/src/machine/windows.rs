//! What is kept with other machines: the windows in which events are held together, and the starts of rates. Here it is known
//! what this machine has of them; when a window is over and whether a rate has room is decided elsewhere.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use lineside_core::EventId;

use super::job::{AutomationId, JobId, Stage, State, Why};
use super::{Effect, Machine, Occurrence};
use crate::control::{Excess, Hold, Rate, Scope};

/// What this machine has in a window of the cluster.
pub(crate) struct Window<'a, E> {
    pub(crate) hold: Hold,
    pub(crate) events: &'a [(JobId, E)],
    /// It is to be over as soon as it can be.
    pub(crate) closes: bool,
}

impl<E: Occurrence> Machine<E> {
    /// Windows and rates with the scope of the cluster are kept with the other machines from now on.
    pub(crate) fn share_windows(&mut self) {
        self.sharing.windows = true;
    }

    pub(super) fn shares_window(&self, place: usize) -> bool {
        let rules = self.automations.get(place).and_then(|own| own.rules.as_deref());
        self.sharing.windows
            && rules.and_then(|rules| rules.hold).is_some_and(|hold| hold.scope == Scope::Cluster)
    }

    pub(super) fn shares(&self, rate: &Rate) -> bool {
        self.sharing.windows && rate.scope == Scope::Cluster
    }

    /// Something has come into a window of the cluster, or it is to be over.
    pub(super) fn tell_of_window(&mut self, place: usize, window: &Arc<str>) {
        let automation = self.automation_id(place);
        self.effects.push(Effect::Window(automation, Arc::clone(window)));
    }

    /// Has a window of the cluster be over as soon as it can be.
    pub(super) fn close_soon(&mut self, place: usize, window: &Arc<str>) {
        if self.sharing.closing.insert((place, Arc::clone(window))) {
            self.tell_of_window(place, window);
        }
    }

    /// What is held here in a window; `None` where that is nothing, or its automation is gone.
    pub(crate) fn window(&self, id: &AutomationId, window: &Arc<str>) -> Option<Window<'_, E>> {
        let place = *self.names.get(id)?;
        let hold = self.rules(place)?.hold?;
        let events = self.automations.get(place)?.held.as_ref()?.held(&**window)?;
        let closes = self.sharing.closing.contains(&(place, Arc::clone(window)));
        self.shares_window(place).then_some(Window { hold, events, closes })
    }

    /// This machine has a window, of which these are the events of all machines, in order: they become one job, for the last
    /// event of this machine.
    pub(super) fn close_shared(&mut self, id: &AutomationId, window: &Arc<str>, all: Vec<E>) {
        let known = self.names.get(id).and_then(|place| Some((*place, self.rules(*place)?)));
        let Some((place, rules)) = known else { return };
        self.sharing.closing.remove(&(place, Arc::clone(window)));
        let held = self.automations[place].held.as_mut();
        let Some(own) = held.and_then(|held| held.take_if(&**window, |_| true)) else { return };
        let Some(job) = own.first().map(|(job, _)| *job) else { return };
        let mut places: HashMap<_, _> = own.iter().zip(0..).map(|((_, own), at)| (own.id(), at)).collect();
        let mut own: Vec<_> = own.into_iter().map(Some).collect();
        let (mut events, mut last) = (Vec::with_capacity(all.len() + own.len()), None);
        for event in all {
            let at: Option<usize> = places.remove(&event.id());
            match at.and_then(|at| own.get_mut(at)?.take()) {
                Some(own) => {
                    last = Some(events.len());
                    events.push(own);
                }
                None => events.push((job, event)),
            }
        }
        // Others have come here since, or the last one of this machine was not that of the window.
        match last {
            Some(last) if places.is_empty() => {
                let last = events.remove(last);
                events.push(last);
            }
            _ => events.extend(own.into_iter().flatten()),
        }
        self.close(place, events, &rules);
    }

    /// These events of a window are another machine's: they run there.
    pub(super) fn elsewhere(&mut self, id: &AutomationId, window: &Arc<str>, gone: &[EventId]) {
        let Some(place) = self.names.get(id).copied() else { return };
        let Some(held) = self.automations[place].held.as_mut() else { return };
        let Some((job, _)) = held.held(&**window).and_then(|held| held.first()).cloned() else { return };
        let gone: HashSet<_> = gone.iter().collect();
        held.retain(&**window, |(_, event)| !gone.contains(&event.id()));
        let left: Vec<E> =
            held.held(&**window).unwrap_or_default().iter().map(|(_, event)| event.clone()).collect();
        let Some((first, more)) = left.split_first() else {
            self.sharing.closing.remove(&(place, Arc::clone(window)));
            return self.cancel(job, Why::Elsewhere);
        };
        self.set_event(job, first.clone(), Vec::new());
        more.iter().for_each(|event| self.weigh_more(job, event));
    }

    /// The rate of the cluster for which jobs wait, if some do.
    pub(crate) fn waits_for_rate(&self, id: &AutomationId, key: &Arc<str>) -> Option<Rate> {
        let place = *self.names.get(id)?;
        let rate = self.rules(place)?.rate.as_ref().map(|(rate, _)| rate.clone())?;
        let waiting = &self.automations.get(place)?.rates.get(key)?.waiting;
        (!self.has_ended && !waiting.is_empty() && self.shares(&rate)).then_some(rate)
    }

    /// Whether the cluster has let in a start of a rate: the first that waits for it goes on, or is dropped.
    pub(super) fn let_in(&mut self, id: &AutomationId, key: &Arc<str>, is_in: bool) {
        let known = self.names.get(id).and_then(|place| Some((*place, self.rules(*place)?)));
        let Some((place, rules)) = known else { return };
        let Some(state) = self.automations[place].rates.get_mut(key) else { return };
        let Some(next) = state.waiting.first().copied() else { return };
        if !is_in {
            if rules.rate.as_ref().is_some_and(|(rate, _)| rate.excess == Excess::Drop) {
                self.cancel(next.1, Why::Rate);
            }
            return;
        }
        state.waiting.remove(&next);
        state.admitted += 1;
        if let Some(job) = self.jobs.get_mut(&next.1) {
            debug_assert_eq!(job.state, State::Waiting(Stage::Rate), "it waits");
            job.admitted = true;
        }
        self.queue_for_key(next.1, &rules);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lineside_core::flow::Debounce;
    use lineside_core::{EventId, SessionId};

    use super::super::tests::POINT;
    use super::super::{Bounds, Input};
    use super::*;
    use crate::control::{Control, KeyTemplate};
    use crate::machine::job::Settled;
    use crate::record::Record;
    use crate::unix_micros::UnixMicros;

    /// What several come to is their numbers in order.
    #[derive(Debug, Clone, PartialEq)]
    struct Ev(u128, Vec<u128>, SessionId);

    impl Occurrence for Ev {
        fn id(&self) -> EventId {
            EventId::from_u128(self.0)
        }

        fn session(&self) -> &SessionId {
            &self.2
        }

        fn render(&self, template: &KeyTemplate, key: &mut String) {
            key.push_str(template.text());
        }

        fn weight(&self) -> usize {
            1
        }

        fn merge(events: &[Self]) -> Option<Self> {
            let all = events.iter().flat_map(|event| event.1.clone()).collect();
            events.last().map(|last| Self(last.0, all, last.2.clone()))
        }
    }

    fn ev(number: u128) -> Ev {
        Ev(number, vec![number], "s".into())
    }

    fn id(number: u128) -> EventId {
        EventId::from_u128(number)
    }

    /// A machine that holds these events in a window of the cluster.
    fn holds(control: &Control, events: &[u128]) -> (Machine<Ev>, Vec<Effect<Ev>>) {
        let (mut machine, mut effects) = (Machine::new(Bounds::default()), Vec::new());
        machine.share_windows();
        let rules = Arc::new(control.check(&POINT, &[]).unwrap());
        let mut step = |input| effects.extend(machine.step(UnixMicros::millis(1), input));
        step(Input::Registered("a".into(), rules));
        events.iter().for_each(|event| step(Input::Offered("a".into(), ev(*event))));
        (machine, effects)
    }

    fn debounced() -> Control {
        let debounce = Some(Debounce::quiet(Duration::from_millis(10)));
        Control { debounce, hold_scope: Scope::Cluster, ..Control::default() }
    }

    fn accepted(effects: &[Effect<Ev>]) -> Option<(Ev, Vec<EventId>)> {
        effects.iter().find_map(|effect| match effect {
            Effect::Persist(Record::Accepted { event, ids, .. }) => Some((event.clone(), ids.clone())),
            _ => None,
        })
    }

    #[test]
    fn a_window_of_the_cluster_is_not_over_by_the_clock_of_this_machine_and_is_one_job_for_all_events() {
        for (all, run) in [
            // Its own is the last.
            (vec![7, 1, 8, 2], vec![7, 1, 8, 2]),
            // The last of its own is what it is for.
            (vec![7, 1, 2, 8], vec![7, 1, 8, 2]),
            // What has come since is the last.
            (vec![1, 7], vec![1, 7, 2]),
            (vec![], vec![1, 2]),
        ] {
            let (mut machine, effects) = holds(&debounced(), &[1, 2]);
            let told = effects.iter().filter(|effect| matches!(effect, Effect::Window(..))).count();
            assert_eq!(told, 2, "each event is told of");
            let window = Arc::from("*");
            assert!(machine.step(UnixMicros::millis(60_000), Input::Tick).is_empty());
            assert_eq!(machine.window(&"a".into(), &window).map(|held| held.events.len()), Some(2));
            let others = all.iter().map(|number| ev(*number)).collect();
            let effects =
                machine.step(UnixMicros::millis(2), Input::Close("a".into(), Arc::clone(&window), others));
            let ids = run.iter().map(|number| id(*number)).collect();
            assert_eq!(accepted(&effects), Some((Ev(2, run.clone(), "s".into()), ids)), "{all:?}");
            assert!(machine.window(&"a".into(), &window).is_none());
        }
    }

    #[test]
    fn what_another_machine_runs_for_is_over_here_and_what_came_since_is_held_on() {
        let window = Arc::from("*");
        let elsewhere = |machine: &mut Machine<Ev>, gone: &[u128]| {
            let gone = gone.iter().map(|number| id(*number)).collect();
            machine.step(UnixMicros::millis(2), Input::Elsewhere("a".into(), Arc::clone(&window), gone))
        };
        let own = |machine: &Machine<Ev>| {
            let held = machine.window(&"a".into(), &window)?;
            Some(held.events.iter().map(|(_, event)| event.0).collect::<Vec<_>>())
        };
        let begun = || {
            let (mut machine, _) = holds(&debounced(), &[1, 2, 3]);
            let job = machine.window(&"a".into(), &window).unwrap().events[0].0;
            // The first one, for which the job was made, is among what is gone.
            assert!(elsewhere(&mut machine, &[1, 7]).is_empty());
            assert_eq!((own(&machine), machine.size_of(job)), (Some(vec![2, 3]), (0, 2)));
            machine
        };
        let close = Input::Close("a".into(), Arc::clone(&window), Vec::new());
        let effects = begun().step(UnixMicros::millis(2), close);
        assert_eq!(accepted(&effects), Some((Ev(3, vec![2, 3], "s".into()), vec![id(2), id(3)])));
        let mut machine = begun();
        let effects = elsewhere(&mut machine, &[2, 3]);
        let settled = |effect: &Effect<Ev>| match effect {
            Effect::Persist(Record::Settled { settled, .. }) => Some(settled.clone()),
            _ => None,
        };
        assert_eq!(effects.iter().find_map(settled), Some(Settled::Cancelled(Why::Elsewhere)));
        assert!(elsewhere(&mut machine, &[3]).is_empty());
        assert_eq!((own(&machine), machine.live()), (None, 0));
    }

    #[test]
    fn the_end_of_a_session_has_the_window_be_over_and_the_end_of_the_bus_leaves_it_on_record() {
        let window = Arc::from("*");
        let closes = |machine: &Machine<Ev>| machine.window(&"a".into(), &window).map(|held| held.closes);
        let (mut machine, _) = holds(&debounced(), &[1]);
        assert_eq!(closes(&machine), Some(false));
        let effects = machine.step(UnixMicros::millis(2), Input::SessionEnds("s".into()));
        assert!(effects.contains(&Effect::Window("a".into(), Arc::clone(&window))), "{effects:?}");
        assert_eq!(closes(&machine), Some(true));
        let (mut machine, _) = holds(&debounced(), &[1]);
        let remains = super::super::UnfinishedJobs::OnRecord;
        assert!(machine.step(UnixMicros::millis(2), Input::BusEnds(remains)).is_empty());
        assert_eq!((closes(&machine), machine.under_way().len()), (Some(false), 0));
    }

    #[test]
    fn a_start_of_a_rate_of_the_cluster_waits_until_it_is_let_in_and_is_dropped_where_it_is_not() {
        let rate = Rate::new(1, Duration::from_secs(60)).across_cluster();
        for rate in [rate.clone(), rate.dropping()] {
            let drops = rate.excess == Excess::Drop;
            let (mut machine, effects) = holds(&Control { rate: Some(rate), ..Control::default() }, &[1, 2]);
            let key = Arc::from("*");
            assert!(effects.contains(&Effect::Rate("a".into(), Arc::clone(&key))), "{effects:?}");
            assert!(!effects.iter().any(|effect| matches!(effect, Effect::Start(_))), "{effects:?}");
            let mut let_in = |is_in| {
                machine.step(UnixMicros::millis(2), Input::LetIn("a".into(), Arc::clone(&key), is_in))
            };
            let started =
                |effects: &[Effect<Ev>]| effects.iter().any(|effect| matches!(effect, Effect::Start(_)));
            assert!(started(&let_in(true)));
            assert!(!started(&let_in(false)));
            assert_eq!(machine.live(), if drops { 1 } else { 2 });
            assert_eq!(machine.waits_for_rate(&"a".into(), &key).is_some(), !drops);
        }
    }
}
