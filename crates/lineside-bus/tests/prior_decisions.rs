//! What a publisher settles itself: a verdict that stands before its event is published, and how often its agent is kept
//! working.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use lineside_bus::approver::{Approver, Asked, Question};
use lineside_bus::publish::StopBound;
use lineside_bus::{Bus, Session};
use lineside_core::json::{Map, json};
use lineside_core::{Receipt, Strength, Verdict};
use lineside_points::{BeforeStop, BeforeTool};
use tokio::sync::mpsc;

/// One who answers questions, of whom nothing is asked.
struct Unasked;

impl Approver for Unasked {
    fn ask(&self, _: Question) -> Asked {
        unreachable!("nothing is asked of what was decided before")
    }
}

#[tokio::test]
async fn what_was_decided_before_is_asked_of_no_hook_and_heard_by_observers() {
    let bus = Bus::new();
    let asked = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&asked);
    bus.intercept::<BeforeTool>("guard")
        .gate(move |_, _| {
            counted.fetch_add(1, Ordering::Relaxed);
            std::future::ready(Verdict::stop("guard"))
        })
        .unwrap();
    let (hears, mut heard) = mpsc::channel(4);
    bus.observe::<BeforeTool>("audit")
        .run(move |seen| {
            let hears = hears.clone();
            async move { hears.send(seen.verdict().clone()).await.unwrap() }
        })
        .unwrap();
    let session = bus.session("s").open().await.unwrap();
    for verdict in [Verdict::block("held"), Verdict::Continue] {
        let event = session.any_event(Arc::new(BeforeTool::new("Shell", json!({}))));
        let event = event.decided(verdict.clone()).answered_by(Arc::new(Unasked));
        let receipt = event.publish_any().await.unwrap();
        assert_eq!((&receipt.verdict, receipt.author, receipt.runs.len()), (&verdict, None, 0));
        assert_eq!(heard.recv().await.unwrap(), verdict);
    }
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

async fn stop(session: &Session, stops: StopBound) -> Arc<Receipt> {
    session.any_event(Arc::new(BeforeStop::new(false))).stops(stops).publish_any().await.unwrap()
}

#[tokio::test]
async fn a_publisher_that_counts_stops_itself_gets_every_block_and_no_message_of_it() {
    let bus = Bus::new();
    bus.intercept::<BeforeStop>("more").gate(async |_, _| Verdict::block("not yet")).unwrap();
    let session = bus.session("s").open().await.unwrap();
    for _ in 0..20 {
        let receipt = stop(&session, StopBound::Publisher).await;
        assert_eq!((&receipt.verdict, receipt.context.len()), (&Verdict::block("not yet"), 0));
    }
    // Nothing was counted: the bus begins with the first that is left to it.
    let mut blocks = 0;
    while stop(&session, StopBound::Bus).await.verdict.strength() == Strength::Block {
        blocks += 1;
        assert!(blocks < 20, "the bus lets an agent stop at last");
    }
    assert!(blocks > 1, "{blocks}");
}

#[tokio::test]
async fn an_event_has_the_fields_that_its_publisher_gives_beside_the_payload() {
    let bus = Bus::new();
    let session = bus.session("s").open().await.unwrap();
    let extra = async |fields: Map| {
        let event = session.event(BeforeTool::new("Shell", json!({}))).extra(fields);
        let decision = event.decided(Verdict::Continue).publish().await.unwrap();
        decision.receipt().unwrap().event.envelope().extra.as_deref().map(|extra| Map::clone(extra))
    };
    let given = Map::from_iter([("x".to_owned(), json!([1]))]);
    assert_eq!(extra(given.clone()).await, Some(given));
    assert_eq!(extra(Map::new()).await, None);
}
