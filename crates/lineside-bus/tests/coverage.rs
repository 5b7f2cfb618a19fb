//! What a session is under has a digest that changes with it; a publisher that believes another one is contradicted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::Arc;

use lineside_bus::signal::Watched;
use lineside_bus::{Bus, Session, Signal};
use lineside_core::json::json;
use lineside_core::{Reach, Verdict};
use lineside_points::{BeforePrompt, BeforeStop, BeforeTool, OnIdle};

fn sessions() -> (Bus, Session, Session) {
    let bus = Bus::new();
    let root = bus.session("root").open_now().unwrap();
    let child = root.subagent("child").open_now().unwrap();
    (bus, root, child)
}

#[tokio::test]
async fn the_digest_changes_with_each_hook_wherever_it_stands() {
    let (bus, root, child) = sessions();
    let mut seen = vec![child.coverage()];
    let mut changed = |what: &str| {
        let now = child.coverage();
        assert!(!seen.contains(&now), "{what}");
        assert_eq!(now, child.coverage(), "{what}");
        seen.push(now);
    };
    // There are no hooks on the bus at first, and none of the child's own.
    for name in ["a", "b", "c"] {
        root.intercept::<BeforeTool>(name).gate(async |_, _| Verdict::Continue).unwrap();
        changed(name);
    }
    child.intercept::<BeforeTool>("own").gate(async |_, _| Verdict::Continue).unwrap();
    changed("own");
    bus.intercept::<BeforeTool>("of the bus").gate(async |_, _| Verdict::Continue).unwrap();
    changed("of the bus");
    root.intercept::<BeforeTool>("d").gate(async |_, _| Verdict::Continue).unwrap();
    changed("d");
    assert_ne!(root.coverage(), child.coverage());
}

#[tokio::test]
async fn the_digest_of_each_place_is_computed_once_for_each_change() {
    let (_bus, root, child) = sessions();
    root.intercept::<BeforeTool>("a").gate(async |_, _| Verdict::Continue).unwrap();
    let known = [child.coverage(), root.coverage()];
    for session in [&child, &root, &child] {
        let digest = session.coverage();
        assert!(known.iter().any(|known| Arc::ptr_eq(known, &digest)));
    }
}

#[tokio::test]
async fn a_publisher_that_believes_another_digest_is_contradicted_though_nothing_hears_the_event() {
    let (bus, root, _child) = sessions();
    let mut signals = bus.signals();
    let told = |signals: &mut lineside_bus::Signals| {
        let mut told = Vec::new();
        while let Some(signal) = signals.try_next() {
            if let Watched::Signal(Signal::CoverageMismatch { mismatch, .. }) = signal {
                told.push(mismatch.believed.to_string());
            }
        }
        told
    };
    let right = root.event(OnIdle::new()).expect_coverage(root.coverage()).publish().await.unwrap();
    assert!(right.receipt().is_none_or(|receipt| receipt.coverage.is_none()));
    assert!(told(&mut signals).is_empty());
    let wrong = root.event(OnIdle::new()).expect_coverage("another").publish().await.unwrap();
    let mismatch = wrong.receipt().unwrap().coverage.as_deref().unwrap();
    assert_eq!((&*mismatch.believed, &mismatch.in_force), ("another", &root.coverage()));
    assert_eq!(told(&mut signals), ["another"]);
    drop(signals);
    let unwatched = root.event(OnIdle::new()).expect_coverage("another").publish().await.unwrap();
    assert!(unwatched.receipt().unwrap().coverage.is_some());
    assert!(root.event(OnIdle::new()).publish().await.unwrap().receipt().is_none(), "nothing hears it");
}

#[tokio::test]
async fn hooks_of_a_session_alone_leave_those_of_other_points_where_they_are() {
    let (_bus, root, child) = sessions();
    let own = root.intercept::<BeforeTool>("own").reach(Reach::Itself);
    own.gate(async |_, _| Verdict::block("own")).unwrap();
    root.intercept::<BeforeStop>("all").gate(async |_, _| Verdict::block("all")).unwrap();
    let call = || BeforeTool::new("a", json!({}));
    assert!(root.publish(call()).await.unwrap().is_refused());
    assert!(!child.publish(call()).await.unwrap().is_refused());
    assert!(child.publish(BeforeStop::new(false)).await.unwrap().is_refused());
}

#[tokio::test]
async fn new_work_has_the_stops_counted_anew() {
    let (_bus, root, _child) = sessions();
    root.intercept::<BeforeStop>("never").gate(async |_, _| Verdict::block("keep working")).unwrap();
    for _ in 0..2 {
        for _ in 0..3 {
            assert!(root.publish(BeforeStop::new(true)).await.unwrap().is_refused());
        }
        drop(root.publish(BeforePrompt::new("go on with the next one")).await.unwrap());
    }
    for _ in 0..3 {
        assert!(root.publish(BeforeStop::new(true)).await.unwrap().is_refused());
    }
    let fourth = root.publish(BeforeStop::new(true)).await.unwrap();
    assert!(!fourth.is_refused());
    assert!(fourth.notices()[0].what.text.contains("4 times in a row"), "{:?}", fourth.notices()[0]);
}

#[test]
fn a_child_is_below_its_ancestors_and_below_nothing_else() {
    let (bus, root, child) = sessions();
    let grandchild = child.subagent("grandchild").open_now().unwrap();
    let other = bus.session("other").open_now().unwrap();
    assert!(child.is_below(&root) && grandchild.is_below(&root) && grandchild.is_below(&child));
    assert!(!root.is_below(&child) && !root.is_below(&root) && !grandchild.is_below(&other));
}
