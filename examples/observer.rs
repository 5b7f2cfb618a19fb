//! An observer counts tool calls, and nothing that it does affects the agent or other hooks.
//!
//! An observer is an actor behind a bounded queue. The publisher pushes a reference and goes on: a slow observer costs
//! it nothing, and a panicking one costs that one event. What does not fit into the queue is dropped by the declared
//! policy, counted, and told to the observer with the next event that it hears.
//!
//! ```sh
//! cargo run --example observer
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lineside::bus::Lost;
use lineside::prelude::*;
use tokio::sync::{Notify, mpsc};

/// Calls by session and tool.
type Calls = BTreeMap<(String, String), u64>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    measure().await?;
    overflow().await?;
    panics().await
}

/// Tools per session. The closure owns its counts: an observer hears one event at a time, so it needs no lock.
async fn measure() -> Result<(), Box<dyn Error>> {
    let bus = Bus::new();
    let (report, mut reports) = mpsc::channel(1);
    let mut calls = Calls::new();
    bus.observe::<AfterTool>("tools-per-session").run(move |heard| {
        let event = heard.event();
        let key = (event.envelope().source.session.to_string(), event.tool_name.clone());
        *calls.entry(key).or_default() += 1;
        // Readers of the counts get the latest; there may be none.
        let (report, latest) = (report.clone(), calls.clone());
        async move {
            if latest.values().sum::<u64>() == 30 {
                report.send(latest).await.ok();
            }
        }
    })?;

    let main = bus.session("main").open().await?;
    let reviewer = main.subagent("reviewer").open().await?;
    for round in 0..10 {
        for (session, tool) in [(&main, "Shell"), (&reviewer, "ReadFile"), (&reviewer, "Search")] {
            let decision = session.publish(AfterTool::new(tool, json!({"round": round}))).await?;
            assert!(!decision.is_refused());
        }
    }

    let calls = reports.recv().await.ok_or("the observer is gone")?;
    println!("tools per session:");
    for ((session, tool), count) in &calls {
        println!("  {session:<9} {tool:<9} {count:>3}");
        assert_eq!(*count, 10);
    }
    assert!(bus.drain(secs(1)).await.is_clean());
    Ok(())
}

/// An observer that is stuck on its first event while a hundred more are published. Its queue holds eight.
async fn overflow() -> Result<(), Box<dyn Error>> {
    let bus = Bus::new();
    let session = bus.session("busy").open().await?;
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (heard, lost) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));

    let (signal, gate) = (Arc::clone(&begun), Arc::clone(&go_on));
    let (count, missed) = (Arc::clone(&heard), Arc::clone(&lost));
    session.observe::<BeforeTool>("slow").capacity(8).overflow(Overflow::DropOldest).run(move |event| {
        let first = count.fetch_add(1, Ordering::Relaxed) == 0;
        let Lost(just_now) = event.lost();
        missed.fetch_add(just_now, Ordering::Relaxed);
        let (signal, gate) = (Arc::clone(&signal), Arc::clone(&gate));
        async move {
            if first {
                signal.notify_one();
                gate.notified().await;
            }
        }
    })?;

    let first = session.publish(BeforeTool::new("Shell", json!({"command": "first"}))).await?;
    assert!(!first.is_refused());
    begun.notified().await;
    for number in 0..100 {
        // The observer is stuck, and this does not wait for it.
        let decision = session.publish(BeforeTool::new("Shell", json!({"command": number}))).await?;
        assert!(!decision.is_refused());
    }
    go_on.notify_one();

    let report = bus.drain(secs(1)).await;
    let (heard, lost) = (heard.load(Ordering::Relaxed), lost.load(Ordering::Relaxed));
    println!("a stuck observer with room for 8: {heard} heard, {lost} lost, 101 published");
    assert_eq!((heard, lost), (9, 92), "the one that it was stuck on, and the last eight");
    assert_eq!(report.observers_lost, 92, "the bus has counted the same");
    Ok(())
}

/// An observer that panics at every other event, beside a gate that must not notice.
async fn panics() -> Result<(), Box<dyn Error>> {
    // What a panic prints by itself would only be noise here.
    std::panic::set_hook(Box::new(|_| {}));

    let bus = Bus::new();
    let session = bus.session("calm").open().await?;
    let survived = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&survived);
    session.observe::<BeforeTool>("clumsy").run(move |heard| {
        let counter = Arc::clone(&counter);
        async move {
            assert!(heard.event().envelope().seq % 2 == 0, "stumbles over odd numbers");
            counter.fetch_add(1, Ordering::Relaxed);
        }
    })?;
    session.intercept::<BeforeTool>("no-rm").gate(async |call, _cx| match call.command().as_deref() {
        Some("rm") => Verdict::block("no"),
        _ => Verdict::Continue,
    })?;

    for number in 1..=10 {
        let command = if number % 5 == 0 { "rm" } else { "ls" };
        let decision = session.publish(BeforeTool::new("Shell", json!({"command": command}))).await?;
        assert_eq!(decision.is_refused(), command == "rm", "decisions are what they would be without it");
    }

    let report = bus.drain(secs(1)).await;
    let survived = survived.load(Ordering::Relaxed);
    println!("an observer that panics at 5 of 10 events hears the other {survived}; no decision has changed");
    assert_eq!(survived, 5);
    assert!(report.is_clean());
    Ok(())
}
