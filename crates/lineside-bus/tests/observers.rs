//! The queues of observers and watchers of signals are bounded by bytes as well as by count, and losses are reported.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::{Arc, Mutex};

use lineside_bus::observer::{Lost, Overflow};
use lineside_bus::signal::Watched;
use lineside_bus::{Bus, Session, Signal};
use lineside_core::json::json;
use lineside_core::{Agent, Verdict};
use lineside_points::BeforeTool;

const MIB: usize = 1 << 20;

/// Publishes calls whose input is as long as this many MiB; an observer cannot have heard one before all are published.
async fn publish(session: &Session, mebibytes: &[usize]) {
    for (number, length) in (0..).zip(mebibytes) {
        let input = json!({"n": number, "text": "x".repeat(length * MIB)});
        drop(session.publish(BeforeTool::new("Shell", input)).await.unwrap());
    }
}

async fn heard(overflow: Overflow, mebibytes: &[usize]) -> (Vec<(u64, Lost)>, Vec<u64>) {
    let bus = Bus::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&heard);
    bus.observe::<BeforeTool>("audit")
        .bytes(4 * MIB)
        .overflow(overflow)
        .run(move |heard| {
            notes.lock().unwrap().push((heard.event().tool_input["n"].as_u64().unwrap(), heard.lost()));
            std::future::ready(())
        })
        .unwrap();
    let mut signals = bus.signals();
    let session = bus.session("s").open().await.unwrap();
    publish(&session, mebibytes).await;
    let lost = std::iter::from_fn(|| signals.try_next()).filter_map(|watched| match watched {
        Watched::Signal(Signal::ObserverLagged { lost, .. }) => Some(lost),
        _ => None,
    });
    let lost: Vec<u64> = lost.collect();
    let report = bus.drain(std::time::Duration::from_secs(60)).await;
    assert_eq!(report.observers_lost, lost.last().copied().unwrap_or_default());
    (std::mem::take(&mut *heard.lock().unwrap()), lost)
}

#[tokio::test]
async fn the_oldest_events_give_way_to_one_that_would_be_too_many_bytes() {
    let (heard, lost) = heard(Overflow::DropOldest, &[1, 1, 1, 2, 1]).await;
    assert_eq!(heard, [(3, Lost(3)), (4, Lost(0))]);
    assert_eq!(lost, [2, 3]);
}

#[tokio::test]
async fn the_newest_event_gives_way_where_that_is_declared() {
    let (heard, lost) = heard(Overflow::DropNewest, &[2, 1, 3, 0]).await;
    assert_eq!(heard, [(0, Lost(1)), (1, Lost(0)), (3, Lost(0))]);
    assert_eq!(lost, [1]);
}

#[tokio::test]
async fn one_event_alone_may_be_longer() {
    for overflow in [Overflow::DropOldest, Overflow::DropNewest] {
        let (heard, lost) = heard(overflow, &[9]).await;
        assert_eq!((heard, lost), (vec![(0, Lost(0))], vec![]));
    }
}

#[tokio::test]
async fn a_watcher_of_signals_loses_the_oldest_bytes_and_is_told_how_many() {
    let bus = Bus::new();
    let session = bus.session("s").open().await.unwrap();
    let mut signals = bus.signals();
    // Ten times as much as there is room for.
    publish(&session, &[8; 40]).await;
    assert!(matches!(signals.try_next(), Some(Watched::Lost(37))));
    let seqs = std::iter::from_fn(|| match signals.try_next()? {
        Watched::Signal(Signal::Decided(receipt)) => Some(receipt.event.envelope().seq),
        other => panic!("{other:?}"),
    });
    assert_eq!(seqs.collect::<Vec<_>>(), [38, 39, 40]);
}

#[tokio::test]
async fn an_observer_sees_whose_verdict_it_was_and_whose_event() {
    let bus = Bus::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&heard);
    let observer = bus.observe::<BeforeTool>("audit").run(move |heard| {
        let author = heard.author().map(|hook| hook.name.to_string());
        notes.lock().unwrap().push((
            author,
            heard.event().agent().id.to_string(),
            heard.verdict().to_string(),
        ));
        std::future::ready(())
    });
    observer.unwrap();
    let gate = bus.intercept::<BeforeTool>("no-rm").gate(async |call, _cx| match call.tool_name.as_str() {
        "Shell" => Verdict::block("not here"),
        _ => Verdict::Continue,
    });
    gate.unwrap();
    let session = bus.session("s").agent(Agent::main("a1")).open().await.unwrap();
    assert_eq!(&*session.agent().id, "a1");
    for tool in ["Shell", "ReadFile"] {
        drop(session.publish(BeforeTool::new(tool, json!({}))).await.unwrap());
    }
    drop(bus.drain(std::time::Duration::from_secs(60)).await);
    let own = |author: Option<&str>, verdict: &str| {
        (author.map(str::to_owned), "a1".to_owned(), verdict.to_owned())
    };
    assert_eq!(*heard.lock().unwrap(), [own(Some("no-rm"), "block: not here"), own(None, "continue")]);
}
