//! Runs that are on record: who takes them over, how they are started, and what is said of their end.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lineside_bus::interceptor::BoxFuture;
use lineside_bus::signal::Watched;
use lineside_bus::{
    Accepted, BackgroundRuns, Bus, Cx, DurableRun, Ending, Installed, Interceptor, Release, RunRecorder,
    Session, Signal, Ticket, UntilBegun,
};
use lineside_core::hook::{Hook, Standby};
use lineside_core::{
    AnyEvent, Failure, FailureKind, Outcome, Part, Response, SessionId, SkipReason, Verdict,
};
use lineside_points::OnIdle;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// A hook whose runs are taken over: they lie here until the test starts them.
struct Kept {
    name: &'static str,
    full: bool,
    gate: Arc<Semaphore>,
    desk: Arc<Mutex<Vec<(AnyEvent, Ticket)>>>,
    begun: Arc<AtomicUsize>,
}

impl Kept {
    fn new(name: &'static str) -> Self {
        let gate = Arc::new(Semaphore::new(0));
        Self { name, full: false, gate, desk: Arc::default(), begun: Arc::default() }
    }
}

/// The same as an interceptor.
struct Hooked(Arc<Kept>);

impl Interceptor for Hooked {
    fn intercept(&self, _event: AnyEvent, _cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        let gate = Arc::clone(&self.0.gate);
        self.0.begun.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            gate.acquire().await.unwrap().forget();
            Ok(Verdict::Continue.into())
        })
    }

    fn background(&self) -> Option<Arc<dyn BackgroundRuns>> {
        Some(Arc::clone(&self.0) as _)
    }
}

impl lineside_bus::durable_run::sealed::Sealed for Kept {}

impl BackgroundRuns for Kept {
    fn accept(&self, event: &AnyEvent, ticket: Ticket) -> Result<Outcome, Ticket> {
        if self.full {
            return Err(ticket);
        }
        self.desk.lock().unwrap().push((event.clone(), ticket));
        Ok(Outcome::Detached)
    }

    fn release(&self, _session: &SessionId, _which: Release) {}

    fn settled(&self, _session: &SessionId, _which: Release) -> BoxFuture<()> {
        Box::pin(std::future::ready(()))
    }

    fn cut(&self, _session: &SessionId) {}

    fn kept_as(&self) -> Option<&str> {
        Some(self.name)
    }
}

/// What was said of one run.
#[derive(Default)]
struct Page {
    said: Mutex<Vec<Ending>>,
    in_memory: bool,
}

impl lineside_bus::durable_run::sealed::Sealed for Page {}

impl RunRecorder for Page {
    fn earlier(&self) -> Vec<Failure> {
        Vec::new()
    }

    fn failed(&self, _failure: &Failure, _pause: Duration) {}

    fn begins(&self) -> BoxFuture<UntilBegun> {
        Box::pin(std::future::ready(Box::new(()) as _))
    }

    fn is_kept(&self) -> bool {
        !self.in_memory
    }

    fn ended(&self, ending: Ending) {
        self.said.lock().unwrap().push(ending);
    }
}

fn install(bus: &Bus, hooks: Vec<(Hook, &Arc<Kept>)>) {
    let point = lineside_points::find("on_idle").unwrap();
    let installed = hooks.into_iter().map(|(hook, run)| Installed {
        point,
        hook,
        run: Arc::new(Hooked(Arc::clone(run))),
    });
    bus.install("test", installed.collect()).unwrap();
}

fn hook(name: &str) -> Hook {
    Hook::native(name, Part::Detached).dialect("test")
}

async fn session(bus: &Bus) -> Session {
    bus.session("s").open().await.unwrap()
}

/// Starts what lies there.
fn start(kept: &Kept, accepted: Accepted) -> (Arc<Page>, CancellationToken) {
    start_as(kept, accepted, Page::default())
}

fn start_as(kept: &Kept, accepted: Accepted, page: Page) -> (Arc<Page>, CancellationToken) {
    let (event, ticket) = kept.desk.lock().unwrap().pop().unwrap();
    let (page, cancel) = (Arc::new(page), CancellationToken::new());
    let recorder = Arc::clone(&page) as _;
    let _begun = ticket.start_durable(
        event,
        DurableRun { recorder, cancel: Box::pin(cancel.clone().cancelled_owned()), accepted, behind: None },
    );
    (page, cancel)
}

fn said(page: &Page) -> Vec<Ending> {
    page.said.lock().unwrap().clone()
}

#[tokio::test]
async fn a_run_that_is_taken_over_waits_for_its_ticket_and_one_that_is_not_starts_at_once() {
    let (bus, kept) = (Bus::new(), Arc::new(Kept::new("a")));
    let full = Arc::new(Kept { full: true, ..Kept::new("b") });
    install(&bus, vec![(hook("a"), &kept), (hook("b"), &full)]);
    let session = session(&bus).await;
    let decision = session.publish(OnIdle::new()).await.unwrap();
    let outcomes: Vec<_> = decision.receipt().unwrap().runs.iter().map(|run| run.outcome.clone()).collect();
    assert_eq!(outcomes, [Outcome::Detached, Outcome::Detached]);
    assert_eq!((kept.begun.load(Ordering::SeqCst), full.begun.load(Ordering::SeqCst)), (0, 1));
    full.gate.add_permits(1);
    kept.gate.add_permits(1);
    let (page, _) = start(&kept, Accepted::Runs);
    session.close().await;
    assert_eq!(said(&page), [Ending::Answered]);
}

#[tokio::test]
async fn its_end_says_whether_it_may_run_again() {
    let (bus, kept) = (Bus::new(), Arc::new(Kept::new("a")));
    install(&bus, vec![(hook("a"), &kept)]);
    let session = session(&bus).await;
    for _ in 0..3 {
        drop(session.publish(OnIdle::new()).await.unwrap());
    }
    let mut signals = bus.signals();
    let (cancelled, cancel) = start(&kept, Accepted::Runs);
    cancel.cancel();
    let (left, _) = start(&kept, Accepted::Runs);
    session.close_within(Duration::ZERO).await;
    assert_eq!((said(&cancelled), said(&left)), (vec![Ending::Cancelled], vec![Ending::Left]));
    let (late, _) = start(&kept, Accepted::Runs);
    assert_eq!(said(&late), [Ending::Left], "its session has no more time for it");
    assert_eq!(kept.begun.load(Ordering::SeqCst), 2, "it does not begin");
    while let Some(Watched::Signal(signal)) = signals.try_next() {
        assert!(!matches!(signal, Signal::DetachedFinished { .. }), "none of them has finished");
    }
}

#[tokio::test]
async fn a_run_that_is_not_kept_has_failed_when_it_is_cut_short_and_is_counted() {
    let (bus, kept) = (Bus::new(), Arc::new(Kept::new("a")));
    install(&bus, vec![(hook("a"), &kept)]);
    let session = session(&bus).await;
    for _ in 0..4 {
        drop(session.publish(OnIdle::new()).await.unwrap());
    }
    let mut signals = bus.signals();
    let in_memory = || Page { in_memory: true, ..Page::default() };
    let (cancelled, cancel) = start_as(&kept, Accepted::Runs, in_memory());
    cancel.cancel();
    let (left, _) = start_as(&kept, Accepted::Runs, in_memory());
    session.close_within(Duration::ZERO).await;
    let (late, _) = start_as(&kept, Accepted::Runs, in_memory());
    let (event, ticket) = kept.desk.lock().unwrap().pop().unwrap();
    ticket.cut_short(event);
    for page in [&cancelled, &left, &late] {
        assert!(matches!(&said(page)[..], [Ending::Failed(failure)] if failure.kind == FailureKind::Closed));
    }
    let mut failed = 0;
    while let Some(watched) = signals.try_next() {
        let Watched::Signal(Signal::DetachedFinished { outcome, .. }) = watched else { continue };
        assert!(matches!(outcome, Outcome::Failed { .. }));
        failed += 1;
    }
    assert_eq!(failed, 4);
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_its_format_gives_no_more_time_has_failed() {
    let (bus, kept) = (Bus::new(), Arc::new(Kept::new("a")));
    install(&bus, vec![(hook("a").drain(Some(Duration::from_secs(5))), &kept)]);
    let session = session(&bus).await;
    drop(session.publish(OnIdle::new()).await.unwrap());
    let (page, _) = start(&kept, Accepted::Runs);
    session.close().await;
    let [Ending::Failed(failure)] = &said(&page)[..] else { panic!("{:?}", said(&page)) };
    assert_eq!(failure.kind, FailureKind::Closed);
}

#[tokio::test]
async fn a_session_has_tickets_for_the_hooks_that_it_is_under() {
    let (bus, kept) = (Bus::new(), Arc::new(Kept::new("a")));
    install(&bus, vec![(hook("a"), &kept)]);
    let session = session(&bus).await;
    drop(session.publish(OnIdle::new()).await.unwrap());
    let (event, ticket) = kept.desk.lock().unwrap().pop().unwrap();
    drop(ticket);
    assert!(session.ticket(&event, "b").is_none());
    let ticket = session.ticket(&event, "a").unwrap();
    kept.desk.lock().unwrap().push((event.clone(), ticket));
    kept.gate.add_permits(1);
    let mut signals = bus.signals();
    let (page, _) = start(&kept, Accepted::Holds);
    session.close().await;
    assert_eq!(said(&page), [Ending::Answered]);
    let Some(Watched::Signal(Signal::Released { skipped: None, .. })) = signals.try_next() else {
        panic!("what was held is released")
    };
    install(&bus, vec![(hook("a").standby(Standby::Off(SkipReason::Untrusted)), &kept)]);
    assert!(bus.session("s").open().await.unwrap().ticket(&event, "a").is_none());
}
