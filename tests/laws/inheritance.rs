//! Law 13.

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
    child.intercept::<BeforeTool>("guard").priority(9).gate(async |_, _| Verdict::Allow).unwrap();
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
