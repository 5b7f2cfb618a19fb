//! Hooks that hold for some sessions alone.
#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::Arc;
use std::time::Duration;

use lineside_bus::interceptor::{BoxFuture, Interceptor};
use lineside_bus::{Bus, Cx, Installed, Scope, Session};
use lineside_core::hook::Tighter;
use lineside_core::json::json;
use lineside_core::payload::Point as _;
use lineside_core::{
    Answer, AnyEvent, Failure, FailureKind, Hook, Layer, OnFailure, Part, Response, Verdict,
};
use lineside_points::BeforeTool;

/// Refuses everything, with its name.
struct Refusing(&'static str);

impl Interceptor for Refusing {
    fn intercept(&self, _event: AnyEvent, _cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        let answer = Answer { verdict: Verdict::block(self.0), ..Answer::default() };
        Box::pin(std::future::ready(Ok(answer.into())))
    }
}

fn guard(name: &'static str) -> Installed {
    let hook = Hook::native(name, Part::Gate).layer(Layer::Project).timeout(Duration::from_secs(1));
    Installed { point: BeforeTool::INFO, hook, run: Arc::new(Refusing(name)) }
}

fn install(scope: &Scope, name: &'static str) {
    scope.install_all([("native", vec![guard(name)])]).unwrap();
}

async fn reason(session: &Session) -> Option<String> {
    let decision = session.publish(BeforeTool::new("Shell", json!({}))).await.unwrap();
    decision.reason().map(ToString::to_string)
}

#[tokio::test]
async fn hooks_of_a_scope_hold_for_its_sessions_and_those_below_and_for_no_other() {
    let bus = Bus::new();
    let (one, other) = (bus.scope(), bus.scope());
    install(&one, "of one");
    install(&other, "of the other");
    let root = bus.session("root").scope(&one).open().await.unwrap();
    let child = root.subagent("child").open().await.unwrap();
    let beside = bus.session("beside").scope(&other).open().await.unwrap();
    let nowhere = bus.session("nowhere").open().await.unwrap();
    assert_eq!(reason(&root).await.as_deref(), Some("of one"));
    assert_eq!(reason(&child).await.as_deref(), Some("of one"));
    assert_eq!(reason(&beside).await.as_deref(), Some("of the other"));
    assert_eq!(reason(&nowhere).await, None);
    assert_ne!(root.coverage(), beside.coverage());
    assert_eq!(root.coverage(), child.coverage());
    assert!(child.is_in(&one) && child.scope().is_none() && !nowhere.is_in(&one));
    root.close().await;
    assert!(child.is_in(&one), "a closed ancestor counts");
    assert_eq!(reason(&child).await.as_deref(), Some("of one"));
}

#[tokio::test]
async fn what_is_installed_anew_holds_for_the_next_event_of_every_session_of_the_scope() {
    let bus = Bus::new();
    let scope = bus.scope();
    let session = bus.session("s").scope(&scope).open().await.unwrap();
    let before = session.coverage();
    assert_eq!(reason(&session).await, None);
    install(&scope, "first");
    assert_eq!(reason(&session).await.as_deref(), Some("first"));
    assert_ne!(session.coverage(), before);
    install(&scope, "second");
    assert_eq!(reason(&session).await.as_deref(), Some("second"));
    assert_eq!(session.hooks().len(), 1);
    scope.install_all([("native", Vec::new())]).unwrap();
    assert_eq!(reason(&session).await, None);
    assert_eq!(session.coverage(), before);
}

#[tokio::test]
async fn a_session_below_that_is_in_a_scope_of_its_own_is_under_both_and_one_of_the_same_scope_under_it_once()
{
    let bus = Bus::new();
    let (outer, inner) = (bus.scope(), bus.scope());
    install(&outer, "outer");
    install(&inner, "inner");
    let root = bus.session("root").scope(&outer).open().await.unwrap();
    let same = root.subagent("same").scope(&outer).open().await.unwrap();
    let nested = root.subagent("nested").scope(&inner).open().await.unwrap();
    assert_eq!(same.hooks().len(), 1);
    let names: Vec<_> = nested.hooks().iter().map(|(_, hook)| hook.name.to_string()).collect();
    assert_eq!(names, ["outer", "inner"]);
    assert_eq!(reason(&nested).await.as_deref(), Some("outer"), "the first blocker in plan order");
}

#[tokio::test]
async fn two_children_of_one_scope_below_different_parents_have_the_coverage_of_their_own_parents() {
    let bus = Bus::new();
    let scope = bus.scope();
    install(&scope, "of the scope");
    let mut seen = Vec::new();
    for name in ["one", "two"] {
        let parent = bus.session(name).open().await.unwrap();
        parent.intercept::<BeforeTool>(name).gate(async |_, _cx| Verdict::Continue).unwrap();
        let child = parent.subagent(format!("below {name}")).scope(&scope).open().await.unwrap();
        seen.push(child.coverage());
    }
    assert_ne!(seen[0], seen[1]);
}

#[tokio::test]
async fn a_session_that_was_opened_in_no_scope_may_enter_one_once() {
    let bus = Bus::new();
    let (scope, other) = (bus.scope(), bus.scope());
    install(&scope, "late");
    install(&other, "other");
    let session = bus.session("s").open().await.unwrap();
    let child = session.subagent("child").open().await.unwrap();
    assert!(session.scope().is_none());
    assert!(session.enter(&scope) && session.is_in(&scope));
    assert!(!session.enter(&other));
    assert_eq!(reason(&session).await.as_deref(), Some("late"));
    assert_eq!(reason(&child).await.as_deref(), Some("late"));
}

/// Takes its time, and fails then.
struct Failing(Duration);

impl Interceptor for Failing {
    fn intercept(&self, _event: AnyEvent, _cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        let wait = self.0;
        Box::pin(async move {
            tokio::time::sleep(wait).await;
            Err(Failure::new(FailureKind::Exit, "exit status 1"))
        })
    }
}

/// A hook of the bus that fails after five seconds and lets pass then.
fn notifier(name: &'static str, layer: Layer) -> Installed {
    let hook = Hook::native(name, Part::Gate).layer(layer).timeout(Duration::from_secs(60));
    let hook = hook.on_failure(OnFailure::Continue);
    Installed { point: BeforeTool::INFO, hook, run: Arc::new(Failing(Duration::from_secs(5))) }
}

const BLOCKS: Tighter = Tighter { timeout: None, on_failure: Some(OnFailure::Block) };
const SOONER: Tighter = Tighter { timeout: Some(Duration::from_secs(1)), on_failure: None };

fn tighten(scope: &Scope, asked: Tighter) {
    scope.install_and_tighten([], |hook| (&*hook.name == "n").then_some(asked)).unwrap();
}

/// How strict the hooks of a session are, and what comes of an event and when.
async fn seen(session: &Session) -> (Vec<(OnFailure, u64)>, bool, u64) {
    let hooks = session.hooks();
    let hooks = hooks.iter().map(|(_, hook)| (hook.on_failure, hook.timeout.as_secs())).collect();
    let began = tokio::time::Instant::now();
    let refused = reason(session).await.is_some();
    (hooks, refused, began.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn a_scope_tightens_hooks_of_the_bus_for_its_sessions_and_for_no_other() {
    use OnFailure::{Block, Continue};
    let bus = Bus::new();
    bus.install_all([("native", vec![notifier("n", Layer::User)])]).unwrap();
    let (one, other) = (bus.scope(), bus.scope());
    tighten(&one, BLOCKS);
    tighten(&other, SOONER);
    let inside = bus.session("one").scope(&one).open().await.unwrap();
    let beside = bus.session("other").scope(&other).open().await.unwrap();
    let nowhere = bus.session("nowhere").open().await.unwrap();
    // Below a session of another scope both hold, whichever is nearer.
    let both = inside.subagent("both").scope(&other).open().await.unwrap();
    let turned = beside.subagent("turned").scope(&one).open().await.unwrap();
    assert_eq!(seen(&nowhere).await, (vec![(Continue, 60)], false, 5));
    assert_eq!(seen(&inside).await, (vec![(Block, 60)], true, 5));
    assert_eq!(seen(&beside).await, (vec![(Continue, 1)], false, 1));
    assert_eq!(seen(&both).await, (vec![(Block, 1)], true, 1));
    assert_eq!(seen(&turned).await, (vec![(Block, 1)], true, 1));
    assert_ne!(inside.coverage(), nowhere.coverage());
    // What does not tighten changes nothing.
    tighten(&one, Tighter { timeout: Some(Duration::from_secs(600)), on_failure: Some(Continue) });
    assert_eq!(seen(&inside).await, (vec![(Continue, 60)], false, 5));
    // Hooks of the scope's own leave what it tightens as it is.
    tighten(&one, BLOCKS);
    one.install_all([("notice", Vec::new())]).unwrap();
    assert_eq!(seen(&inside).await, (vec![(Block, 60)], true, 5));
    // A hook that the bus has had later is in force as it is, and the one before as long as the scope has not looked again.
    bus.install_all([("native", vec![notifier("n", Layer::User)])]).unwrap();
    assert_eq!(seen(&inside).await.0, [(Block, 60), (Continue, 60)]);
    tighten(&one, BLOCKS);
    assert_eq!(seen(&inside).await, (vec![(Block, 60)], true, 5));
    bus.install_all([("native", Vec::new())]).unwrap();
    tighten(&one, BLOCKS);
    assert_eq!(seen(&inside).await, (Vec::new(), false, 0));
}
