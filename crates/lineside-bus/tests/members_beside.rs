//! Gates that count together do so whatever runs beside them, and each of those that start together gets on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::Arc;
use std::time::Duration;

use lineside_bus::interceptor::BoxFuture;
use lineside_bus::{Bus, Cx, Decision, Installed, Interceptor};
use lineside_core::ensemble::{Ensemble, Pace, Sees};
use lineside_core::hook::Hook;
use lineside_core::json::json;
use lineside_core::outcome::{FromHook, Round};
use lineside_core::payload::Point as _;
use lineside_core::{Answer, AnyEvent, Failure, OnFailure, Part, Reply, Response, Verdict};
use lineside_points::BeforeTool;

struct Runs<F>(F);

impl<F, Fut> Interceptor for Runs<F>
where
    F: Fn(u64) -> Fut + Send + Sync,
    Fut: Future<Output = Verdict> + Send + 'static,
{
    fn intercept(&self, event: AnyEvent, _: Cx) -> BoxFuture<Result<Response, Failure>> {
        let number = event.payload().value("tool_input").and_then(|input| input["n"].as_u64());
        let verdict = (self.0)(number.unwrap());
        Box::pin(async move { Ok(verdict.await.into()) })
    }
}

/// A block counts when two members agree.
struct TwoOfThem(Pace);

impl Ensemble for TwoOfThem {
    fn sees(&self) -> Sees {
        Sees::Amended
    }

    fn pace(&self, _: &AnyEvent) -> Pace {
        self.0
    }

    fn finalize(&self, _: &AnyEvent, given: Vec<FromHook<Answer>>) -> Vec<FromHook<Answer>> {
        let blocks = given.iter().filter(|by| by.what.verdict != Verdict::Continue).count();
        if blocks < 2 { Vec::new() } else { given }
    }
}

fn at<F, Fut>(hook: Hook, run: F) -> Installed
where
    F: Fn(u64) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Verdict> + Send + 'static,
{
    Installed { point: BeforeTool::INFO, hook, run: Arc::new(Runs(run)) }
}

fn member(name: &str, ensemble: &Arc<dyn Ensemble>, from: u64) -> Installed {
    let hook = Hook::native(name, Part::Gate).dialect("test").within(Some(Arc::clone(ensemble)));
    at(hook, move |number| async move {
        if number >= from { Verdict::block("too much") } else { Verdict::Continue }
    })
}

async fn publish(bus: &Bus) -> Decision<BeforeTool> {
    let session = bus.session("s").open().await.unwrap();
    session.publish(BeforeTool::new("Shell", json!({"n": 0}))).await.unwrap()
}

/// What members say counts the same whether the gate before them answers at once or has to be waited for.
#[tokio::test]
async fn members_beside_a_gate_that_waits_count_together() {
    for (yields, pace) in [(0, Pace::InTurnThroughBlocks), (1, Pace::InTurnThroughBlocks), (1, Pace::AtOnce)]
    {
        let bus = Bus::new();
        let waits = move |_| async move {
            for _ in 0..yields {
                tokio::task::yield_now().await;
            }
            Verdict::Continue
        };
        bus.install("native", vec![at(Hook::native("waits", Part::Gate), waits)]).unwrap();
        let ensemble: Arc<dyn Ensemble> = Arc::new(TwoOfThem(pace));
        let members = [("one", 0), ("two", 9), ("three", 9)];
        bus.install("test", members.map(|(name, from)| member(name, &ensemble, from)).into()).unwrap();
        let decision = publish(&bus).await;
        assert_eq!(decision.verdict(), &Verdict::Continue, "{yields} {pace:?}");
        assert_eq!(decision.receipt().unwrap().runs.len(), 4);
    }
}

#[tokio::test]
async fn members_that_judge_again_count_together() {
    for (blocking, expected) in [(1, Verdict::Continue), (2, Verdict::block("too much"))] {
        let bus = Bus::new();
        let ensemble: Arc<dyn Ensemble> = Arc::new(TwoOfThem(Pace::InTurnThroughBlocks));
        let from = |place| if place < blocking { 1 } else { 9 };
        let members = ["one", "two", "three"].into_iter().zip(0..);
        let members = members.map(|(name, place)| member(name, &ensemble, from(place)));
        bus.install("test", members.collect()).unwrap();
        bus.intercept::<BeforeTool>("adds")
            .priority(-1)
            .amend(async |_, _| Reply::amend(BeforeTool::amend().tool_input(json!({"n": 1}))))
            .unwrap();
        let decision = publish(&bus).await;
        assert_eq!(decision.verdict(), &expected, "{blocking}");
        let runs = &decision.receipt().unwrap().runs;
        assert_eq!(runs.iter().filter(|run| run.round == Round::Rejudge).count(), 3);
    }
}

#[tokio::test]
async fn a_member_beside_one_that_is_always_ready_has_its_turn() {
    let bus = Bus::new();
    let ensemble: Arc<dyn Ensemble> = Arc::new(TwoOfThem(Pace::AtOnce));
    let hook = |name| {
        let time = Duration::from_millis(200);
        Hook::native(name, Part::Amender).dialect("test").timeout(time).within(Some(Arc::clone(&ensemble)))
    };
    let (send, receive) = tokio::sync::watch::channel(());
    let always = move |_| {
        let receive = receive.clone();
        async move {
            loop {
                // Ready whenever it is polled, as long as the task may do more at once.
                tokio::task::coop::consume_budget().await;
                drop(receive.borrow());
            }
        }
    };
    let takes_turns = |_| async {
        for _ in 0..3 {
            tokio::task::coop::consume_budget().await;
            tokio::task::yield_now().await;
        }
        Verdict::block("its turn")
    };
    let hooks = vec![at(hook("always"), always), at(hook("one"), takes_turns), at(hook("two"), takes_turns)];
    bus.install("test", hooks).unwrap();
    let decision = publish(&bus).await;
    drop(send);
    assert_eq!(decision.verdict(), &Verdict::block("its turn"));
    assert_eq!(bus.failures(), 1);
}

/// Cannot say what the answers come to.
struct Panics;

impl Ensemble for Panics {
    fn sees(&self) -> Sees {
        Sees::First
    }

    fn finalize(&self, _: &AnyEvent, _: Vec<FromHook<Answer>>) -> Vec<FromHook<Answer>> {
        std::panic::panic_any("no quorum");
    }
}

#[tokio::test]
async fn members_whose_ensemble_panics_have_failed() {
    for (on_failure, blocks) in [(OnFailure::Block, true), (OnFailure::Continue, false)] {
        let bus = Bus::new();
        let ensemble: Arc<dyn Ensemble> = Arc::new(Panics);
        let mut hooks = vec![member("one", &ensemble, 9), member("two", &ensemble, 9)];
        hooks.iter_mut().for_each(|installed| installed.hook.on_failure = on_failure);
        bus.install("test", hooks).unwrap();
        let decision = publish(&bus).await;
        assert_eq!(decision.is_refused(), blocks, "{on_failure:?}");
        let receipt = decision.receipt().unwrap();
        assert_eq!(receipt.remarks.len(), 2);
        assert_eq!(receipt.remarks[0].what, "its ensemble panicked: no quorum");
        assert_eq!(bus.failures(), 1);
    }
}
