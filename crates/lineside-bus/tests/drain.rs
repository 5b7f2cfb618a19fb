//! The end of a bus: observers hear what was pushed, wherever they are registered, and none waits for another one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "doubles/scripted.rs"]
mod scripted;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lineside_bus::{Bus, Installed, Session};
use lineside_core::payload::Point as _;
use lineside_core::{Hook, Part};
use lineside_points::OnIdle;
use tokio::time::Instant;

use scripted::scripted;

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

/// A session with a background hook that takes as long, under way for one event.
async fn working(bus: &Bus, id: &str, time: Duration) -> Session {
    let session = bus.session(id.to_owned()).open().await.unwrap();
    let run = scripted(move || tokio::time::sleep(time));
    let hook = Hook::native("works", Part::Detached);
    session.attach(Installed { point: OnIdle::INFO, hook, run }).unwrap();
    drop(session.publish(OnIdle::new()).await.unwrap());
    session
}

#[tokio::test(start_paused = true)]
async fn what_goes_on_of_sessions_that_are_closed_has_the_time_of_the_bus() {
    let bus = Bus::new();
    let given_up = working(&bus, "given up", Duration::from_millis(100)).await;
    let mut close = std::pin::pin!(given_up.close());
    tokio::select! {
        biased;
        () = &mut close => panic!("the hook runs still"),
        () = std::future::ready(()) => {}
    }
    let closing = working(&bus, "closing", Duration::from_secs(100)).await;
    let closing = tokio::spawn(async move { closing.close().await });
    let over = working(&bus, "over", Duration::from_millis(1)).await;
    over.close().await;
    assert!(bus.sessions().is_empty());
    let began = Instant::now();
    let report = bus.drain(Duration::from_secs(1)).await;
    assert_eq!(began.elapsed(), Duration::from_secs(1));
    assert_eq!((report.sessions, report.detached_finished, report.detached_cut_short), (0, 1, 1));
    assert!(!report.is_clean());
    closing.await.unwrap();
}
