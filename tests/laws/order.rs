//! Law 1.

use lineside::core::{Outcome, SkipReason};
use lineside::prelude::*;
use tokio::sync::oneshot;

use crate::{outcome, ran, session, shell};

#[tokio::test]
async fn order_is_declared() {
    let (bus, root) = session().await;
    let child = root.subagent("child").open().await.unwrap();
    // Registered in an order that says nothing about the order in which they run.
    child.intercept::<BeforeTool>("5 child").amend(async |_, _| Verdict::Continue).unwrap();
    root.intercept::<BeforeTool>("4 root, later").amend(async |_, _| Verdict::Continue).unwrap();
    bus.intercept::<BeforeTool>("3 project")
        .layer(Layer::Project)
        .amend(async |_, _| Verdict::Continue)
        .unwrap();
    bus.intercept::<BeforeTool>("2 managed").amend(async |_, _| Verdict::Continue).unwrap();
    root.intercept::<BeforeTool>("6 low").priority(-1).amend(async |_, _| Verdict::Continue).unwrap();
    child.intercept::<BeforeTool>("1 high").priority(9).amend(async |_, _| Verdict::Continue).unwrap();
    let decision = child.publish(shell("ls")).await.unwrap();
    assert_eq!(ran(&decision), ["1 high", "2 managed", "3 project", "4 root, later", "5 child", "6 low"]);
}

#[tokio::test]
async fn the_reason_is_that_of_the_first_blocker_whoever_is_faster() {
    let (_bus, root) = session().await;
    let (open, gate) = oneshot::channel::<()>();
    let gate = std::sync::Mutex::new(Some(gate));
    root.intercept::<BeforeTool>("slow")
        .gate(move |_, _| {
            let gate = gate.lock().unwrap().take();
            async move {
                gate.unwrap().await.unwrap();
                Verdict::block("the first in plan order")
            }
        })
        .unwrap();
    let open = std::sync::Mutex::new(Some(open));
    root.intercept::<BeforeTool>("fast")
        .gate(move |_, _| {
            open.lock().unwrap().take().unwrap().send(()).unwrap();
            std::future::ready(Verdict::block("the first to answer"))
        })
        .unwrap();
    let decision = root.publish(shell("ls")).await.unwrap();
    assert_eq!(decision.reason().unwrap().as_str(), "the first in plan order");
    assert_eq!(outcome(&decision, "fast"), Outcome::Skipped(SkipReason::Blocked));
}

#[tokio::test]
async fn registration_during_a_dispatch_affects_the_next_one() {
    let (_bus, root) = session().await;
    let inner = root.clone();
    root.intercept::<BeforeTool>("registers")
        .priority(1)
        .gate(move |_, _| {
            inner.intercept::<BeforeTool>("late").gate(async |_, _| Verdict::block("late")).unwrap();
            std::future::ready(Verdict::Continue)
        })
        .unwrap();
    assert!(!root.publish(shell("ls")).await.unwrap().is_refused());
    assert!(root.publish(shell("ls")).await.unwrap().is_refused());
}
