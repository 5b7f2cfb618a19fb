//! Runs that have their turns elsewhere: an attempt counts when its turn has come, or when it fails without.

use std::sync::Arc;

use lineside_automation::control::{Control, Retry, Rules, Work};
use lineside_automation::machine::job::{AttemptEnd, JobId, Settled, Why};
use lineside_automation::machine::{Bounds, Effect, Ended, Input, JobStatus, Machine, News, StartedRun};
use lineside_automation::record::Record;
use lineside_automation::report::{ResultRule, ResultWhen};
use lineside_automation::unix_micros::UnixMicros;
use lineside_core::FailureKind;

use crate::play::name;
use crate::world::{Ev, millis, rules};

/// A machine with one automation of two attempts, and what it has put on record.
struct Life {
    machine: Machine<Ev>,
    records: Vec<Record<Ev>>,
    runs: Vec<StartedRun<Ev>>,
    news: Vec<News>,
    now: u64,
}

impl Life {
    fn after(records: Vec<Record<Ev>>) -> Self {
        let result = ResultRule { when: ResultWhen::Ignore, ..ResultRule::default() };
        let control = Control { retry: Retry::constant(2, millis(0)), result, ..Control::default() };
        let rules = Rules { work: Work::ExternalSlot, ..(*rules(&control)).clone() };
        let (machine, troubles) = Machine::recover(Bounds::default(), records.clone());
        assert_eq!(troubles, []);
        let mut life = Self { machine, records, runs: Vec::new(), news: Vec::new(), now: 0 };
        life.step(Input::Registered(name(0), Arc::new(rules)));
        life
    }

    fn step(&mut self, input: Input<Ev>) {
        self.now += 1;
        for effect in self.machine.step(UnixMicros::millis(self.now), input) {
            match effect {
                Effect::Persist(record) => self.records.push(record),
                Effect::Start(run) => self.runs.push(run),
                Effect::Announce(told) => self.news.push(told.news),
                _ => {}
            }
        }
    }

    fn begins(&mut self) {
        let run = self.runs.last().expect("it runs");
        self.step(Input::Begins(run.job, run.fence));
    }

    fn fails(&mut self) {
        let run = self.runs.last().expect("it runs");
        let failed = Ended::With(Err((FailureKind::Exit, "exit status 1".to_owned())));
        self.step(Input::Ended(run.job, run.fence, failed));
    }

    fn attempts(&self) -> Vec<Option<AttemptEnd>> {
        let shown = self.machine.show(JobId(1)).expect("it is known");
        shown.attempts.into_iter().map(|attempt| attempt.ended.map(|(_, end)| end)).collect()
    }

    fn settled(&self) -> Option<Settled> {
        match self.machine.why(JobId(1)) {
            Some(JobStatus::Settled { settled, .. }) => Some(settled),
            _ => None,
        }
    }
}

fn offered() -> Life {
    let mut life = Life::after(Vec::new());
    life.step(Input::Offered(name(0), Ev::new(1, 1, 0)));
    life
}

#[test]
fn a_kill_before_the_turn_counts_for_nothing() {
    let mut life = offered();
    for kills in 0..5 {
        assert_eq!((life.runs.len(), life.runs[0].attempt), (1, 1), "after {kills} kills");
        assert_eq!(life.machine.why(JobId(1)), Some(JobStatus::Turn { ahead: 0 }));
        assert_eq!(life.attempts(), []);
        let records = if kills % 2 == 0 { life.records } else { life.machine.snapshot() };
        life = Life::after(records);
    }
}

#[test]
fn a_kill_after_the_turn_has_come_counts() {
    let mut life = offered();
    for attempt in 1..=2 {
        life.begins();
        assert!(life.news.contains(&News::Started(attempt)), "{:?}", life.news);
        assert_eq!(life.attempts(), vec![None; attempt as usize]);
        life = Life::after(life.records);
    }
    assert_eq!(life.settled(), Some(Settled::Dead(Why::Lost { attempts: 2 })));
    assert_eq!(life.runs, []);
}

#[test]
fn one_that_fails_before_its_turn_has_failed_and_leaves_the_attempt_before_it_alone() {
    let mut life = offered();
    life.begins();
    life = Life::after(life.records);
    life.step(Input::Tick);
    // The second attempt fails without a turn; the first one never ended.
    life.fails();
    assert_eq!(
        life.attempts(),
        [None, Some(AttemptEnd::Failed(FailureKind::Exit, "exit status 1".to_owned()))]
    );
    assert!(matches!(life.settled(), Some(Settled::Dead(Why::Failed { attempts: 2, .. }))));
    // What is on record says the same.
    assert_eq!(Life::after(life.records.clone()).attempts(), life.attempts());
    assert!(!life.news.contains(&News::Started(2)), "it never started");
}

#[test]
fn what_says_that_it_begins_and_may_not_is_stale() {
    let mut life = offered();
    let run = life.runs[0].clone();
    life.fails();
    life.news.clear();
    life.step(Input::Begins(run.job, run.fence));
    assert_eq!((life.news.as_slice(), life.attempts().len()), ([News::Stale].as_slice(), 1));
}
