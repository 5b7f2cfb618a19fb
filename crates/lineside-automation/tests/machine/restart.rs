//! The process is killed between two steps, or in the middle of writing one down, and starts again.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use lineside_automation::control::{Control, Retry, Rules, Work};
use lineside_automation::machine::job::{AttemptEnd, Fence, JobId, Settled, Why};
use lineside_automation::machine::{Bounds, Effect, Ended, Input, JobStatus, Machine, ReplayError};
use lineside_automation::record::{Entry, Record, RecordError, VERSION};
use lineside_automation::report::{Handover, Report, ResultRule, ResultWhen};
use lineside_automation::unix_micros::UnixMicros;
use lineside_core::FailureKind;
use lineside_core::flow::Debounce;
use proptest::prelude::*;

use crate::laws::input;
use crate::play::{Player, name};
use crate::world::{Ev, Happens, Script, Told, millis, rules, script, session_id};

/// What the journal has: every record was written and is read again.
pub(crate) fn kept(effects: &[(u64, Effect<Ev>)]) -> Vec<Record<Ev>> {
    let of = |effect: &Effect<Ev>| match effect {
        Effect::Persist(record) => Some(Record::read(&record.write().unwrap()).unwrap()),
        _ => None,
    };
    effects.iter().filter_map(|(_, effect)| of(effect)).collect()
}

pub(crate) fn restarted(records: Vec<Record<Ev>>, rules: &[Arc<Rules>], turns: usize, now: u64) -> Player {
    let bounds = Bounds { running: turns, ..Bounds::default() };
    let (machine, troubles) = Machine::recover(bounds, records);
    assert_eq!(troubles, []);
    let mut player = Player::of(machine, rules);
    for (number, rules) in rules.iter().enumerate() {
        player.step(now, Input::Registered(name(number), Arc::clone(rules)));
    }
    player
}

/// Runs everything to its end; each run fails or not by its number.
fn run_out(player: &mut Player, mut now: u64, script: &Script) {
    for turn in 0..100_000_u64 {
        if let Some(job) = player.runs.keys().next().map(|job| job.0) {
            let run = script.runs[(turn % script.runs.len() as u64) as usize];
            player.ended(now, job, Some(run.fails));
        } else if let Some(wake) = player.wake.take() {
            now = now.max(wake);
            player.step(now, Input::Tick);
        } else {
            return;
        }
    }
    panic!("it never comes to an end");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(crate::play::cases(512)) })]

    /// Law 9 across a kill: whatever was on record runs, at most as often as it may, or says why not. The kill may come
    /// after any record; the clock may have been put back; the journal may have been compacted before.
    #[test]
    fn what_is_on_record_runs_after_a_kill(
        script in script(), kill in 0.0f64..1.0, back in any::<bool>(), compacted in any::<bool>()
    ) {
        let mut script = script;
        script.happens.retain(|(_, happens)| matches!(happens, Happens::Offer { .. } | Happens::Release(_)));
        let rules = script.rules();
        let mut player = Player::new(&rules, script.turns);
        let mut now = 100_000;
        for (number, (after, happens)) in script.happens.iter().enumerate() {
            now += after;
            player.step(now, Input::Tick);
            player.step(now, input(happens));
            // Some runs end, some are still there when the kill comes.
            let running: Vec<u64> = player.runs.keys().map(|job| job.0).collect();
            for job in running {
                let run = script.runs[(number + job as usize) % script.runs.len()];
                if run.takes < 12 {
                    player.ended(now, job, Some(run.fails));
                }
            }
        }
        let mut records = kept(&player.effects);
        let whole = records.len();
        records.truncate((whole as f64 * kill) as usize);
        if compacted {
            let (machine, _) = Machine::recover(Bounds::default(), records.clone());
            let snapshot = machine.snapshot();
            records = snapshot.iter().map(|record| Record::read(&record.write().unwrap()).unwrap()).collect();
        }
        let mut accepted: HashMap<JobId, Vec<u32>> = HashMap::new();
        let mut told = Told::default();
        let mut held: HashMap<JobId, Vec<u32>> = HashMap::new();
        let mut over: HashSet<JobId> = HashSet::new();
        let mut attempts: HashMap<JobId, usize> = HashMap::new();
        for record in &records {
            match record {
                Record::Held { job, event, .. } => held.entry(*job).or_default().push(event.number),
                Record::Accepted { job, .. } | Record::Joined { into: job, .. } => {
                    let (_, all) = told.by(record).unwrap();
                    accepted.insert(*job, all.clone());
                    held.remove(job);
                    if let Record::Joined { from, .. } = record {
                        over.insert(*from);
                    }
                }
                Record::Settled { job, .. } => {
                    over.insert(*job);
                }
                Record::Started { job, .. } => *attempts.entry(*job).or_default() += 1,
                Record::Ended { job, end: AttemptEnd::Succeeded(_) | AttemptEnd::NotInOrder(_), .. } => {
                    over.insert(*job);
                }
                Record::Job { job, event, settled, attempts: made, .. } => {
                    told.by(record);
                    accepted.insert(*job, event.all.clone());
                    attempts.insert(*job, made.len());
                    let done = made.last().and_then(|attempt| attempt.ended.as_ref());
                    if settled.is_some() || matches!(done, Some((_, AttemptEnd::Succeeded(_) | AttemptEnd::NotInOrder(_)))) {
                        over.insert(*job);
                    }
                }
                _ => {}
            }
        }
        let now = if back { 50_000 } else { now };
        let mut player = restarted(records, &rules, script.turns, now);
        run_out(&mut player, now, &script);
        prop_assert_eq!(player.machine.live(), 0);
        let mut ran: HashMap<JobId, HashSet<u32>> = HashMap::new();
        for (_, effect) in &player.effects {
            if let Effect::Start(run) = effect {
                let number: usize = run.automation[1..].parse().unwrap();
                *attempts.entry(run.job).or_default() += 1;
                prop_assert!(attempts[&run.job] <= script.automations[number].retry.attempts as usize);
                ran.entry(run.job).or_default().extend(run.event.all.iter().copied());
            }
        }
        for (job, events) in accepted.iter().chain(&held) {
            if over.contains(job) {
                continue;
            }
            match player.machine.why(*job) {
                Some(JobStatus::Settled { settled: Settled::Done, .. }) => {
                    let known = HashSet::new();
                    let ran = ran.get(job).unwrap_or(&known);
                    let all = accepted.contains_key(job);
                    prop_assert!(!all || events.iter().all(|event| ran.contains(event)), "{job} ran for {events:?}");
                }
                Some(JobStatus::Settled { settled: Settled::Dead(_), .. }) => {}
                Some(JobStatus::Settled { settled: Settled::Cancelled(why), .. }) => {
                    let declared =
                        matches!(why, Why::Restarted(_) | Why::Coalesced(_) | Why::Busy | Why::Duplicate);
                    prop_assert!(declared, "{why}");
                }
                standing => prop_assert!(false, "{job}: {standing:?}"),
            }
        }
    }

    /// A snapshot says the same as the records that it stands for.
    #[test]
    fn a_snapshot_is_the_machine(script in script()) {
        let rules = script.rules();
        let mut player = Player::new(&rules, script.turns);
        let mut now = 0;
        for (after, happens) in &script.happens {
            now += after;
            player.step(now, input(happens));
        }
        let (own, troubles) = Machine::recover(Bounds::default(), kept(&player.effects));
        prop_assert_eq!(troubles, []);
        let (again, troubles) = Machine::recover(Bounds::default(), own.snapshot());
        prop_assert_eq!(troubles, []);
        prop_assert_eq!(own.snapshot(), again.snapshot());
    }

    /// A snapshot that is taken while everything goes on, and the records after it, say the same as all records.
    #[test]
    fn after_a_snapshot_everything_is_as_without_one(
        script in script(), snapshot in 0.0f64..1.0, kill in 0.0f64..1.0
    ) {
        let rules = script.rules();
        let kill = ((script.happens.len() as f64) * kill) as usize;
        let snapshot = ((kill as f64) * snapshot) as usize;
        let mut player = Player::new(&rules, script.turns);
        let (mut now, mut taken, mut mark) = (0, Vec::new(), 0);
        for (number, (after, happens)) in script.happens.iter().enumerate().take(kill + 1) {
            now += after;
            player.step(now, Input::Tick);
            player.step(now, input(happens));
            let running: Vec<u64> = player.runs.keys().map(|job| job.0).collect();
            for job in running {
                let run = script.runs[(number + job as usize) % script.runs.len()];
                if run.takes < 12 {
                    player.ended(now, job, Some(run.fails));
                }
            }
            if number == snapshot {
                let records = player.machine.snapshot();
                taken = records.iter().map(|record| Record::read(&record.write().unwrap()).unwrap()).collect();
                mark = player.effects.len();
            }
        }
        taken.extend(kept(&player.effects[mark..]));
        let (with, troubles) = Machine::recover(Bounds::default(), taken);
        prop_assert_eq!(troubles, []);
        let (without, troubles) = Machine::recover(Bounds::default(), kept(&player.effects));
        prop_assert_eq!(troubles, []);
        prop_assert_eq!(state(&with, &rules, now), state(&without, &rules, now));
        // And both are the machine that the records are of, as far as that outlives a kill: what was to end for another job does
        // not.
        let mut outlives = state(&player.machine, &rules, now);
        outlives.retain(|record| !record.contains("replaced_by"));
        prop_assert_eq!(state(&with, &rules, now), outlives);
    }

    /// Whatever bytes the journal has: they are a record, or an error.
    #[test]
    fn no_bytes_make_it_panic(kind in any::<u8>(), bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        Record::<Ev>::read(&Entry { kind, bytes }).ok();
    }
}

/// All that a machine is, without the starts that its rates do not count any more.
fn state(machine: &Machine<Ev>, rules: &[Arc<Rules>], now: u64) -> Vec<String> {
    let mut state = Vec::new();
    for mut record in machine.snapshot() {
        if let Record::Starts { automation, starts, .. } = &mut record {
            let rules = &rules[automation[1..].parse::<usize>().unwrap()];
            let Some((rate, _)) = &rules.rate else { panic!("starts without a rate") };
            starts.retain(|start| *start + rate.period > UnixMicros::millis(now));
            if starts.is_empty() {
                continue;
            }
        }
        // The number of a job that was dropped before it was on record may be given once more, and so may that of a run
        // that never had its turn.
        if let Record::Numbers { job, fence } = &mut record {
            *job = JobId(0);
            if rules.iter().any(|rules| rules.work == Work::ExternalSlot) {
                *fence = Fence(0);
            }
        }
        state.push(String::from_utf8(record.write().unwrap().bytes).unwrap());
    }
    // The automations come in the order in which they were heard of first.
    state.sort();
    state
}

fn records_of(effects: &[Effect<Ev>]) -> Vec<Record<Ev>> {
    let of = |effect: &Effect<Ev>| match effect {
        Effect::Persist(record) => Some(record.clone()),
        _ => None,
    };
    effects.iter().filter_map(of).collect()
}

#[test]
fn w05_a_poison_event_that_kills_the_process_goes_to_the_dead_letters_and_others_go_on() {
    let control = Control {
        concurrency: Some("{turn}".to_owned()),
        retry: Retry::constant(3, millis(0)),
        ..Control::default()
    };
    let rules = vec![rules(&control)];
    let mut player = Player::new(&rules, 1);
    player.step(1, Input::Offered(name(0), Ev::new(1, 0, 0)));
    let mut records = kept(&player.effects);
    for life in 2..=4 {
        let mut player = restarted(records.clone(), &rules, 1, life);
        player.step(life, Input::Tick);
        records.extend(kept(&player.effects));
        assert_eq!(player.runs.len(), usize::from(life < 4), "life {life}");
    }
    let mut player = restarted(records, &rules, 1, 10);
    let dead = Settled::Dead(Why::Lost { attempts: 3 });
    assert!(
        matches!(player.machine.why(JobId(1)), Some(JobStatus::Settled { settled, .. }) if settled == dead)
    );
    assert_eq!(player.step(11, Input::Offered(name(0), Ev::new(2, 0, 1))).len(), 1, "another key runs");
}

#[test]
fn w06_a_run_of_an_earlier_life_ends_nothing_of_this_one() {
    let rules = vec![rules(&Control { retry: Retry::constant(3, millis(0)), ..Control::default() })];
    let mut player = Player::new(&rules, 1);
    player.step(1, Input::Offered(name(0), Ev::new(1, 0, 0)));
    let old = player.runs[&JobId(1)];
    let mut next = restarted(kept(&player.effects), &rules, 1, 2);
    next.step(2, Input::Tick);
    assert!(next.runs[&JobId(1)] > old, "the token is greater in the next life");
    let stale = next.machine.step(UnixMicros::millis(3), Input::Ended(JobId(1), old, Ended::Cancelled));
    assert_eq!(records_of(&stale), []);
}

#[test]
fn w07_the_last_event_of_a_window_survives_a_kill_and_a_clock_that_was_put_back() {
    let pace = Debounce::quiet(millis(100)).at_most(millis(500));
    let rules = vec![rules(&Control { debounce: Some(pace), ..Control::default() })];
    let mut player = Player::new(&rules, 1);
    let hour = 3_600_000;
    for number in 0..1000 {
        player.step(hour + u64::from(number) / 100, Input::Offered(name(0), Ev::new(number, 0, 0)));
    }
    // The clock stands an hour earlier than when the events came.
    let mut player = restarted(kept(&player.effects), &rules, 1, 10);
    assert!(player.runs.is_empty());
    assert_eq!(player.wake, Some(110), "the quiet time begins anew, and no hour is waited");
    let said = player.step(110, Input::Tick);
    assert_eq!(said.len(), 1);
    let all: Vec<u32> = (0..1000).collect();
    assert!(format!("{said:?}").contains(&format!("{all:?}")));
}

#[test]
fn what_was_not_handed_over_is_after_a_restart_and_only_then() {
    let result = ResultRule { when: ResultWhen::AppendAlways, ..ResultRule::default() };
    let rules = [rules(&Control { result, ..Control::default() })];
    let mut machine = Machine::new(Bounds::default());
    let mut effects = machine.step(UnixMicros(0), Input::Registered(name(0), Arc::clone(&rules[0])));
    effects.extend(machine.step(UnixMicros(1), Input::Offered(name(0), Ev::new(1, 0, 0))));
    let fence = lineside_automation::machine::job::Fence(1);
    let ended = Ended::With(Ok(Report::success("ok")));
    effects.extend(machine.step(UnixMicros(2), Input::Ended(JobId(1), fence, ended)));
    let records = records_of(&effects);
    let deliveries = |records: Vec<Record<Ev>>| {
        let (mut machine, _) = Machine::recover(Bounds::default(), records);
        let effects = machine.step(UnixMicros(3), Input::Registered(name(0), Arc::clone(&rules[0])));
        let of = |effect: &Effect<Ev>| matches!(effect, Effect::Deliver(_, _, _, Handover::Append(text)) if text == "ok");
        effects.iter().filter(|effect| of(effect)).count()
    };
    assert_eq!(deliveries(records.clone()), 1);
    effects.extend(machine.step(UnixMicros(3), Input::Delivered(JobId(1))));
    assert_eq!(deliveries(records_of(&effects)), 0);
}

#[test]
fn a_record_of_a_newer_version_is_reported() {
    let mut entry = Record::<Ev>::Forgotten { job: JobId(1) }.write().unwrap();
    assert!(Record::<Ev>::read(&entry).is_ok());
    let text = String::from_utf8(entry.bytes).unwrap().replace(&format!("\"v\":{VERSION}"), "\"v\":99");
    entry.bytes = text.into_bytes();
    let error = Record::<Ev>::read(&entry).unwrap_err();
    assert!(matches!(error, RecordError::Version { version: 99, kind: 9 }), "{error}");
}

#[test]
fn a_record_about_nothing_is_reported_and_the_others_count() {
    let records = vec![
        Record::Delivered { job: JobId(7), at: UnixMicros(1) },
        Record::Accepted {
            job: JobId(8),
            automation: name(0),
            event: Ev::new(1, 0, 0),
            ids: Vec::new(),
            lane: None,
            key: None,
            rate: None,
            restarts: None,
            at: UnixMicros(1),
        },
    ];
    let (machine, troubles) = Machine::recover(Bounds::default(), records);
    assert_eq!(troubles, [ReplayError::UnknownJob { place: 0, job: JobId(7) }]);
    assert_eq!(machine.live(), 1);
    assert_eq!(machine.why(JobId(8)), Some(JobStatus::Parked));
    assert_eq!(machine.awaited(&session_id(0), lineside_automation::machine::Awaited::Joining), []);
}

#[test]
fn a_failure_is_kept_with_how_it_failed() {
    let rules = vec![rules(&Control::default())];
    let mut player = Player::new(&rules, 1);
    player.step(1, Input::Offered(name(0), Ev::new(1, 0, 0)));
    player.ended(2, 1, Some(true));
    let player = restarted(kept(&player.effects), &rules, 1, 3);
    let shown = player.machine.show(JobId(1)).unwrap();
    let why = Why::Failed { attempts: 1, kind: FailureKind::Error, detail: "no".to_owned() };
    assert!(matches!(shown.standing, JobStatus::Settled { settled: Settled::Dead(dead), .. } if dead == why));
    assert_eq!(shown.attempts.len(), 1);
}

#[test]
fn a_tick_says_the_next_time_again_whatever_was_said_before() {
    let pace = Debounce::quiet(millis(100));
    let rules = [rules(&Control { debounce: Some(pace), ..Control::default() })];
    let mut machine = Machine::new(Bounds::default());
    drop(machine.step(UnixMicros::millis(0), Input::Registered(name(0), Arc::clone(&rules[0]))));
    let said = machine.step(UnixMicros::millis(1), Input::Offered(name(0), Ev::new(1, 0, 0)));
    let due = |effects: &[Effect<Ev>]| {
        effects.iter().find_map(|effect| if let Effect::WakeAt(at) = effect { Some(*at) } else { None })
    };
    assert_eq!(due(&said), Some(UnixMicros::millis(101)));
    // The driver has forgotten it, because it was woken for an earlier time that was dealt with meanwhile.
    let said = machine.step(UnixMicros::millis(2), Input::Tick);
    assert_eq!(due(&said), Some(UnixMicros::millis(101)));
}
