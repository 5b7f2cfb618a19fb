//! What the machine says to the engine alone, and what it keeps of what is over: nothing.

use std::sync::Arc;
use std::time::Duration;

use lineside_core::flow::Debounce;
use lineside_core::point::{PointRole, Slot};
use lineside_core::{EventId, Phase, PointInfo, SessionId};

use super::job::{ClaimId, Fence, Job, JobId, Parked, Settled, State, Why};
use super::{Bounds, Effect, Ended, Input, JobStatus, JobSummary, Machine, Occurrence};
use crate::control::{Control, KeyTemplate, OnBusy, Rate, Rules};
use crate::record::Record;
use crate::report::Report;
use crate::unix_micros::UnixMicros;

/// An event of a session, which takes no more room than it says: none.
#[derive(Clone)]
struct Ev(u128, SessionId);

impl Occurrence for Ev {
    fn id(&self) -> EventId {
        EventId::from_u128(self.0)
    }

    fn session(&self) -> &SessionId {
        &self.1
    }

    fn render(&self, template: &KeyTemplate, key: &mut String) {
        key.push_str(template.text());
    }

    fn merge(events: &[Self]) -> Option<Self> {
        events.last().cloned()
    }
}

pub(super) static POINT: PointInfo = PointInfo {
    name: "after_tool_batch",
    phase: Phase::After,
    role: PointRole::None,
    slot: Slot::Declared,
    fields: &[],
    decode: |_, _| unreachable!("nothing is decoded here"),
};

const HOOK: &str = "foreign:test:0:1:/hooks/idle/a";

fn ev(number: u128) -> Ev {
    Ev(number, "s".into())
}

fn rules(control: &Control) -> Arc<Rules> {
    Arc::new(control.check(&POINT, &[]).unwrap())
}

fn keyed() -> Control {
    Control { concurrency: Some("one".to_owned()), ..Control::default() }
}

fn step(machine: &mut Machine<Ev>, millis: u64, input: Input<Ev>) {
    drop(machine.step(UnixMicros::millis(millis), input));
}

fn machine(control: &Control, bounds: Bounds) -> Machine<Ev> {
    let mut machine = Machine::new(bounds);
    step(&mut machine, 0, Input::Registered("a".into(), rules(control)));
    machine
}

/// Ends the run of a job well.
fn ends(machine: &mut Machine<Ev>, millis: u64, job: u64) {
    let State::Running(fence, _) = machine.jobs[&JobId(job)].state else { panic!("job {job} does not run") };
    step(machine, millis, Input::Ended(JobId(job), fence, Ended::With(Ok(Report::success("ok")))));
}

fn accepted(job: u64, automation: &str) -> Record<Ev> {
    Record::Accepted {
        job: JobId(job),
        automation: automation.into(),
        event: ev(u128::from(job)),
        ids: Vec::new(),
        key: None,
        lane: None,
        rate: None,
        restarts: None,
        at: UnixMicros(1),
    }
}

fn settled(job: u64, settled: Settled) -> Record<Ev> {
    Record::Settled { job: JobId(job), at: UnixMicros(2), settled, hand_over: None }
}

fn recovered(records: impl IntoIterator<Item = Record<Ev>>) -> Machine<Ev> {
    let (machine, troubles) = Machine::recover(Bounds::default(), records);
    assert_eq!(troubles, []);
    machine
}

#[test]
fn an_automation_is_there_with_its_rules_until_it_leaves() {
    let (own, others) = (rules(&Control::default()), rules(&keyed()));
    let id = Arc::from("a");
    let mut machine = Machine::new(Bounds::default());
    assert!(!machine.is_there(&id) && !machine.is_paced(&id, &own));
    step(&mut machine, 0, Input::Registered("a".into(), Arc::clone(&own)));
    step(&mut machine, 0, Input::AllRegistered);
    assert!(machine.is_there(&id) && machine.is_paced(&id, &own));
    assert!(!machine.is_paced(&id, &others));
    step(&mut machine, 1, Input::SwitchedOff("a".into(), true));
    assert!(!machine.is_paced(&id, &own), "its next registration says that it is on");
    step(&mut machine, 1, Input::SwitchedOff("a".into(), false));
    step(&mut machine, 1, Input::Offered("a".into(), ev(1)));
    step(&mut machine, 1, Input::Leaves("a".into()));
    assert!(!machine.is_there(&id) && !machine.is_paced(&id, &own), "its last job runs");
}

#[test]
fn what_rests_is_counted_by_why_it_does() {
    let window = Arc::from("w");
    let held =
        Record::Held { job: JobId(5), automation: "c".into(), window, event: ev(5), at: UnixMicros(1) };
    let all = [accepted(1, "a"), accepted(2, "a"), accepted(3, "b"), accepted(4, HOOK), held];
    let mut machine = recovered(all);
    assert_eq!((machine.switched_off_jobs(), machine.of_hooks()), (0, 1));
    for id in ["a", HOOK] {
        step(&mut machine, 3, Input::SwitchedOff(id.into(), true));
    }
    assert_eq!((machine.switched_off_jobs(), machine.of_hooks()), (2, 1));
    assert_eq!(machine.why(JobId(1)), Some(JobStatus::Off));
    assert_eq!(machine.why(JobId(5)), Some(JobStatus::Parked), "its automation is not there");
    step(&mut machine, 4, Input::SwitchedOff("a".into(), false));
    assert_eq!(machine.switched_off_jobs(), 0);
}

#[test]
fn a_snapshot_has_the_unsettled_and_the_dead() {
    let dead = settled(3, Settled::Dead(Why::HookGone));
    let all = [accepted(1, "a"), accepted(2, "a"), accepted(3, "a"), accepted(4, "a"), dead];
    let machine = recovered(all.into_iter().chain([settled(4, Settled::Done)]));
    assert_eq!(machine.kept(), 3);
    assert_eq!(machine.snapshot().iter().filter(|record| matches!(record, Record::Job { .. })).count(), 3);
    assert_eq!(machine.sessions().collect::<Vec<_>>(), [&SessionId::from("s")]);
    assert!(machine.has_work(&"s".into()) && !machine.has_work(&"other".into()));
}

#[test]
fn an_end_that_is_on_record_twice_is_one() {
    let twice = [settled(1, Settled::Done), settled(1, Settled::Done)];
    let all = [accepted(1, "a"), accepted(2, "a")].into_iter().chain(twice);
    for finished in [0, 1] {
        let (machine, troubles) = Machine::recover(Bounds { finished, ..Bounds::default() }, all.clone());
        assert_eq!((machine.live(), machine.finished.len(), troubles), (1, finished, vec![]));
    }
}

#[test]
fn events_without_weight_take_no_room() {
    let mut machine = machine(&keyed(), Bounds { bytes: 0, ..Bounds::default() });
    for number in 1..=3 {
        step(&mut machine, 1, Input::Offered("a".into(), ev(number)));
    }
    assert_eq!((machine.live(), machine.refused_so_far()), (3, 0));
    let revived = Record::Revived { job: JobId(1), at: UnixMicros(3) };
    let machine = recovered([accepted(1, "a"), settled(1, Settled::Dead(Why::HookGone)), revived]);
    assert_eq!(machine.why(JobId(1)), Some(JobStatus::Parked));
}

#[test]
fn nothing_is_kept_of_keys_rates_and_names_that_are_over() {
    let control = Control { rate: Some(Rate::new(1, Duration::from_secs(1))), ..keyed() };
    let mut machine = machine(&control, Bounds { finished: 1, ..Bounds::default() });
    step(&mut machine, 1, Input::Offered("a".into(), ev(1)));
    ends(&mut machine, 2, 1);
    assert!(machine.keys.is_empty());
    assert_eq!(machine.automations[0].rates.len(), 1, "the start counts");
    step(&mut machine, 2_000, Input::Tick);
    assert!(machine.automations[0].rates.is_empty());
    step(&mut machine, 2_001, Input::Leaves("a".into()));
    assert!(machine.names.contains_key("a"), "its job is shown by its name");
    step(&mut machine, 2_002, Input::Registered("b".into(), rules(&Control::default())));
    step(&mut machine, 2_003, Input::Offered("b".into(), ev(2)));
    ends(&mut machine, 2_004, 2);
    assert_eq!(machine.names.keys().collect::<Vec<_>>(), [&Arc::from("b")]);
    assert_eq!(machine.free, [0]);
}

const FILE: &str = "native:/p/hooks.yaml/after_tool_batch/a";

/// Rules of one start an hour.
fn hourly() -> Arc<Rules> {
    rules(&Control { rate: Some(Rate::new(1, Duration::from_secs(3_600))), ..Control::default() })
}

#[test]
fn the_rate_of_an_automation_of_a_file_goes_on_when_it_comes_back() {
    for id in [FILE, "s/after_tool_batch/a", "attached:s/after_tool_batch/a", "after_tool_batch/a"] {
        let mut machine = Machine::new(Bounds { finished: 0, ..Bounds::default() });
        step(&mut machine, 1, Input::Registered(id.into(), hourly()));
        step(&mut machine, 1, Input::Offered(id.into(), ev(1)));
        ends(&mut machine, 2, 1);
        let told = machine.step(UnixMicros::millis(3), Input::Leaves(id.into()));
        assert!(told.iter().any(|effect| matches!(effect, Effect::Gone(gone) if **gone == *id)), "{id}");
        step(&mut machine, 4, Input::Offered(id.into(), ev(2)));
        assert_eq!(machine.refused_so_far(), 1, "it is not there");
        step(&mut machine, 5, Input::Registered(id.into(), hourly()));
        step(&mut machine, 5, Input::Offered(id.into(), ev(3)));
        let waits = matches!(machine.why(JobId(2)), Some(JobStatus::Rate { .. }));
        assert_eq!(waits, id == FILE, "{id}: {:?}", machine.why(JobId(2)));
    }
}

#[test]
fn the_rate_of_an_automation_that_has_gone_is_kept_for_its_period() {
    let mut machine = Machine::new(Bounds { finished: 0, ..Bounds::default() });
    step(&mut machine, 1, Input::Registered(FILE.into(), hourly()));
    step(&mut machine, 1, Input::Offered(FILE.into(), ev(1)));
    ends(&mut machine, 2, 1);
    step(&mut machine, 3, Input::Leaves(FILE.into()));
    assert_eq!((machine.snapshot().len(), machine.names.len()), (2, 1), "the numbers, and the start");
    step(&mut machine, 3_600_002, Input::Tick);
    assert_eq!((machine.snapshot().len(), machine.names.len(), &*machine.free), (1, 0, &[0][..]));
    assert_eq!(machine.weights.rates, 0);
}

/// The rules that are kept with a rate say nothing else.
#[test]
fn a_job_that_is_taken_up_while_its_automation_is_away_waits_for_it_beyond_the_end_of_its_session() {
    let mut machine = Machine::new(Bounds::default());
    step(&mut machine, 1, Input::Registered(FILE.into(), hourly()));
    step(&mut machine, 1, Input::Offered(FILE.into(), ev(1)));
    let State::Running(fence, _) = machine.jobs[&JobId(1)].state else { panic!("it does not run") };
    let failed = Ended::With(Err((lineside_core::FailureKind::Error, "no".to_owned())));
    step(&mut machine, 2, Input::Ended(JobId(1), fence, failed));
    step(&mut machine, 2, Input::Delivered(JobId(1)));
    step(&mut machine, 3, Input::Leaves(FILE.into()));
    step(&mut machine, 4, Input::Revive(JobId(1)));
    step(&mut machine, 5, Input::SessionEnds("s".into()));
    step(&mut machine, 1_000_000, Input::Tick);
    assert_eq!(machine.why(JobId(1)), Some(JobStatus::Parked));
}

#[test]
fn a_rate_on_record_is_kept_for_the_automation_that_comes_late_or_for_thirty_days() {
    let starts = |automation: &str, rate: &str| Record::<Ev>::Starts {
        automation: automation.into(),
        rate: rate.into(),
        starts: [UnixMicros::millis(1)].into(),
    };
    let all = [starts(FILE, "*"), starts(FILE, "other"), starts("s/after_tool_batch/a", "*")];
    let mut machine = recovered(all);
    step(&mut machine, 2, Input::AllRegistered);
    assert_eq!(machine.names.keys().collect::<Vec<_>>(), [&Arc::from(FILE)]);
    let snapshot = machine.snapshot();
    step(&mut machine, 3, Input::Registered(FILE.into(), hourly()));
    step(&mut machine, 3, Input::Offered(FILE.into(), ev(1)));
    assert!(matches!(machine.why(JobId(1)), Some(JobStatus::Rate { .. })), "{:?}", machine.why(JobId(1)));
    step(&mut machine, 3_600_001, Input::Tick);
    let rates = machine.automations[0].rates.keys().collect::<Vec<_>>();
    assert_eq!(rates, [&Arc::from("*")], "the job that waited has started, the other key is forgotten");

    let mut machine = recovered(snapshot);
    step(&mut machine, 2, Input::AllRegistered);
    step(&mut machine, 30 * 24 * 3_600_000, Input::Tick);
    assert_eq!(machine.names.len(), 1);
    step(&mut machine, 30 * 24 * 3_600_000 + 1, Input::Tick);
    assert_eq!((machine.names.len(), machine.weights.rates), (0, 0));
}

#[test]
fn rules_without_a_rate_let_in_what_waited_for_one_and_keep_nothing_of_it() {
    let rated = Control { rate: Some(Rate::new(1, Duration::from_secs(1))), ..Control::default() };
    let mut machine = machine(&rated, Bounds::default());
    for number in 1..=3 {
        step(&mut machine, 1, Input::Offered("a".into(), ev(number)));
    }
    assert!(matches!(machine.why(JobId(3)), Some(JobStatus::Rate { ahead: 1, .. })));
    step(&mut machine, 2, Input::Registered("a".into(), rules(&Control::default())));
    for job in 1..=3 {
        ends(&mut machine, 3, job);
        assert!(machine.is_settled(JobId(job)), "{:?}", machine.why(JobId(job)));
    }
    assert_eq!(machine.live(), 0);
    step(&mut machine, 2_000, Input::Tick);
    assert!(machine.automations[0].rates.is_empty());
}

#[test]
fn a_rate_on_record_binds_no_job_whose_automation_has_none_in_the_next_life() {
    let rated = |job| match accepted(job, "a") {
        Record::Accepted { job, automation, event, ids, key, lane, restarts, at, .. } => {
            let rate = Some(Arc::from(""));
            Record::Accepted { job, automation, event, ids, key, lane, rate, restarts, at }
        }
        other => other,
    };
    let mut machine = recovered([rated(1), rated(2)]);
    step(&mut machine, 3, Input::Registered("a".into(), rules(&Control::default())));
    for job in 1..=2 {
        ends(&mut machine, 4, job);
    }
    assert_eq!(machine.live(), 0);
}

#[test]
fn a_list_says_of_each_job_where_it_stands_and_counts_are_those_of_the_list() {
    let rated = Control { rate: Some(Rate::new(1, Duration::from_secs(1))), ..Control::default() };
    let mut machine = machine(&keyed(), Bounds { running: 3, ..Bounds::default() });
    let first = Control { priority: 1, ..keyed() };
    for (name, control) in [("b", first), ("c", rated), ("d", Control::default())] {
        step(&mut machine, 0, Input::Registered(name.into(), rules(&control)));
    }
    for number in 0..40 {
        if number % 5 == 0 {
            step(&mut machine, 1, Input::Claim(ClaimId(number), "one".into()));
        }
        for name in ["a", "b", "c", "d"] {
            step(&mut machine, 1, Input::Offered(name.into(), ev(u128::from(number))));
        }
    }
    step(&mut machine, 2, Input::GiveUp(ClaimId(0)));
    let listed = machine.list(|_, _| true, usize::MAX);
    for shown in &listed {
        assert_eq!(Some(&shown.standing), machine.why(shown.job).as_ref());
    }
    let ahead = |shown: &&JobSummary| matches!(shown.standing, JobStatus::Key { ahead: 1.., .. });
    assert!(listed.iter().filter(ahead).count() > 70);
    assert_eq!((listed.len(), machine.known(), machine.live()), (160, 160, 160));
    let last = machine.list(|automation, _| automation == "b", 2);
    assert_eq!(last.iter().map(|shown| shown.job).collect::<Vec<_>>(), [JobId(154), JobId(158)]);
}

/// A line that is walked once for each of its jobs takes minutes here.
#[test]
fn a_list_of_very_many_jobs_of_one_line_comes_to_its_end() {
    let mut machine = machine(&keyed(), Bounds::default());
    for number in 0..100_000 {
        step(&mut machine, 1, Input::Offered("a".into(), ev(number)));
    }
    let listed = machine.list(|_, _| true, usize::MAX);
    let last = listed.last().map(|shown| &shown.standing);
    assert!(matches!(last, Some(JobStatus::Key { ahead: 99_998, .. })), "{last:?}");
}

#[test]
fn what_an_automation_has_seen_goes_with_it_though_it_never_came() {
    let seen = Record::Seen { automation: "a".into(), ids: vec![EventId::from_u128(1)] };
    let mut machine = recovered([seen]);
    assert_eq!(machine.snapshot().len(), 2);
    step(&mut machine, 3, Input::AllRegistered);
    assert_eq!(machine.snapshot().len(), 1, "the numbers");
}

#[test]
fn of_what_is_merged_less_than_half_waits_to_be() {
    let mut job = Job::new(0, ev(0), UnixMicros(0), State::Parked(Parked::Accepted));
    for number in 1..1_000 {
        job.add(ev(number), &[EventId::from_u128(number)]);
        assert!(job.more.len() * 2 < job.ids.len(), "{} of {}", job.more.len(), job.ids.len());
    }
    assert_eq!(job.all_ids().len(), 1_000);
}

#[test]
fn an_attempt_that_was_never_begun_is_told_with_its_place() {
    let end = super::job::AttemptEnd::Cancelled;
    let ended = Record::Ended { job: JobId(1), fence: Fence(9), at: UnixMicros(2), end, again: None };
    let unknown = settled(7, Settled::Done);
    let (_, troubles) = Machine::recover(
        Bounds::default(),
        [accepted(1, "a"), accepted(2, "a"), ended, accepted(3, "a"), unknown],
    );
    assert_eq!(troubles.iter().map(super::ReplayError::place).collect::<Vec<_>>(), [2, 4]);
}

#[test]
fn what_is_held_for_an_automation_that_is_there_or_switched_off_is_no_orphan() {
    let window = Arc::from("w");
    let held =
        Record::Held { job: JobId(2), automation: "b".into(), window, event: ev(2), at: UnixMicros(1) };
    let mut machine = recovered([accepted(1, "a"), held]);
    let minute = Some(Debounce::quiet(Duration::from_secs(60)));
    let holds = rules(&Control { debounce: minute, ..Control::default() });
    step(&mut machine, 1, Input::Registered("b".into(), holds));
    step(&mut machine, 1, Input::SwitchedOff("a".into(), true));
    step(&mut machine, 2, Input::AllRegistered);
    assert_eq!(machine.why(JobId(1)), Some(JobStatus::Off));
    assert!(matches!(machine.why(JobId(2)), Some(JobStatus::Held { .. })), "{:?}", machine.why(JobId(2)));
}

#[test]
fn a_job_is_for_as_many_events_as_it_has_taken_in() {
    let control = Control { on_busy: OnBusy::Coalesce, ..keyed() };
    let mut machine = machine(&control, Bounds::default());
    for number in 1..=3 {
        step(&mut machine, 1, Input::Offered("a".into(), ev(number)));
    }
    assert_eq!([1, 2, 9].map(|job| machine.events_of(JobId(job))), [1, 2, 1]);
}
