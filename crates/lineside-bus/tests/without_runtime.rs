//! Events outside a tokio runtime, and in one without time: gates that answer at once decide them, and what cannot run
//! there has failed and unwinds no publisher.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "doubles/scripted.rs"]
mod scripted;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{Thread, current, park};

use lineside_bus::signal::Watched;
use lineside_bus::{Bus, Decision, Installed, Session, Signal};
use lineside_core::hook::{Hook, Join};
use lineside_core::json::json;
use lineside_core::payload::Point as _;
use lineside_core::{FailureKind, Outcome, Part, Verdict};
use lineside_points::BeforeTool;

use scripted::scripted;

/// An executor of another kind.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unparks(Thread);
    impl Wake for Unparks {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unparks(current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        park();
    }
}

/// Is ready after this many polls.
async fn yields(mut polls: usize) {
    poll_fn(|task| {
        if polls == 0 {
            return Poll::Ready(());
        }
        polls -= 1;
        task.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

fn session() -> (Bus, Session) {
    let bus = Bus::new();
    let session = bus.session("s").open_now().unwrap();
    (bus, session)
}

async fn publish(session: &Session) -> Decision<BeforeTool> {
    session.publish(BeforeTool::new("Shell", json!({}))).await.unwrap()
}

#[test]
fn gates_that_answer_soon_decide() {
    for polls in [0, 1] {
        let (bus, session) = session();
        bus.intercept::<BeforeTool>("gate")
            .gate(move |_, _| async move {
                yields(polls).await;
                Verdict::block("no")
            })
            .unwrap();
        assert_eq!(block_on(publish(&session)).verdict(), &Verdict::block("no"), "{polls}");
        block_on(session.close());
        assert_eq!(bus.failures(), 0);
    }
}

fn a_gate_that_waits_has_failed(why: &str, run: impl FnOnce(Session) -> Decision<BeforeTool>) {
    let (bus, session) = session();
    bus.intercept::<BeforeTool>("waits")
        .gate(async |_, _| {
            yields(9).await;
            Verdict::Continue
        })
        .unwrap();
    let decision = run(session.clone());
    assert!(decision.is_refused());
    let Outcome::Failed { failure, .. } = &decision.receipt().unwrap().runs[0].outcome else { panic!() };
    assert_eq!(failure.kind, FailureKind::Error);
    assert!(failure.detail.contains("there is no timer") && failure.detail.contains(why), "{failure:?}");
    assert_eq!((bus.failures(), session.last_seq()), (1, 1));
}

#[test]
fn a_gate_that_has_to_be_waited_for_has_failed() {
    a_gate_that_waits_has_failed("no reactor", |session| block_on(publish(&session)));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    a_gate_that_waits_has_failed("timers are disabled", |session| runtime.block_on(publish(&session)));
}

#[test]
fn what_is_not_waited_for_does_not_run_and_that_is_signalled() {
    for part in [Part::Detached, Part::PostDecision] {
        let (bus, session) = session();
        let hook = Hook::native("later", part).join(Join::BeforeNextModel);
        let run = scripted(|| async { panic!("it has begun") });
        bus.install("test", vec![Installed { point: BeforeTool::INFO, hook, run }]).unwrap();
        let mut signals = bus.signals();
        assert!(!block_on(publish(&session)).is_refused());
        let finished = std::iter::from_fn(|| signals.try_next()).find_map(|watched| match watched {
            Watched::Signal(Signal::DetachedFinished {
                outcome: Outcome::Failed { failure, .. }, ..
            }) => Some(failure),
            _ => None,
        });
        let failure = finished.unwrap();
        assert_eq!((failure.kind, failure.started), (FailureKind::Closed, false), "{part:?}");
        assert!(failure.detail.contains("no tokio runtime"), "{failure:?}");
        // It holds up nothing.
        assert!(block_on(session.collect().before_next_model()).accept().is_empty());
        block_on(session.close());
    }
}
