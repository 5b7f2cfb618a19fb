//! The hooks of one format at one place.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use lineside_bus::interceptor::BoxFuture;
use lineside_bus::{Bus, Cx, Installed, Interceptor, OfDialect, RegisterHookError, Session};
use lineside_core::json::json;
use lineside_core::{AnyEvent, Failure, Hook, Outcome, Part, Point, Response, SkipReason, Verdict};
use lineside_points::{BeforeTool, OnIdle};

struct Blocks;

impl Interceptor for Blocks {
    fn intercept(&self, _event: AnyEvent, _cx: Cx) -> BoxFuture<Result<Response, Failure>> {
        Box::pin(std::future::ready(Ok(Verdict::block("no").into())))
    }
}

fn hook(name: &str, source: &str) -> Installed {
    let hook = Hook::native(name, Part::LoneGate).dialect("theirs").source(source);
    Installed { point: BeforeTool::INFO, hook, run: Arc::new(Blocks) }
}

fn names(of: &OfDialect) -> Vec<String> {
    of.list().iter().map(|(_, hook)| hook.name.to_string()).collect()
}

/// What became of each hook.
async fn outcomes(session: &Session) -> Vec<(String, Option<SkipReason>)> {
    let decision = session.publish(BeforeTool::new("Shell", json!({}))).await.unwrap();
    let Some(receipt) = decision.receipt() else { return Vec::new() };
    let of = |run: &lineside_core::Run| match &run.outcome {
        Outcome::Skipped(why) => Some(*why),
        _ => None,
    };
    receipt.runs.iter().map(|run| (receipt.hooks[run.hook as usize].name.to_string(), of(run))).collect()
}

#[tokio::test]
async fn hooks_of_other_formats_and_places_are_left_alone() {
    let bus = Bus::new();
    let session = bus.session("s1").open().await.unwrap();
    bus.intercept::<BeforeTool>("native").gate(async |_, _| Verdict::Continue).unwrap();
    let (of_bus, of_session) = (bus.of_dialect("theirs"), session.of_dialect("theirs"));
    for (name, source) in [("a", ""), ("b", "p"), ("c", ""), ("d", "p2")] {
        of_bus.attach(hook(name, source)).unwrap();
    }
    of_session.attach(hook("e", "")).unwrap();
    assert_eq!(
        (names(&of_bus), names(&of_session)),
        (vec!["a".into(), "b".into(), "c".into(), "d".into()], vec!["e".to_owned()])
    );
    assert_eq!(of_bus.remove(Some(OnIdle::INFO), None), 0);
    assert_eq!(of_bus.remove(Some(BeforeTool::INFO), Some("")), 2);
    assert_eq!(of_bus.remove(None, Some("")), 0, "once is enough");
    assert_eq!(names(&of_bus), ["b", "d"]);
    assert_eq!(of_bus.remove(None, None), 2);
    let left: Vec<_> = session.hooks().iter().map(|(_, hook)| hook.name.to_string()).collect();
    assert_eq!(left, ["native", "e"]);
}

#[tokio::test]
async fn what_is_switched_off_is_skipped_and_stays() {
    let bus = Bus::new();
    let (s1, s2) = (bus.session("s1").open().await.unwrap(), bus.session("s2").open().await.unwrap());
    let child = s1.subagent("s3").open().await.unwrap();
    bus.of_dialect("theirs").attach(hook("a", "")).unwrap();
    s1.of_dialect("theirs").attach(hook("b", "")).unwrap();
    let off = |name: &str| (name.to_owned(), Some(SkipReason::Disabled));
    let blocked = |name: &str| (name.to_owned(), Some(SkipReason::Blocked));
    let ran = |name: &str| (name.to_owned(), None);

    bus.of_dialect("theirs").switch_off();
    bus.of_dialect("theirs").switch_off();
    assert!(bus.of_dialect("theirs").is_off() && !s1.of_dialect("theirs").is_off());
    for session in [&s1, &child] {
        assert_eq!(outcomes(session).await, [off("a"), ran("b")]);
    }
    assert_eq!(outcomes(&s2).await, [off("a")]);
    bus.of_dialect("theirs").attach(hook("later", "")).unwrap();
    assert_eq!(outcomes(&s2).await, [off("a"), off("later")]);

    s1.of_dialect("theirs").switch_off();
    assert_eq!(outcomes(&child).await, [off("a"), off("b"), off("later")]);
    bus.of_dialect("theirs").switch_on();
    assert_eq!(outcomes(&s2).await, [ran("a"), blocked("later")]);
    assert_eq!(names(&bus.of_dialect("theirs")), ["a", "later"]);
}

#[tokio::test]
async fn what_was_added_stays_when_an_installation_is_replaced() {
    let bus = Bus::new();
    bus.install("theirs", vec![hook("old", "p")]).unwrap();
    let added = bus.of_dialect("theirs").attach(hook("mine", "p")).unwrap();
    bus.install("theirs", vec![hook("new", "")]).unwrap();
    assert_eq!(names(&bus.of_dialect("theirs")), ["mine", "new"]);
    assert!(added.remove() && !added.remove());
    assert_eq!(names(&bus.of_dialect("theirs")), ["new"]);
}

#[tokio::test]
async fn a_hook_of_another_format_or_without_authority_is_refused() {
    let bus = Bus::new();
    let refused = bus.of_dialect("other").attach(hook("a", "")).err();
    assert_eq!(refused, Some(RegisterHookError::OtherDialect { expected: "other", found: "theirs" }));
    let at_a_fact = Installed { point: OnIdle::INFO, ..hook("a", "") };
    let refused = bus.of_dialect("theirs").attach(at_a_fact).err();
    assert!(matches!(refused, Some(RegisterHookError::NoAuthority { point: "on_idle", .. })), "{refused:?}");
}
