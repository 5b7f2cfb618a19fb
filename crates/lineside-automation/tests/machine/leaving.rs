//! Automations that go take everything with them that was known of them, when their work is over and not before.

use std::sync::Arc;

use lineside_automation::control::{Control, Rate, Retry};
use lineside_automation::machine::job::JobId;
use lineside_automation::machine::{Bounds, Effect, Input, JobStatus, Machine};
use lineside_automation::record::Record;
use lineside_automation::unix_micros::UnixMicros;

use crate::play::{Player, name};
use crate::world::{Ev, millis, rules};

fn is_gone(player: &Player, automation: usize) -> bool {
    player.effects.iter().any(|(_, effect)| *effect == Effect::Gone(name(automation)))
}

#[test]
fn nothing_is_left_of_an_automation_that_has_gone() {
    let control = Control { rate: Some(Rate::new(5, millis(1000)).per("{session}")), ..Control::default() };
    let mut player = Player::new(&[], 1);
    for number in 0..50 {
        player.step(1, Input::Registered(name(number), rules(&control)));
        player.step(1, Input::Offered(name(number), Ev::new(number as u32, 0, 0)));
        let job = player.runs.keys().next().unwrap().0;
        player.step(1, Input::Leaves(name(number)));
        assert!(!is_gone(&player, number), "its job runs");
        player.ended(2, job, Some(false));
        assert!(is_gone(&player, number));
    }
    let snapshot = player.machine.snapshot();
    assert!(matches!(&snapshot[..], [Record::Numbers { .. }]), "{snapshot:?}");
    let shown = player.machine.show(JobId(3)).unwrap();
    assert_eq!(shown.automation, name(2), "its jobs are known by its name");
}

#[test]
fn what_waits_runs_before_its_automation_goes() {
    let control = Control { concurrency: Some("one".to_owned()), ..Control::default() };
    let mut player = Player::new(&[rules(&control)], 1);
    for number in 1..=3 {
        player.step(1, Input::Offered(name(0), Ev::new(number, 0, 0)));
    }
    player.step(2, Input::Leaves(name(0)));
    for job in 1..=3 {
        assert!(!is_gone(&player, 0));
        player.ended(3, job, Some(false));
    }
    assert!(is_gone(&player, 0));
    // Another one may have its place; the jobs of the first are not its own.
    player.step(4, Input::Registered(name(7), rules(&control)));
    player.step(4, Input::Offered(name(7), Ev::new(9, 0, 0)));
    let automations: Vec<Arc<str>> =
        [1, 4].map(|job| player.machine.show(JobId(job)).unwrap().automation).into();
    assert_eq!(automations, [name(0), name(7)]);
}

#[test]
fn one_that_leaves_may_come_back_to_its_work() {
    let rules = [rules(&Control { concurrency: Some("one".to_owned()), ..Control::default() })];
    let mut player = Player::new(&rules, 1);
    for number in 1..=2 {
        player.step(1, Input::Offered(name(0), Ev::new(number, 0, 0)));
    }
    player.step(2, Input::Leaves(name(0)));
    drop(player.machine.step(UnixMicros::millis(2), Input::Registered(name(0), Arc::clone(&rules[0]))));
    player.ended(3, 1, Some(false));
    player.ended(4, 2, Some(false));
    assert!(!is_gone(&player, 0));
    player.step(5, Input::Offered(name(0), Ev::new(3, 0, 0)));
    assert!(player.machine.why(JobId(3)).is_some(), "it is there, and takes events");
}

#[test]
fn a_dead_letter_outlives_its_automation() {
    let rules = [rules(&Control { retry: Retry::NONE, ..Control::default() })];
    let mut player = Player::new(&rules, 1);
    player.step(1, Input::Offered(name(0), Ev::new(1, 0, 0)));
    player.step(1, Input::Leaves(name(0)));
    player.ended(2, 1, Some(true));
    assert!(is_gone(&player, 0));
    assert!(matches!(player.machine.why(JobId(1)), Some(JobStatus::Settled { .. })));
    assert_eq!(player.machine.snapshot().len(), 2, "the numbers, and the dead letter");
    drop(player.machine.step(UnixMicros::millis(3), Input::Registered(name(0), Arc::clone(&rules[0]))));
    player.step(4, Input::Revive(JobId(1)));
    player.ended(5, 1, Some(false));
    assert_eq!(player.machine.live(), 0);
}

#[test]
fn what_is_refused_is_not_remembered_by_its_rate() {
    let rate = Rate::new(1, millis(1000)).per("{session}").dropping();
    let mut machine = Machine::<Ev>::new(Bounds { finished: 1, remembered: 2_000, ..Bounds::default() });
    drop(machine.step(
        UnixMicros(0),
        Input::Registered(name(0), rules(&Control { rate: Some(rate), ..Control::default() })),
    ));
    let offer = |machine: &mut Machine<Ev>, now, number, session: u32| {
        let session = lineside_core::SessionId::from(format!("session {session}"));
        let event = Ev { session, ..Ev::new(number, 0, 0) };
        drop(machine.step(UnixMicros::millis(now), Input::Offered(name(0), event)));
    };
    // The same event comes again and again, as if from other sessions.
    offer(&mut machine, 1, 1, 0);
    let grown = allocation_counter::measure(|| {
        for session in 1..=1_000 {
            offer(&mut machine, 5_000, 1, session);
        }
    });
    assert!(grown.bytes_current < 10_000, "{} bytes for what was refused", grown.bytes_current);
}

#[test]
fn one_that_never_had_work_goes_at_once() {
    let mut player = Player::new(&[rules(&Control::default())], 1);
    player.step(1, Input::Leaves(name(0)));
    assert!(is_gone(&player, 0));
}
