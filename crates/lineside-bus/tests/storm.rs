//! Everything at the same time, from several threads and given up at any moment: each event that was let in is decided
//! or reported as given up, once; each observer hears each decision once; nothing goes on when the bus has ended.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::collections::{BTreeSet, HashMap, HashSet};
use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use lineside_bus::interceptor::BoxFuture;
use lineside_bus::signal::Watched;
use lineside_bus::{Bus, Cx, Heard, Installed, Interceptor, Registration, Session, Signal, Signals};
use lineside_core::hook::{Hook, Join, Lane};
use lineside_core::json::json;
use lineside_core::payload::Point as _;
use lineside_core::{AnyEvent, EventId, Failure, OnFailure, Part, Response, Verdict};
use lineside_points::{AfterTool, BeforeTool};
use tokio::task::{JoinSet, yield_now};

/// How many calls of hooks there are.
#[derive(Clone, Default)]
struct Calls(Arc<AtomicUsize>);

struct Call(Calls);

impl Drop for Call {
    fn drop(&mut self) {
        let Call(Calls(count)) = self;
        count.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Does anything that a hook may do.
struct Anything(Calls);

impl Interceptor for Anything {
    fn intercept(&self, _: AnyEvent, cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        let Calls(count) = &self.0;
        count.fetch_add(1, Ordering::SeqCst);
        let call = Call(self.0.clone());
        Box::pin(async move {
            let _call = call;
            match fastrand::u32(0..200) {
                0..50 => yield_now().await,
                50..80 => tokio::time::sleep(Duration::from_micros(300)).await,
                80..110 => drop(cx.session().publish(AfterTool::new("Shell", json!({}))).await),
                110 => return Err(Failure::new(lineside_core::FailureKind::Error, "it fails")),
                111 => cx.session().close().await,
                112..120 => return Ok(Verdict::block("no").into()),
                _ => {}
            }
            Ok(Verdict::Continue.into())
        })
    }
}

/// Polls a future to its end, or a few times.
async fn perhaps<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = Box::pin(future);
    if fastrand::bool() {
        return Some(future.await);
    }
    for _ in 0..fastrand::u32(0..4) {
        if let Poll::Ready(value) = poll_fn(|task| Poll::Ready(future.as_mut().poll(task))).await {
            return Some(value);
        }
        yield_now().await;
    }
    None
}

fn any_hook(calls: &Calls) -> Installed {
    let parts = [Part::Gate, Part::Amender, Part::Detached, Part::PostDecision];
    let hook = Hook::native("any", parts[fastrand::usize(0..parts.len())])
        .priority(fastrand::i32(-2..3))
        .on_failure(OnFailure::Continue)
        .join(if fastrand::bool() { Join::BeforeNextModel } else { Join::Background })
        .lane(if fastrand::bool() { Lane::Shared } else { Lane::Own });
    Installed { point: BeforeTool::INFO, hook, run: Arc::new(Anything(calls.clone())) }
}

/// One of those that use the bus.
async fn one(bus: Bus, calls: Calls, name: usize) {
    let (mut sessions, mut hooks): (Vec<Session>, Vec<Registration>) = Default::default();
    for step in 0..150 {
        let session = fastrand::choice(&sessions).cloned();
        match (fastrand::u32(0..10), session) {
            (0, _) | (_, None) => {
                sessions.extend(bus.session(format!("{name} {step}")).open().await.ok());
            }
            (1, Some(session)) => {
                sessions.extend(session.subagent(format!("{name} {step}")).open().await.ok());
            }
            (2 | 3, Some(session)) => hooks.extend(session.attach(any_hook(&calls)).ok()),
            (4, _) if !hooks.is_empty() => drop(hooks.swap_remove(fastrand::usize(0..hooks.len())).remove()),
            (5, Some(session)) => {
                sessions.retain(|other| other.id() != session.id());
                if fastrand::bool() {
                    perhaps(session.close()).await;
                } else {
                    perhaps(session.close_within(Duration::from_micros(200))).await;
                }
            }
            (6, Some(session)) => {
                perhaps(session.collect().before_next_model()).await.map(lineside_bus::Delivery::accept);
            }
            (_, Some(session)) => drop(perhaps(session.publish(BeforeTool::new("Shell", json!({})))).await),
        }
    }
}

/// What signals have told: the numbers of each session, its last number, and the decided calls of tools.
async fn watch(
    mut signals: Signals,
) -> (HashMap<String, BTreeSet<u64>>, HashMap<String, u64>, HashSet<EventId>) {
    let (mut numbers, mut last, mut decided) =
        <(HashMap<_, BTreeSet<_>>, HashMap<_, _>, HashSet<_>)>::default();
    while let Some(Watched::Signal(signal)) = signals.next().await {
        let (session, seq) = match signal {
            Signal::Decided(receipt) => {
                let envelope = receipt.event.envelope();
                if receipt.event.point().name == "before_tool" {
                    assert!(receipt.runs.iter().any(|run| receipt.name(run.hook) == "always"));
                    decided.insert(envelope.id);
                }
                (envelope.source.session.to_string(), envelope.seq)
            }
            Signal::Abandoned { session, seq, .. } => (session.to_string(), seq),
            Signal::SessionClosed { session, last_seq } => {
                assert_eq!(last.insert(session.to_string(), last_seq), None, "it is closed once");
                continue;
            }
            _ => continue,
        };
        assert!(numbers.entry(session).or_default().insert(seq), "each number once");
    }
    (numbers, last, decided)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whatever_happens_each_event_has_one_end() {
    for _ in 0..40 {
        let (bus, calls) = (Bus::new(), Calls::default());
        bus.intercept::<BeforeTool>("always").priority(9).gate(async |_, _| Verdict::Continue).unwrap();
        let heard = Arc::new(Mutex::new(HashSet::new()));
        let hears = Arc::clone(&heard);
        let observer = bus.observe::<BeforeTool>("hears").capacity(1 << 20);
        observer
            .run(move |heard: Heard<BeforeTool>| {
                assert!(hears.lock().unwrap().insert(heard.event().envelope().id), "it hears it once");
                async {}
            })
            .unwrap();
        let watched = tokio::spawn(watch(bus.signals()));
        let users: JoinSet<()> = (0..6).map(|name| one(bus.clone(), calls.clone(), name)).collect();
        users.join_all().await;
        let report = bus.drain(Duration::from_secs(60)).await;
        assert_eq!((report.undecided, report.observers_behind, report.observers_lost), (0, 0, 0));
        assert_eq!(calls.0.load(Ordering::SeqCst), 0, "no hook runs");
        drop(bus);
        let (numbers, last, decided) = watched.await.unwrap();
        for (session, last) in &last {
            let all = numbers.get(session).cloned().unwrap_or_default();
            assert!(all.iter().copied().eq(1..=*last), "{session}: {all:?}, the last is {last}");
        }
        assert!(numbers.keys().all(|session| last.contains_key(session)), "all are closed");
        assert_eq!(*heard.lock().unwrap(), decided);
    }
}
