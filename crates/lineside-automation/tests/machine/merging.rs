//! Work that is merged costs what comes, and not again what there is already: neither in memory nor on record.

use std::sync::Arc;

use lineside_automation::control::{Control, OnBusy};
use lineside_automation::machine::job::JobId;
use lineside_automation::machine::{Bounds, Effect, Input, Machine};
use lineside_automation::record::Record;
use lineside_automation::unix_micros::UnixMicros;
use lineside_core::EventId;

use crate::play::{Player, name};
use crate::restart::{kept, restarted};
use crate::world::{Ev, merged, rules};

fn control(on_busy: OnBusy) -> Control {
    Control { concurrency: Some("one".to_owned()), on_busy, ..Control::default() }
}

/// A burst of so many events while the key is taken.
fn burst(on_busy: OnBusy, events: u32) -> Player {
    let mut player = Player::new(&[rules(&control(on_busy))], 1);
    for number in 1..=events {
        player.step(u64::from(number), Input::Offered(name(0), Ev::new(number, 0, 0)));
    }
    player
}

fn bytes(player: &Player) -> usize {
    let records = kept(&player.effects);
    records.iter().map(|record| record.write().unwrap().bytes.len()).sum()
}

#[test]
fn what_is_merged_costs_no_more_when_there_is_more_already() {
    for on_busy in [OnBusy::Coalesce, OnBusy::Restart] {
        for events in [10, 1_000, 10_000] {
            let looked_at = merged(|| drop(burst(on_busy, events)));
            assert!(looked_at <= 4 * events as usize, "{on_busy:?}: {looked_at} for {events}");
        }
        let (small, large) = (bytes(&burst(on_busy, 1_000)), bytes(&burst(on_busy, 10_000)));
        assert!(large <= 11 * small, "{on_busy:?}: {small} bytes of records, then {large}");
    }
}

#[test]
fn a_burst_that_was_merged_is_whole_after_a_restart_and_in_a_snapshot() {
    for on_busy in [OnBusy::Coalesce, OnBusy::Restart] {
        for events in [2, 3, 10, 100] {
            let player = burst(on_busy, events);
            let first = if on_busy == OnBusy::Coalesce { 2 } else { 1 };
            let expected: Vec<u32> = (first..=events).collect();
            let ids: Vec<EventId> = expected.iter().map(|number| crate::world::event_id(*number)).collect();
            let records = kept(&player.effects);
            let (machine, troubles) = Machine::recover(Bounds::default(), records.clone());
            assert_eq!(troubles, []);
            for records in [records, machine.snapshot()] {
                let (machine, _) = Machine::recover(Bounds::default(), records.clone());
                assert_eq!(machine.show(JobId(2)).unwrap().events, ids);
                let rules = [rules(&Control { on_busy, ..control(on_busy) })];
                let mut player = restarted(records, &rules, 1, 1_000);
                let first = player.runs.keys().next().copied();
                if let Some(first) = first.filter(|first| *first != JobId(2)) {
                    player.ended(1_001, first.0, Some(false));
                }
                let ran = player.effects.iter().find_map(|(_, effect)| match effect {
                    Effect::Start(run) if run.job == JobId(2) => Some(run.event.all.clone()),
                    _ => None,
                });
                assert_eq!(ran, Some(expected.clone()), "{on_busy:?} {events}");
            }
        }
    }
}

#[test]
fn what_version_1_has_merged_is_read() {
    let accepted = |job, number| Record::Accepted {
        job: JobId(job),
        automation: name(0),
        event: Ev::new(number, 0, 0),
        ids: Vec::new(),
        lane: None,
        key: Some(Arc::from("one")),
        rate: None,
        restarts: None,
        at: UnixMicros(1),
    };
    let both = Ev { all: vec![1, 2], ..Ev::new(2, 0, 0) };
    let ids = both.all.iter().map(|number| crate::world::event_id(*number)).collect::<Vec<_>>();
    let (into, from) = (JobId(1), JobId(2));
    let records =
        [accepted(1, 1), Record::Merged { into, from, event: both, ids: ids.clone(), at: UnixMicros(2) }];
    let of_version_1 = |record: Record<Ev>| {
        let mut entry = record.write().unwrap();
        entry.bytes = String::from_utf8(entry.bytes).unwrap().replace("\"v\":2", "\"v\":1").into_bytes();
        Record::read(&entry).unwrap()
    };
    let (machine, troubles) = Machine::<Ev>::recover(Bounds::default(), records.map(of_version_1));
    assert_eq!(troubles, []);
    assert_eq!(machine.show(into).unwrap().events, ids);
}
