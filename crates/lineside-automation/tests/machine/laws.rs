//! Laws 9 to 11 as they can be seen from outside, whatever is declared and whatever happens.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use lineside_automation::control::{Control, OnBusy, Retry};
use lineside_automation::machine::job::{Settled, Why};
use lineside_automation::machine::{Bounds, Effect, Input, JobStatus, Machine, News};
use lineside_automation::record::Record;
use lineside_automation::unix_micros::UnixMicros;
use lineside_core::flow::Debounce;
use proptest::prelude::*;

use crate::play::{Player, name};
use crate::world::{Ev, Happens, Script, Told, millis, rules, script, session_id};

/// Plays a script to the machine alone, until everything rests.
fn play(script: &Script) -> Player {
    let rules = script.rules();
    let mut player = Player::new(&rules, script.turns);
    let (mut now, mut starts, mut seen) = (0, 0, 0);
    let mut ends: BTreeMap<u64, (u64, Option<bool>)> = BTreeMap::new();
    let mut happens = script.happens.iter();
    let mut next = happens.next().map(|(after, happens)| (*after, happens));
    loop {
        for (_, effect) in &player.effects[seen..] {
            match effect {
                Effect::Start(run) => {
                    let script = script.runs[starts % script.runs.len()];
                    starts += 1;
                    ends.insert(run.job.0, (now + script.takes, Some(script.fails)));
                }
                // One that was cancelled while it ended has ended.
                Effect::Cancel(job, _) if player.runs.contains_key(job) => {
                    ends.insert(job.0, (now + 2, None));
                }
                _ => {}
            }
        }
        seen = player.effects.len();
        let due = ends.iter().filter(|(_, (when, _))| *when <= now).map(|(job, end)| (*job, end.1)).next();
        if let Some((job, end)) = due {
            ends.remove(&job);
            player.ended(now, job, end);
        } else if let Some((when, what)) = next.filter(|(when, _)| *when <= now) {
            next = happens.next().map(|(after, happens)| (when + after, happens));
            player.step(now, input(what));
        } else if player.wake.is_some_and(|wake| wake <= now) {
            player.wake = None;
            player.step(now, Input::Tick);
        } else {
            let times = ends.values().map(|end| end.0).chain(next.map(|next| next.0)).chain(player.wake);
            match times.min() {
                Some(later) => now = later,
                None => return player,
            }
        }
    }
}

pub(crate) fn input(happens: &Happens) -> Input<Ev> {
    use lineside_automation::machine::job::JobId;
    match happens {
        Happens::Offer { automation, event } => Input::Offered(name(*automation), event.clone()),
        Happens::Cancel { automation, event } => Input::Cancelling(name(*automation), event.clone()),
        Happens::Release(session) => Input::Release(session_id(*session)),
        Happens::SessionEnds(session) => Input::SessionEnds(session_id(*session)),
        Happens::SessionCut(session) => Input::SessionCut(session_id(*session)),
        Happens::Drop(job) => Input::Drop(JobId(*job)),
        Happens::Revive(job) => Input::Revive(JobId(*job)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(crate::play::cases(512)) })]

    /// Law 9: what was accepted runs, at most as often as it may, or says why not; nothing is lost without a word.
    #[test]
    fn an_accepted_event_runs_or_says_why_not(script in script()) {
        let player = play(&script);
        prop_assert_eq!(player.machine.live(), 0, "everything comes to rest");
        let mut ran: HashSet<(Arc<str>, u32)> = HashSet::new();
        let mut accepted: HashMap<u64, (Arc<str>, Vec<u32>)> = HashMap::new();
        let mut told = Told::default();
        for (_, effect) in &player.effects {
            match effect {
                Effect::Persist(record) => {
                    let Some((job, all)) = told.by(record) else { continue };
                    if let Record::Accepted { automation, .. } = record {
                        accepted.insert(job.0, (Arc::clone(automation), all.clone()));
                    } else {
                        accepted.get_mut(&job.0).expect("it was accepted").1.clone_from(all);
                    }
                }
                Effect::Start(run) => {
                    let number: usize = run.automation[1..].parse().unwrap();
                    prop_assert!(run.attempt <= script.automations[number].retry.attempts);
                    ran.extend(run.event.all.iter().map(|event| (Arc::clone(&run.automation), *event)));
                }
                _ => {}
            }
        }
        for id in player.machine.jobs() {
            let shown = player.machine.show(id).expect("it is known");
            let Some((automation, all)) = accepted.get(&id.0) else { continue };
            match shown.standing {
                JobStatus::Settled { settled: Settled::Done | Settled::Dead(_), .. } => {
                    for event in all {
                        prop_assert!(ran.contains(&(Arc::clone(automation), *event)), "{event} of {id} ran");
                    }
                }
                JobStatus::Settled { settled: Settled::Cancelled(why), .. } => {
                    let declared = matches!(
                        why,
                        Why::Restarted(_) | Why::Event(_) | Why::SessionEnded | Why::Person | Why::Coalesced(_)
                    );
                    prop_assert!(declared, "{why}");
                }
                standing => prop_assert!(false, "{id} does not rest: {standing}"),
            }
        }
    }

    /// Law 10: a key is one at a time, or as many as the smallest limit of all that share it.
    #[test]
    fn a_key_means_one_at_a_time(script in script()) {
        let player = play(&script);
        let limits: Vec<u32> = script.automations.iter().map(|control| control.limit).collect();
        let mut keys: HashMap<u64, (Arc<str>, u32)> = HashMap::new();
        let mut running: BTreeMap<u64, (Arc<str>, u32)> = BTreeMap::new();
        for (_, effect) in &player.effects {
            match effect {
                Effect::Persist(Record::Accepted { job, automation, key: Some(key), .. }) => {
                    let number: usize = automation[1..].parse().unwrap();
                    keys.insert(job.0, (Arc::clone(key), limits[number]));
                }
                Effect::Start(run) => {
                    if let Some(key) = keys.get(&run.job.0) {
                        running.insert(run.job.0, key.clone());
                        let same: Vec<u32> =
                            running.values().filter(|(other, _)| *other == key.0).map(|own| own.1).collect();
                        let most = same.iter().copied().min().unwrap();
                        prop_assert!(same.len() <= most as usize, "{} runs of {}", same.len(), key.0);
                    }
                }
                // One that is cancelled before its turn has no end of an attempt.
                Effect::Persist(Record::Ended { job, .. } | Record::Settled { job, .. }) => {
                    running.remove(&job.0);
                }
                _ => {}
            }
        }
    }

    /// Order is kept: of one automation and one key, the first attempts come in the order of the jobs.
    #[test]
    fn jobs_of_one_key_start_in_order(script in script()) {
        let mut script = script;
        for control in &mut script.automations {
            // What a person takes up again stands in line by its age, and what is held by its first event.
            (control.on_busy, control.priority, control.debounce, control.batch) = (OnBusy::Queue, 0, None, None);
        }
        script.happens.retain(|(_, happens)| !matches!(happens, Happens::Revive(_)));
        let player = play(&script);
        let mut keys: HashMap<u64, Arc<str>> = HashMap::new();
        let mut last: HashMap<(Arc<str>, Arc<str>), u64> = HashMap::new();
        for (_, effect) in &player.effects {
            match effect {
                Effect::Persist(Record::Accepted { job, key: Some(key), .. }) => {
                    keys.insert(job.0, Arc::clone(key));
                }
                Effect::Start(run) if run.attempt == 1 && keys.contains_key(&run.job.0) => {
                    let own = (Arc::clone(&run.automation), Arc::clone(&keys[&run.job.0]));
                    // A rate has keys of its own, by which jobs of one key may overtake each other.
                    let number: usize = run.automation[1..].parse().unwrap();
                    let apart = script.automations[number].rate.as_ref().is_some_and(|rate| rate.key.is_some());
                    let before = last.insert(own, run.job.0);
                    prop_assert!(apart || before.is_none_or(|before| before < run.job.0));
                }
                _ => {}
            }
        }
    }

    /// Law 11: what was held comes out with its last event, and waits no longer than it may.
    #[test]
    fn a_burst_keeps_its_last_event_and_its_longest_wait(
        gaps in prop::collection::vec((0u64..40, 0u8..2), 1..50), quiet in 1u64..20, more in 0u64..60
    ) {
        let pace = Debounce::quiet(millis(quiet)).at_most(millis(quiet + more));
        let control = Control {
            debounce: Some(pace),
            hold_key: Some("{turn}".to_owned()),
            ..Control::default()
        };
        let happens = gaps.iter().enumerate().map(|(number, (gap, lane))| {
            let event = Ev::new(u32::try_from(number).unwrap(), 0, *lane);
            (*gap, Happens::Offer { automation: 0, event })
        });
        let run = crate::world::RunScript { takes: 0, fails: false };
        let (automations, happens) = (vec![control], happens.collect());
        let script = Script { automations, in_turn: vec![false], turns: 100, happens, runs: vec![run] };
        let player = play(&script);
        let mut first: HashMap<u64, u64> = HashMap::new();
        let mut held: HashMap<u64, Vec<u32>> = HashMap::new();
        let mut out = 0;
        for (now, effect) in &player.effects {
            match effect {
                Effect::Persist(Record::Held { job, event, .. }) => {
                    first.entry(job.0).or_insert(*now);
                    held.entry(job.0).or_default().push(event.number);
                }
                Effect::Start(run) => {
                    prop_assert_eq!(&run.event.all, &held[&run.job.0]);
                    prop_assert_eq!(Some(&run.event.number), held[&run.job.0].last());
                    prop_assert!(*now - first[&run.job.0] <= quiet + more);
                    out += run.event.all.len();
                }
                _ => {}
            }
        }
        prop_assert_eq!(out, gaps.len());
    }
}

/// A machine with one automation.
fn machine(control: &Control, bounds: Bounds) -> Machine<Ev> {
    let mut machine = Machine::new(bounds);
    let effects = machine.step(UnixMicros(0), Input::Registered(name(0), rules(control)));
    assert_eq!(effects, []);
    machine
}

fn starts(effects: &[Effect<Ev>]) -> Vec<(u64, u32)> {
    let of = |effect: &Effect<Ev>| match effect {
        Effect::Start(run) => Some((run.job.0, run.attempt)),
        _ => None,
    };
    effects.iter().filter_map(of).collect()
}

#[test]
fn the_attempt_is_on_record_before_it_runs() {
    let mut machine = machine(&Control::default(), Bounds::default());
    let effects = machine.step(UnixMicros(1), Input::Offered(name(0), Ev::new(1, 0, 0)));
    let record = effects.iter().position(|effect| matches!(effect, Effect::Persist(Record::Started { .. })));
    let start = effects.iter().position(|effect| matches!(effect, Effect::Start(_)));
    assert!(record.unwrap() < start.unwrap());
}

#[test]
fn a_key_that_is_busy_holds_up_no_other_key() {
    let control = Control { concurrency: Some("{turn}".to_owned()), ..Control::default() };
    let mut machine = machine(&control, Bounds::default());
    let mut started = Vec::new();
    for (number, lane) in [(1, 0), (2, 0), (3, 0), (4, 1), (5, 2)] {
        started
            .extend(starts(&machine.step(UnixMicros(1), Input::Offered(name(0), Ev::new(number, 0, lane)))));
    }
    assert_eq!(started, [(1, 1), (4, 1), (5, 1)]);
    let standing = machine.why(lineside_automation::machine::job::JobId(3)).unwrap();
    assert_eq!(standing.to_string(), "waits for the key `0`, 1 before it");
}

#[test]
fn what_cannot_be_held_is_refused_with_a_word() {
    let control = Control { concurrency: Some("one".to_owned()), ..Control::default() };
    let mut machine = machine(&control, Bounds { jobs: 2, ..Bounds::default() });
    for number in 1..=3 {
        let effects = machine.step(UnixMicros(1), Input::Offered(name(0), Ev::new(number, 0, 0)));
        let refused = effects
            .iter()
            .any(|effect| matches!(effect, Effect::Announce(told) if told.news == News::Refused(Why::Full)));
        assert_eq!(refused, number == 3);
    }
    assert_eq!(machine.refused_so_far(), 1);
    assert_eq!(machine.refused().count(), 1);
}

#[test]
fn an_event_that_comes_twice_runs_once_and_one_that_was_dropped_may_come_again() {
    let control = Control {
        concurrency: Some("one".to_owned()),
        on_busy: OnBusy::Drop,
        retry: Retry::NONE,
        ..Control::default()
    };
    let mut machine = machine(&control, Bounds::default());
    let offer = |machine: &mut Machine<Ev>, number| {
        starts(&machine.step(UnixMicros(1), Input::Offered(name(0), Ev::new(number, 0, 0)))).len()
    };
    assert_eq!(offer(&mut machine, 1), 1);
    assert_eq!(offer(&mut machine, 2), 0, "the key is taken");
    assert_eq!(offer(&mut machine, 1), 0, "it had this one");
    let ended = lineside_automation::machine::Ended::Cancelled;
    let id = lineside_automation::machine::job::JobId(1);
    drop(machine.step(UnixMicros(2), Input::Ended(id, lineside_automation::machine::job::Fence(1), ended)));
    assert_eq!(offer(&mut machine, 2), 1, "that it was dropped once does not count");
}

#[test]
fn the_end_of_a_run_that_is_over_changes_nothing() {
    let mut machine =
        machine(&Control { retry: Retry::constant(2, millis(0)), ..Control::default() }, Bounds::default());
    drop(machine.step(UnixMicros(1), Input::Offered(name(0), Ev::new(1, 0, 0))));
    let (job, fence) =
        (lineside_automation::machine::job::JobId(1), lineside_automation::machine::job::Fence(1));
    let fails =
        lineside_automation::machine::Ended::With(Err((lineside_core::FailureKind::Error, "no".into())));
    assert_eq!(starts(&machine.step(UnixMicros(2), Input::Ended(job, fence, fails.clone()))), [(1, 2)]);
    let effects = machine.step(UnixMicros(3), Input::Ended(job, fence, fails));
    assert!(matches!(&effects[..], [Effect::Announce(told)] if told.news == News::Stale), "{effects:?}");
}
