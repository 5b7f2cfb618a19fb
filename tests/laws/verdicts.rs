//! Laws 2 and 3.

use std::convert::Infallible;

use lineside::core::{FailureKind, Outcome, SkipReason};
use lineside::kameo::Actor;
use lineside::kameo::actor::{ActorRef, Spawn};
use lineside::kameo::message::{Context, Message};
use lineside::prelude::*;

use crate::{outcome, ran, session, shell};

#[tokio::test]
async fn a_block_is_final() {
    let said = [
        Verdict::Continue,
        Verdict::allow(),
        Verdict::ask("sure?"),
        Verdict::block("no"),
        Verdict::block("also no"),
    ];
    // Every order of the five, with a failing hook that continues behind each.
    for order in permutations(said.len()) {
        let (_bus, root) = session().await;
        for (place, index) in order.iter().enumerate() {
            let verdict = said[*index].clone();
            root.intercept::<BeforeTool>(format!("hook {place}"))
                .priority(100 - i32::try_from(place).unwrap())
                .gate(move |_, _| std::future::ready(verdict.clone()))
                .unwrap();
        }
        root.intercept::<BeforeTool>("fails")
            .priority(200)
            .on_failure(OnFailure::Continue)
            .try_gate(async |_, _| Err::<Verdict, _>("broken"))
            .unwrap();
        let decision = root.publish(shell("ls")).await.unwrap();
        let first = order.iter().find(|index| **index >= 3).unwrap();
        assert_eq!(decision.verdict(), &said[*first], "{order:?}");
    }
}

fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let shorter = permutations(n - 1);
    (0..n)
        .flat_map(|at| shorter.iter().map(move |rest| (at, rest)))
        .map(|(at, rest)| {
            let mut all = rest.clone();
            all.insert(at, n - 1);
            all
        })
        .collect()
}

#[tokio::test]
async fn hooks_after_a_block_do_not_run() {
    let (_bus, root) = session().await;
    root.intercept::<BeforeTool>("blocks").priority(1).gate(async |_, _| Verdict::block("no")).unwrap();
    root.intercept::<BeforeTool>("after").amend(async |_, _| Verdict::allow()).unwrap();
    let decision = root.publish(shell("ls")).await.unwrap();
    assert_eq!(ran(&decision), ["blocks"]);
    assert_eq!(outcome(&decision, "after"), Outcome::Skipped(SkipReason::Blocked));
    assert_eq!(&*decision.author().unwrap().name, "blocks");
}

#[tokio::test]
async fn d02_a_block_without_a_reason_gets_one() {
    let (_bus, root) = session().await;
    root.intercept::<BeforeTool>("mute").gate(async |_, _| Verdict::block("  ")).unwrap();
    let decision = root.publish(shell("ls")).await.unwrap();
    assert_eq!(decision.reason().unwrap().as_str(), "blocked by hook \"mute\"");
}

#[tokio::test]
async fn failing_is_not_refusing() {
    for on_failure in [OnFailure::Block, OnFailure::Continue] {
        let (bus, root) = session().await;
        root.intercept::<BeforeTool>("broken")
            .on_failure(on_failure)
            .try_gate(async |_, _| Err::<Verdict, _>("no answer"))
            .unwrap();
        let decision = root.publish(shell("ls")).await.unwrap();
        assert_eq!(decision.is_refused(), on_failure == OnFailure::Block);
        let Outcome::Failed { failure, .. } = outcome(&decision, "broken") else {
            panic!("a failure is recorded")
        };
        assert_eq!((failure.kind, &*failure.detail), (FailureKind::Error, "no answer"));
        assert_eq!(bus.failures(), 1, "every failure is counted");
    }
}

#[tokio::test]
async fn d03_a_panicking_gate_blocks() {
    let (_bus, root) = session().await;
    root.intercept::<BeforeTool>("panics")
        .gate(async |call: lineside::core::Event<BeforeTool>, _| {
            assert!(call.tool_name != "Shell", "a bug in the hook");
            Verdict::Continue
        })
        .unwrap();
    let decision = root.publish(shell("ls")).await.unwrap();
    assert_eq!(decision.reason().unwrap().as_str(), "hook \"panics\" failed: panicked: a bug in the hook");
}

struct Policy;

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
        asked: Intercept<BeforeTool>,
        _: &mut Context<Self, Self::Reply>,
    ) -> Self::Reply {
        match asked.event.command().as_deref() {
            Some("fail") => Err("out of rules".to_owned()),
            Some("rm") => Ok(Verdict::block("the policy says no")),
            _ => Ok(Verdict::Continue),
        }
    }
}

#[tokio::test]
async fn an_actor_answers_through_its_reply_and_one_that_is_gone_meets_its_on_failure() {
    let (_bus, root) = session().await;
    let policy = Policy::spawn(Policy);
    root.intercept::<BeforeTool>("policy").actor(policy.clone()).unwrap();
    assert!(!root.publish(shell("ls")).await.unwrap().is_refused());
    assert_eq!(root.publish(shell("rm")).await.unwrap().verdict(), &Verdict::block("the policy says no"));
    let decision = root.publish(shell("fail")).await.unwrap();
    assert_eq!(decision.reason().unwrap().as_str(), "hook \"policy\" failed: \"out of rules\"");
    policy.stop_gracefully().await.unwrap();
    policy.wait_for_shutdown().await;
    let decision = root.publish(shell("ls")).await.unwrap();
    assert_eq!(decision.reason().unwrap().as_str(), "hook \"policy\" failed: the actor is not running");
}

#[tokio::test]
async fn d09_a_stop_is_blocked_at_most_three_times_in_a_row() {
    let (_bus, root) = session().await;
    root.intercept::<BeforeStop>("never").gate(async |_, _| Verdict::block("keep working")).unwrap();
    for turn in [1, 2] {
        for _ in 0..3 {
            assert!(root.event(BeforeStop::new(true)).turn(turn).publish().await.unwrap().is_refused());
        }
        let decision = root.event(BeforeStop::new(true)).turn(turn).publish().await.unwrap();
        assert!(!decision.is_refused());
        assert_eq!(decision.notices().len(), 1);
    }
    assert_eq!(root.collect().before_next_model().await.accept().len(), 6);
}
