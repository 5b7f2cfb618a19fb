//! Actors as interceptors: how they are asked, and that a question without a waiter is not put to them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kameo::Actor;
use kameo::actor::{ActorRef, Spawn as _};
use kameo::message::{Context, Message};
use kameo::reply::DelegatedReply;
use lineside_bus::{Bus, Decision, Intercept, Session};
use lineside_core::json::json;
use lineside_core::{FailureKind, Outcome, Verdict};
use lineside_points::BeforeTool;
use tokio::sync::{Barrier, Semaphore};

/// An actor that notes what it is asked, and answers when its gate lets it.
struct Policy {
    seen: Arc<Mutex<Vec<String>>>,
    gate: Arc<Semaphore>,
}

impl Actor for Policy {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(policy: Self, _: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(policy)
    }
}

impl Message<Intercept<BeforeTool>> for Policy {
    type Reply = Result<Verdict, String>;

    async fn handle(
        &mut self,
        question: Intercept<BeforeTool>,
        cx: &mut Context<Self, Self::Reply>,
    ) -> Self::Reply {
        let tool = question.event.tool_name.clone();
        self.seen.lock().unwrap().push(tool.clone());
        self.gate.acquire().await.unwrap().forget();
        match &*tool {
            "fails" => Err("it is broken".into()),
            "stops" => {
                cx.stop();
                Ok(Verdict::allow())
            }
            _ => Ok(Verdict::allow()),
        }
    }
}

/// A remark that is noted too.
struct Note(&'static str);

impl Message<Note> for Policy {
    type Reply = ();

    async fn handle(&mut self, Note(note): Note, _: &mut Context<Self, ()>) {
        self.seen.lock().unwrap().push(note.to_owned());
    }
}

struct Asked {
    session: Session,
    policy: ActorRef<Policy>,
    seen: Arc<Mutex<Vec<String>>>,
    gate: Arc<Semaphore>,
}

impl Asked {
    /// A session with such an actor, which answers that many questions at once.
    async fn answering(permits: usize) -> Self {
        let (seen, gate) = (Arc::default(), Arc::new(Semaphore::new(permits)));
        let policy = Policy::spawn(Policy { seen: Arc::clone(&seen), gate: Arc::clone(&gate) });
        let session = Bus::new().session("s").open().await.unwrap();
        let timeout = Duration::from_millis(60);
        session.intercept::<BeforeTool>("policy").timeout(timeout).actor(policy.clone()).unwrap();
        Self { session, policy, seen, gate }
    }

    async fn ask(&self, tool: impl Into<String>) -> Decision<BeforeTool> {
        self.session.publish(BeforeTool::new(tool, json!({}))).await.unwrap()
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

/// How the hook failed.
fn failure(decision: &Decision<BeforeTool>) -> (FailureKind, String) {
    match &decision.receipt().unwrap().runs[0].outcome {
        Outcome::Failed { failure, .. } => (failure.kind, failure.detail.to_string()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn an_actor_is_not_asked_what_nobody_waits_for_any_more() {
    let asked = Asked::answering(1).await;
    assert_eq!(asked.ask("before").await.verdict(), &Verdict::allow());
    let burst = (0..40).map(|number| {
        let session = asked.session.clone();
        tokio::spawn(async move {
            session.publish(BeforeTool::new(number.to_string(), json!({}))).await.unwrap().is_refused()
        })
    });
    for published in burst.collect::<Vec<_>>() {
        assert!(published.await.unwrap(), "the actor does not answer, and its gate blocks");
    }
    // One that is given up by its publisher.
    assert!(tokio::time::timeout(Duration::from_millis(1), asked.ask("given up")).await.is_err());
    asked.gate.add_permits(99);
    assert_eq!(asked.ask("after").await.verdict(), &Verdict::allow());
    assert_eq!(asked.seen(), ["before", "0", "after"]);
}

#[tokio::test(start_paused = true)]
async fn questions_are_put_in_their_order() {
    let asked = Asked::answering(0).await;
    let mut published = Vec::new();
    for number in 0..50 {
        let session = asked.session.clone();
        published.push(tokio::spawn(async move {
            session.publish(BeforeTool::new(number.to_string(), json!({}))).await.unwrap().is_refused()
        }));
        tokio::task::yield_now().await;
        if number == 25 {
            asked.policy.tell(Note("note")).await.unwrap();
            asked.gate.add_permits(50);
        }
    }
    for published in published {
        assert!(!published.await.unwrap());
    }
    let mut expected: Vec<_> = (0..50).map(|number| number.to_string()).collect();
    expected.insert(26, "note".to_owned());
    assert_eq!(asked.seen(), expected);
}

#[tokio::test]
async fn what_an_actor_was_told_before_comes_before() {
    let (seen, gate) = (Arc::default(), Arc::new(Semaphore::new(9)));
    let policy = Policy::spawn(Policy { seen: Arc::clone(&seen), gate });
    policy.tell(Note("told before it has started")).await.unwrap();
    let session = Bus::new().session("s").open().await.unwrap();
    session.intercept::<BeforeTool>("policy").actor(policy).unwrap();
    assert!(!session.publish(BeforeTool::new("asked", json!({}))).await.unwrap().is_refused());
    assert_eq!(*seen.lock().unwrap(), ["told before it has started", "asked"]);
}

#[tokio::test(start_paused = true)]
async fn an_actor_fails_as_it_says() {
    let asked = Asked::answering(9).await;
    for round in 0..2 {
        assert_eq!(
            failure(&asked.ask("fails").await),
            (FailureKind::Error, "\"it is broken\"".into()),
            "{round}"
        );
    }
    // Its answer counts, and it stops.
    assert_eq!(asked.ask("stops").await.verdict(), &Verdict::allow());
    asked.policy.wait_for_shutdown().await;
    assert_eq!(failure(&asked.ask("gone").await), (FailureKind::Closed, "the actor is not running".into()));
}

#[tokio::test(start_paused = true)]
async fn questions_that_wait_for_an_actor_that_ends_fail() {
    let asked = Asked::answering(0).await;
    let mut published = Vec::new();
    for number in 0..3 {
        let session = asked.session.clone();
        published.push(tokio::spawn(async move {
            session.publish(BeforeTool::new(number.to_string(), json!({}))).await.unwrap()
        }));
        tokio::task::yield_now().await;
    }
    asked.policy.kill();
    for published in published {
        let (kind, _) = failure(&published.await.unwrap());
        assert_eq!(kind, FailureKind::Closed);
    }
}

/// An actor that has others answer.
struct Delegates(Arc<Barrier>);

impl Actor for Delegates {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(delegates: Self, _: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(delegates)
    }
}

impl Message<Intercept<BeforeTool>> for Delegates {
    type Reply = DelegatedReply<Result<Verdict, Infallible>>;

    async fn handle(
        &mut self,
        question: Intercept<BeforeTool>,
        cx: &mut Context<Self, Self::Reply>,
    ) -> Self::Reply {
        let all = Arc::clone(&self.0);
        cx.spawn(async move {
            all.wait().await;
            drop(question);
            Ok(Verdict::allow())
        })
    }
}

#[tokio::test(start_paused = true)]
async fn an_actor_that_delegates_its_replies_has_many_questions_under_way() {
    let session = Bus::new().session("s").open().await.unwrap();
    let delegates = Delegates::spawn(Delegates(Arc::new(Barrier::new(5))));
    session.intercept::<BeforeTool>("delegates").actor(delegates).unwrap();
    for _round in 0..2 {
        let asked = (0..5).map(|_| {
            let session = session.clone();
            tokio::spawn(async move { session.publish(BeforeTool::new("x", json!({}))).await.unwrap() })
        });
        for asked in asked.collect::<Vec<_>>() {
            assert_eq!(asked.await.unwrap().verdict(), &Verdict::allow());
        }
    }
}
