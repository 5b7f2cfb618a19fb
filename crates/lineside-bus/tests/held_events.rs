//! Hooks that hold their events: what they run for, with which time, and what comes of a failure.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lineside_bus::interceptor::BoxFuture;
use lineside_bus::signal::Watched;
use lineside_bus::{BackgroundRuns, Bus, Cx, Installed, Interceptor, Release, Session, Signal, Ticket};
use lineside_core::ensemble::{Ensemble, Sees};
use lineside_core::hook::{Hook, Join, Lane};
use lineside_core::outcome::FromHook;
use lineside_core::{
    Answer, AnyEvent, Append, EventId, Failure, FailureKind, Outcome, Part, Response, SessionId, SkipReason,
    Verdict,
};
use lineside_points::{AfterToolBatch, OnIdle};
use tokio::time::Instant;

/// Holds its events until the test starts what it does for them.
#[derive(Default)]
struct Holds {
    held: Mutex<Vec<(AnyEvent, Ticket)>>,
    skipped: Mutex<Vec<SkipReason>>,
    /// Until when the hooks that count together have time, for each run.
    ends: Mutex<Vec<Option<Instant>>>,
    /// The causes of what its runs have published.
    causes: Mutex<Vec<EventId>>,
    /// What holds for it, with how often it was asked whether everything is settled.
    engine: Option<Arc<AtomicUsize>>,
}

/// The same as an interceptor.
struct Hooked(Arc<Holds>);

impl Interceptor for Hooked {
    fn intercept(&self, _event: AnyEvent, cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        self.0.ends.lock().unwrap().push(cx.chain_time().map(|time| time.ends));
        let holds = Arc::clone(&self.0);
        Box::pin(async move {
            let event = cx.session().any_event(Arc::new(AfterToolBatch::new(Vec::new(), Vec::new())));
            let receipt = event.publish_any().await.unwrap();
            holds.causes.lock().unwrap().push(receipt.event.envelope().cause.unwrap().event);
            Ok(Verdict::Continue.into())
        })
    }

    fn background(&self) -> Option<Arc<dyn BackgroundRuns>> {
        Some(Arc::clone(&self.0) as _)
    }

    fn skipped(&self, _event: &AnyEvent, why: SkipReason) {
        self.0.skipped.lock().unwrap().push(why);
    }
}

impl lineside_bus::durable_run::sealed::Sealed for Holds {}

impl BackgroundRuns for Holds {
    fn accept(&self, event: &AnyEvent, ticket: Ticket) -> Result<Outcome, Ticket> {
        self.held.lock().unwrap().push((event.clone(), ticket));
        Ok(Outcome::Skipped(SkipReason::Debounced))
    }

    fn release(&self, _session: &SessionId, _which: Release) {}

    fn settled(&self, _session: &SessionId, _which: Release) -> BoxFuture<()> {
        if let Some(asked) = &self.engine {
            asked.fetch_add(1, Ordering::Relaxed);
        }
        Box::pin(std::future::ready(()))
    }

    fn holder(&self) -> Option<usize> {
        self.engine.as_ref().map(|engine| Arc::as_ptr(engine).addr())
    }

    fn cut(&self, _session: &SessionId) {}
}

/// Hooks that count together and have this time for all.
struct Within(Duration);

impl Ensemble for Within {
    fn sees(&self) -> Sees {
        Sees::Amended
    }

    fn time(&self) -> Option<Duration> {
        Some(self.0)
    }

    fn finalize(&self, _event: &AnyEvent, given: Vec<FromHook<Answer>>) -> Vec<FromHook<Answer>> {
        given
    }
}

fn at_idle(hook: Hook, run: Arc<dyn Interceptor>) -> Installed {
    Installed { point: lineside_points::find("on_idle").unwrap(), hook, run }
}

fn hook(name: &str, dialect: &'static str) -> Hook {
    Hook::native(name, Part::PostDecision).dialect(dialect)
}

async fn open(hooks: Vec<Installed>) -> (Bus, Session) {
    let bus = Bus::new();
    bus.install("test", hooks).unwrap();
    let session = bus.session("s").open().await.unwrap();
    (bus, session)
}

async fn idle(session: &Session) -> EventId {
    let receipt = session.any_event(Arc::new(OnIdle::new())).publish_any().await.unwrap();
    receipt.event.envelope().id
}

#[tokio::test]
async fn a_session_asks_what_holds_for_many_hooks_once_however_often_these_were_loaded() {
    let (bus, session) = open(Vec::new()).await;
    let engines = [(); 2].map(|()| Arc::<AtomicUsize>::default());
    for number in 0..100 {
        let engine = Some(Arc::clone(&engines[number % 2]));
        let holds = Arc::new(Holds { engine, ..Holds::default() });
        bus.install("test", vec![at_idle(hook("holds", "x"), Arc::new(Hooked(holds)))]).unwrap();
        idle(&session).await;
    }
    drop(session.collect().before_next_model().await);
    assert_eq!(engines.map(|asked| asked.load(Ordering::Relaxed)), [1, 1]);
}

#[tokio::test]
async fn a_run_for_what_was_held_is_caused_by_the_event_it_runs_for() {
    let holds = Arc::new(Holds::default());
    let own = hook("holds", "test").lane(Lane::Own).join(Join::BeforeNextModel);
    let (_bus, session) = open(vec![at_idle(own, Arc::new(Hooked(Arc::clone(&holds))))]).await;
    let first = idle(&session).await;
    let second = idle(&session).await;
    assert_ne!(first, second);
    assert_eq!(*holds.skipped.lock().unwrap(), [SkipReason::Debounced; 2], "it does not run yet");
    let held = std::mem::take(&mut *holds.held.lock().unwrap());
    let last = held.last().unwrap().0.clone();
    for (_, ticket) in held {
        ticket.start(last.clone());
    }
    session.collect().before_next_model().await.accept();
    assert_eq!(*holds.causes.lock().unwrap(), [second; 2]);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_lane_begins_with_the_first_of_its_format() {
    let ensemble: Arc<dyn Ensemble> = Arc::new(Within(Duration::from_secs(30)));
    let holds: Vec<Arc<Holds>> = (0..4).map(|_| Arc::default()).collect();
    let lanes =
        [("test", Lane::Shared), ("test", Lane::Shared), ("other", Lane::Shared), ("test", Lane::Own)];
    let hooks = lanes.iter().zip(&holds).enumerate().map(|(number, ((dialect, lane), holds))| {
        let hook = hook(&number.to_string(), dialect).lane(*lane).within(Some(Arc::clone(&ensemble)));
        at_idle(hook.priority(-i32::try_from(number).unwrap()), Arc::new(Hooked(Arc::clone(holds))))
    });
    let (_bus, session) = open(hooks.collect()).await;
    idle(&session).await;
    let begins = Instant::now();
    for holds in &holds {
        let (event, ticket) = holds.held.lock().unwrap().pop().unwrap();
        ticket.start(event);
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    session.close().await;
    let ends = holds.iter().map(|holds| holds.ends.lock().unwrap()[0].unwrap() - begins);
    assert_eq!(ends.map(|time| time.as_secs()).collect::<Vec<_>>(), [30, 30, 32, 33]);
}

/// A hook that fails and is taken to have said something.
struct TakenAs;

impl Interceptor for TakenAs {
    fn intercept(&self, _event: AnyEvent, _cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        let context = vec![Append::system("taken as this")];
        let taken_as = Some(Box::new(Answer { context, ..Answer::default() }));
        let failure = Failure { taken_as, ..Failure::new(FailureKind::Exit, "exit status 1") };
        Box::pin(std::future::ready(Err(failure)))
    }
}

#[tokio::test]
async fn what_a_failure_is_taken_as_is_delivered_after_the_decision_and_of_no_detached_hook() {
    for (part, expected) in [(Part::PostDecision, 1), (Part::Detached, 0)] {
        let hook = Hook::native("fails", part).dialect("test").join(Join::BeforeNextModel);
        let (bus, session) = open(vec![at_idle(hook, Arc::new(TakenAs))]).await;
        let mut signals = bus.signals();
        idle(&session).await;
        idle(&session).await;
        let (mut finished, mut last) = (0, None);
        while finished < 2 {
            match signals.try_next() {
                Some(Watched::Signal(Signal::DetachedFinished { .. })) => finished += 1,
                Some(_) => {}
                None => tokio::task::yield_now().await,
            }
        }
        let told = session.collect().ready().accept();
        let texts: Vec<String> = told.into_iter().map(|told| told.text).collect();
        assert_eq!(texts, vec!["taken as this"; 2 * expected], "{part:?}");
        session.close().await;
        while let Some(Watched::Signal(signal)) = signals.try_next() {
            if let Signal::SessionClosed { last_seq, .. } = signal {
                last = Some(last_seq);
            }
        }
        assert_eq!(last, Some(2), "two events");
    }
}
