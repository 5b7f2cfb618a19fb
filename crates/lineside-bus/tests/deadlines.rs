//! Deadlines: of hooks that are always ready, of times without an end, and of hooks that panic when they are cancelled.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use lineside_bus::interceptor::BoxFuture;
use lineside_bus::signal::Watched;
use lineside_bus::{Bus, Cx, Installed, Interceptor, Session, Signal};
use lineside_core::ensemble::{Ensemble, Pace, Sees};
use lineside_core::hook::{Hook, Lane, Select, Selected};
use lineside_core::json::json;
use lineside_core::outcome::FromHook;
use lineside_core::{
    Answer, AnyEvent, Failure, FailureKind, OnFailure, Outcome, Part, Receipt, Response, SkipReason, Verdict,
};
use lineside_points::{BeforeTool, OnIdle};
use tokio::sync::mpsc;

fn call() -> BeforeTool {
    BeforeTool::new("Shell", json!({}))
}

async fn session() -> (Bus, Session) {
    let bus = Bus::new();
    let session = bus.session("s").open().await.unwrap();
    (bus, session)
}

/// Has always something to do, as a hook that empties a channel which is filled all the time, and gives up by itself
/// only when every deadline of these tests is long over.
async fn always_ready() {
    let (sender, mut receiver) = mpsc::channel(1);
    let began = std::time::Instant::now();
    while began.elapsed() < Duration::from_secs(5) {
        sender.try_send(()).ok();
        receiver.recv().await;
    }
}

/// A hook that runs this and then goes on.
struct Runs<F>(F);

impl<F, Fut> Interceptor for Runs<F>
where
    F: Fn() -> Fut + Send + Sync,
    Fut: Future<Output = ()> + Send + 'static,
{
    fn intercept(&self, _: AnyEvent, _: Cx) -> BoxFuture<Result<Response, Failure>> {
        let run = (self.0)();
        Box::pin(async move {
            run.await;
            Ok(Verdict::Continue.into())
        })
    }
}

fn installed<F, Fut>(point: &str, hook: Hook, run: F) -> Installed
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    Installed { point: lineside_points::find(point).unwrap(), hook, run: Arc::new(Runs(run)) }
}

fn outcome<'a>(receipt: &'a Receipt, name: &str) -> &'a Outcome {
    &receipt.runs.iter().find(|run| receipt.name(run.hook) == name).unwrap().outcome
}

fn timed_out(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed { failure, .. } if failure.kind == FailureKind::Timeout)
}

#[tokio::test]
async fn gates_that_are_always_ready_time_out() {
    let (_bus, session) = session().await;
    for name in ["one", "two", "alone"] {
        session
            .intercept::<BeforeTool>(name)
            .priority(i32::from(name == "alone"))
            .timeout(Duration::from_millis(20))
            .on_failure(OnFailure::Continue)
            .gate(async |_, _| {
                always_ready().await;
                Verdict::Continue
            })
            .unwrap();
    }
    let decision = session.publish(call()).await.unwrap();
    for name in ["one", "two", "alone"] {
        let outcome = outcome(decision.receipt().unwrap(), name);
        assert!(timed_out(outcome), "{name}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_gate_beside_one_that_is_always_ready_has_its_turn() {
    let (_bus, session) = session().await;
    // The second would be over first; both are long enough for a machine that has little time for the test.
    let gate = |name: &str, timeout| {
        session.intercept::<BeforeTool>(name.to_owned()).timeout(Duration::from_millis(timeout))
    };
    let busy = async |_, _| {
        always_ready().await;
        Verdict::Continue
    };
    gate("busy", 600).on_failure(OnFailure::Continue).gate(busy).unwrap();
    gate("behind", 500)
        .gate(async |_, _| {
            let (sender, mut receiver) = mpsc::channel(3);
            for _ in 0..3 {
                sender.try_send(()).unwrap();
            }
            drop(sender);
            while receiver.recv().await.is_some() {}
            Verdict::allow()
        })
        .unwrap();
    let decision = session.publish(call()).await.unwrap();
    assert_eq!(decision.verdict(), &Verdict::allow());
}

/// Three hooks at the same time: one that waits, one that computes for longer than the third has, and the third, which
/// waits a few times.
async fn beside_one_that_computes(part: Part, ensemble: Option<Arc<dyn Ensemble>>) -> Outcome {
    let bus = Bus::builder().event_budget(Duration::from_secs(60)).build();
    let session = bus.session("s").open().await.unwrap();
    let hook = |name, timeout| {
        Hook::native(name, part).timeout(Duration::from_millis(timeout)).within(ensemble.clone())
    };
    let hooks = vec![
        installed("before_tool", hook("waits", 30_000), async || tokio::task::yield_now().await),
        installed("before_tool", hook("computes", 30_000), async || {
            std::thread::sleep(Duration::from_millis(1_500));
        }),
        installed("before_tool", hook("short", 1_000), async || {
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
        }),
    ];
    bus.install("test", hooks).unwrap();
    let decision = session.publish(call()).await.unwrap();
    outcome(decision.receipt().unwrap(), "short").clone()
}

#[tokio::test]
async fn what_a_gate_computes_is_not_of_the_time_of_those_beside_it() {
    let ended = beside_one_that_computes(Part::Gate, None).await;
    assert!(!timed_out(&ended), "{ended:?}");
    let ended = beside_one_that_computes(Part::LoneGate, Some(Arc::new(AtOnce))).await;
    assert!(!timed_out(&ended), "{ended:?}");
}

/// All members at the same time.
struct AtOnce;

impl Ensemble for AtOnce {
    fn sees(&self) -> Sees {
        Sees::First
    }

    fn pace(&self, _: &AnyEvent) -> Pace {
        Pace::AtOnce
    }

    fn finalize(&self, _: &AnyEvent, given: Vec<FromHook<Answer>>) -> Vec<FromHook<Answer>> {
        given
    }
}

#[tokio::test]
async fn hooks_that_are_always_ready_and_not_waited_for_end_with_their_session() {
    let (bus, session) = session().await;
    let hook = |name, timeout, drain| {
        Hook::native(name, Part::PostDecision).timeout(timeout).drain(drain).lane(Lane::Own)
    };
    let (short, long) = (Duration::from_millis(20), Duration::from_secs(60));
    bus.install(
        "test",
        vec![
            installed("on_idle", hook("has a timeout", short, None), always_ready),
            installed("on_idle", hook("has a drain", long, Some(short)), always_ready),
        ],
    )
    .unwrap();
    let mut signals = bus.signals();
    drop(session.publish(OnIdle::new()).await.unwrap());
    session.close().await;
    let mut failed = Vec::new();
    while let Some(watched) = signals.try_next() {
        if let Watched::Signal(Signal::DetachedFinished { hook, outcome, .. }) = watched {
            failed.push((hook.name.to_string(), matches!(outcome, Outcome::Failed { .. })));
        }
    }
    failed.sort();
    assert_eq!(failed, [("has a drain".to_owned(), true), ("has a timeout".to_owned(), true)]);
}

#[tokio::test]
async fn calls_on_behalf_of_an_event_that_are_always_ready_time_out() {
    let (bus, session) = session().await;
    let event = event(&bus).await;
    let work = |_| -> BoxFuture<Result<(), Failure>> {
        Box::pin(async {
            always_ready().await;
            Ok(())
        })
    };
    let ended = session.call(&event, Duration::from_millis(20), work).await;
    assert_eq!(ended.unwrap_err().kind, FailureKind::Timeout);
}

struct Endless;

impl Ensemble for Endless {
    fn sees(&self) -> Sees {
        Sees::Amended
    }

    fn time(&self) -> Option<Duration> {
        Some(Duration::MAX)
    }

    fn finalize(&self, _: &AnyEvent, given: Vec<FromHook<Answer>>) -> Vec<FromHook<Answer>> {
        given
    }
}

#[tokio::test(start_paused = true)]
async fn a_time_without_an_end_is_a_long_time() {
    let bus = Bus::builder().event_budget(Duration::MAX).build();
    let session = bus.session("s").open().await.unwrap();
    // Each answers when it is polled again, so that its deadline is looked at.
    let waits = async || tokio::task::yield_now().await;
    session
        .intercept::<BeforeTool>("gate")
        .timeout(Duration::MAX)
        .gate(async move |_, _| {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Verdict::Continue
        })
        .unwrap();
    let member: Arc<dyn Ensemble> = Arc::new(Endless);
    let endless = |name, part| {
        Hook::native(name, part)
            .timeout(Duration::MAX)
            .drain(Some(Duration::MAX))
            .within(Some(Arc::clone(&member)))
    };
    bus.install(
        "test",
        vec![
            installed("before_tool", endless("member", Part::LoneGate), waits),
            installed("before_tool", endless("told", Part::PostDecision), waits),
        ],
    )
    .unwrap();
    let decision = session.event(call()).within(Duration::MAX).publish().await.unwrap();
    assert!(!decision.is_refused());
    let event = decision.receipt().unwrap().event.clone();
    let work = |_| -> BoxFuture<Result<(), Failure>> {
        Box::pin(async {
            tokio::task::yield_now().await;
            Ok(())
        })
    };
    assert_eq!(session.call(&event, Duration::MAX, work).await, Ok(()));
    session.close_within(Duration::MAX).await;
    assert!(bus.drain(Duration::MAX).await.is_clean());
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "it was not defused");
    }
}

async fn never_ends() -> Verdict {
    let _bomb = Bomb;
    std::future::pending().await
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_panics_when_its_time_is_over_has_failed() {
    let (bus, session) = session().await;
    for name in ["one", "two"] {
        session
            .intercept::<BeforeTool>(name)
            .on_failure(OnFailure::Continue)
            .gate(async |_, _| never_ends().await)
            .unwrap();
    }
    let decision = session.publish(call()).await.unwrap();
    for name in ["one", "two"] {
        let Outcome::Failed { failure, .. } = outcome(decision.receipt().unwrap(), name) else {
            panic!("{name} has not failed")
        };
        assert_eq!(failure.kind, FailureKind::Timeout);
        assert_eq!(
            failure.detail,
            "timed out after 30 s; when it was cancelled it panicked: it was not defused"
        );
    }
    assert_eq!(bus.failures(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_panics_when_another_one_blocks_is_counted() {
    let (bus, session) = session().await;
    session
        .intercept::<BeforeTool>("blocks")
        .gate(async |_, _| {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Verdict::block("no")
        })
        .unwrap();
    session.intercept::<BeforeTool>("bomb").gate(async |_, _| never_ends().await).unwrap();
    let decision = session.publish(call()).await.unwrap();
    assert_eq!(decision.verdict(), &Verdict::block("no"));
    assert_eq!(outcome(decision.receipt().unwrap(), "bomb"), &Outcome::Skipped(SkipReason::Blocked));
    assert_eq!(bus.failures(), 1);
}

/// Panics when it is dropped after the panic that carries it.
struct Carried;

impl Drop for Carried {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "what the panic carried");
    }
}

#[tokio::test]
async fn what_a_panic_carries_may_panic_too() {
    let (bus, session) = session().await;
    session
        .intercept::<BeforeTool>("gate")
        .gate(async |_, _| -> Verdict { std::panic::panic_any(Carried) })
        .unwrap();
    session.observe::<BeforeTool>("observer").run(async |_| std::panic::panic_any(Carried)).unwrap();
    for _ in 0..2 {
        let decision = session.publish(call()).await.unwrap();
        let Outcome::Failed { failure, .. } = outcome(decision.receipt().unwrap(), "gate") else {
            panic!("it has not failed")
        };
        assert_eq!(failure.kind, FailureKind::Panic);
    }
    assert!(bus.drain(Duration::from_secs(9)).await.is_clean(), "the observer has heard both");
}

struct Unclear;

impl Select for Unclear {
    fn select(&self, _: &AnyEvent) -> Selected {
        panic!("it cannot be said")
    }

    fn describe(&self) -> String {
        "unclear".to_owned()
    }
}

#[tokio::test]
async fn a_hook_whose_condition_panics_runs() {
    let (bus, session) = session().await;
    let hook = |name, part| Hook::native(name, part).when(Some(Arc::new(Unclear)));
    let installed = ["gate", "told"].map(|name| {
        let part = if name == "gate" { Part::Gate } else { Part::PostDecision };
        installed("before_tool", hook(name, part), async || ())
    });
    bus.install("test", installed.into()).unwrap();
    let decision = session.publish(call()).await.unwrap();
    let receipt = decision.receipt().unwrap();
    assert_eq!(outcome(receipt, "gate"), &Outcome::Answered(Verdict::Continue));
    assert_eq!(outcome(receipt, "told"), &Outcome::Detached);
    let remarks: Vec<_> = receipt.remarks.iter().map(|remark| &*remark.what).collect();
    assert_eq!(remarks, ["its condition panicked; it runs"; 2]);
}

#[tokio::test(start_paused = true)]
async fn a_publisher_that_goes_away_is_not_met_by_the_panic_of_a_hook() {
    let (bus, session) = session().await;
    for name in ["one", "two"] {
        session.intercept::<BeforeTool>(name).gate(async |_, _| never_ends().await).unwrap();
    }
    let mut signals = bus.signals();
    let publishing = tokio::time::timeout(Duration::from_secs(1), session.publish(call()));
    assert!(publishing.await.is_err());
    assert!(matches!(signals.try_next(), Some(Watched::Signal(Signal::Abandoned { .. }))));
    assert_eq!(bus.failures(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_panics_when_its_session_ends_is_reported_like_any_other() {
    let (bus, session) = session().await;
    let hook = Hook::native("bomb", Part::PostDecision);
    bus.install("test", vec![installed("on_idle", hook, async || drop(never_ends().await))]).unwrap();
    let mut signals = bus.signals();
    drop(session.publish(OnIdle::new()).await.unwrap());
    session.close_within(Duration::from_secs(1)).await;
    let finished = |watched: &Watched| matches!(watched, Watched::Signal(Signal::DetachedFinished { .. }));
    assert_eq!(std::iter::from_fn(|| signals.try_next()).filter(finished).count(), 1);
    let call =
        session.call(&event(&bus).await, Duration::from_secs(9), |_| -> BoxFuture<Result<(), Failure>> {
            Box::pin(async {
                drop(never_ends().await);
                Ok(())
            })
        });
    let dropped = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let mut call = Box::pin(call);
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(call.as_mut().poll(&mut cx).is_pending());
    }));
    assert!(dropped.is_ok());
    assert_eq!(bus.failures(), 2);
}

/// An event of a session of its own.
async fn event(bus: &Bus) -> AnyEvent {
    let session = bus.session("of").open().await.unwrap();
    session.intercept::<BeforeTool>("gate").gate(async |_, _| Verdict::Continue).unwrap();
    session.publish(call()).await.unwrap().receipt().unwrap().event.clone()
}
