//! Bounds hold exactly: as many as there may be, and not one more or less.

use lineside_automation::control::{Batch, Control, Rate, Retry};
use lineside_automation::machine::job::{JobId, Why};
use lineside_automation::machine::{Bounds, Input, Machine};

use crate::play::{Player, name};
use crate::reference::Said;
use crate::restart::{kept, restarted};
use crate::world::{Ev, millis, rules};

fn player(bounds: Bounds) -> Player {
    let mut player = Player::of(Machine::new(bounds), &[]);
    let control = Control { retry: Retry::NONE, ..Control::default() };
    player.step(0, Input::Registered(name(0), rules(&control)));
    player
}

/// Offers events, whose runs fail or not; each job has the number of its event.
fn run(player: &mut Player, numbers: std::ops::RangeInclusive<u32>, fails: bool) {
    for number in numbers {
        player.step(1, Input::Offered(name(0), Ev::new(number, 0, 0)));
        player.ended(2, u64::from(number), Some(fails));
    }
}

#[test]
fn as_many_finished_jobs_are_kept_as_there_may_be() {
    for bounds in [Bounds { finished: 2, ..Bounds::default() }, Bounds { bytes: 200, ..Bounds::default() }] {
        let mut player = player(bounds);
        run(&mut player, 1..=2, false);
        assert!(player.machine.show(JobId(1)).is_some(), "{bounds:?}");
        run(&mut player, 3..=3, false);
        assert!(
            player.machine.show(JobId(1)).is_none() && player.machine.show(JobId(2)).is_some(),
            "{bounds:?}"
        );
        run(&mut player, 4..=20, false);
        let kept: Vec<u64> = (1..=20).filter(|job| player.machine.show(JobId(*job)).is_some()).collect();
        assert_eq!(kept, [19, 20], "{bounds:?}");
    }
}

#[test]
fn as_many_dead_letters_are_kept_as_there_may_be_and_the_last_however_long_it_is() {
    let dead = |player: &Player| player.machine.dead_letters().map(|job| job.0).collect::<Vec<_>>();
    let mut few = player(Bounds { dead: 2, ..Bounds::default() });
    run(&mut few, 1..=2, true);
    assert_eq!(dead(&few), [1, 2]);
    run(&mut few, 3..=3, true);
    assert_eq!(dead(&few), [2, 3]);
    run(&mut few, 4..=20, true);
    assert_eq!(dead(&few), [19, 20]);
    let mut long = player(Bounds { bytes: 50, ..Bounds::default() });
    run(&mut long, 1..=1, true);
    assert_eq!(dead(&long), [1]);
    run(&mut long, 2..=2, true);
    assert_eq!((dead(&long), long.machine.forgotten()), (vec![2], 1));
}

#[test]
fn as_many_events_are_remembered_as_there_may_be() {
    let mut player = player(Bounds { remembered: 2, finished: 2, ..Bounds::default() });
    run(&mut player, 1..=2, false);
    let again = |player: &mut Player, number| player.step(3, Input::Offered(name(0), Ev::new(number, 0, 0)));
    assert_eq!(again(&mut player, 1), [Said::Refused(1, Why::Duplicate)]);
    run(&mut player, 3..=3, false);
    assert_eq!(again(&mut player, 2), [Said::Refused(2, Why::Duplicate)]);
    let refused = |player: &Player| player.machine.refused().count();
    assert_eq!(refused(&player), 2);
    assert_eq!(again(&mut player, 3), [Said::Refused(3, Why::Duplicate)]);
    assert_eq!((refused(&player), player.machine.refused_so_far()), (2, 3));
    assert!(matches!(again(&mut player, 1)[..], [Said::Started { .. }]));
}

#[test]
fn a_batch_of_one_is_due_with_its_event() {
    let batch = Some(Batch { count: 1, within: millis(1000) });
    let mut player = Player::new(&[rules(&Control { batch, ..Control::default() })], 1);
    let said = player.step(1, Input::Offered(name(0), Ev::new(1, 0, 0)));
    assert!(said.iter().any(|said| matches!(said, Said::Started { .. })), "{said:?}");
}

#[test]
fn what_is_let_in_counts_for_its_rate_before_it_starts() {
    let control = Control { rate: Some(Rate::new(1, millis(1000))), ..Control::default() };
    let mut player = Player::new(&[rules(&Control::default()), rules(&control)], 1);
    player.step(1, Input::Offered(name(0), Ev::new(1, 0, 0)));
    for number in 2..=3 {
        player.step(1, Input::Offered(name(1), Ev::new(number, 0, 0)));
    }
    player.ended(5, 1, Some(false));
    player.ended(6, 2, Some(false));
    assert!(player.runs.is_empty(), "one within a second");
    player.step(1004, Input::Tick);
    assert!(player.runs.is_empty());
    player.step(1005, Input::Tick);
    assert!(player.runs.contains_key(&JobId(3)));
}

#[test]
fn a_rate_does_not_wait_for_a_clock_that_was_put_back() {
    let rules = [rules(&Control { rate: Some(Rate::new(1, millis(1000))), ..Control::default() })];
    let mut player = Player::new(&rules, 1);
    player.step(100_000, Input::Offered(name(0), Ev::new(1, 0, 0)));
    player.ended(100_001, 1, Some(false));
    let mut player = restarted(kept(&player.effects), &rules, 1, 1_000);
    player.step(1_000, Input::Offered(name(0), Ev::new(2, 0, 0)));
    assert!(player.runs.is_empty());
    player.step(2_000, Input::Tick);
    assert!(player.runs.contains_key(&JobId(2)));
}
