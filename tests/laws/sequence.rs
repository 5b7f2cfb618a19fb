//! Law 18, and what holds of a session's events besides.

use std::collections::BTreeSet;

use lineside::bus::publish::PublishError;
use lineside::bus::signal::Watched;
use lineside::prelude::*;

use crate::{session, shell};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sequence_numbers_are_gap_free_per_session() {
    let (bus, root) = session().await;
    root.intercept::<BeforeTool>("some").gate(async |_, _| Verdict::Continue).unwrap();
    let mut signals = bus.signals();
    let publishers: Vec<_> = (0..8)
        .map(|_| {
            let session = root.clone();
            tokio::spawn(async move {
                let mut numbers = Vec::new();
                for _ in 0..100 {
                    numbers.push(session.publish(shell("ls")).await.unwrap().seq());
                    numbers.push(session.publish(OnIdle::new()).await.unwrap().seq());
                }
                numbers
            })
        })
        .collect();
    let mut numbers = BTreeSet::new();
    for publisher in publishers {
        for number in publisher.await.unwrap() {
            assert!(numbers.insert(number), "{number} was given twice");
        }
    }
    assert_eq!(numbers, (1..=1600).collect());
    assert_eq!(root.last_seq(), 1600);
    let mut told = BTreeSet::new();
    while let Some(Watched::Signal(signal)) = signals.try_next() {
        if let Signal::Decided(receipt) = signal {
            told.insert(receipt.event.envelope().seq);
        }
    }
    assert_eq!(told, numbers, "a reader of the signals misses none");
}

#[tokio::test]
async fn an_event_that_is_refused_has_no_number_and_one_that_is_given_up_is_signalled() {
    let (bus, root) = session().await;
    let mut signals = bus.signals();
    root.intercept::<BeforeTool>("hangs").gate(async |_, _| std::future::pending::<Verdict>().await).unwrap();
    {
        let mut publishing = std::pin::pin!(root.publish(shell("ls")));
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(publishing.as_mut().poll(&mut cx).is_pending());
    }
    assert!(matches!(signals.try_next(), Some(Watched::Signal(Signal::Abandoned { seq: 1, .. }))));
    root.close().await;
    assert!(matches!(root.publish(shell("ls")).await, Err(PublishError::Closed(_))));
    assert_eq!(root.last_seq(), 1);
}

#[tokio::test]
async fn a_line_of_causes_ends_at_eight() {
    let (_bus, root) = session().await;
    root.intercept::<BeforeTool>("loops")
        .gate(async |call: lineside::core::Event<BeforeTool>, cx: Cx| {
            let depth: u32 = call.command().unwrap().parse().unwrap();
            match cx.event(shell(&(depth + 1).to_string())).publish().await {
                Ok(decision) => decision.verdict().clone(),
                Err(error) => Verdict::block(format!("{depth}: {error}")),
            }
        })
        .unwrap();
    let decision = root.publish(shell("0")).await.unwrap();
    let reason = decision.reason().unwrap().as_str();
    assert!(reason.starts_with("8: before_tool is the 9th event in a line"), "{reason}");
}

#[tokio::test]
async fn collected_context_is_handed_over_once_and_goes_back_unaccepted() {
    let (_bus, root) = session().await;
    root.intercept::<BeforeTool>("tells")
        .gate(async |call: lineside::core::Event<BeforeTool>, _| {
            Judgement::from(Verdict::Continue).append(call.command().unwrap().into_owned())
        })
        .unwrap();
    for command in ["a", "b"] {
        assert!(!root.publish(shell(command)).await.unwrap().is_refused());
    }
    let texts = |delivery: &Delivery| delivery.messages().iter().map(|m| m.text.clone()).collect::<Vec<_>>();
    let delivery = root.collect().before_next_model().await;
    assert_eq!(texts(&delivery), ["a", "b"]);
    drop(delivery);
    let delivery = root.collect().before_next_model().await;
    assert_eq!(texts(&delivery), ["a", "b"]);
    delivery.accept();
    assert!(root.collect().before_next_model().await.messages().is_empty());
}
