//! What a life leaves to the next one, case by case.

use std::sync::Arc;

use lineside_automation::control::{Control, OnBusy, Rate, Retry, Rules, Work};
use lineside_automation::machine::job::JobId;
use lineside_automation::machine::{
    Awaited, Bounds, Effect, Ended, Input, JobStatus, Machine, UnfinishedJobs,
};
use lineside_automation::record::Record;
use lineside_automation::report::{ResultRule, ResultWhen};
use lineside_automation::unix_micros::UnixMicros;

use crate::play::{Player, name};
use crate::restart::{kept, restarted};
use crate::world::{Ev, event_id, millis, rules, session_id};

#[test]
fn numbers_are_not_given_again() {
    let rules = [rules(&Control { concurrency: Some("one".to_owned()), ..Control::default() })];
    let mut player = Player::new(&rules, 1);
    for number in 1..=3 {
        player.step(1, Input::Offered(name(0), Ev::new(number, 0, 0)));
    }
    let mut player = restarted(kept(&player.effects), &rules, 1, 2);
    player.step(3, Input::Offered(name(0), Ev::new(9, 0, 0)));
    let events = |job| player.machine.show(JobId(job)).unwrap().events;
    assert_eq!(events(3), [event_id(3)]);
    assert_eq!(events(4), [event_id(9)]);
}

#[test]
fn what_was_under_way_has_its_key_before_what_waited_for_it() {
    let retry = Retry::constant(3, millis(100));
    let rules = [rules(&Control { concurrency: Some("one".to_owned()), retry, ..Control::default() })];
    let mut player = Player::new(&rules, 2);
    for number in 1..=2 {
        player.step(1, Input::Offered(name(0), Ev::new(number, 0, 0)));
    }
    let mut player = restarted(kept(&player.effects), &rules, 2, 1_000);
    assert!(player.runs.is_empty(), "the first one has its pause, and its key");
    player.step(1_100, Input::Tick);
    assert_eq!(player.runs.keys().collect::<Vec<_>>(), [&JobId(1)]);
    player.ended(1_101, 1, Some(false));
    assert_eq!(player.runs.keys().collect::<Vec<_>>(), [&JobId(2)]);
}

/// The machine of these records, and its effects once every automation that there will be is there: none.
fn without_automations(records: Vec<Record<Ev>>) -> (Machine<Ev>, Vec<Effect<Ev>>) {
    let (mut machine, troubles) = Machine::recover(Bounds::default(), records);
    assert_eq!(troubles, []);
    let effects = machine.step(UnixMicros::millis(10), Input::AllRegistered);
    (machine, effects)
}

#[test]
fn what_has_run_is_done_and_handed_over_though_its_automation_does_not_come() {
    let result = ResultRule { when: ResultWhen::AppendAlways, ..ResultRule::default() };
    let mut player = Player::new(&[rules(&Control { result, ..Control::default() })], 1);
    player.step(1, Input::Offered(name(0), Ev::new(1, 0, 0)));
    player.ended(2, 1, Some(false));
    let records = kept(&player.effects);
    let ended = records.iter().position(|record| matches!(record, Record::Ended { .. })).unwrap();
    let settled = records.iter().position(|record| matches!(record, Record::Settled { .. })).unwrap();
    let (machine, _) = without_automations(records[..=ended].to_vec());
    assert_eq!(machine.why(JobId(1)).unwrap().to_string(), "done");
    let (_, effects) = without_automations(records[..=settled].to_vec());
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Deliver(JobId(1), ..))), "{effects:?}");
    let (machine, _) = without_automations(records[..ended].to_vec());
    let standing = machine.why(JobId(1)).unwrap();
    assert!(standing.to_string().starts_with("dead"), "{standing}");
    assert!(matches!(standing, JobStatus::Settled { .. }));
}

#[test]
fn what_has_no_records_is_in_no_snapshot() {
    let rules = Arc::new(Rules { work: Work::InMemory, ..(*rules(&Control::default())).clone() });
    let mut player = Player::new(&[rules], 1);
    for number in 1..=2 {
        player.step(1, Input::Offered(name(0), Ev::new(number, 0, 0)));
    }
    let snapshot = player.machine.snapshot();
    assert!(matches!(&snapshot[..], [Record::Numbers { .. }]), "{snapshot:?}");
    assert_eq!(kept(&player.effects).len(), 0);
}

#[test]
fn what_waits_for_its_key_takes_in_others_in_the_next_life_too() {
    let retry = Retry::constant(3, millis(100));
    let (concurrency, on_busy) = (Some("one".to_owned()), OnBusy::Coalesce);
    let rules = [rules(&Control { concurrency, on_busy, retry, ..Control::default() })];
    let mut player = Player::new(&rules, 1);
    for number in 1..=2 {
        player.step(1, Input::Offered(name(0), Ev::new(number, 0, 0)));
    }
    let mut player = restarted(kept(&player.effects), &rules, 1, 1_000);
    player.step(1_001, Input::Offered(name(0), Ev::new(3, 0, 0)));
    assert_eq!(player.machine.live(), 2);
    assert_eq!(player.machine.show(JobId(2)).unwrap().events, [event_id(2), event_id(3)]);
}

#[test]
fn a_run_whose_place_is_taken_while_it_ends_is_not_run_in_the_next_life() {
    let (concurrency, on_busy) = (Some("one".to_owned()), OnBusy::Restart);
    let retry = Retry::constant(3, millis(100));
    let rules = [rules(&Control { concurrency, on_busy, retry, ..Control::default() })];
    let mut player = Player::new(&rules, 1);
    for number in 1..=2 {
        player.step(1, Input::Offered(name(0), Ev::new(number, 0, 0)));
    }
    assert_eq!(player.runs.keys().next(), Some(&JobId(1)), "it has been asked to end, and has not");
    for records in [kept(&player.effects), player.machine.snapshot()] {
        let player = restarted(records, &rules, 1, 1_000);
        assert_eq!(player.runs.keys().collect::<Vec<_>>(), [&JobId(2)]);
        assert_eq!(player.machine.show(JobId(2)).unwrap().events, [event_id(1), event_id(2)]);
        assert_eq!(player.machine.live(), 1);
    }
}

#[test]
fn what_waits_is_cancelled_by_its_event_after_a_registration_anew() {
    let rules = [rules(&Control { concurrency: Some("one".to_owned()), ..Control::default() })];
    let mut player = Player::new(&rules, 1);
    for number in 1..=2 {
        player.step(1, Input::Offered(name(0), Ev::new(number, 0, 0)));
    }
    drop(player.machine.step(UnixMicros::millis(2), Input::Registered(name(0), Arc::clone(&rules[0]))));
    player.step(3, Input::Cancelling(name(0), Ev::new(9, 0, 0)));
    let standing = player.machine.why(JobId(2)).unwrap().to_string();
    assert!(standing.starts_with("cancelled"), "{standing}");
}

#[test]
fn what_waits_rests_when_the_bus_ends_and_something_keeps_it() {
    let rules = [rules(&Control { concurrency: Some("one".to_owned()), ..Control::default() })];
    let mut player = Player::new(&rules, 1);
    for number in 1..=2 {
        player.step(1, Input::Offered(name(0), Ev::new(number, 0, 0)));
    }
    player.step(2, Input::BusEnds(UnfinishedJobs::OnRecord));
    let effects = player.machine.step(UnixMicros::millis(3), Input::BusCut);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Cancel(JobId(1), _))), "{effects:?}");
    assert_eq!(player.machine.why(JobId(2)), Some(JobStatus::Parked));
    let awaited = player.machine.awaited(&session_id(0), Awaited::Draining);
    assert!(awaited.contains(&JobId(2)), "it is of no hook, and waits for no session");
}

#[test]
fn nothing_of_what_has_no_records_is_on_record_though_it_fails() {
    let rules = Arc::new(Rules { work: Work::InMemory, ..(*rules(&Control::default())).clone() });
    let mut player = Player::new(&[rules], 1);
    player.step(1, Input::Offered(name(0), Ev::new(1, 0, 0)));
    let fence = player.runs[&JobId(1)];
    let failure = || (lineside_core::FailureKind::Error, "no".to_owned());
    player.step(2, Input::Begins(JobId(1), fence));
    let (kind, detail) = failure();
    drop(player.step(3, Input::Failed(JobId(1), fence, kind, detail, millis(1))));
    player.step(5, Input::Begins(JobId(1), fence));
    player.step(6, Input::Ended(JobId(1), fence, Ended::With(Err(failure()))));
    assert_eq!((player.machine.live(), kept(&player.effects)), (0, vec![]));
}

#[test]
fn what_a_person_has_taken_up_again_takes_in_no_others() {
    let (concurrency, on_busy) = (Some("one".to_owned()), OnBusy::Coalesce);
    let control = Control { concurrency, on_busy, retry: Retry::NONE, ..Control::default() };
    let mut player = Player::new(&[rules(&control)], 1);
    player.step(1, Input::Offered(name(0), Ev::new(1, 0, 0)));
    player.ended(2, 1, Some(true));
    player.step(3, Input::Offered(name(0), Ev::new(2, 0, 0)));
    player.step(4, Input::Revive(JobId(1)));
    player.step(5, Input::Offered(name(0), Ev::new(3, 0, 0)));
    assert_eq!(player.machine.show(JobId(1)).unwrap().events, [event_id(1)]);
    assert_eq!(player.machine.show(JobId(3)).unwrap().events, [event_id(3)]);
}

#[test]
fn what_waits_of_each_automation_takes_in_its_own() {
    let (concurrency, on_busy) = (Some("one".to_owned()), OnBusy::Coalesce);
    let retry = Retry::constant(3, millis(100));
    let control = rules(&Control { concurrency, on_busy, retry, ..Control::default() });
    let rules = [Arc::clone(&control), control];
    let mut player = Player::new(&rules, 1);
    for (number, automation) in [(1, 0), (2, 1), (3, 0)] {
        player.step(1, Input::Offered(name(automation), Ev::new(number, 0, 0)));
    }
    let mut player = restarted(kept(&player.effects), &rules, 1, 1_000);
    for (number, automation) in [(4, 1), (5, 0)] {
        player.step(1_001, Input::Offered(name(automation), Ev::new(number, 0, 0)));
    }
    let events = |job| player.machine.show(JobId(job)).unwrap().events;
    assert_eq!((events(2), events(3)), (vec![event_id(2), event_id(4)], vec![event_id(3), event_id(5)]));
}

fn at_a_rate(period: u64) -> Arc<Rules> {
    rules(&Control { rate: Some(Rate::new(1, millis(period))), ..Control::default() })
}

#[test]
fn a_shorter_period_is_over_earlier_for_what_waits_already() {
    let mut player = Player::new(&[at_a_rate(1_000)], 1);
    for number in 1..=2 {
        player.step(1, Input::Offered(name(0), Ev::new(number, 0, 0)));
    }
    player.ended(2, 1, Some(false));
    drop(player.machine.step(UnixMicros::millis(50), Input::Registered(name(0), at_a_rate(100))));
    player.step(100, Input::Tick);
    assert!(player.runs.is_empty());
    player.step(101, Input::Tick);
    assert_eq!(player.runs.keys().collect::<Vec<_>>(), [&JobId(2)]);
}

#[test]
fn the_starts_of_a_rate_are_in_a_snapshot() {
    let rules = [at_a_rate(1_000)];
    let mut player = Player::new(&rules, 1);
    player.step(1, Input::Offered(name(0), Ev::new(1, 0, 0)));
    player.ended(2, 1, Some(false));
    let snapshot = player.machine.snapshot();
    assert!(snapshot.iter().any(|record| matches!(record, Record::Starts { .. })), "{snapshot:?}");
    let mut player = restarted(snapshot, &rules, 1, 3);
    player.step(4, Input::Offered(name(0), Ev::new(2, 0, 0)));
    assert!(player.runs.is_empty());
    player.step(1_001, Input::Tick);
    assert_eq!(player.runs.keys().collect::<Vec<_>>(), [&JobId(2)]);
    let mut player = Player::new(&rules, 1);
    player.step(1, Input::Offered(name(0), Ev::new(1, 0, 0)));
    player.ended(2, 1, Some(false));
    player.step(5_000, Input::Tick);
    let snapshot = player.machine.snapshot();
    assert!(!snapshot.iter().any(|record| matches!(record, Record::Starts { .. })), "{snapshot:?}");
}

#[test]
fn what_is_being_handed_over_ended_when_its_run_did() {
    let result = ResultRule { when: ResultWhen::AppendAlways, ..ResultRule::default() };
    let mut player = Player::new(&[rules(&Control { result, ..Control::default() })], 1);
    player.step(1, Input::Offered(name(0), Ev::new(1, 0, 0)));
    let ended = Ended::With(Ok(lineside_automation::report::Report::success("ok")));
    drop(player.machine.step(UnixMicros::millis(7), Input::Ended(JobId(1), player.runs[&JobId(1)], ended)));
    assert_eq!(player.machine.why(JobId(1)), Some(JobStatus::Delivering));
    let snapshot = player.machine.snapshot();
    let job = snapshot.iter().find_map(|record| match record {
        Record::Job { settled, .. } => settled.as_ref(),
        _ => None,
    });
    assert_eq!(job.map(|(.., at)| *at), Some(UnixMicros::millis(7)));
}
