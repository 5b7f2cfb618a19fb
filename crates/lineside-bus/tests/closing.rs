//! What closing a session waits for, and that nothing starts after it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "doubles/scripted.rs"]
mod scripted;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lineside_bus::signal::Watched;
use lineside_bus::{Bus, Decision, Installed, PublishError, Session, Signal};
use lineside_core::hook::{Hook, Lane};
use lineside_core::json::json;
use lineside_core::{FailureKind, Outcome, Part, Reach, Verdict};
use lineside_points::{BeforePrompt, BeforeTool, OnIdle};
use tokio::sync::Semaphore;

use scripted::scripted;

async fn session() -> (Bus, Session) {
    let bus = Bus::new();
    let session = bus.session("s").open().await.unwrap();
    (bus, session)
}

fn call() -> BeforeTool {
    BeforeTool::new("Shell", json!({}))
}

/// How many sessions of that id were signalled as closed.
fn closed(signals: &mut lineside_bus::Signals, id: &str) -> usize {
    std::iter::from_fn(|| signals.try_next())
        .filter(|watched| {
            matches!(watched, Watched::Signal(Signal::SessionClosed { session, .. }) if session.as_str() == id)
        })
        .count()
}

#[tokio::test]
async fn a_close_that_is_dropped_is_signalled_once() {
    let (bus, session) = session().await;
    let held = Arc::new(Semaphore::new(0));
    let gate = Arc::clone(&held);
    let hook = Hook::native("held", Part::Detached).lane(Lane::Own);
    let run = scripted(move || {
        let gate = Arc::clone(&gate);
        async move { gate.acquire().await.unwrap().forget() }
    });
    bus.install("test", vec![Installed { point: lineside_points::find("on_idle").unwrap(), hook, run }])
        .unwrap();
    drop(session.publish(OnIdle::new()).await.unwrap());
    let mut signals = bus.signals();
    {
        let mut close = std::pin::pin!(session.close());
        tokio::select! {
            biased;
            () = &mut close => panic!("the hook runs still"),
            () = std::future::ready(()) => {}
        }
    }
    assert!(!session.is_open());
    held.add_permits(1);
    session.close().await;
    session.close().await;
    assert_eq!(closed(&mut signals, "s"), 1);
}

/// A gate that an event waits at: how many have come, and leave for how many to go on.
#[derive(Clone)]
struct Barrier {
    come: Arc<Semaphore>,
    go: Arc<Semaphore>,
}

impl Barrier {
    fn before(session: &Session) -> Self {
        let barrier = Self { come: Arc::new(Semaphore::new(0)), go: Arc::new(Semaphore::new(0)) };
        let waits = barrier.clone();
        session
            .intercept::<BeforeTool>("waits")
            .gate(move |_, _| {
                let waits = waits.clone();
                async move {
                    waits.come.add_permits(1);
                    waits.go.acquire().await.unwrap().forget();
                    Verdict::Continue
                }
            })
            .unwrap();
        barrier
    }

    /// Publishes an event, and gives it when it waits here.
    async fn publish(&self, session: &Session) -> tokio::task::JoinHandle<Decision<BeforeTool>> {
        let session = session.clone();
        let published = tokio::spawn(async move { session.publish(call()).await.unwrap() });
        self.come.acquire().await.unwrap().forget();
        published
    }
}

/// Has a session tell of its events; gives how often that has happened.
fn told(session: &Session) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&count);
    let run = scripted(move || {
        let counts = Arc::clone(&counts);
        async move {
            tokio::task::yield_now().await;
            counts.fetch_add(1, Ordering::SeqCst);
        }
    });
    let point = lineside_points::find("before_tool").unwrap();
    session.attach(Installed { point, hook: Hook::native("told", Part::PostDecision), run }).unwrap();
    count
}

#[tokio::test(start_paused = true)]
async fn closing_waits_for_events_under_way_and_for_what_they_start() {
    let (bus, session) = session().await;
    let (barrier, told) = (Barrier::before(&session), told(&session));
    let published = barrier.publish(&session).await;
    let mut signals = bus.signals();
    let closing = session.clone();
    let closing = tokio::spawn(async move { closing.close().await });
    // Time goes on only when nothing can run.
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(!session.is_open() && !closing.is_finished());
    assert_eq!(session.publish(call()).await.err(), Some(PublishError::Closed("s".into())));
    barrier.go.add_permits(1);
    closing.await.unwrap();
    assert_eq!(told.load(Ordering::SeqCst), 1);
    assert_eq!(published.await.unwrap().seq(), 1);
    let mut order = Vec::new();
    while let Some(watched) = signals.try_next() {
        match watched {
            Watched::Signal(Signal::Decided(_)) => order.push("decided"),
            Watched::Signal(Signal::DetachedFinished { .. }) => order.push("told"),
            Watched::Signal(Signal::SessionClosed { last_seq: 1, .. }) => order.push("closed"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(order, ["decided", "told", "closed"]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_started_for_an_event_that_is_undecided_when_there_is_no_more_time() {
    let (bus, session) = session().await;
    let (barrier, told) = (Barrier::before(&session), told(&session));
    let published = barrier.publish(&session).await;
    session.close_within(Duration::from_secs(1)).await;
    let mut signals = bus.signals();
    barrier.go.add_permits(1);
    assert!(!published.await.unwrap().is_refused());
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(told.load(Ordering::SeqCst), 0);
    let ended = std::iter::from_fn(|| signals.try_next()).find_map(|watched| match watched {
        Watched::Signal(Signal::DetachedFinished { outcome: Outcome::Failed { failure, .. }, .. }) => {
            Some(failure)
        }
        _ => None,
    });
    let ended = ended.unwrap();
    assert_eq!((ended.kind, ended.started), (FailureKind::Closed, false));
    assert_eq!(ended.detail, "the session had closed before it began");
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_the_events_of_sessions_that_are_closed() {
    let bus = Bus::new();
    let (mut barriers, mut published) = (Vec::new(), Vec::new());
    for id in 0..20 {
        let session = bus.session(format!("s{id}")).open().await.unwrap();
        let barrier = Barrier::before(&session);
        published.push(barrier.publish(&session).await);
        barriers.push(barrier);
        session.close_within(Duration::ZERO).await;
    }
    assert!(bus.sessions().is_empty());
    let report = bus.drain(Duration::from_secs(1)).await;
    assert_eq!((report.undecided, report.sessions), (20, 0));
    let draining = bus.clone();
    let draining = tokio::spawn(async move { draining.drain(Duration::from_secs(1)).await });
    // Time goes on only when nothing can run.
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(!draining.is_finished());
    barriers.iter().for_each(|barrier| barrier.go.add_permits(1));
    assert_eq!(draining.await.unwrap().undecided, 0);
    for published in published {
        assert_eq!(published.await.unwrap().seq(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_closed_while_the_bus_drains_is_closed_and_others_are_draining() {
    let (bus, session) = session().await;
    let other = bus.session("other").open().await.unwrap();
    let barrier = Barrier::before(&session);
    let published = barrier.publish(&session).await;
    let draining = bus.clone();
    let draining = tokio::spawn(async move { draining.drain(Duration::from_secs(1)).await });
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(session.publish(call()).await.err(), Some(PublishError::Draining));
    assert_eq!(other.publish(OnIdle::new()).await.err(), Some(PublishError::Draining));
    assert!(bus.session("late").open().await.is_err());
    other.close().await;
    assert_eq!(other.publish(OnIdle::new()).await.err(), Some(PublishError::Closed("other".into())));
    barrier.go.add_permits(1);
    let report = draining.await.unwrap();
    assert_eq!((report.undecided, report.sessions), (0, 1), "one was closed before the end");
    assert!(!published.await.unwrap().is_refused());
}

#[tokio::test(start_paused = true)]
async fn a_hook_may_close_its_own_session() {
    for part in [Part::Gate, Part::Detached, Part::PostDecision] {
        let bus = Bus::new();
        let session = bus.session("s").open().await.unwrap();
        let told = told(&session);
        let closing = session.clone();
        let run = scripted(move || {
            let closing = closing.clone();
            async move { closing.close().await }
        });
        let point = lineside_points::find("before_tool").unwrap();
        let hook = Hook::native("closes", part).priority(1);
        session.attach(Installed { point, hook, run }).unwrap();
        let mut signals = bus.signals();
        assert!(!session.publish(call()).await.unwrap().is_refused(), "{part:?}");
        session.close().await;
        assert!(!session.is_open());
        assert_eq!(told.load(Ordering::SeqCst), 1, "{part:?}");
        assert_eq!(bus.failures(), 0, "{part:?}");
        assert!(bus.drain(Duration::from_secs(1)).await.is_clean());
        assert_eq!(closed(&mut signals, "s"), 1, "{part:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_may_close_the_session_whose_event_led_to_its_own() {
    let (bus, session) = session().await;
    let child = session.subagent("child").open().await.unwrap();
    let closing = session.clone();
    child
        .intercept::<BeforePrompt>("closes")
        .reach(Reach::Subtree)
        .gate(move |_, _| {
            let closing = closing.clone();
            async move {
                closing.close().await;
                Verdict::Continue
            }
        })
        .unwrap();
    let inner = child.clone();
    session
        .intercept::<BeforeTool>("publishes")
        .gate(move |_, _| {
            let inner = inner.clone();
            async move {
                inner.publish(BeforePrompt::new("x")).await.map(drop).unwrap();
                Verdict::Continue
            }
        })
        .unwrap();
    assert!(!session.publish(call()).await.unwrap().is_refused());
    assert!(!session.is_open() && child.is_open());
    // One that handles nothing of it waits for all of it.
    session.close().await;
    assert_eq!(bus.failures(), 0);
}

#[tokio::test(start_paused = true)]
async fn two_closes_at_once_wait_for_the_same() {
    let (bus, session) = session().await;
    let (barrier, told) = (Barrier::before(&session), told(&session));
    let published = barrier.publish(&session).await;
    let mut signals = bus.signals();
    let closings: Vec<_> = (0..3)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move { session.close().await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(1)).await;
    barrier.go.add_permits(1);
    for closing in closings {
        closing.await.unwrap();
        assert_eq!(told.load(Ordering::SeqCst), 1);
    }
    drop(published.await.unwrap());
    assert_eq!(closed(&mut signals, "s"), 1);
}

/// Hooks that stand behind one that is stuck, in its lane or only for their beginning.
#[tokio::test(start_paused = true)]
async fn what_has_not_begun_when_there_is_no_more_time_does_not_begin() {
    for lane in [Lane::Shared, Lane::Own] {
        let (bus, session) = session().await;
        let begun = Arc::new(AtomicUsize::new(0));
        let point = lineside_points::find("before_tool").unwrap();
        let hook = |name: &str| Hook::native(name, Part::Detached).lane(lane);
        let stuck = scripted(std::future::pending::<()>);
        session.attach(Installed { point, hook: hook("stuck"), run: stuck }).unwrap();
        for name in ["one", "two"] {
            let counts = Arc::clone(&begun);
            let run = scripted(move || {
                let counts = Arc::clone(&counts);
                async move {
                    counts.fetch_add(1, Ordering::SeqCst);
                }
            });
            session.attach(Installed { point, hook: hook(name), run }).unwrap();
        }
        drop(session.publish(call()).await.unwrap());
        if lane == Lane::Shared {
            session.close_within(Duration::from_secs(1)).await;
        } else {
            // Nothing has had its turn yet.
            session.close_within(Duration::ZERO).await;
        }
        assert_eq!(begun.load(Ordering::SeqCst), 0, "{lane:?}");
        let report = bus.drain(Duration::from_secs(1)).await;
        assert_eq!(report.sessions, 0);
    }
}

#[test]
fn what_is_done_at_the_release_of_a_session_is_done_once_also_beside_its_end() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    for round in 0..200 {
        let bus = Bus::new();
        let (above, below) = runtime.block_on(async {
            let above = bus.session("above").open().await.unwrap();
            let below = above.subagent("below").open().await.unwrap();
            above.close().await;
            (above, below)
        });
        let done = Arc::new(AtomicUsize::new(0));
        let once = |done: &Arc<AtomicUsize>| {
            let done = Arc::clone(done);
            move || _ = done.fetch_add(1, Ordering::SeqCst)
        };
        above.at_release(once(&done));
        assert_eq!(done.load(Ordering::SeqCst), 0, "something is below it");
        let mut signals = bus.signals();
        std::thread::scope(|scope| {
            scope.spawn(|| runtime.block_on(below.close()));
            scope.spawn(|| (0..round % 20).for_each(|_| above.at_release(once(&done))));
        });
        assert_eq!(done.load(Ordering::SeqCst), 1 + round % 20, "round {round}");
        assert_eq!(closed(&mut signals, "below"), 1);
        above.at_release(once(&done));
        assert_eq!(done.load(Ordering::SeqCst), 2 + round % 20, "nothing is below it any more");
        assert!(below.parent().is_some_and(|parent| parent.number() == above.number()));
        assert!(above.parent().is_none() && above.number() != below.number());
    }
}
