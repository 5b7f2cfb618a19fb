//! Where a job stands, in every state, for those who ask the machine that drives it and for those who only read its
//! records.

use std::sync::Arc;

use lineside_automation::control::{Control, Rate, Retry};
use lineside_automation::machine::job::{Fence, JobId, Settled, Why};
use lineside_automation::machine::{Bounds, Effect, Ended, Input, JobStatus, Machine, Progress, StartedRun};
use lineside_automation::record::Record;
use lineside_automation::report::Report;
use lineside_automation::unix_micros::UnixMicros;
use lineside_core::FailureKind;
use lineside_core::flow::Debounce;

use crate::play::name;
use crate::world::{Ev, event_id, millis, rules};

/// A machine with two turns, what it has put on record, and what it has started.
struct Asked {
    machine: Machine<Ev>,
    records: Vec<Record<Ev>>,
    runs: Vec<StartedRun<Ev>>,
    number: u32,
    now: u64,
}

impl Asked {
    fn with(controls: &[Control]) -> Self {
        let machine = Machine::new(Bounds { running: 2, ..Bounds::default() });
        let mut asked = Self { machine, records: Vec::new(), runs: Vec::new(), number: 0, now: 0 };
        for (number, control) in controls.iter().enumerate() {
            asked.step(Input::Registered(name(number), rules(control)));
        }
        asked
    }

    /// A millisecond later.
    fn step(&mut self, input: Input<Ev>) {
        self.now += 1;
        for effect in self.machine.step(UnixMicros::millis(self.now), input) {
            match effect {
                Effect::Persist(record) => self.records.push(record),
                Effect::Start(run) => self.runs.push(run),
                _ => {}
            }
        }
    }

    fn offer(&mut self, automation: usize) {
        self.number += 1;
        self.step(Input::Offered(name(automation), Ev::new(self.number, 0, 0)));
    }

    fn end(&mut self, job: u64, ended: Ended) {
        let fence = self.runs.iter().rev().find(|run| run.job.0 == job).expect("it was started").fence;
        self.step(Input::Ended(JobId(job), fence, ended));
    }

    fn why(&self, job: u64) -> JobStatus {
        self.machine.why(JobId(job)).expect("it is known")
    }

    /// What the records say of a job.
    fn progress(&self, job: u64) -> Progress {
        let (machine, troubles) = Machine::recover(Bounds::default(), self.records.clone());
        assert_eq!(troubles, []);
        machine.progress(JobId(job)).expect("it is known")
    }
}

fn at(millis: u64) -> UnixMicros {
    UnixMicros::millis(millis)
}

fn failed() -> Ended {
    Ended::With(Err((FailureKind::Exit, "exit status 1".to_owned())))
}

#[test]
fn what_is_held() {
    let debounce = Some(Debounce::quiet(millis(50)).at_most(millis(80)));
    let mut asked = Asked::with(&[Control { debounce, ..Control::default() }]);
    asked.offer(0);
    asked.offer(0);
    let standing = JobStatus::Held { until: at(53), events: 2 };
    assert_eq!((asked.why(1).to_string(), asked.why(1)), ("2 events are held".to_owned(), standing));
    assert_eq!(asked.progress(1), Progress::Held { events: 2, since: (at(2), at(3)) });
    let shown = asked.machine.show(JobId(1)).unwrap();
    assert_eq!((shown.accepted, shown.events.len()), (at(2), 1));
    let (next_life, _) = Machine::recover(Bounds::default(), asked.records);
    assert_eq!(next_life.why(JobId(1)).unwrap().to_string(), "its automation is not there");
}

#[test]
fn what_waits_for_a_rate_a_key_or_a_turn() {
    let rate = Rate::new(1, millis(100));
    let key = Control { concurrency: Some("{session}".to_owned()), ..Control::default() };
    let mut asked =
        Asked::with(&[Control { rate: Some(rate), ..Control::default() }, key, Control::default()]);
    for _ in 0..3 {
        asked.offer(0);
    }
    // The first one has started at 4.
    assert_eq!(asked.why(1), JobStatus::Running { attempt: 1, since: at(4), cancelling: false });
    assert_eq!(asked.why(2), JobStatus::Rate { until: Some(at(104)), ahead: 0 });
    assert_eq!(asked.why(3), JobStatus::Rate { until: Some(at(104)), ahead: 1 });
    assert_eq!(asked.why(3).to_string(), "waits for a start of its rate, 1 before it");
    for _ in 0..3 {
        asked.offer(1);
    }
    let waits = |ahead| JobStatus::Key { key: Arc::from("s0"), holders: vec![JobId(4)], ahead };
    assert_eq!((asked.why(5), asked.why(6)), (waits(0), waits(1)));
    assert_eq!(asked.machine.show(JobId(6)).unwrap().key.as_deref(), Some("s0"));
    asked.offer(2);
    asked.offer(2);
    assert_eq!((asked.why(7), asked.why(8)), (JobStatus::Turn { ahead: 0 }, JobStatus::Turn { ahead: 1 }));
    assert_eq!(asked.why(8).to_string(), "waits for a turn, 1 before it");
    for job in [2, 5, 7] {
        assert_eq!(asked.progress(job), Progress::Waiting);
    }
    assert_eq!(asked.progress(4), Progress::Started { at: at(7) });
    assert_eq!(asked.machine.live(), 8);
    assert_eq!(asked.machine.why(JobId(9)), None);
    assert!(asked.machine.show(JobId(9)).is_none() && asked.machine.progress(JobId(9)).is_none());
}

#[test]
fn what_runs_has_failed_or_has_come_to_rest() {
    let mut asked = Asked::with(&[Control { retry: Retry::constant(2, millis(30)), ..Control::default() }]);
    asked.offer(0);
    assert_eq!(asked.why(1).to_string(), "runs, attempt 1");
    asked.end(1, failed());
    assert_eq!(asked.why(1), JobStatus::Delayed { until: at(33), attempt: 2 });
    assert_eq!(asked.why(1).to_string(), "waits for attempt 2");
    assert_eq!(asked.progress(1), Progress::Delayed { until: at(33) });
    asked.now = 40;
    asked.step(Input::Tick);
    assert_eq!(asked.why(1), JobStatus::Running { attempt: 2, since: at(41), cancelling: false });
    assert_eq!(asked.progress(1), Progress::Started { at: at(41) });
    asked.end(1, failed());
    // The last failure is what the next model call has.
    assert_eq!(asked.why(1), JobStatus::Delivering);
    assert_eq!(asked.progress(1), Progress::Delivering);
    asked.step(Input::Delivered(JobId(1)));
    let why = Why::Failed { attempts: 2, kind: FailureKind::Exit, detail: "exit status 1".to_owned() };
    assert_eq!(asked.why(1).to_string(), "dead: it failed 2 times, at last (exit): exit status 1");
    assert_eq!(asked.progress(1), Progress::Settled { settled: Settled::Dead(why), at: at(43) });
    assert_eq!(asked.machine.dead_letters().collect::<Vec<_>>(), [JobId(1)]);
    asked.offer(0);
    asked.end(2, Ended::With(Ok(Report::success("ok"))));
    assert_eq!(asked.why(2).to_string(), "done");
    assert_eq!(asked.progress(2), Progress::Settled { settled: Settled::Done, at: at(45) });
    asked.offer(0);
    asked.step(Input::Drop(JobId(3)));
    assert_eq!(asked.why(3).to_string(), "attempt 1 is being cancelled");
    asked.end(3, Ended::Cancelled);
    assert_eq!(asked.why(3).to_string(), "cancelled: a person dropped it");
    let settled = Settled::Cancelled(Why::Person);
    assert_eq!(asked.progress(3), Progress::Settled { settled, at: at(48) });
    assert!([1, 2, 3, 4].iter().all(|job| asked.machine.is_settled(JobId(*job))));
    assert_eq!(asked.machine.live(), 0);
}

#[test]
fn each_reason_says_what_has_happened() {
    let failed =
        |attempts| Why::Failed { attempts, kind: FailureKind::Exit, detail: "exit status 1".to_owned() };
    let event = event_id(7);
    let cancelled = format!("event {event} cancelled it");
    let all = [
        (Why::Full, "there are as many jobs as there may be, or their events are too long"),
        (Why::Unregistered, "there is no such automation"),
        (Why::Rate, "its rate allows no further start now"),
        (Why::Duplicate, "the automation has had the event before"),
        (Why::Busy, "its key was taken"),
        (Why::Coalesced(JobId(2)), "it was merged into job 2"),
        (Why::Restarted(JobId(3)), "job 3 took its place, with its events"),
        (Why::Event(event), cancelled.as_str()),
        (Why::SessionEnded, "its session ended"),
        (Why::BusEnded, "the bus ended, and there is no journal that keeps it"),
        (Why::Person, "a person dropped it"),
        (failed(0), "it never started (exit): exit status 1"),
        (failed(1), "it failed (exit): exit status 1"),
        (failed(2), "it failed 2 times, at last (exit): exit status 1"),
        (Why::HookGone, "its hook was removed, or is not what it was"),
        (Why::Lost { attempts: 2 }, "it was started 2 times, and its process did not live to end it"),
    ];
    for (why, says) in all {
        assert_eq!(why.to_string(), says);
    }
}

/// The numbers of runs grow, and an end with the number of another one changes nothing.
#[test]
fn a_run_has_a_number_of_its_own() {
    let mut asked = Asked::with(&[Control { retry: Retry::constant(3, millis(0)), ..Control::default() }]);
    asked.offer(0);
    asked.end(1, failed());
    asked.step(Input::Tick);
    let fences: Vec<Fence> = asked.runs.iter().map(|run| run.fence).collect();
    assert!(fences.is_sorted_by(|one, other| one < other) && fences.len() == 2, "{fences:?}");
    let before = asked.why(1);
    asked.step(Input::Ended(JobId(1), fences[0], Ended::With(Ok(Report::success("late")))));
    assert_eq!(asked.why(1), before);
}
