//! Conditions of hooks: their time is the event's and no hook's, and nothing that they do unwinds a publisher.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::panic::panic_any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lineside_bus::interceptor::{BoxFuture, Latency};
use lineside_bus::{Bus, Cx, Installed, Interceptor, Session};
use lineside_core::hook::{Hook, Select, Selected};
use lineside_core::json::json;
use lineside_core::payload::Point as _;
use lineside_core::{AnyEvent, Failure, FailureKind, Outcome, Part, Receipt, Response, SkipReason, Verdict};
use lineside_points::BeforeTool;

/// Gives the thread back once.
struct Waits;

impl Interceptor for Waits {
    fn intercept(&self, _: AnyEvent, _: Cx) -> BoxFuture<Result<Response, Failure>> {
        Box::pin(async {
            tokio::task::yield_now().await;
            Ok(Verdict::Continue.into())
        })
    }
}

/// Searches for as long, and finds nothing.
struct Searches(Duration);

impl Select for Searches {
    fn select(&self, _: &AnyEvent) -> Selected {
        let began = Instant::now();
        while began.elapsed() < self.0 {}
        Selected::Skipped(SkipReason::Filter)
    }

    fn describe(&self) -> String {
        "searches".into()
    }
}

fn waiting(name: &str) -> Installed {
    let hook = Hook::native(name, Part::Gate).timeout(Duration::from_millis(400));
    Installed { point: BeforeTool::INFO, hook, run: Arc::new(Waits) }
}

fn searching(name: &str, time: Duration) -> Installed {
    let hook = Hook::native(name, Part::Gate).priority(1).when(Some(Arc::new(Searches(time))));
    Installed { point: BeforeTool::INFO, hook, run: Arc::new(Waits) }
}

fn open(hooks: Vec<Installed>) -> (Bus, Session) {
    let bus = Bus::new();
    bus.install("test", hooks).unwrap();
    let session = bus.session("s").open_now().unwrap();
    (bus, session)
}

async fn publish(session: &Session, within: Duration) -> Receipt {
    let event = session.event(BeforeTool::new("Shell", json!({}))).within(within);
    event.publish().await.unwrap().receipt().unwrap().clone()
}

#[tokio::test]
async fn a_hook_has_all_of_its_time_behind_conditions_that_take_long() {
    let hooks = vec![
        searching("one", Duration::from_millis(250)),
        searching("two", Duration::from_millis(250)),
        waiting("gate"),
    ];
    let (_bus, session) = open(hooks);
    let receipt = publish(&session, Duration::from_secs(60)).await;
    let run = receipt.runs.iter().find(|run| receipt.name(run.hook) == "gate").unwrap();
    assert_eq!(run.outcome, Outcome::Answered(Verdict::Continue));
    let rest = receipt.took - run.took;
    assert!(rest >= Duration::from_millis(500), "the time of the conditions is none of its own: {run:?}");
}

#[tokio::test]
async fn conditions_use_up_the_time_of_the_event() {
    let (bus, session) = open(vec![searching("one", Duration::from_millis(20)), waiting("gate")]);
    let receipt = publish(&session, Duration::from_millis(10)).await;
    let run = receipt.runs.iter().find(|run| receipt.name(run.hook) == "gate").unwrap();
    let Outcome::Failed { failure, .. } = &run.outcome else { panic!("{run:?}") };
    assert_eq!((failure.kind, failure.started), (FailureKind::Timeout, false));
    assert_eq!(bus.failures(), 1);
}

/// Panics when it is dropped after the panic that carries it.
struct Carried;

impl Drop for Carried {
    fn drop(&mut self) {
        panic_any("what the panic carried");
    }
}

struct Panics;

impl Select for Panics {
    fn select(&self, _: &AnyEvent) -> Selected {
        panic_any(Carried);
    }

    fn describe(&self) -> String {
        "panics".into()
    }
}

#[tokio::test]
async fn what_the_panic_of_a_condition_carries_may_panic_too() {
    let mut hooks = vec![waiting("gate")];
    hooks[0].hook = hooks[0].hook.clone().when(Some(Arc::new(Panics)));
    let (_bus, session) = open(hooks);
    let receipt = publish(&session, Duration::from_secs(60)).await;
    assert_eq!(receipt.runs[0].outcome, Outcome::Answered(Verdict::Continue));
    assert_eq!(receipt.remarks.len(), 1);
}

/// Cannot say how long it takes.
struct Unsure;

impl Interceptor for Unsure {
    fn intercept(&self, event: AnyEvent, cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        Waits.intercept(event, cx)
    }

    fn latency(&self) -> Latency {
        panic_any("it is not known");
    }
}

#[tokio::test]
async fn a_hook_that_panics_when_it_is_asked_how_long_it_takes_has_failed() {
    let unsure = || Installed { run: Arc::new(Unsure), ..waiting("unsure") };
    // Alone, and beside another one that waits.
    for (hooks, place) in [(vec![unsure()], 0), (vec![waiting("gate"), unsure()], 1)] {
        let (bus, session) = open(hooks);
        let receipt = publish(&session, Duration::from_secs(60)).await;
        let Outcome::Failed { failure, .. } = &receipt.runs[place].outcome else { panic!("{receipt:?}") };
        assert_eq!((failure.kind, &*failure.detail), (FailureKind::Panic, "panicked: it is not known"));
        assert_eq!(bus.failures(), 1);
    }
}
