//! The context journal: it continues in another runtime when the writer's has ended, and reports what it gives up.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lineside_bus::extension::DeferredMessage;
use lineside_bus::signal::Watched;
use lineside_bus::{Bus, Signal};
use lineside_core::context::Bounds;
use lineside_core::journal::{AppendAck, BoxFuture, Durability, Journal, Record, Sequence, Unavailable};
use lineside_core::{Append, EventId, SessionId};
use tokio::sync::Semaphore;

/// Keeps records, each append when it is let.
#[derive(Clone)]
struct Gated {
    records: Arc<Mutex<Vec<(Sequence, Record)>>>,
    gate: Arc<Semaphore>,
}

impl Gated {
    fn new(appends: usize) -> Self {
        Self { records: Arc::default(), gate: Arc::new(Semaphore::new(appends)) }
    }

    fn records(&self) -> Vec<(Sequence, Record)> {
        self.records.lock().unwrap().clone()
    }
}

impl Journal for Gated {
    fn append(&self, records: Vec<Record>) -> BoxFuture<Result<AppendAck, Unavailable>> {
        let own = self.clone();
        Box::pin(async move {
            own.gate.acquire().await.unwrap().forget();
            let mut all = own.records.lock().unwrap();
            for record in records {
                let next = Sequence(all.len() as u64 + 1);
                all.push((next, record));
            }
            Ok(AppendAck { last: Sequence(all.len() as u64), durability: Durability::Disk })
        })
    }

    fn checkpoint(&self, snapshot: Vec<Record>, up_to: Sequence) -> BoxFuture<Result<(), Unavailable>> {
        let mut all = self.records.lock().unwrap();
        *all = snapshot.into_iter().map(|record| (up_to, record)).collect();
        Box::pin(std::future::ready(Ok(())))
    }
}

fn late(number: u64) -> DeferredMessage {
    let event = EventId::from_u128(u128::from(number));
    let append = Append::system(format!("message {number}"));
    DeferredMessage {
        hook: "lint".into(),
        dialect: "native",
        point: "on_idle".into(),
        event,
        seq: number,
        id: None,
        append,
        keeps_working: false,
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

#[test]
fn what_a_runtime_had_in_hand_when_it_ended_is_written_by_the_next() {
    let journal = Gated::new(0);
    let bus = Bus::builder().context_journal(Arc::new(journal.clone()), []).build();
    let session = SessionId::from("s");
    let first = runtime();
    let posted = first.block_on(async {
        let posted = bus.deliver(&session, late(1));
        tokio::task::yield_now().await;
        posted
    });
    drop(first);
    journal.gate.add_permits(10);
    runtime().block_on(async {
        assert_eq!(posted.kept().await, Ok(Durability::Disk), "a waiter has it written");
        assert_eq!(bus.deliver(&session, late(2)).kept().await, Ok(Durability::Disk));
    });
    let again = Bus::builder().context_journal(Arc::new(Gated::new(10)), journal.records()).build();
    runtime().block_on(async {
        let session = again.session("s").open().await.unwrap();
        let texts: Vec<_> = session.collect().ready().accept().into_iter().map(|one| one.text).collect();
        assert_eq!(texts, ["message 1", "message 2"], "each once");
    });
}

#[tokio::test]
async fn what_a_newer_programme_has_written_is_kept_for_it() {
    let journal = Gated::new(1_000_000);
    let newer = Record::new(99, b"of a newer programme".to_vec());
    let before = [(Sequence(1), newer.clone())];
    let bus = Bus::builder().context_journal(Arc::new(journal.clone()), before).build();
    let session = bus.session("s").open().await.unwrap();
    for number in 0..2_000 {
        bus.deliver(session.id(), late(number)).kept().await.unwrap();
        session.collect().ready().accept();
    }
    let records = journal.records();
    assert!(records.len() < 2_000, "they were put together");
    assert!(records.iter().any(|(_, record)| *record == newer));
}

#[tokio::test]
async fn messages_for_sessions_that_nobody_opens_are_told_of_when_they_are_given_up() {
    const TOO_MANY: u64 = 40;
    let journal = Gated::new(1_000_000);
    let bus = Bus::builder().context_journal(Arc::new(journal.clone()), []).build();
    let mut signals = bus.signals();
    for number in 0..1024 + TOO_MANY {
        bus.deliver(&SessionId::from(format!("absent {number}")), late(number)).kept().await.unwrap();
    }
    // Enough happens for the journal to be put together.
    let busy = bus.session("busy").open().await.unwrap();
    for number in 0..1_200 {
        bus.deliver(busy.id(), late(10_000 + number)).kept().await.unwrap();
        busy.collect().ready().accept_durably().await.unwrap();
    }
    let mut dropped = BTreeSet::new();
    while let Some(watched) = signals.try_next() {
        if let Watched::Signal(Signal::ContextDropped { session, hook }) = watched {
            assert_eq!(&*hook, "lint");
            dropped.insert(session.to_string());
        }
    }
    let expected: BTreeSet<_> = (0..TOO_MANY).map(|number| format!("absent {number}")).collect();
    assert_eq!(dropped, expected, "those that were spoken of longest ago");
    let report = bus.drain(Duration::from_secs(5)).await;
    assert_eq!(report.context_dropped, TOO_MANY);
    assert!(!report.is_clean());
}

#[test]
fn all_mailboxes_together_have_a_bound_and_what_does_not_fit_is_signalled_and_named() {
    const MOST: usize = 16 << 10;
    const LONG: usize = 512;
    let journal = Gated::new(usize::MAX >> 4);
    let bus = Bus::builder().context_at_most(MOST).context_journal(Arc::new(journal), []).build();
    let mut signals = bus.signals();
    runtime().block_on(async {
        let mut open = Vec::new();
        for number in 0..4 {
            open.push(bus.session(format!("open {number}")).open().await.unwrap());
        }
        let message = |number: usize| DeferredMessage {
            append: Append::system("x".repeat(LONG)),
            ..late(u64::try_from(number).unwrap())
        };
        // Ten times as much as there is room for, for sessions that are open and for others.
        let sent = 10 * MOST / LONG;
        for number in 0..sent {
            let session = SessionId::from(format!("{} {}", ["open", "absent"][number % 2], number / 2 % 4));
            drop(bus.deliver(&session, message(number)));
        }
        for number in 0..4 {
            open.push(bus.session(format!("absent {number}")).open().await.unwrap());
        }
        let (mut waiting, mut missing) = (0, 0);
        for session in &open {
            let delivery = session.collect().at_most(Bounds::NONE).ready();
            waiting += delivery.messages().iter().map(|message| message.text.len()).sum::<usize>();
            missing += delivery.missing().len();
        }
        assert_eq!(waiting, MOST, "as much as there is room for");
        assert!(missing > 0, "what an open session lost is named in its next delivery");
        let mut dropped = 0;
        while dropped < sent - MOST / LONG {
            if let Some(Watched::Signal(Signal::ContextDropped { .. })) = signals.next().await {
                dropped += 1;
            }
        }
        // What was accepted makes room.
        let first = &open[0];
        let accepted = first.collect().at_most(Bounds::NONE).ready().accept();
        assert!(!accepted.is_empty());
        drop(bus.deliver(first.id(), message(sent)));
        assert_eq!(first.collect().ready().messages().len(), 1);
    });
}

#[tokio::test]
async fn context_is_kept_again_when_a_journal_that_was_too_far_behind_has_caught_up() {
    let journal = Gated::new(0);
    let bus = Bus::builder().context_journal(Arc::new(journal.clone()), []).build();
    let mut signals = bus.signals();
    let long = || DeferredMessage { append: Append::system("x".repeat(3 << 20)), ..late(1) };
    let session = |number: usize| SessionId::from(format!("s{number}"));
    // The first is in hand, and behind it stand more than may wait.
    let first = bus.deliver(&session(0), late(1));
    tokio::task::yield_now().await;
    for number in 1..=24 {
        drop(bus.deliver(&session(number), long()));
    }
    let late_one = bus.deliver(&session(25), late(2));
    assert!(late_one.kept().await.is_err(), "what is not kept is said at once");
    journal.gate.add_permits(100);
    let notice = loop {
        if let Some(Watched::Signal(Signal::Announced { notice })) = signals.next().await {
            break notice;
        }
    };
    assert!(notice.text.contains("it has caught up"), "{notice:?}");
    assert_eq!(first.kept().await, Ok(Durability::Disk));
    assert_eq!(bus.deliver(&session(26), late(3)).kept().await, Ok(Durability::Disk));
    assert!(bus.drain(Duration::from_secs(1)).await.is_clean());
    let again = Bus::builder().context_journal(Arc::new(Gated::new(10)), journal.records()).build();
    for number in 0..=26 {
        let session = again.session(session(number)).open().await.unwrap();
        assert_eq!(session.collect().at_most(Bounds::NONE).ready().messages().len(), 1, "{number}");
    }
}

#[tokio::test]
async fn the_context_of_closed_sessions_has_a_bound_in_number_and_what_is_given_up_is_counted() {
    // Ten times as many as are remembered.
    const MANY: usize = 10 * 1024;
    let journal = Gated::new(usize::MAX >> 4);
    let bus = Bus::builder().context_journal(Arc::new(journal.clone()), []).build();
    for number in 0..MANY {
        bus.deliver(&SessionId::from(format!("s{number}")), late(1)).kept().await.unwrap();
    }
    let dropped = bus.drain(Duration::from_secs(1)).await.context_dropped;
    assert!(dropped >= (MANY - 2 * 1024) as u64, "{dropped} were given up");
    let records = journal.records().len();
    assert!(records < 4 * 1024, "{records} are on record");
}
