//! Interceptors that panic in what they do beside answering: each is counted, and none unwinds what called it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::Arc;
use std::time::Duration;

use lineside_bus::interceptor::BoxFuture;
use lineside_bus::{BackgroundRuns, Bus, Cx, Installed, Interceptor, Release, Session, Ticket};
use lineside_core::hook::{Hook, Join};
use lineside_core::json::json;
use lineside_core::{
    AnyEvent, Failure, FailureKind, Outcome, Part, Receipt, Response, SessionId, SkipReason, Verdict,
};
use lineside_points::BeforeTool;

/// What a hook panics in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum In {
    Background,
    Accept,
    Skipped,
    Release,
    Settled,
    SettledLater,
    Cut,
}

/// A hook that panics in one method; it takes events and never runs for them.
struct Panics(In);

impl Panics {
    fn now(&self, what: In) {
        assert!(self.0 != what, "in {what:?}");
    }
}

struct Hooked(Arc<Panics>);

impl Interceptor for Hooked {
    fn intercept(&self, _: AnyEvent, _: Cx) -> BoxFuture<Result<Response, Failure>> {
        Box::pin(async { Ok(Verdict::Continue.into()) })
    }

    fn background(&self) -> Option<Arc<dyn BackgroundRuns>> {
        self.0.now(In::Background);
        Some(Arc::clone(&self.0) as _)
    }

    fn skipped(&self, _: &AnyEvent, _: SkipReason) {
        self.0.now(In::Skipped);
    }
}

impl lineside_bus::durable_run::sealed::Sealed for Panics {}

impl BackgroundRuns for Panics {
    fn accept(&self, _: &AnyEvent, _: Ticket) -> Result<Outcome, Ticket> {
        self.now(In::Accept);
        Ok(Outcome::Skipped(SkipReason::Debounced))
    }

    fn release(&self, _: &SessionId, _: Release) {
        self.now(In::Release);
    }

    fn settled(&self, _: &SessionId, _: Release) -> BoxFuture<()> {
        self.now(In::Settled);
        let what = self.0;
        Box::pin(async move {
            assert!(what != In::SettledLater, "in {what:?}");
            if what == In::Cut {
                std::future::pending::<()>().await;
            }
        })
    }

    fn cut(&self, _: &SessionId) {
        self.now(In::Cut);
    }
}

async fn with(part: Part, what: In) -> (Bus, Session) {
    let bus = Bus::new();
    let hook = Hook::native("panics", part).join(Join::BeforeNextModel);
    let point = lineside_points::find("before_tool").unwrap();
    bus.install("test", vec![Installed { point, hook, run: Arc::new(Hooked(Arc::new(Panics(what)))) }])
        .unwrap();
    let session = bus.session("s").open().await.unwrap();
    (bus, session)
}

async fn receipt(session: &Session) -> Receipt {
    let decision = session.publish(BeforeTool::new("Shell", json!({}))).await.unwrap();
    assert!(!decision.is_refused());
    decision.receipt().unwrap().clone()
}

#[tokio::test]
async fn a_hook_that_panics_when_it_is_to_take_an_event_has_failed() {
    let both = [Part::PostDecision, Part::Detached]
        .into_iter()
        .flat_map(|part| [(part, In::Background), (part, In::Accept)]);
    for (part, what) in both {
        let (bus, session) = with(part, what).await;
        let receipt = receipt(&session).await;
        let Outcome::Failed { failure, verdict } = &receipt.runs[0].outcome else {
            panic!("{part:?} {what:?}: {receipt:?}")
        };
        assert_eq!((failure.kind, verdict), (FailureKind::Panic, &Verdict::Continue));
        assert_eq!(failure.detail, format!("panicked: in {what:?}"));
        assert_eq!(bus.failures(), 1, "{part:?} {what:?}");
        session.close().await;
        assert!(bus.drain(Duration::from_secs(9)).await.is_clean());
    }
}

#[tokio::test]
async fn a_hook_that_panics_when_it_is_told_that_it_does_not_run_is_counted() {
    let (bus, session) = with(Part::Gate, In::Skipped).await;
    bus.intercept::<BeforeTool>("blocks").priority(9).gate(async |_, _| Verdict::block("no")).unwrap();
    let decision = session.publish(BeforeTool::new("Shell", json!({}))).await.unwrap();
    assert_eq!(decision.verdict(), &Verdict::block("no"));
    assert_eq!(decision.receipt().unwrap().runs[1].outcome, Outcome::Skipped(SkipReason::Blocked));
    assert_eq!(bus.failures(), 1);
}

/// One that has judged at the same time as another one that blocks.
#[tokio::test]
async fn a_gate_that_panics_when_the_one_beside_it_blocks_is_counted() {
    let bus = Bus::new();
    bus.intercept::<BeforeTool>("blocks")
        .gate(async |_, _| {
            tokio::task::yield_now().await;
            Verdict::block("no")
        })
        .unwrap();
    let point = lineside_points::find("before_tool").unwrap();
    let hook = Hook::native("panics", Part::Gate).layer(lineside_core::Layer::Managed);
    bus.install(
        "test",
        vec![Installed { point, hook, run: Arc::new(Hooked(Arc::new(Panics(In::Skipped)))) }],
    )
    .unwrap();
    let session = bus.session("s").open().await.unwrap();
    let decision = session.publish(BeforeTool::new("Shell", json!({}))).await.unwrap();
    assert_eq!(decision.verdict(), &Verdict::block("no"));
    assert_eq!(bus.failures(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_panics_at_the_end_of_its_session_does_not_stop_it() {
    for (what, times) in [(In::Release, 2), (In::Settled, 2), (In::SettledLater, 2), (In::Cut, 1)] {
        let (bus, session) = with(Part::PostDecision, what).await;
        let receipt = receipt(&session).await;
        assert_eq!(receipt.runs[0].outcome, Outcome::Skipped(SkipReason::Debounced));
        let collected = session.collect().before_next_model();
        if what == In::Cut {
            assert!(tokio::time::timeout(Duration::from_secs(1), collected).await.is_err());
            let closed =
                tokio::time::timeout(Duration::from_secs(9), session.close_within(Duration::from_secs(1)));
            assert!(closed.await.is_err(), "what it waits for is never settled");
        } else {
            assert!(collected.await.accept().is_empty());
            session.close().await;
        }
        assert_eq!(bus.failures(), times, "{what:?}");
    }
}
