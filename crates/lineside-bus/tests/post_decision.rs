//! Post-decision hooks: when they run, with what, in which order, and how their messages are delivered.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lineside_bus::interceptor::BoxFuture;
use lineside_bus::signal::Watched;
use lineside_bus::{BackgroundRuns, Bus, Cx, Installed, Interceptor, Release, Signal, Ticket};
use lineside_core::hook::{Hook, Join, Lane};
use lineside_core::json::json;
use lineside_core::{
    Answer, AnyEvent, Append, Failure, FailureKind, Notice, Outcome, Part, Reply, Response, SessionId,
    SkipReason, Verdict,
};
use lineside_points::{AfterToolBatch, BeforeTool, OnIdle};
use tokio::sync::Semaphore;

/// A background hook: waits at its gate, notes that it ran, and appends a text.
struct Told {
    name: &'static str,
    gate: Option<Arc<Semaphore>>,
    log: Arc<Mutex<Vec<String>>>,
}

impl Interceptor for Told {
    fn intercept(&self, event: AnyEvent, _cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        let (name, gate, log) = (self.name, self.gate.clone(), Arc::clone(&self.log));
        Box::pin(async move {
            if let Some(gate) = gate {
                gate.acquire().await.unwrap().forget();
            }
            let input = event.payload().value("tool_input").map(ToString::to_string).unwrap_or_default();
            log.lock().unwrap().push(format!("{name}{input}"));
            let seq = event.envelope().seq;
            let (context, notices) =
                (vec![Append::system(format!("{name} {seq}"))], vec![Notice::info(name)]);
            Ok(Answer { context, notices, verdict: Verdict::block("ignored"), ..Answer::default() }.into())
        })
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn told(&self, name: &'static str, gate: Option<&Arc<Semaphore>>) -> Arc<Told> {
        Arc::new(Told { name, gate: gate.cloned(), log: Arc::clone(&self.0) })
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn hook(name: &str, lane: Lane, join: Join) -> Hook {
    Hook::native(name, Part::PostDecision).dialect("test").lane(lane).join(join)
}

fn at(point: &str, hook: Hook, run: Arc<dyn Interceptor>) -> Installed {
    Installed { point: lineside_points::find(point).unwrap(), hook, run }
}

fn batch() -> AfterToolBatch {
    AfterToolBatch::new(Vec::new(), Vec::new())
}

#[tokio::test]
async fn a_hook_is_told_of_the_decided_payload_and_not_of_what_was_refused() {
    // OC-43
    let (bus, log) = (Bus::new(), Log::default());
    bus.install("test", vec![at("before_tool", hook("t", Lane::Own, Join::Background), log.told("t", None))])
        .unwrap();
    bus.intercept::<BeforeTool>("amends")
        .priority(-9)
        .amend(async |_, _| Reply::amend(BeforeTool::amend().tool_input(json!({"n": 1}))))
        .unwrap();
    let session = bus.session("s").open().await.unwrap();
    let decision = session.publish(BeforeTool::new("Shell", json!({}))).await.unwrap();
    assert_eq!(decision.verdict(), &Verdict::Continue);
    session.close().await;
    assert_eq!(log.take(), ["t{\"n\":1}"]);

    bus.intercept::<BeforeTool>("blocks").priority(-10).gate(async |_, _| Verdict::block("no")).unwrap();
    let session = bus.session("s").open().await.unwrap();
    let decision = session.publish(BeforeTool::new("Shell", json!({}))).await.unwrap();
    let receipt = decision.receipt().unwrap();
    let run = receipt.runs.iter().find(|run| receipt.name(run.hook) == "t").unwrap();
    assert_eq!(run.outcome, Outcome::Skipped(SkipReason::Blocked));
    session.close().await;
    assert!(log.take().is_empty());
}

#[tokio::test]
async fn hooks_of_a_lane_go_one_after_another_and_others_do_not_wait_for_them() {
    // CH-48, FL-32, JC-15
    let (bus, log, gate) = (Bus::new(), Log::default(), Arc::new(Semaphore::new(0)));
    let shared = |name, gate| at("on_idle", hook(name, Lane::Shared, Join::Background), log.told(name, gate));
    let own = at("on_idle", hook("own", Lane::Own, Join::BeforeNextModel), log.told("own", None));
    bus.install("test", vec![shared("a", Some(&gate)), shared("b", None), shared("c", None), own]).unwrap();
    let session = bus.session("s").open().await.unwrap();
    drop(session.publish(OnIdle::new()).await.unwrap());
    let first = session.collect().before_next_model().await.accept();
    assert_eq!(first.iter().map(|message| &*message.hook).collect::<Vec<_>>(), ["own"]);
    assert_eq!(log.take(), ["own"]);
    gate.add_permits(1);
    session.close().await;
    assert_eq!(log.take(), ["a", "b", "c"]);
}

#[tokio::test]
async fn a_collection_waits_for_joined_hooks_alone_and_orders_by_event() {
    // CH-50, CH-51
    let (bus, log) = (Bus::new(), Log::default());
    let (slow, never) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    bus.install(
        "test",
        vec![
            at(
                "after_tool_batch",
                hook("slow", Lane::Own, Join::BeforeNextModel),
                log.told("slow", Some(&slow)),
            ),
            at("after_tool_batch", hook("fast", Lane::Own, Join::BeforeNextModel), log.told("fast", None)),
            at("after_tool_batch", hook("late", Lane::Own, Join::Background), log.told("late", Some(&never))),
        ],
    )
    .unwrap();
    let session = bus.session("s").open().await.unwrap();
    let mut signals = bus.signals();
    for _ in 0..2 {
        drop(session.publish(batch()).await.unwrap());
    }
    let collecting = tokio::spawn({
        let session = session.clone();
        async move { session.collect().before_next_model().await.accept() }
    });
    while log.0.lock().unwrap().len() < 2 {
        tokio::task::yield_now().await;
    }
    assert!(!collecting.is_finished(), "the joined hook has not ended yet");
    slow.add_permits(2);
    let texts: Vec<_> = collecting.await.unwrap().into_iter().map(|message| message.text).collect();
    assert_eq!(texts, ["slow 1", "fast 1", "slow 2", "fast 2"]);
    assert!(session.collect().ready().accept().is_empty(), "a message arrives once");
    let mut notices = Vec::new();
    while let Some(Watched::Signal(signal)) = signals.try_next() {
        if let Signal::Notified { notice, .. } = signal {
            notices.push(notice.text);
        }
    }
    notices.sort();
    assert_eq!(notices, ["fast", "fast", "slow", "slow"]);
    never.add_permits(2);
    session.close().await;
}

/// Holds every event until it is released.
struct Holds {
    told: Arc<Told>,
    held: Mutex<Vec<(AnyEvent, Ticket)>>,
}

/// The same as an interceptor.
struct Hooked(Arc<Holds>);

impl Interceptor for Hooked {
    fn intercept(&self, event: AnyEvent, cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        self.0.told.intercept(event, cx)
    }

    fn background(&self) -> Option<Arc<dyn BackgroundRuns>> {
        Some(Arc::clone(&self.0) as _)
    }
}

impl lineside_bus::durable_run::sealed::Sealed for Holds {}

impl BackgroundRuns for Holds {
    fn accept(&self, event: &AnyEvent, ticket: Ticket) -> Result<Outcome, Ticket> {
        self.held.lock().unwrap().push((event.clone(), ticket));
        Ok(Outcome::Skipped(SkipReason::Debounced))
    }

    fn release(&self, _session: &SessionId, which: Release) {
        for (event, ticket) in self.held.lock().unwrap().drain(..) {
            match which {
                Release::Joining => ticket.start(event),
                Release::All => ticket.skip(&event, SkipReason::Filter),
            }
        }
    }

    fn settled(&self, _session: &SessionId, _which: Release) -> BoxFuture<()> {
        Box::pin(std::future::ready(()))
    }

    fn cut(&self, _session: &SessionId) {}
}

#[tokio::test]
async fn held_events_are_released_by_a_collection_and_by_the_end_of_the_session() {
    // CH-50, CH-60
    let (bus, log) = (Bus::new(), Log::default());
    let run = Arc::new(Hooked(Arc::new(Holds { told: log.told("h", None), held: Mutex::default() })));
    bus.install("test", vec![at("after_tool_batch", hook("h", Lane::Own, Join::BeforeNextModel), run)])
        .unwrap();
    let session = bus.session("s").open().await.unwrap();
    let mut signals = bus.signals();
    let decision = session.publish(batch()).await.unwrap();
    assert_eq!(decision.receipt().unwrap().runs[0].outcome, Outcome::Skipped(SkipReason::Debounced));
    assert_eq!(session.collect().before_next_model().await.accept().len(), 1);
    drop(session.publish(batch()).await.unwrap());
    session.close().await;
    assert_eq!(log.take().len(), 1);
    let mut released = Vec::new();
    while let Some(Watched::Signal(signal)) = signals.try_next() {
        if let Signal::Released { skipped, .. } = signal {
            released.push(skipped);
        }
    }
    assert_eq!(released, [None, Some(SkipReason::Filter)]);
}

#[tokio::test]
async fn what_a_session_cuts_short_is_told_and_holds_up_no_collection() {
    let (bus, log, never) = (Bus::new(), Log::default(), Arc::new(Semaphore::new(0)));
    let stuck =
        at("on_idle", hook("stuck", Lane::Own, Join::BeforeNextModel), log.told("stuck", Some(&never)));
    bus.install("test", vec![stuck]).unwrap();
    let session = bus.session("s").open().await.unwrap();
    let mut signals = bus.signals();
    drop(session.publish(OnIdle::new()).await.unwrap());
    session.close_within(Duration::ZERO).await;
    assert!(session.collect().before_next_model().await.accept().is_empty());
    let mut kinds = Vec::new();
    while let Some(Watched::Signal(signal)) = signals.try_next() {
        if let Signal::DetachedFinished { outcome: Outcome::Failed { failure, .. }, .. } = signal {
            kinds.push(failure.kind);
        }
    }
    assert_eq!(kinds, [FailureKind::Closed]);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_session_waits_for_a_hook_no_longer_than_it_says() {
    // OC-43
    let (bus, log, never) = (Bus::new(), Log::default(), Arc::new(Semaphore::new(0)));
    let drain = Some(Duration::from_secs(5));
    let stuck = hook("stuck", Lane::Own, Join::Background).drain(drain);
    bus.install("test", vec![at("on_idle", stuck, log.told("stuck", Some(&never)))]).unwrap();
    let session = bus.session("s").open().await.unwrap();
    drop(session.publish(OnIdle::new()).await.unwrap());
    let began = tokio::time::Instant::now();
    session.close().await;
    assert_eq!(began.elapsed(), Duration::from_secs(5));
}

/// Each of them is a task, and there are threads for several at a time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn hooks_that_are_told_begin_in_the_order_of_the_plan_on_several_threads() {
    let (bus, log) = (Bus::new(), Log::default());
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let told = names.map(|name| at("on_idle", hook(name, Lane::Own, Join::Background), log.told(name, None)));
    bus.install("test", told.into()).unwrap();
    for round in 0..300 {
        let session = bus.session(format!("s{round}")).open().await.unwrap();
        drop(session.publish(OnIdle::new()).await.unwrap());
        session.close().await;
        assert_eq!(log.take(), names, "{round}");
    }
}

#[tokio::test]
async fn hooks_that_are_told_begin_in_the_order_of_the_plan() {
    // OC-43
    let (bus, log) = (Bus::new(), Log::default());
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let told = names.map(|name| at("on_idle", hook(name, Lane::Own, Join::Background), log.told(name, None)));
    bus.install("test", told.into()).unwrap();
    let session = bus.session("s").open().await.unwrap();
    drop(session.publish(OnIdle::new()).await.unwrap());
    session.close().await;
    assert_eq!(log.take(), names);
}
