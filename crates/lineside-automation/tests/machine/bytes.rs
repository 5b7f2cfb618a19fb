//! The events of jobs are bounded by bytes: too many are refused, and settled jobs are forgotten.

use std::sync::Arc;

use lineside_automation::control::{Control, OnBusy, Rate};
use lineside_automation::machine::job::{Fence, JobId, Why};
use lineside_automation::machine::{Bounds, Effect, Ended, Input, Machine, News};
use lineside_automation::record::Record;
use lineside_automation::report::{Report, ResultRule, ResultWhen};
use lineside_automation::unix_micros::UnixMicros;
use lineside_core::FailureKind;
use lineside_core::flow::Debounce;

use crate::play::name;
use crate::world::{Ev, millis, rules};

/// Room for the events of three jobs; each event weighs a hundred.
const BYTES: usize = 350;

struct World {
    machine: Machine<Ev>,
    records: Vec<Record<Ev>>,
    news: Vec<News>,
    runs: Vec<(JobId, Fence)>,
    number: u32,
}

impl World {
    fn with(control: &Control, bounds: Bounds) -> Self {
        let machine = Machine::new(Bounds { bytes: BYTES, ..bounds });
        let mut world = Self { machine, records: Vec::new(), news: Vec::new(), runs: Vec::new(), number: 0 };
        let result = ResultRule { when: ResultWhen::Ignore, ..ResultRule::default() };
        let rules = rules(&Control { result, ..control.clone() });
        world.step(Input::Registered(name(0), Arc::clone(&rules)));
        world
    }

    fn step(&mut self, input: Input<Ev>) {
        for effect in self.machine.step(UnixMicros::millis(1), input) {
            match effect {
                Effect::Persist(record) => self.records.push(record),
                Effect::Announce(told) => self.news.push(told.news),
                Effect::Start(run) => self.runs.push((run.job, run.fence)),
                _ => {}
            }
        }
    }

    /// Offers one event more; whether it was refused because there is no room.
    fn is_refused(&mut self) -> bool {
        self.number += 1;
        self.news.clear();
        self.step(Input::Offered(name(0), Ev::new(self.number, 0, 0)));
        self.news.contains(&News::Refused(Why::Full))
    }

    fn end(&mut self, succeeds: bool) {
        let (job, fence) = self.runs.remove(0);
        let failed = || Err((FailureKind::Exit, "exit status 1".to_owned()));
        let ended = if succeeds { Ok(Report::success("ok")) } else { failed() };
        self.step(Input::Ended(job, fence, Ended::With(ended)));
    }
}

#[test]
fn an_event_for_which_there_is_no_room_is_refused_told_and_counted() {
    let mut world = World::with(&Control::default(), Bounds::default());
    assert_eq!([(); 4].map(|()| world.is_refused()), [false, false, false, true]);
    assert_eq!(world.machine.refused_so_far(), 1);
    world.end(true);
    assert_eq!([(); 2].map(|()| world.is_refused()), [false, true], "what has come to rest leaves its room");
}

#[test]
fn what_is_held_and_what_is_merged_counts() {
    let debounce = Some(Debounce::quiet(millis(1_000)));
    let mut held = World::with(&Control { debounce, ..Control::default() }, Bounds::default());
    assert_eq!([(); 4].map(|()| held.is_refused()), [false, false, false, true]);
    held.step(Input::ReleaseAll);
    assert!(held.is_refused(), "it runs");
    held.end(true);
    assert!(!held.is_refused());
    let concurrency = Some("one".to_owned());
    // The run that another one takes the place of has its events until it has ended.
    for (on_busy, third) in [(OnBusy::Coalesce, false), (OnBusy::Restart, true)] {
        let control = Control { concurrency: concurrency.clone(), on_busy, ..Control::default() };
        let mut merged = World::with(&control, Bounds::default());
        assert_eq!([(); 4].map(|()| merged.is_refused()), [false, false, third, true], "{on_busy:?}");
    }
}

#[test]
fn one_event_alone_may_be_longer() {
    let mut world = World::with(&Control::default(), Bounds { bytes: 1, ..Bounds::default() });
    let all = (1..9).collect();
    world.step(Input::Offered(name(0), Ev { all, ..Ev::new(1, 0, 0) }));
    assert_eq!(world.runs.len(), 1);
    world.number = 10;
    assert!(world.is_refused());
}

#[test]
fn what_has_come_to_rest_keeps_no_more_than_there_may_be_and_the_dead_go_last() {
    let mut world = World::with(&Control::default(), Bounds::default());
    let mut dead = Vec::new();
    for succeeds in [false, true, true, true, false, false] {
        assert!(!world.is_refused());
        if !succeeds {
            dead.push(world.runs[0].0);
        }
        world.end(succeeds);
    }
    let known = |machine: &Machine<Ev>| -> Vec<u64> { machine.jobs().into_iter().map(|job| job.0).collect() };
    assert_eq!(known(&world.machine), dead.iter().map(|job| job.0).collect::<Vec<_>>());
    world.news.clear();
    assert!(!world.is_refused());
    world.end(false);
    assert!(world.news.contains(&News::Forgotten), "{:?}", world.news);
    assert_eq!((known(&world.machine), world.machine.forgotten()), (vec![5, 6, 7], 1));
    // One that is taken up again counts among the others, and what is read again is the same.
    world.step(Input::Revive(JobId(5)));
    assert_eq!([(); 3].map(|()| world.is_refused()), [false, false, true]);
    let bounds = Bounds { bytes: BYTES, ..Bounds::default() };
    for records in [world.records.clone(), world.machine.snapshot()] {
        let (mut machine, troubles) = Machine::recover(bounds, records);
        assert_eq!(
            (known(&machine).into_iter().skip_while(|job| *job < 5).collect(), troubles),
            (vec![5, 6, 7, 8, 9], vec![])
        );
        drop(machine.step(UnixMicros::millis(2), Input::Registered(name(0), rules(&Control::default()))));
        let told = machine.step(UnixMicros::millis(2), Input::Offered(name(0), Ev::new(50, 0, 0)));
        let is_refused = |effect: &Effect<Ev>| matches!(effect, Effect::Announce(told) if told.news == News::Refused(Why::Full));
        assert!(told.iter().any(is_refused));
    }
}

#[test]
fn the_keys_of_rates_have_a_bound_and_one_too_many_is_refused_until_a_period_is_over() {
    for rate in
        [Rate::new(1, millis(1000)).per("{session}"), Rate::new(1, millis(1000)).per("{session}").dropping()]
    {
        let mut machine = Machine::new(Bounds { rates: 10 * 262, ..Bounds::default() });
        let rules = rules(&Control { rate: Some(rate), ..Control::default() });
        drop(machine.step(UnixMicros::millis(1), Input::Registered(name(0), Arc::clone(&rules))));
        let mut number = 0;
        let mut accepted = |machine: &mut Machine<Ev>, at: u64| {
            let offered = (0..100).filter(|session| {
                number += 1;
                let told = machine
                    .step(UnixMicros::millis(at), Input::Offered(name(0), Ev::new(number, *session, 0)));
                let full = News::Refused(Why::Full);
                !told.into_iter().any(|effect| matches!(effect, Effect::Announce(told) if told.news == full))
            });
            offered.count()
        };
        assert_eq!(accepted(&mut machine, 2), 10);
        drop(machine.step(UnixMicros::millis(2_000), Input::Tick));
        assert_eq!(accepted(&mut machine, 2_001), 10, "those of a period that is over are forgotten");
        drop(machine.step(UnixMicros::millis(2_002), Input::Leaves(name(0))));
    }
}
