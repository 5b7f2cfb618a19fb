//! The end of a session and the automations of its last events.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lineside_automation::{Automate, Report};
use lineside_bus::JobNews;
use lineside_core::Verdict;
use lineside_points::BeforeTool;

use crate::{millis, news, session};

#[tokio::test(start_paused = true)]
async fn closing_waits_for_the_automations_of_events_under_way_or_starts_none() {
    for (limit, expected) in [(None, 1), (Some(millis(50)), 0)] {
        let (_bus, session) = session().await;
        let runs = Arc::new(AtomicUsize::new(0));
        let counting = Arc::clone(&runs);
        session
            .automate::<BeforeTool>("counts")
            .run(move |_, _| {
                let counting = Arc::clone(&counting);
                async move {
                    tokio::time::sleep(millis(10)).await;
                    counting.fetch_add(1, Ordering::SeqCst);
                    Ok(Report::success("counted"))
                }
            })
            .unwrap();
        session
            .intercept::<BeforeTool>("takes its time")
            .gate(async |_, _| {
                tokio::time::sleep(millis(100)).await;
                Verdict::Continue
            })
            .unwrap();
        let publisher = session.clone();
        let published = tokio::spawn(async move {
            publisher
                .publish(BeforeTool::new("Shell", lineside_core::json::Value::Null))
                .await
                .unwrap()
                .is_refused()
        });
        tokio::time::sleep(millis(1)).await;
        match limit {
            None => session.close().await,
            Some(limit) => session.close_within(limit).await,
        }
        let by_the_end = runs.load(Ordering::SeqCst);
        assert!(!published.await.unwrap());
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!((by_the_end, runs.load(Ordering::SeqCst)), (expected, expected), "then and for ever");
    }
}

#[tokio::test]
async fn a_run_that_is_always_ready_has_no_more_time() {
    let (bus, session) = session().await;
    session
        .automate::<BeforeTool>("busy")
        .timeout(millis(20))
        .run(async |_, _| {
            let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
            let began = std::time::Instant::now();
            // Gives up by itself when its time is long over.
            while began.elapsed() < Duration::from_secs(5) {
                sender.try_send(()).ok();
                receiver.recv().await;
            }
            Ok(Report::success("it had the time"))
        })
        .unwrap();
    let mut signals = bus.signals();
    drop(session.publish(BeforeTool::new("Shell", lineside_core::json::Value::Null)).await.unwrap());
    session.close().await;
    let news = news(&mut signals);
    assert!(matches!(news.last(), Some(JobNews::Dead(why)) if why.contains("timed out")), "{news:?}");
}
