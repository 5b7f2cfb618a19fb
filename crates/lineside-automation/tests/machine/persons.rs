//! What a person does with dead letters: takes them up again, or drops them.

use std::sync::Arc;

use lineside_automation::control::{Control, Retry, Rules};
use lineside_automation::machine::job::JobId;
use lineside_automation::machine::{Bounds, Input, Machine};

use crate::play::{Player, name};
use crate::restart::kept;
use crate::world::{Ev, rules};

fn one_attempt() -> Arc<Rules> {
    rules(&Control { retry: Retry::NONE, ..Control::default() })
}

fn player(machine: Machine<Ev>) -> Player {
    let mut player = Player::of(machine, &[]);
    player.step(0, Input::Registered(name(0), one_attempt()));
    player
}

/// Offers the event of that number, whose job has the same one; its run fails or not.
fn run(player: &mut Player, number: u32, fails: bool) {
    player.step(1, Input::Offered(name(0), Ev::new(number, 0, 0)));
    player.ended(2, u64::from(number), Some(fails));
}

fn dead(machine: &Machine<Ev>) -> Vec<u64> {
    machine.dead_letters().map(|job| job.0).collect()
}

#[test]
fn a_dead_letter_is_dropped_or_taken_up_again_without_the_others() {
    let mut player = player(Machine::new(Bounds::default()));
    (1..=3).for_each(|number| run(&mut player, number, true));
    player.step(3, Input::Drop(JobId(2)));
    assert_eq!(dead(&player.machine), [1, 3]);
    player.step(4, Input::Revive(JobId(3)));
    assert_eq!(dead(&player.machine), [1]);
    let (machine, troubles) = Machine::recover(Bounds::default(), kept(&player.effects));
    assert_eq!((dead(&machine), troubles.len()), (vec![1], 0));
    player.ended(5, 3, Some(true));
    assert_eq!(dead(&player.machine), [1, 3]);
}

#[test]
fn a_job_that_is_taken_up_again_and_again_weighs_what_it_weighs() {
    let bounds = Bounds { bytes: 250, ..Bounds::default() };
    let mut first = player(Machine::new(bounds));
    run(&mut first, 1, true);
    assert_eq!(first.machine.taken_up_after(JobId(1)), 0);
    for round in 1..=10_u32 {
        first.step(10, Input::Revive(JobId(1)));
        assert_eq!(first.machine.taken_up_after(JobId(1)), round);
        first.ended(11, 1, Some(true));
    }
    let next = player(Machine::recover(bounds, kept(&first.effects)).0);
    for mut player in [first, next] {
        run(&mut player, 2, false);
        assert!(player.machine.show(JobId(2)).is_some(), "there is room for both");
        assert_eq!(dead(&player.machine), [1]);
    }
}

#[test]
fn a_job_that_was_taken_up_again_begins_anew_in_the_next_life() {
    let two = rules(&Control { retry: Retry::constant(2, crate::world::millis(1000)), ..Control::default() });
    let mut player = Player::new(&[Arc::clone(&two)], 1);
    player.step(1, Input::Offered(name(0), Ev::new(1, 0, 0)));
    player.ended(2, 1, Some(true));
    player.step(1002, Input::Tick);
    player.ended(1003, 1, Some(true));
    assert_eq!(dead(&player.machine), [1]);
    // Its automation is away, so that it waits.
    let now = lineside_automation::unix_micros::UnixMicros::millis(1004);
    let mut effects = player.machine.step(now, Input::Leaves(name(0)));
    effects.extend(player.machine.step(now, Input::Revive(JobId(1))));
    player.effects.extend(effects.into_iter().map(|effect| (1004, effect)));
    for records in [kept(&player.effects), player.machine.snapshot()] {
        let (machine, troubles) = Machine::recover(Bounds::default(), records);
        assert_eq!(troubles, []);
        let mut next = Player::of(machine, &[]);
        next.step(2000, Input::Registered(name(0), Arc::clone(&two)));
        assert!(next.runs.contains_key(&JobId(1)), "it starts at once, as one that was never tried");
    }
}
