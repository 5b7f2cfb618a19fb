//! Publishers that give an event up, at whatever moment: what has begun for it ends, nothing of it is decided or left
//! behind, and its number is reported.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use kameo::Actor;
use kameo::actor::{ActorRef, Spawn as _};
use kameo::message::{Context as OfActor, Message};
use lineside_bus::interceptor::BoxFuture;
use lineside_bus::signal::Watched;
use lineside_bus::{Bus, Cx, Heard, Installed, Intercept, Interceptor, Session, Signal, Signals};
use lineside_core::ensemble::{Ensemble, Pace, Sees};
use lineside_core::hook::Hook;
use lineside_core::json::json;
use lineside_core::outcome::FromHook;
use lineside_core::payload::Point as _;
use lineside_core::{Answer, AnyEvent, Append, Failure, Judgement, Part, Reply, Response, Verdict};
use lineside_points::BeforeTool;
use tokio::task::yield_now;

/// What runs for events: how many calls are alive, and how many were begun.
#[derive(Clone, Default)]
struct Calls(Arc<(AtomicUsize, AtomicUsize)>);

struct Call(Calls);

impl Calls {
    fn begin(&self) -> Call {
        self.0.0.fetch_add(1, Ordering::SeqCst);
        self.0.1.fetch_add(1, Ordering::SeqCst);
        Call(self.clone())
    }

    fn alive(&self) -> usize {
        self.0.0.load(Ordering::SeqCst)
    }

    fn begun(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.0.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Judge(Calls);

impl Actor for Judge {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(judge: Self, _: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(judge)
    }
}

impl Message<Intercept<BeforeTool>> for Judge {
    type Reply = Result<Judgement, String>;

    async fn handle(&mut self, _: Intercept<BeforeTool>, _: &mut OfActor<Self, Self::Reply>) -> Self::Reply {
        let _call = self.0.begin();
        yield_now().await;
        Ok(Judgement::from(Verdict::Continue).append("of the actor"))
    }
}

struct Together(Pace);

impl Ensemble for Together {
    fn sees(&self) -> Sees {
        Sees::First
    }

    fn pace(&self, _: &AnyEvent) -> Pace {
        self.0
    }

    fn finalize(&self, _: &AnyEvent, given: Vec<FromHook<Answer>>) -> Vec<FromHook<Answer>> {
        given
    }
}

/// Gives the thread back once, and then adds to the context.
struct Says(Calls);

impl Interceptor for Says {
    fn intercept(&self, _: AnyEvent, _: Cx) -> BoxFuture<Result<Response, Failure>> {
        let call = self.0.begin();
        Box::pin(async move {
            let _call = call;
            yield_now().await;
            Ok(Answer { context: vec![Append::system("of a hook")], ..Answer::default() }.into())
        })
    }
}

/// One bus with a hook of each kind, and what they have come to.
struct Everything {
    bus: Bus,
    session: Session,
    signals: Signals,
    /// Of hooks that are waited for.
    waited: Calls,
    /// Of an actor, which cannot be interrupted.
    actor: Calls,
    detached: Calls,
    told: Calls,
    heard: Arc<Mutex<Vec<u64>>>,
}

/// In how many polls an event is decided at most.
const POLLS: usize = 100;

impl Everything {
    async fn new() -> Self {
        let bus = Bus::new();
        let (waited, actor, detached, told) = <(Calls, Calls, Calls, Calls)>::default();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hears = Arc::clone(&heard);
        bus.observe::<BeforeTool>("hears")
            .run(move |heard: Heard<BeforeTool>| {
                hears.lock().unwrap().push(heard.event().envelope().seq);
                async {}
            })
            .unwrap();
        let session = bus.session("s").open().await.unwrap();
        let says = |hook: Hook, calls: &Calls| Installed {
            point: BeforeTool::INFO,
            hook,
            run: Arc::new(Says(calls.clone())),
        };
        let in_turn: Arc<dyn Ensemble> = Arc::new(Together(Pace::InTurn));
        let at_once: Arc<dyn Ensemble> = Arc::new(Together(Pace::AtOnce));
        let member = |name: &str, priority, ensemble: &Arc<dyn Ensemble>| {
            let hook = Hook::native(name, Part::Amender).dialect("test").priority(priority);
            says(hook.within(Some(Arc::clone(ensemble))), &waited)
        };
        let hooks = vec![
            says(Hook::native("detached", Part::Detached).priority(9), &detached),
            says(Hook::native("one", Part::Gate).priority(8), &waited),
            says(Hook::native("two", Part::Gate).priority(8), &waited),
            member("in turn 1", 7, &in_turn),
            member("in turn 2", 7, &in_turn),
            member("at once 1", 6, &at_once),
            member("at once 2", 6, &at_once),
            says(Hook::native("told", Part::PostDecision), &told),
        ];
        bus.install("test", hooks).unwrap();
        let calls = waited.clone();
        bus.intercept::<BeforeTool>("amends")
            .priority(5)
            .amend(move |_, _| {
                let call = calls.begin();
                async move {
                    let _call = call;
                    yield_now().await;
                    Reply::amend(BeforeTool::amend().tool_input(json!({"command": "ls"})))
                }
            })
            .unwrap();
        bus.intercept::<BeforeTool>("actor").priority(4).actor(Judge::spawn(Judge(actor.clone()))).unwrap();
        yield_now().await;
        let signals = bus.signals();
        Self { bus, session, signals, waited, actor, detached, told, heard }
    }

    /// How many events were decided, and which were given up.
    fn told_of(&mut self) -> (usize, Vec<u64>) {
        let (mut decided, mut abandoned) = (0, Vec::new());
        while let Some(watched) = self.signals.try_next() {
            match watched {
                Watched::Signal(Signal::Decided(_)) => decided += 1,
                Watched::Signal(Signal::Abandoned { seq, .. }) => abandoned.push(seq),
                _ => {}
            }
        }
        (decided, abandoned)
    }

    /// Publishes an event and gives it up after that many polls; whether it was decided by then.
    async fn publish(&self, polls: usize) -> bool {
        let event = self.session.publish(BeforeTool::new("Shell", json!({"command": "rm"})));
        let mut event = Box::pin(event);
        for _ in 0..polls {
            let polled = poll_fn(|task| Poll::Ready(event.as_mut().poll(task))).await;
            if let Poll::Ready(decision) = polled {
                assert!(!decision.unwrap().is_refused());
                return true;
            }
            // What was begun elsewhere gets on meanwhile.
            for _ in 0..3 {
                yield_now().await;
            }
        }
        false
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_may_be_given_up_after_any_poll() {
    for polls in 0..POLLS {
        let mut all = Everything::new().await;
        let is_decided = all.publish(polls).await;
        assert_eq!(all.waited.alive(), 0, "after {polls} polls");
        let began = u64::from(polls > 0);
        assert_eq!(all.session.last_seq(), began, "it has its number from its first poll on");
        let given_up = if is_decided { Vec::new() } else { (1..=began).collect() };
        assert_eq!(all.told_of(), (usize::from(is_decided), given_up), "after {polls} polls");

        // The next event has all of it, once.
        let before = all.waited.begun();
        assert!(all.publish(POLLS).await);
        // The amender once, and what stands before it once more for what it has made.
        assert_eq!(all.waited.begun() - before, 2 * (2 + 2 + 2) + 1, "after {polls} polls");
        all.session.close_within(Duration::from_secs(1)).await;
        assert_eq!((all.actor.alive(), all.detached.alive(), all.told.alive()), (0, 0, 0));
        let (before, decided) = (usize::from(polls > 0), usize::from(is_decided) + 1);
        assert_eq!((all.detached.begun(), all.told.begun()), (before + 1, decided), "after {polls} polls");
        // Of the six before the amendment, of the actor and of the post-decision hook.
        let collected = all.session.collect().ready().accept().len();
        assert_eq!(collected, 8 * decided, "after {polls} polls");
        let report = all.bus.drain(Duration::from_secs(1)).await;
        assert!(report.is_clean(), "{report:?}");
        let seqs = if is_decided { vec![1, began + 1] } else { vec![began + 1] };
        assert_eq!(*all.heard.lock().unwrap(), seqs);
        assert_eq!(all.bus.failures(), 0);
        // Nothing is kept of hooks, of the session or of the bus.
        let Everything { bus, session, waited, .. } = all;
        drop((bus, session));
        yield_now().await;
        assert_eq!(Arc::strong_count(&waited.0), 1, "after {polls} polls");
        if is_decided {
            return;
        }
    }
    panic!("it is never decided");
}

/// How often its task was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_event_may_be_polled_by_another_thread_and_task_each_time() {
    let all = Everything::new().await;
    let runtime = tokio::runtime::Handle::current();
    let session = all.session.clone();
    let polls = std::thread::spawn(move || {
        let mut event = Box::pin(session.publish(BeforeTool::new("Shell", json!({"command": "rm"}))));
        for polls in 1..POLLS {
            let woken = Arc::<Woken>::default();
            let waker = Waker::from(Arc::clone(&woken));
            let polled = std::thread::scope(|scope| {
                let polls = || {
                    let _runtime = runtime.enter();
                    event.as_mut().poll(&mut Context::from_waker(&waker)).map(Result::unwrap)
                };
                scope.spawn(polls).join().unwrap()
            });
            match polled {
                Poll::Ready(decision) => {
                    assert!(!decision.is_refused());
                    return polls;
                }
                // The last one is woken, whichever was before.
                Poll::Pending => {
                    while woken.0.load(Ordering::SeqCst) == 0 {
                        std::thread::yield_now();
                    }
                }
            }
        }
        panic!("it is never decided");
    });
    assert!(polls.join().unwrap() > 1);
    assert_eq!(all.waited.alive(), 0);
}

#[tokio::test]
async fn a_waker_may_be_used_when_its_event_is_gone() {
    let bus = Bus::new();
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keeps = Arc::clone(&kept);
    bus.intercept::<BeforeTool>("keeps")
        .gate(move |_, _| {
            let keeps = Arc::clone(&keeps);
            poll_fn(move |task| {
                keeps.lock().unwrap().push(task.waker().clone());
                Poll::<Verdict>::Pending
            })
        })
        .unwrap();
    let session = bus.session("s").open().await.unwrap();
    for _ in 0..2 {
        let mut event = Box::pin(session.publish(BeforeTool::new("Shell", json!({}))));
        assert!(poll_fn(|task| Poll::Ready(event.as_mut().poll(task).is_pending())).await);
    }
    kept.lock().unwrap().drain(..).for_each(Waker::wake);
    session.close().await;
    assert_eq!(session.last_seq(), 2);
}

/// As that of an `async fn`: no second event begins.
#[tokio::test]
async fn the_future_of_a_decided_event_is_not_polled_again() {
    for hooks in 0..2 {
        let bus = Bus::new();
        for _ in 0..hooks {
            bus.intercept::<BeforeTool>("gate").gate(async |_, _| Verdict::Continue).unwrap();
        }
        let session = bus.session("s").open().await.unwrap();
        for refused in [false, true] {
            let mut event = Box::pin(session.publish(BeforeTool::new("Shell", json!({}))));
            if refused {
                session.close().await;
            }
            let published = poll_fn(|task| event.as_mut().poll(task)).await;
            assert_eq!(published.is_err(), refused);
            drop(published);
            let polled = std::panic::AssertUnwindSafe(|| {
                event.as_mut().poll(&mut Context::from_waker(Waker::noop())).map(drop)
            });
            assert!(std::panic::catch_unwind(polled).is_err());
            assert_eq!(session.last_seq(), 1);
        }
    }
}
