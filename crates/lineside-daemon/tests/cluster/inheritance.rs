//! A child on another machine is under the hooks of its parent.

use std::sync::Arc;

use lineside::client::RequestError;
use lineside::core::matcher::{MatcherDraft, text};
use lineside::core::propagation::GRANT;
use lineside::dialects::native::{ClusterSettings, RemoteGrants};
use lineside::guards::runs;
use lineside::json::Value;
use lineside::prelude::*;

use crate::machine::{Machine, comes_to, guard, reason};
use crate::nats::Nats;

async fn two() -> (Nats, Machine, Machine) {
    let nats = Nats::new().await;
    let (a, b) = (Machine::new(&nats.url(), "a").await, Machine::new(&nats.url(), "b").await);
    (nats, a, b)
}

#[tokio::test]
async fn a_child_on_another_machine_is_under_the_closure_of_its_parent() {
    let (_nats, a, b) = two().await;
    let parent = a.client().session("s1").open().await.unwrap();
    guard(&parent, "no-rm", "rm").await;
    let child = b.below(&parent).session("s2").open().await.unwrap();
    assert_eq!(reason(&child, "rm -rf /").await.as_deref(), Some("no rm"));
    assert_eq!(reason(&child, "ls").await, None);
    let look: Value = b.client().get("/v1/sessions/s2").await.unwrap();
    assert_eq!((&look["parent"], &look["depth"]), (&json!("s1"), &json!(1)));
    assert_eq!(look["attributed"], json!("claim"), "nothing here proves the grant");
    let above: Value = b.client().get("/v1/sessions/s1").await.unwrap();
    assert_eq!(above["machine"], json!("a"));
    // What is done in it is done where it is.
    let event = json!({"point": "on_idle", "session": "s1"});
    let refused = b.client().post::<Value>("/v1/events", event.as_object().unwrap()).await.unwrap_err();
    let RequestError::Refused { status, detail, blocks, .. } = refused else { panic!("{refused}") };
    assert!(status == 409 && blocks && detail.contains("is on machine `a`"), "{detail}");
    // And further down.
    let grandchild = b.below(&child).session("s3").open().await.unwrap();
    assert_eq!(reason(&grandchild, "rm").await.as_deref(), Some("no rm"));
    // A root of its own is under nothing.
    let root = b.client().session("s4").open().await.unwrap();
    assert_eq!(reason(&root, "rm").await, None);
}

#[tokio::test]
async fn hooks_that_come_and_go_while_a_child_runs_elsewhere_hold_for_it_when_that_is_answered() {
    let (_nats, a, b) = two().await;
    let parent = a.client().session("s1").open().await.unwrap();
    let child = b.below(&parent).session("s2").open().await.unwrap();
    assert_eq!(reason(&child, "rm").await, None);
    let registered = guard(&parent, "no-rm", "rm").await;
    assert_eq!(reason(&child, "rm").await.as_deref(), Some("no rm"));
    guard(&parent, "no-dd", "dd").await;
    assert_eq!(reason(&child, "dd").await.as_deref(), Some("no dd"));
    registered.remove().await.unwrap();
    assert_eq!(reason(&child, "rm").await, None);
    assert_eq!(reason(&child, "dd").await.as_deref(), Some("no dd"));
}

/// A hook of this process that refuses a word.
fn own(session: &lineside::Session, word: &'static str) -> lineside::bus::Registration {
    let gate = session.intercept::<BeforeTool>(word).matching(lineside::core::matcher::tool("Shell"));
    let gate = gate.gate(move |call: Event<BeforeTool>, _| async move {
        let is_meant = call.command().is_some_and(|command| command.starts_with(word));
        if is_meant { Verdict::block(format!("no {word}")) } else { Verdict::Continue }
    });
    gate.unwrap()
}

#[tokio::test]
async fn a_child_on_another_machine_is_under_the_closures_of_the_daemons_own_program() {
    let (_nats, a, b) = two().await;
    let bus = a.server().bus();
    let parent = bus.session("s1").open().await.unwrap();
    let removed = own(&parent, "rm");
    own(&parent, "dd");
    let mine = parent.intercept::<BeforeTool>("its own").reach(lineside::core::Reach::Itself);
    mine.gate(async |_, _| Verdict::block("not below")).unwrap();
    let below = b.client().granted(parent.environment().get(GRANT).unwrap());
    let child = below.session("s2").open().await.unwrap();
    assert_eq!(reason(&child, "rm -rf /").await.as_deref(), Some("no rm"));
    assert_eq!(reason(&child, "dd if=/dev/zero").await.as_deref(), Some("no dd"));
    assert_eq!(reason(&child, "ls").await, None);
    // They come and go while it runs.
    own(&parent, "mkfs");
    assert!(a.server().hooks_shared(&parent).await.is_empty());
    assert_eq!(reason(&child, "mkfs").await.as_deref(), Some("no mkfs"));
    assert!(removed.remove());
    comes_to(&child, "rm", |reason| reason.is_none()).await;
    parent
        .intercept::<BeforeTool>("panics")
        .matching(lineside::core::matcher::text("fdisk"))
        .gate(async |_, _| -> Verdict { panic!("as it may") })
        .unwrap();
    comes_to(&child, "fdisk", |reason| reason.is_some_and(|reason| reason.contains("as it may"))).await;
    let safer = parent.intercept::<BeforeTool>("safer").matching(lineside::core::matcher::text("chmod"));
    safer
        .amend(async |_, _| Reply::amend(BeforeTool::amend().tool_input(json!({"command": "mkfs"}))))
        .unwrap();
    // It is asked, and its grant proves no right to change what the child does.
    comes_to(&child, "chmod", |reason| reason.is_some_and(|reason| reason.contains("safer"))).await;
    // It ends, and they hold for what is below it still.
    parent.close().await;
    assert_eq!(reason(&child, "mkfs").await.as_deref(), Some("no mkfs"));
    let status = a.status().await;
    assert_eq!(status["cluster"]["together"], json!(true));
}

/// A condition of the program's own, which no file can say.
#[derive(Debug)]
struct Long;

impl lineside::core::matcher::Condition for Long {
    fn select(&self, event: &lineside::core::AnyEvent) -> lineside::core::hook::Selected {
        let is_long = event.payload_text().len() > 1_000;
        let skipped = lineside::core::hook::Selected::Skipped(lineside::core::SkipReason::Filter);
        if is_long { lineside::core::hook::Selected::Runs } else { skipped }
    }

    fn describe(&self) -> String {
        "long".to_owned()
    }

    fn written(&self) -> lineside::json::Map {
        json!({"long": true}).as_object().unwrap().clone()
    }

    fn has_candidates(&self, _: &lineside::core::PointInfo) -> bool {
        true
    }
}

#[tokio::test]
async fn a_condition_holds_on_another_machine_as_it_does_here_whatever_it_is() {
    let (_nats, a, b) = two().await;
    let parent = a.server().bus().session("s1").open().await.unwrap();
    let gate = |name: &str, matcher: MatcherDraft| {
        let name = name.to_owned();
        let gate = parent.intercept::<BeforeTool>(name.clone()).matching(matcher);
        gate.gate(move |_, _| std::future::ready(Verdict::block(name.clone()))).unwrap();
    };
    gate("pushes", runs("git").subcommand("push").into());
    let both = Arc::new(Long) as Arc<dyn lineside::core::matcher::Condition>;
    gate("several\nlines", MatcherDraft::default().and(runs("rm")).and(runs("dd")));
    gate("of its own", MatcherDraft::default().and(both));
    let below = b.client().granted(parent.environment().get(GRANT).unwrap());
    let child = below.session("s2").open().await.unwrap();
    let here = parent.subagent("s3").open().await.unwrap();
    let long = format!("echo {}", "x".repeat(1_000));
    for command in ["git push", "X=push; git $X", "$CMD", "git status", "rm a; dd of=b", "rm a", "ls", &long]
    {
        let decided = here.publish(BeforeTool::new("Shell", json!({"command": command}))).await.unwrap();
        let refused = decided.reason().filter(|_| decided.is_refused()).map(ToString::to_string);
        assert_eq!(reason(&child, command).await, refused, "{command}");
    }
    // However many come one upon another, all of them hold.
    for number in 0..300 {
        gate(&format!("word-{number}"), text(format!("word-{number}\\b")));
    }
    assert!(a.server().hooks_shared(&parent).await.is_empty());
    for number in [0, 150, 299] {
        let word = format!("word-{number}");
        assert_eq!(reason(&child, &word).await, Some(word));
    }
}

#[tokio::test]
async fn a_grant_that_is_not_one_opens_nothing_anywhere() {
    let (_nats, a, b) = two().await;
    let parent = a.client().session("s1").open().await.unwrap();
    let grant = parent.environment().get("LINESIDE_GRANT").unwrap().to_owned();
    let last = if grant.ends_with('0') { "1" } else { "0" };
    let forged = format!("{}{last}", &grant[..grant.len() - 1]);
    let refused = b.client().granted(forged).session("s2").open().await.unwrap_err();
    assert!(refused.to_string().contains("grant"), "{refused}");
    parent.close().await.unwrap();
    let refused = b.client().granted(grant).session("s2").open().await.unwrap_err();
    assert!(refused.to_string().contains("grant"), "{refused}");
}

#[tokio::test]
async fn a_session_of_the_same_id_is_not_taken_for_the_one_elsewhere() {
    let (_nats, a, b) = two().await;
    let parent = a.client().session("s1").open().await.unwrap();
    b.client().session("s1").open().await.unwrap();
    let refused = b.below(&parent).session("s2").open().await.unwrap_err();
    assert!(refused.to_string().contains("open already"), "{refused}");
}

#[tokio::test]
async fn a_parent_that_ends_leaves_its_hooks_to_what_is_below_it_elsewhere() {
    let (_nats, a, b) = two().await;
    let parent = a.client().session("s1").open().await.unwrap();
    guard(&parent, "no-rm", "rm").await;
    let child = b.below(&parent).session("s2").open().await.unwrap();
    let grandchild = b.below(&child).session("s3").open().await.unwrap();
    let again = b.below(&parent);
    parent.close().await.unwrap();
    assert_eq!(reason(&grandchild, "rm").await.as_deref(), Some("no rm"), "its program is asked still");
    assert_eq!(reason(&grandchild, "ls").await, None);
    // Nothing more is opened below it, as soon as that is known here.
    let mut number = 0;
    while again.session(format!("late-{number}")).open().await.is_ok() {
        number += 1;
    }
    assert_eq!(reason(&grandchild, "rm").await.as_deref(), Some("no rm"));
}

#[tokio::test]
async fn the_chain_over_three_machines_is_whole() {
    let nats = Nats::new().await;
    let [a, b, c] = [
        Machine::new(&nats.url(), "a").await,
        Machine::new(&nats.url(), "b").await,
        Machine::new(&nats.url(), "c").await,
    ];
    let root = a.client().session("root").open().await.unwrap();
    guard(&root, "no-rm", "rm").await;
    let middle = b.below(&root).session("middle").open().await.unwrap();
    guard(&middle, "no-dd", "dd").await;
    let leaf = c.below(&middle).session("leaf").open().await.unwrap();
    assert_eq!(reason(&leaf, "rm").await.as_deref(), Some("no rm"));
    assert_eq!(reason(&leaf, "dd").await.as_deref(), Some("no dd"));
    let look: Value = c.client().get("/v1/sessions/leaf").await.unwrap();
    assert_eq!((&look["root"], &look["depth"]), (&json!("root"), &json!(2)));
    // And back to where it began.
    let back = a.below(&leaf).session("back").open().await.unwrap();
    assert_eq!(reason(&back, "dd").await.as_deref(), Some("no dd"));
    let look: Value = a.client().get("/v1/sessions/back").await.unwrap();
    assert_eq!((&look["root"], &look["depth"]), (&json!("root"), &json!(3)));
}

#[tokio::test]
async fn a_grant_of_another_machine_closes_alone_unless_the_person_who_serves_trusts_the_others() {
    let nats = Nats::new().await;
    let a = Machine::new(&nats.url(), "a").await;
    let b = Machine::new(&nats.url(), "b").await;
    let proves = |cluster| ClusterSettings { grants: RemoteGrants::Proved, ..cluster };
    let c = Machine::with(&nats.url(), "c", proves).await;
    let parent = a.client().session("s1").open().await.unwrap();
    let safer = parent.intercept::<BeforeTool>("safer");
    let amended =
        safer.amend(async |_, _| Reply::amend(BeforeTool::amend().tool_input(json!({"command": "ls"}))));
    amended.await.unwrap();
    let claimed = b.below(&parent).session("s2").open().await.unwrap();
    let refused = reason(&claimed, "rm").await.unwrap();
    assert!(refused.contains("safer"), "{refused}");
    let proved = c.below(&parent).session("s3").open().await.unwrap();
    assert_eq!(reason(&proved, "rm").await, None);
    let look: Value = c.client().get("/v1/sessions/s3").await.unwrap();
    assert_eq!(look["attributed"], json!("grant"));
}
