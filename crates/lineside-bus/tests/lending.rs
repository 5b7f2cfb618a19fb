//! References that calls give back to the pass they belong to: every hook has its own event and session, and nothing is
//! kept beyond the pass.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::{Arc, Mutex};

use lineside_bus::{Bus, Cx, Session};
use lineside_core::json::{Value, json};
use lineside_core::{Event, Reply, Verdict};
use lineside_points::{BeforePrompt, BeforeTool};

/// What gates have met: name of the gate, session, tool.
type Met = Arc<Mutex<Vec<(String, String, String)>>>;

/// What a hook has kept.
type Kept = Arc<Mutex<Vec<(Event<BeforeTool>, Cx)>>>;

fn watch(session: &Session, name: &'static str, met: &Met) {
    let met = Arc::clone(met);
    session
        .intercept::<BeforeTool>(name)
        .gate(move |call: Event<BeforeTool>, cx: Cx| {
            let met = Arc::clone(&met);
            async move {
                assert_eq!(call.envelope().source.session, *cx.session().id());
                let (session, tool) = (cx.session().id().to_string(), call.tool_name.clone());
                met.lock().unwrap().push((name.to_owned(), session, tool));
                Verdict::Continue
            }
        })
        .unwrap();
}

fn named(met: &Met) -> Vec<String> {
    let met = std::mem::take(&mut *met.lock().unwrap());
    met.into_iter().map(|(gate, session, tool)| format!("{gate} {session} {tool}")).collect()
}

#[tokio::test]
async fn events_within_events_are_not_mixed_up() {
    let bus = Bus::new();
    let (outer, other) =
        (bus.session("outer").open().await.unwrap(), bus.session("other").open().await.unwrap());
    let met = Met::default();
    for session in [&outer, &other] {
        watch(session, "first", &met);
    }
    let publisher = other.clone();
    outer
        .intercept::<BeforeTool>("publishes")
        .gate(move |call, cx| {
            let publisher = publisher.clone();
            async move {
                if call.tool_name == "within" {
                    return Verdict::Continue;
                }
                for session in [cx.session().clone(), publisher] {
                    // The references of this call are dropped behind those of the event within.
                    let within = session.publish(BeforeTool::new("within", Value::Null)).await.unwrap();
                    assert_eq!(within.payload().tool_name, "within");
                }
                drop(call);
                drop(cx);
                Verdict::Continue
            }
        })
        .unwrap();
    for session in [&outer, &other] {
        watch(session, "last", &met);
    }
    let decision = outer.publish(BeforeTool::new("around", Value::Null)).await.unwrap();
    assert_eq!(decision.payload().tool_name, "around");
    let expected = [
        "first outer around", "first outer within", "last outer within", "first other within",
        "last other within", "last outer around",
    ];
    assert_eq!(named(&met), expected);
}

#[tokio::test]
async fn what_a_hook_has_kept_of_another_event_is_not_taken_for_this_one() {
    let bus = Bus::new();
    let session = bus.session("s").open().await.unwrap();
    let kept = Kept::default();
    let keeps = Arc::clone(&kept);
    session
        .intercept::<BeforeTool>("keeps")
        .gate(move |call, cx| {
            let before = std::mem::take(&mut *keeps.lock().unwrap());
            assert!(before.iter().all(|(event, _)| event.tool_name != call.tool_name));
            keeps.lock().unwrap().push((call.clone(), cx.clone()));
            // Dropped last, so that they are what was given back last.
            drop((call, cx));
            drop(before);
            async { Verdict::Continue }
        })
        .unwrap();
    let met = Met::default();
    watch(&session, "last", &met);
    for tool in ["one", "two", "three"] {
        drop(session.publish(BeforeTool::new(tool, Value::Null)).await.unwrap());
    }
    assert_eq!(named(&met), ["last s one", "last s two", "last s three"]);
    assert_eq!(kept.lock().unwrap()[0].0.tool_name, "three");
}

#[tokio::test]
async fn hooks_behind_an_amendment_have_the_amended_event() {
    let session = Bus::new().session("s").open().await.unwrap();
    session.intercept::<BeforeTool>("before").priority(1).gate(async |_, _| Verdict::Continue).unwrap();
    session
        .intercept::<BeforeTool>("amends")
        .amend(async |_, _| Reply::amend(BeforeTool::amend().tool_input(json!({"command": "ls"}))))
        .unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    for name in ["one", "two"] {
        let seen = Arc::clone(&seen);
        session
            .intercept::<BeforeTool>(name)
            .priority(-1)
            .gate(move |call, _| {
                seen.lock().unwrap().push(call.command().map(std::borrow::Cow::into_owned));
                async { Verdict::Continue }
            })
            .unwrap();
    }
    drop(session.publish(BeforeTool::new("Shell", json!({"command": "rm"}))).await.unwrap());
    assert_eq!(*seen.lock().unwrap(), [Some("ls".to_owned()), Some("ls".to_owned())]);
}

#[tokio::test]
async fn nothing_is_kept_when_the_event_is_decided() {
    let value = Arc::new(());
    let session = Bus::new().session("s").open().await.unwrap();
    for name in ["one", "two"] {
        let value = Arc::clone(&value);
        let gate = move |_, _| {
            let _of_user = &value;
            async { Verdict::Continue }
        };
        session.intercept::<BeforePrompt>(name).gate(gate).unwrap();
    }
    let decision = session.publish(BeforePrompt::new("hello")).await.unwrap();
    let event = decision.receipt().unwrap().event.clone();
    drop(decision);
    let text = event.payload().text("prompt").unwrap().as_ptr();
    let payload: BeforePrompt = event.into_payload().unwrap();
    assert_eq!(payload.prompt.as_ptr(), text, "moved, for there is no other reference");
    drop(session);
    assert_eq!(Arc::strong_count(&value), 1, "the thread has no reference to the session");
}

#[tokio::test]
async fn what_a_hook_has_kept_of_another_session_is_not_taken_for_this_one() {
    let bus = Bus::new();
    let kept = Arc::new(Mutex::new(None::<Cx>));
    bus.intercept::<BeforeTool>("keeps")
        .priority(1)
        .gate(move |_, cx| {
            // Its own is not given back, that of the session before is.
            drop(kept.lock().unwrap().replace(cx));
            async { Verdict::Continue }
        })
        .unwrap();
    let met = Met::default();
    let sessions = [bus.session("one").open().await.unwrap(), bus.session("two").open().await.unwrap()];
    sessions.iter().for_each(|session| watch(session, "last", &met));
    for session in sessions.iter().cycle().take(4) {
        drop(session.publish(BeforeTool::new("Shell", Value::Null)).await.unwrap());
    }
    assert_eq!(named(&met), ["last one Shell", "last two Shell", "last one Shell", "last two Shell"]);
    assert_eq!(bus.failures(), 0);
}
