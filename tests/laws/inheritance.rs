//! Law 13.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lineside::prelude::*;

use crate::{ran, session, shell};

#[tokio::test]
async fn hooks_are_inherited() {
    let (bus, root) = session().await;
    let child = root.subagent("child").open().await.unwrap();
    let grandchild = child.subagent("grandchild").open().await.unwrap();
    // Registered after both were opened.
    root.intercept::<BeforeTool>("guard").gate(async |_, _| Verdict::block("no")).unwrap();
    for session in [&root, &child, &grandchild] {
        assert!(session.publish(shell("ls")).await.unwrap().is_refused());
        assert_eq!(session.coverage(), root.coverage());
    }
    // Nothing that a child does removes it.
    assert_eq!(child.remove("guard") + grandchild.remove("guard") + bus.remove("guard"), 0);
    child.intercept::<BeforeTool>("guard").priority(9).gate(async |_, _| Verdict::allow()).unwrap();
    assert!(child.publish(shell("ls")).await.unwrap().is_refused());
    assert_ne!(child.coverage(), root.coverage());
    assert_eq!(grandchild.coverage(), child.coverage());
    assert_eq!(root.remove("guard"), 1);
    assert!(!grandchild.publish(shell("ls")).await.unwrap().is_refused());
}

#[tokio::test]
async fn a_hook_of_the_bus_reaches_the_subagents_of_a_session_that_is_closed() {
    let (bus, root) = session().await;
    let child = root.subagent("child").open().await.unwrap();
    root.close().await;
    bus.intercept::<BeforeTool>("late").gate(async |_, _| Verdict::block("no")).unwrap();
    assert!(child.publish(shell("ls")).await.unwrap().is_refused());
}

#[tokio::test]
async fn a_later_session_of_the_same_id_is_under_every_hook_though_the_earlier_is_closed_twice() {
    let (bus, earlier) = session().await;
    earlier.close().await;
    let later = bus.session("root").open().await.unwrap();
    earlier.close().await;
    bus.intercept::<BeforeTool>("late").gate(async |_, _| Verdict::block("no")).unwrap();
    assert!(later.publish(shell("ls")).await.unwrap().is_refused());
    assert!(bus.find("root").is_some_and(|found| found.is_open()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_registration_is_seen_by_every_event_that_starts_after_it() {
    const HOOKS: usize = 200;
    let (bus, root) = session().await;
    let child = root.subagent("child").open().await.unwrap();
    let registered = Arc::new(AtomicUsize::new(0));
    let publishers: Vec<_> = (0..2)
        .map(|_| {
            let (child, registered) = (child.clone(), Arc::clone(&registered));
            tokio::spawn(async move {
                loop {
                    let before = registered.load(Ordering::Acquire);
                    let decision = child.publish(shell("ls")).await.unwrap();
                    let met = decision.receipt().map_or(0, |receipt| receipt.runs.len());
                    assert!(met >= before, "{met} of {before}");
                    if before == HOOKS {
                        return;
                    }
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for number in 0..HOOKS {
        let name = number.to_string();
        let hook = match number % 3 {
            0 => bus.intercept::<BeforeTool>(name),
            1 => root.intercept(name),
            _ => child.intercept(name),
        };
        let hook = if number % 2 == 0 { hook } else { hook.matching(tool("Shell")) };
        hook.gate(async |_, _| Verdict::Continue).unwrap();
        registered.store(number + 1, Ordering::Release);
        tokio::task::yield_now().await;
    }
    for publisher in publishers {
        publisher.await.unwrap();
    }
}

#[tokio::test]
async fn self_and_children_reach_as_far_as_they_say() {
    let (_bus, root) = session().await;
    let hook = |name: &str, reach| {
        root.intercept::<BeforeTool>(name.to_owned())
            .reach(reach)
            .gate(async |_, _| Verdict::Continue)
            .unwrap();
    };
    hook("itself", Reach::Itself);
    hook("children", Reach::Children);
    hook("subtree", Reach::Subtree);
    let child = root.subagent("child").open().await.unwrap();
    let grandchild = child.subagent("grandchild").open().await.unwrap();
    assert_eq!(ran(&root.publish(shell("ls")).await.unwrap()), ["itself", "subtree"]);
    assert_eq!(ran(&child.publish(shell("ls")).await.unwrap()), ["children", "subtree"]);
    assert_eq!(ran(&grandchild.publish(shell("ls")).await.unwrap()), ["children", "subtree"]);
}

#[tokio::test]
async fn removal_by_source_compares_whole_strings() {
    let (bus, root) = session().await;
    for source in ["p", "p2", "tenant:p", ""] {
        bus.intercept::<BeforeTool>(format!("of {source}"))
            .source(source)
            .gate(async |_, _| Verdict::Continue)
            .unwrap();
    }
    assert_eq!(bus.remove_source(None, "p"), 1);
    assert_eq!(bus.remove_source(None, "p"), 0, "it is idempotent");
    assert_eq!(ran(&root.publish(shell("ls")).await.unwrap()), ["of p2", "of tenant:p", "of "]);
}
