//! The end of a bus: observers hear what was pushed, wherever they are registered, and none waits for another one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lineside_bus::Bus;
use lineside_points::OnIdle;
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn the_observers_of_a_closed_session_hear_what_was_published_below_it() {
    let bus = Bus::new();
    let parent = bus.session("parent").open().await.unwrap();
    let heard = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&heard);
    parent
        .observe::<OnIdle>("slow")
        .run(move |_| {
            let heard = Arc::clone(&counted);
            async move {
                tokio::time::sleep(Duration::from_millis(100)).await;
                heard.fetch_add(1, Ordering::SeqCst);
            }
        })
        .unwrap();
    let child = parent.subagent("child").open().await.unwrap();
    parent.close().await;
    for _ in 0..3 {
        drop(child.publish(OnIdle::new()).await.unwrap());
    }
    let report = bus.drain(Duration::from_secs(1)).await;
    assert_eq!(heard.load(Ordering::SeqCst), 3);
    assert!(report.is_clean(), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_is_stuck_costs_the_others_nothing() {
    let bus = Bus::new();
    bus.observe::<OnIdle>("stuck").run(|_| std::future::pending()).unwrap();
    let heard = Arc::new(AtomicUsize::new(0));
    for name in ["one", "other"] {
        let counted = Arc::clone(&heard);
        bus.observe::<OnIdle>(name)
            .run(move |_| {
                let heard = Arc::clone(&counted);
                async move {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    heard.fetch_add(1, Ordering::SeqCst);
                }
            })
            .unwrap();
    }
    let session = bus.session("s").open().await.unwrap();
    drop(session.publish(OnIdle::new()).await.unwrap());
    let report = bus.drain(Duration::from_secs(1)).await;
    assert_eq!(heard.load(Ordering::SeqCst), 2);
    assert_eq!(report.observers_behind, 1);
    assert!(!report.is_clean());
}

#[tokio::test(start_paused = true)]
async fn a_limit_beyond_all_time_is_none() {
    let bus = Bus::new();
    let five = Duration::from_secs(5);
    bus.observe::<OnIdle>("slow").run(move |_| tokio::time::sleep(five)).unwrap();
    let session = bus.session("s").open().await.unwrap();
    drop(session.publish(OnIdle::new()).await.unwrap());
    let began = Instant::now();
    let report = bus.drain(Duration::MAX).await;
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(began.elapsed(), five);
}
