//! A small world for the machine: events, automations, and a script of what happens when.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lineside_automation::control::{
    AtEnd, Batch, Control, Excess, KeyTemplate, OnBusy, Rate, Retry, Rules, Work,
};
use lineside_automation::machine::Occurrence;
use lineside_automation::machine::job::JobId;
use lineside_automation::record::Record;
use lineside_core::flow::Debounce;
use lineside_core::hook::Join;
use lineside_core::point::{PointRole, Slot};
use lineside_core::{EventId, Phase, PointInfo, SessionId};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

/// An event: its number, a field that keys are made of, and the numbers of all that were merged into it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ev {
    pub(crate) number: u32,
    pub(crate) session: SessionId,
    pub(crate) lane: u8,
    pub(crate) all: Vec<u32>,
}

impl Ev {
    pub(crate) fn new(number: u32, session: u8, lane: u8) -> Self {
        Self { number, session: session_id(session), lane, all: vec![number] }
    }

    pub(crate) fn key(&self, template: &str) -> String {
        template.replace("{session}", self.session.as_str()).replace("{turn}", &self.lane.to_string())
    }
}

pub(crate) fn session_id(number: u8) -> SessionId {
    SessionId::from(format!("s{number}"))
}

pub(crate) fn event_id(number: u32) -> EventId {
    EventId::from_u128(u128::from(number))
}

thread_local! {
    /// How many events were looked at by all merges of this thread.
    static MERGED: Cell<usize> = const { Cell::new(0) };
}

/// How many events all merges that `work` makes look at.
pub(crate) fn merged(work: impl FnOnce()) -> usize {
    MERGED.set(0);
    work();
    MERGED.get()
}

/// What the events of each job come to, as the records tell it.
#[derive(Default)]
pub(crate) struct Told(HashMap<JobId, Vec<u32>>);

impl Told {
    /// One more record; gives the job that it adds events to, and all of them.
    pub(crate) fn by(&mut self, record: &Record<Ev>) -> Option<(JobId, &Vec<u32>)> {
        let (job, all) = match record {
            Record::Accepted { job, event, restarts, .. } => {
                let before = restarts.and_then(|other| self.0.get(&other)).cloned().unwrap_or_default();
                (*job, [before, event.all.clone()].concat())
            }
            Record::Joined { into, event, .. } => {
                let before = self.0.get(into).cloned().unwrap_or_default();
                (*into, [before, event.all.clone()].concat())
            }
            Record::Job { job, event, .. } => (*job, event.all.clone()),
            _ => return None,
        };
        self.0.insert(job, all);
        Some((job, &self.0[&job]))
    }
}

impl Occurrence for Ev {
    fn id(&self) -> EventId {
        event_id(self.number)
    }

    fn session(&self) -> &SessionId {
        &self.session
    }

    /// A hundred for each event that was merged into it.
    fn weight(&self) -> usize {
        100 * self.all.len()
    }

    fn render(&self, template: &KeyTemplate, key: &mut String) {
        key.push_str(&self.key(template.text()));
    }

    fn merge(events: &[Self]) -> Option<Self> {
        let last = events.last()?;
        MERGED.set(MERGED.get() + events.iter().map(|event| event.all.len()).sum::<usize>());
        let all = events.iter().flat_map(|event| event.all.iter().copied()).collect();
        Some(Self { all, ..last.clone() })
    }
}

static POINT: PointInfo = PointInfo {
    name: "after_tool_batch",
    phase: Phase::After,
    role: PointRole::None,
    slot: Slot::Declared,
    fields: &[],
    decode: |_, _| unreachable!("nothing is decoded here"),
};

/// Checked rules, with events that cancel.
pub(crate) fn rules(control: &Control) -> Arc<Rules> {
    Arc::new(control.check(&POINT, &[&POINT]).expect("the settings can be meant"))
}

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// What happens at one time.
#[derive(Debug, Clone)]
pub(crate) enum Happens {
    Offer {
        automation: usize,
        event: Ev,
    },
    Cancel {
        automation: usize,
        event: Ev,
    },
    Release(u8),
    SessionEnds(u8),
    SessionCut(u8),
    /// A person drops the job of this number.
    Drop(u64),
    Revive(u64),
}

/// How a run goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunScript {
    pub(crate) takes: u64,
    pub(crate) fails: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(crate) automations: Vec<Control>,
    /// Which of them have their turns elsewhere.
    pub(crate) in_turn: Vec<bool>,
    pub(crate) turns: usize,
    /// After how long after the one before, in milliseconds, and what.
    pub(crate) happens: Vec<(u64, Happens)>,
    /// How the runs go, in the order of their starts, again and again.
    pub(crate) runs: Vec<RunScript>,
}

impl Script {
    /// The rules of its automations.
    pub(crate) fn rules(&self) -> Vec<Arc<Rules>> {
        let work = |in_turn: &bool| if *in_turn { Work::ExternalSlot } else { Work::Own };
        let of_each = self.automations.iter().map(rules).zip(&self.in_turn);
        of_each.map(|(rules, in_turn)| Arc::new(Rules { work: work(in_turn), ..(*rules).clone() })).collect()
    }
}

fn control() -> impl Strategy<Value = Control> {
    let rate = prop::option::weighted(
        0.4,
        (1u32..3, 5u64..60, any::<bool>(), any::<bool>()).prop_map(|(starts, period, drops, keyed)| Rate {
            starts,
            period: millis(period),
            key: keyed.then(|| "{session}".to_owned()),
            excess: if drops { Excess::Drop } else { Excess::Wait },
            scope: lineside_automation::Scope::Machine,
        }),
    );
    let debounce = prop::option::weighted(
        0.4,
        (1u64..30, 0u64..60)
            .prop_map(|(quiet, more)| Debounce::quiet(millis(quiet)).at_most(millis(quiet + more))),
    );
    let batch = prop::option::weighted(
        0.25,
        (1usize..5, 1u64..50).prop_map(|(count, within)| Batch { count, within: millis(within) }),
    );
    let key = prop_oneof![
        1 => Just(None),
        2 => Just(Some("one".to_owned())),
        3 => Just(Some("l{turn}".to_owned())),
        1 => Just(Some("{session}".to_owned())),
    ];
    let busy =
        prop_oneof![Just(OnBusy::Queue), Just(OnBusy::Coalesce), Just(OnBusy::Drop), Just(OnBusy::Restart)];
    let retry = (1u32..4, 0u64..20).prop_map(|(attempts, pause)| Retry::constant(attempts, millis(pause)));
    let end = prop_oneof![
        3 => (1u64..80).prop_map(|deadline| AtEnd::Drain(millis(deadline))),
        1 => Just(AtEnd::LeaveRunning),
    ];
    let hold_key = prop_oneof![Just("{session}"), Just("h{turn}"), Just("all")];
    (rate, debounce, batch, key, 1u32..3, busy, retry, 0i32..2, end, (hold_key, any::<bool>())).prop_map(
        |(rate, debounce, batch, concurrency, limit, on_busy, retry, priority, at_end, (hold_key, joins))| {
            let keyed = concurrency.is_some();
            Control {
                rate,
                debounce,
                batch,
                hold_key: Some(hold_key.to_owned()),
                priority,
                concurrency,
                limit: if keyed { limit } else { 1 },
                on_busy: if keyed { on_busy } else { OnBusy::Queue },
                retry,
                join: if joins { Join::BeforeNextModel } else { Join::Background },
                at_end,
                ..Control::default()
            }
        },
    )
}

/// Anything that can happen to a few automations, keys and sessions.
pub(crate) fn script() -> impl Strategy<Value = Script> {
    let event = (0u32..40, 0u8..2, 0u8..3).prop_map(|(number, session, lane)| Ev::new(number, session, lane));
    let happens = prop_oneof![
        20 => (0usize..3, event.clone()).prop_map(|(automation, event)| Happens::Offer { automation, event }),
        1 => (0usize..3, event).prop_map(|(automation, event)| Happens::Cancel { automation, event }),
        1 => (0u8..2).prop_map(Happens::Release),
        1 => (0u8..2).prop_map(Happens::SessionEnds),
        1 => (0u8..2).prop_map(Happens::SessionCut),
        1 => (1u64..20).prop_map(Happens::Drop),
        1 => (1u64..20).prop_map(Happens::Revive),
    ];
    let run = (0u64..25, prop::bool::weighted(0.4)).prop_map(|(takes, fails)| RunScript { takes, fails });
    (
        prop::collection::vec(control(), 3),
        prop::collection::vec(prop::bool::weighted(0.3), 3),
        1usize..5,
        prop::collection::vec((0u64..12, happens), 1..45),
        prop::collection::vec(run, 1..20),
    )
        .prop_map(|(automations, in_turn, turns, happens, runs)| Script {
            automations,
            in_turn,
            turns,
            happens,
            runs,
        })
}
