//! What a life leaves to the next one, case by case.

use std::sync::Arc;

use lineside_automation::control::{Control, OnBusy, Retry, Rules, Work};
use lineside_automation::machine::job::JobId;
use lineside_automation::machine::{Bounds, Effect, Input, Machine, Standing};
use lineside_automation::record::Record;
use lineside_automation::report::{ResultRule, ResultWhen};
use lineside_automation::unix_micros::UnixMicros;

use crate::play::{Player, name};
use crate::restart::{kept, restarted};
use crate::world::{Ev, event_id, millis, rules};

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
    assert!(matches!(standing, Standing::Settled { .. }));
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
