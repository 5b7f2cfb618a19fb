//! The work of a hook, whatever kills its process: it is done at most as often as its attempts and its restarts allow,
//! and it always comes to an end.

use std::sync::Arc;

use lineside_automation::HookId;
use lineside_automation::adopted::RESTARTS;
use lineside_automation::control::{Control, Retry, Rules, Work};
use lineside_automation::machine::job::{AttemptEnd, JobId, Settled, Why};
use lineside_automation::machine::{Awaited, Bounds, Effect, Ended, Input, JobStatus, Machine, StartedRun};
use lineside_automation::record::Record;
use lineside_automation::report::{Report, ResultRule, ResultWhen};
use lineside_automation::unix_micros::UnixMicros;
use lineside_core::FailureKind;
use lineside_core::flow::Debounce;
use proptest::prelude::*;

use crate::world::{Ev, millis, rules, session_id};

fn adopted(again: u32) -> (Arc<str>, Arc<Rules>) {
    let result = ResultRule { when: ResultWhen::Ignore, ..ResultRule::default() };
    let control = Control { retry: Retry::constant(again + 1, millis(5)), result, ..Control::default() };
    let rules = Rules { work: Work::Adopted { restarts: RESTARTS }, ..(*rules(&control)).clone() };
    let id = HookId {
        dialect: "test".to_owned(),
        content: "0".to_owned(),
        line: 1,
        file: "/hooks".to_owned(),
        trigger: "idle".to_owned(),
        name: "a".to_owned(),
    };
    (id.to_string().into(), Arc::new(rules))
}

/// What becomes of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Fails,
    Succeeds,
    /// The process is killed before the attempt has its turn.
    KillInTurn,
    /// The process is killed.
    Kill,
    /// The process is killed in the pause after it has failed.
    KillInPause,
    /// The session has no more time, and is opened again.
    Left,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        3 => Just(Fate::Fails),
        1 => Just(Fate::Succeeds),
        1 => Just(Fate::KillInTurn),
        3 => Just(Fate::Kill),
        1 => Just(Fate::KillInPause),
        1 => Just(Fate::Left),
    ]
}

/// A machine, what it has put on record, and the run that it has started last.
struct Play {
    machine: Machine<Ev>,
    records: Vec<Record<Ev>>,
    run: Option<StartedRun<Ev>>,
    now: u64,
    starts: u32,
}

impl Play {
    fn step(&mut self, input: Input<Ev>) {
        self.now += 1;
        for effect in self.machine.step(UnixMicros::millis(self.now), input) {
            match effect {
                Effect::Persist(record) => {
                    self.starts += u32::from(matches!(record, Record::Started { .. }));
                    self.records.push(record);
                }
                Effect::Start(run) => self.run = Some(run),
                _ => {}
            }
        }
    }

    /// The next life, from the records or from a snapshot of them, with the session of the job open.
    fn killed(&mut self, hook: &(Arc<str>, Arc<Rules>), compacted: bool) {
        let records = if compacted { self.machine.snapshot() } else { self.records.clone() };
        let (machine, troubles) = Machine::recover(Bounds::default(), records);
        assert!(troubles.is_empty(), "{troubles:?}");
        (self.machine, self.run) = (machine, None);
        self.step(Input::Registered(Arc::clone(&hook.0), Arc::clone(&hook.1)));
        self.step(Input::TakeUp(JobId(1)));
    }

    fn wait(&mut self) {
        self.now += 100;
        self.step(Input::Tick);
    }
}

proptest! {
    #[test]
    fn its_attempts_are_bounded_and_it_comes_to_an_end(
        again in 0_u32..4, fates in prop::collection::vec((fate(), any::<bool>()), 30)
    ) {
        let hook = adopted(again);
        let machine = Machine::new(Bounds::default());
        let mut play = Play { machine, records: Vec::new(), run: None, now: 0, starts: 0 };
        play.step(Input::Registered(Arc::clone(&hook.0), Arc::clone(&hook.1)));
        play.step(Input::Offered(Arc::clone(&hook.0), Ev::new(1, 1, 0)));
        let (mut failed, mut begun) = (0, false);
        for (fate, compacted) in fates {
            if play.run.is_none() {
                play.wait();
            }
            let Some(StartedRun { job, fence, .. }) = play.run.clone() else { break };
            if fate == Fate::KillInTurn {
                // Its turn had not come, so that nothing has run.
                let before = play.starts;
                if !begun {
                    play.killed(&hook, compacted);
                    prop_assert_eq!(play.starts, before);
                }
                continue;
            }
            if !std::mem::replace(&mut begun, true) {
                play.step(Input::Begins(job, fence));
            }
            let failure = || (FailureKind::Exit, "exit status 1".to_owned());
            match fate {
                Fate::KillInTurn => {}
                Fate::Succeeds => play.step(Input::Ended(job, fence, Ended::With(Ok(Report::success("ok"))))),
                Fate::Kill => play.killed(&hook, compacted),
                Fate::Left => {
                    play.step(Input::Ended(job, fence, Ended::Left));
                    play.run = None;
                    prop_assert_eq!(play.machine.why(job), Some(JobStatus::Parked));
                    play.step(Input::TakeUp(job));
                }
                Fate::Fails | Fate::KillInPause => {
                    failed += 1;
                    // What the hook does: it goes on while it may.
                    if failed > again {
                        play.step(Input::Ended(job, fence, Ended::With(Err(failure()))));
                    } else {
                        let (kind, detail) = failure();
                        play.step(Input::Failed(job, fence, kind, detail, millis(5)));
                        if fate == Fate::KillInPause {
                            play.killed(&hook, compacted);
                        }
                    }
                }
            }
            begun = false;
            if play.machine.is_settled(job) {
                break;
            }
        }
        prop_assert!(play.starts <= 1 + again + RESTARTS, "{} starts", play.starts);
        prop_assert!(play.machine.is_settled(JobId(1)), "{:?}", play.machine.why(JobId(1)));
    }
}

#[test]
fn it_rests_until_its_session_has_the_hook_and_dies_when_that_is_gone() {
    let hook = adopted(0);
    let machine = Machine::new(Bounds::default());
    let mut play = Play { machine, records: Vec::new(), run: None, now: 0, starts: 0 };
    play.step(Input::Registered(Arc::clone(&hook.0), Arc::clone(&hook.1)));
    play.step(Input::Offered(Arc::clone(&hook.0), Ev::new(1, 1, 0)));
    let (machine, _) = Machine::recover(Bounds::default(), play.records.clone());
    (play.machine, play.run) = (machine, None);
    play.step(Input::AllRegistered);
    play.step(Input::Registered(Arc::clone(&hook.0), Arc::clone(&hook.1)));
    play.wait();
    assert_eq!((play.machine.why(JobId(1)), play.run.clone()), (Some(JobStatus::Parked), None));
    play.step(Input::SessionEnds(session_id(1)));
    play.step(Input::SessionCut(session_id(1)));
    assert_eq!(play.machine.why(JobId(1)), Some(JobStatus::Parked));
    play.step(Input::Gone(JobId(1)));
    let Some(JobStatus::Settled { settled, .. }) = play.machine.why(JobId(1)) else { panic!("it rests") };
    assert_eq!(settled, Settled::Dead(Why::HookGone));
}

fn play(hook: &(Arc<str>, Arc<Rules>)) -> Play {
    let machine = Machine::new(Bounds::default());
    let mut play = Play { machine, records: Vec::new(), run: None, now: 0, starts: 0 };
    play.step(Input::Registered(Arc::clone(&hook.0), Arc::clone(&hook.1)));
    play.step(Input::Offered(Arc::clone(&hook.0), Ev::new(1, 1, 0)));
    play
}

#[test]
fn one_that_is_killed_is_started_again_as_often_as_it_may_be() {
    let hook = adopted(0);
    for compacted in [false, true] {
        let mut play = play(&hook);
        for kill in 0..=RESTARTS {
            let run = play.run.clone().unwrap_or_else(|| panic!("after {kill} kills it is started"));
            play.step(Input::Begins(run.job, run.fence));
            play.killed(&hook, compacted);
            if play.run.is_none() {
                play.wait();
            }
        }
        assert!(play.run.is_none());
        let standing = play.machine.why(JobId(1)).unwrap().to_string();
        assert!(standing.starts_with("dead: it was started 3 times"), "{standing}");
    }
}

#[test]
fn each_attempt_of_a_run_has_a_number_and_what_another_run_says_is_not_of_it() {
    let hook = adopted(1);
    let mut play = play(&hook);
    let StartedRun { job, fence, .. } = play.run.clone().unwrap();
    let failed = |fence| Input::Failed(job, fence, FailureKind::Exit, "exit status 1".to_owned(), millis(1));
    play.step(Input::Begins(job, fence));
    let before = play.records.len();
    play.step(failed(lineside_automation::machine::job::Fence(fence.0 + 100)));
    assert_eq!(play.records.len(), before);
    play.step(failed(fence));
    play.step(Input::Begins(job, fence));
    let fences: std::collections::HashSet<_> = play
        .records
        .iter()
        .filter_map(|record| match record {
            Record::Started { fence, .. } => Some(fence.0),
            _ => None,
        })
        .collect();
    assert_eq!(fences.len(), 2);
}

#[test]
fn what_a_hook_held_runs_in_the_next_life_when_its_session_is_there() {
    let (id, plain) = adopted(0);
    let control = Control { debounce: Some(Debounce::quiet(millis(1000))), ..Control::default() };
    let hook = (id, Arc::new(Rules { hold: rules(&control).hold, ..(*plain).clone() }));
    let mut play = play(&hook);
    play.killed(&hook, false);
    assert!(play.run.is_none(), "it is held");
    (0..20).for_each(|_| play.wait());
    assert_eq!(play.run.map(|run| run.job), Some(JobId(1)));
}

#[test]
fn what_waits_rests_when_its_session_is_cut_and_what_runs_is_left_to_it() {
    let (id, plain) = adopted(0);
    let control = Control { concurrency: Some("one".to_owned()), ..Control::default() };
    let hook = (id, Arc::new(Rules { concurrency: rules(&control).concurrency.clone(), ..(*plain).clone() }));
    let mut play = play(&hook);
    play.step(Input::Offered(Arc::clone(&hook.0), Ev::new(2, 1, 0)));
    let session = session_id(1);
    assert_eq!(play.machine.awaited(&session, Awaited::Draining), [JobId(1), JobId(2)]);
    play.step(Input::SessionEnds(session.clone()));
    let effects = play.machine.step(UnixMicros::millis(play.now), Input::SessionCut(session.clone()));
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Cancel(..))), "{effects:?}");
    assert!(matches!(play.machine.why(JobId(1)), Some(JobStatus::Turn { .. } | JobStatus::Running { .. })));
    assert_eq!(play.machine.why(JobId(2)), Some(JobStatus::Parked));
    assert_eq!(play.machine.awaited(&session, Awaited::Draining), [JobId(1)], "2 waits for its session");
    // Its run is cut without having been asked to: it is left as well.
    let run = play.run.clone().unwrap();
    play.step(Input::Ended(run.job, run.fence, Ended::Cancelled));
    assert_eq!(play.machine.why(JobId(1)), Some(JobStatus::Parked));
}

#[test]
fn a_run_that_ends_between_two_attempts_does_not_end_the_last_one_again() {
    let hook = adopted(1);
    let mut play = play(&hook);
    let StartedRun { job, fence, .. } = play.run.clone().unwrap();
    play.step(Input::Begins(job, fence));
    play.step(Input::Failed(job, fence, FailureKind::Exit, "the first".to_owned(), millis(5)));
    let before = play.records.len();
    let why = (FailureKind::Error, "no turn".to_owned());
    play.step(Input::Ended(job, fence, Ended::With(Err(why))));
    let attempts = play.machine.show(job).unwrap().attempts;
    let ends: Vec<_> = attempts.iter().map(|attempt| attempt.ended.as_ref().unwrap().1.clone()).collect();
    assert_eq!(ends, [AttemptEnd::Failed(FailureKind::Exit, "the first".to_owned())]);
    assert!(matches!(play.records[before..], [Record::Settled { .. }]), "{:?}", &play.records[before..]);
}
