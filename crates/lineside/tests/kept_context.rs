//! Context that is kept: what a kill costs, what it does not, and what comes twice, which is nothing that was accepted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use lineside::Bus;
use lineside::bus::extension::DeferredMessage;
use lineside::bus::{Delivery, Session, Signal};
use lineside::core::context::Bounds;
use lineside::core::journal::{Durability, Journal as _, Record, Unavailable};
use lineside::core::{Append, EventId, MessageId, SessionId};
use lineside::durable::Durable;
use lineside::journal::MemoryJournal;
use lineside::prelude::*;

fn late(seq: u64, append: impl Into<Append>) -> DeferredMessage {
    let append = append.into();
    let event = EventId::from_u128(1);
    DeferredMessage {
        hook: "h".into(),
        dialect: "native",
        point: "on_idle".into(),
        event,
        seq,
        id: None,
        append,
        keeps_working: false,
    }
}

/// A bus whose context is in this journal.
fn bus(journal: &MemoryJournal) -> Bus {
    Bus::builder().context_journal(Arc::new(journal.clone()), journal.recovered()).build()
}

/// The journal as the next process finds it when only so many records were kept.
async fn killed_after(journal: &MemoryJournal, records: usize) -> MemoryJournal {
    let found: Vec<Record> =
        journal.recovered().into_iter().take(records).map(|(_, record)| record).collect();
    let next = MemoryJournal::new();
    next.append(found).await.unwrap();
    next
}

/// The journal as the next process finds it now.
async fn killed(journal: &MemoryJournal) -> MemoryJournal {
    killed_after(journal, usize::MAX).await
}

fn texts(delivery: &Delivery) -> Vec<&str> {
    delivery.messages().iter().map(|message| &*message.text).collect()
}

async fn send(session: &Session, late: DeferredMessage) -> Result<Durability, Unavailable> {
    session.bus().deliver(session.id(), late).kept().await
}

#[tokio::test]
async fn c02_a_kill_before_the_acceptance_gives_messages_again_and_after_it_never() {
    let journal = MemoryJournal::new();
    let first = bus(&journal).session("s").open().await.unwrap();
    for text in ["a", "b", "c"] {
        send(&first, late(0, text)).await.unwrap();
    }
    let delivery = first.collect().ready();
    let ids: Vec<MessageId> = delivery.messages().iter().map(|message| message.id).collect();
    assert_eq!(texts(&delivery), ["a", "b", "c"]);

    let journal = killed(&journal).await;
    let next = bus(&journal);
    let found = next.context_recovered();
    assert_eq!((found.sessions, found.messages, found.unreadable), (1, 3, 0));
    let mut signals = next.signals();
    let second = next.session("s").open().await.unwrap();
    let mut recovered = 0;
    while let Some(lineside::bus::signal::Watched::Signal(signal)) = signals.try_next() {
        if let Signal::ContextRecovered { messages, .. } = signal {
            recovered = messages;
        }
    }
    assert_eq!(recovered, 3);
    send(&second, late(0, "d")).await.unwrap();
    let delivery = second.collect().at_most(Bounds { messages: 2, ..Bounds::NONE }).ready();
    assert_eq!(texts(&delivery), ["a", "b"], "those of the earlier life first");
    assert_eq!(delivery.messages().iter().map(|message| message.id).collect::<Vec<_>>(), ids[..2]);
    delivery.accept_durably().await.unwrap();

    let journal = killed(&journal).await;
    let third = bus(&journal).session("s").open().await.unwrap();
    let delivery = third.collect().ready();
    assert_eq!(texts(&delivery), ["c", "d"]);
    delivery.accept_durably().await.unwrap();
    let journal = killed(&journal).await;
    let fourth = bus(&journal).session("s").open().await.unwrap();
    // An id that was accepted in an earlier life is not new in this one.
    send(&fourth, DeferredMessage { id: Some(ids[0]), ..late(0, "a") }).await.unwrap();
    assert!(fourth.collect().ready().messages().is_empty());
}

#[tokio::test]
async fn wherever_the_records_end_nothing_kept_is_lost_and_nothing_accepted_comes_again() {
    let journal = MemoryJournal::new();
    let session = bus(&journal).session("s").open().await.unwrap();
    // After how many records which messages were kept, and which were accepted.
    let mut kept: BTreeMap<String, usize> = BTreeMap::new();
    let mut accepted: BTreeMap<String, usize> = BTreeMap::new();
    for number in 0..40_u32 {
        let append = Append::system(number.to_string());
        let append = if number % 7 == 3 { append.key("k") } else { append };
        send(&session, late(u64::from(number % 3), append)).await.unwrap();
        kept.insert(number.to_string(), journal.recovered().len());
        if number % 5 == 0 {
            let delivery = session.collect().at_most(Bounds { messages: 3, ..Bounds::NONE }).ready();
            if number % 2 == 0 {
                let (messages, _) = delivery.accept_durably().await.unwrap();
                let now = journal.recovered().len();
                accepted.extend(messages.into_iter().map(|message| (message.text, now)));
            }
        }
    }
    assert!(accepted.len() >= 10, "{accepted:?}");
    let replaced = ["3", "10", "17", "24", "31"];
    let all = journal.recovered().len();
    for records in 0..=all {
        let journal = killed_after(&journal, records).await;
        let session = bus(&journal).session("s").open().await.unwrap();
        let delivery = session.collect().at_most(Bounds::NONE).ready();
        let given = texts(&delivery);
        for (text, after) in &kept {
            let was_accepted = accepted.get(text).is_some_and(|after| *after <= records);
            if was_accepted {
                assert!(!given.contains(&&**text), "{text} was accepted before record {records}");
            } else if *after <= records && !accepted.contains_key(text) && !replaced.contains(&&**text) {
                assert!(given.contains(&&**text), "{text} was kept before record {records}");
            }
        }
    }
}

#[tokio::test]
async fn acceptance_says_when_it_is_not_kept() {
    let journal = MemoryJournal::new();
    let bus = bus(&journal);
    let session = bus.session("s").open().await.unwrap();
    assert_eq!(send(&session, late(0, "a")).await, Ok(Durability::Memory), "as durable as the journal");
    journal.set_unavailable(Some(Unavailable::because("disk full")));
    assert_eq!(send(&session, late(0, "b")).await, Err(Unavailable::because("disk full")));
    let delivery = session.collect().ready();
    assert_eq!(texts(&delivery), ["a", "b"], "everything goes on in memory");
    let error = delivery.accept_durably().await.unwrap_err();
    assert_eq!((error.messages.len(), &*error.why.why), (2, "disk full"));
    assert!(session.collect().ready().messages().is_empty(), "this process does not give them again");
    let report = bus.drain(Duration::from_secs(1)).await;
    assert!(!report.is_clean());
    assert_eq!(report.context_unkept, 2, "the message and the acceptance");
}

#[tokio::test]
async fn c02_a_message_for_a_session_that_is_over_waits_until_it_is_opened_again() {
    let journal = MemoryJournal::new();
    let bus1 = bus(&journal);
    let session = bus1.session("s").open().await.unwrap();
    session.close().await;
    drop(session);
    let id = Some(MessageId::stable(&[b"job"]));
    let to = SessionId::from("s");
    for _ in 0..2 {
        bus1.deliver(&to, DeferredMessage { id, ..late(4, "late") }).kept().await.unwrap();
    }
    let again = bus1.session("s").open().await.unwrap();
    assert_eq!(texts(&again.collect().ready()), ["late"], "once, in this life");
    let journal = killed(&journal).await;
    let bus2 = bus(&journal);
    bus2.deliver(&to, DeferredMessage { id, ..late(4, "late") }).kept().await.unwrap();
    let next = bus2.session("s").open().await.unwrap();
    assert_eq!(texts(&next.collect().ready()), ["late"], "and in the next");
    // Without a journal there is nowhere to leave it.
    let bus3 = Bus::new();
    let mut signals = bus3.signals();
    assert!(!bus3.deliver(&to, late(0, "late")).is_durable());
    let told = signals.try_next();
    assert!(
        matches!(told, Some(lineside::bus::signal::Watched::Signal(Signal::ContextDropped { .. }))),
        "{told:?}"
    );
}

#[tokio::test]
async fn c02_a_session_that_is_opened_again_at_once_has_its_mailbox() {
    let journal = MemoryJournal::new();
    let bus = bus(&journal);
    let first = bus.session("s").open().await.unwrap();
    for text in ["a", "b"] {
        send(&first, late(9, text)).await.unwrap();
    }
    let delivery = first.collect().at_most(Bounds { messages: 1, ..Bounds::NONE }).ready();
    first.close().await;
    let second = bus.session("s").open().await.unwrap();
    send(&second, late(0, "c")).await.unwrap();
    assert_eq!(texts(&second.collect().ready()), ["b", "c"], "what is handed over is not handed over twice");
    drop(delivery);
    assert_eq!(texts(&second.collect().ready()), ["a", "b", "c"]);
}

#[tokio::test]
async fn the_journal_is_made_shorter_and_says_the_same() {
    let journal = MemoryJournal::new();
    let bus1 = bus(&journal);
    let session = bus1.session("s").open().await.unwrap();
    let id = |number: u32| Some(MessageId::stable(&[&number.to_le_bytes()]));
    for number in 0..6_000 {
        send(&session, DeferredMessage { id: id(number), ..late(0, number.to_string()) }).await.unwrap();
        if number % 10 == 9 {
            let bounds = Bounds { messages: 10, ..Bounds::NONE };
            session.collect().at_most(bounds).ready().accept_durably().await.unwrap();
        }
    }
    for number in 6_000..6_020 {
        send(&session, DeferredMessage { id: id(number), ..late(0, number.to_string()) }).await.unwrap();
    }
    assert!(bus1.drain(Duration::from_secs(5)).await.context_unkept == 0);
    assert!(journal.recovered().len() < 2_500, "{}", journal.recovered().len());
    let journal = killed(&journal).await;
    let next = bus(&journal).session("s").open().await.unwrap();
    for number in [2_500, 5_999, 6_003] {
        send(&next, DeferredMessage { id: id(number), ..late(0, "again") }).await.unwrap();
    }
    let expected: Vec<String> = (6_000..6_020).map(|number| number.to_string()).collect();
    assert_eq!(texts(&next.collect().ready()), expected);
}

#[tokio::test(start_paused = true)]
async fn what_is_too_old_by_the_wall_clock_is_too_old_in_the_next_life() {
    let journal = MemoryJournal::new();
    let session = bus(&journal).session("s").open().await.unwrap();
    send(&session, late(0, Append::system("short").expires(Duration::ZERO))).await.unwrap();
    send(&session, late(0, Append::system("long").expires(Duration::from_secs(3600)))).await.unwrap();
    let journal = killed(&journal).await;
    let next = bus(&journal).session("s").open().await.unwrap();
    let delivery = next.collect().ready();
    assert_eq!(texts(&delivery), ["long"]);
    assert_eq!(delivery.missing().len(), 1);
    drop(delivery);
    tokio::time::advance(Duration::from_secs(3601)).await;
    assert!(next.collect().ready().messages().is_empty());
}

#[tokio::test(start_paused = true)]
async fn c02_a_job_that_a_kill_runs_twice_is_heard_of_once() {
    let (jobs, context) = (MemoryJournal::new(), MemoryJournal::new());
    let life = |jobs: MemoryJournal, context: MemoryJournal| async move {
        let bus = bus(&context);
        let (automations, _) = lineside::automation::Automations::open(
            &bus,
            Default::default(),
            Arc::new(jobs.clone()),
            jobs.recovered(),
        )
        .unwrap();
        bus.automate::<AfterToolBatch>("lint").run(async |_, _| Ok(Report::failure("2 errors"))).unwrap();
        let session = bus.session("s").open().await.unwrap();
        (bus, automations, session)
    };
    let (_bus, automations, session) = life(jobs.clone(), context.clone()).await;
    drop(session.publish(AfterToolBatch::new(Vec::new(), Vec::new())).await.unwrap());
    automations.kept().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let all = jobs.recovered().len();
    assert!(all >= 5, "it was accepted, started, ended, settled and delivered: {all}");
    // The context was kept; of the job, no more than this.
    for records in 1..=all {
        for has_collected in [false, true] {
            let (jobs, context) = (killed_after(&jobs, records).await, killed(&context).await);
            let (_bus, _automations, session) = life(jobs, context).await;
            let mut heard = Vec::new();
            if has_collected {
                heard.extend(session.collect().ready().accept());
            }
            tokio::time::sleep(Duration::from_secs(100)).await;
            heard.extend(session.collect().ready().accept());
            assert_eq!(heard.len(), 1, "after {records} of {all} records: {heard:?}");
            assert_eq!(&*heard[0].point, "after_tool_batch");
        }
    }
}

#[tokio::test]
async fn c03_a_folder_keeps_context_and_whole_texts() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(10_000);
    let bounds = Bounds { messages: 9, bytes: 1_000, tokens: 1_000 };
    let file = {
        let durable = Durable::open(folder.path()).unwrap();
        let bus = durable.context(Bus::builder()).build();
        let session = bus.session("s").open().await.unwrap();
        assert_eq!(send(&session, late(0, &*long)).await, Ok(Durability::Disk));
        let delivery = session.collect().at_most(bounds).ready();
        let message = &delivery.messages()[0];
        let file = message.cut.as_ref().unwrap().file.clone().unwrap();
        assert!(message.text.contains(&*file), "the marker names the file: {}", message.text);
        assert_eq!(std::fs::read_to_string(&*file).unwrap(), long);
        assert_eq!(session.full_text(message.id), Some(long.clone()));
        assert!(bus.drain(Duration::from_secs(5)).await.context_unkept == 0);
        file
    };
    let durable = Durable::open(folder.path()).unwrap();
    let bus = durable.context(Bus::builder()).build();
    let session = bus.session("s").open().await.unwrap();
    let delivery = session.collect().at_most(bounds).ready();
    assert_eq!(delivery.messages()[0].cut.as_ref().unwrap().file, Some(file), "the same file");
    let (messages, durability) = delivery.accept_durably().await.unwrap();
    assert_eq!(durability, Durability::Disk);
    assert_eq!(session.full_text(messages[0].id), Some(long));
}
