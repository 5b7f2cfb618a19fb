//! The interceptors of a program on a session, as they are asked about events that happen elsewhere.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lineside_bus::{Bus, Living, Propagate, Session};
use lineside_core::json::json;
use lineside_core::matcher::tool;
use lineside_core::{Answer, AnyEvent, FailureKind, OnFailure, Propagation, Reach, Reply, Verdict};
use lineside_points::{BeforeTool, read_event};

/// A door that counts how often the hooks of a session were others.
#[derive(Default)]
struct Door(AtomicUsize);

impl Propagate for Door {
    fn of_session(&self, _: &Session) -> Propagation {
        Propagation::none()
    }

    fn of_bus(&self) -> Propagation {
        Propagation::none()
    }

    fn hooks_changed(&self, session: &Session) {
        self.0.store(
            session.living(&|_| true).len() + 10 * (self.0.load(Ordering::SeqCst) / 10 + 1),
            Ordering::SeqCst,
        );
    }
}

impl Door {
    /// How often it was called, and how many hooks there were at the last time.
    fn heard(&self) -> (usize, usize) {
        let heard = self.0.load(Ordering::SeqCst);
        (heard / 10, heard % 10)
    }
}

/// An event of a session of another process, as it is read there.
fn elsewhere() -> AnyEvent {
    let event = json!({
        "point": "before_tool", "id": "00000000-0000-7000-8000-000000000001", "time": "2026-01-01T00:00:00.000Z",
        "session": "child", "root_session": "s1", "parent_session": "s1", "depth": 1, "seq": 1,
        "agent": {"id": "a", "kind": "subagent"},
        "payload": {"tool_name": "Shell", "tool_input": {"command": "rm"}, "tool_class": "shell", "tool_call_id": "c"},
    });
    read_event(event.as_object().unwrap(), 0).unwrap()
}

async fn session() -> (Bus, Arc<Door>, Session) {
    let (bus, door) = (Bus::new(), Arc::new(Door::default()));
    assert!(bus.propagate(Arc::clone(&door) as _));
    let session = bus.session("s1").open().await.unwrap();
    (bus, door, session)
}

fn named(session: &Session, name: &str) -> Living {
    let mut all =
        session.living(&|_| true).into_iter().flat_map(|living| session.living_of(living.registration));
    all.find(|living| &*living.hook().name == name).unwrap()
}

#[tokio::test(start_paused = true)]
async fn each_is_declared_and_asked_as_it_was_registered() {
    let (_bus, door, session) = session().await;
    let gate = session.intercept::<BeforeTool>("gate").priority(7).matching(tool("Shell"));
    let gate = gate.on_failure(OnFailure::Continue).timeout(Duration::from_secs(2_000));
    gate.gate(async |call, _| Verdict::block(format!("no {}", call.command().unwrap_or_default()))).unwrap();
    let amends = session.intercept::<BeforeTool>("amends").reach(Reach::Children);
    amends
        .amend(async |_, _| Reply::amend(BeforeTool::amend().tool_input(json!({"command": "ls"}))))
        .unwrap();
    session
        .intercept::<BeforeTool>("waits")
        .gate(async |_, _| std::future::pending::<Verdict>().await)
        .unwrap();
    let panics = session.intercept::<BeforeTool>("panics").shadow();
    panics.gate(async |_, _| -> Verdict { panic!("as it may") }).unwrap();
    // What holds on the session alone, and what is of the bus, is not among them.
    let own = session.intercept::<BeforeTool>("own").reach(Reach::Itself);
    own.gate(async |_, _| Verdict::Continue).unwrap();
    assert_eq!(door.heard(), (4, 4));
    let entries = session.living(&|_| false);
    let said = |name: &str| {
        let entry =
            entries.iter().flat_map(|living| &living.entry).find(|entry| entry["name"] == json!(name));
        json!(entry.unwrap())
    };
    assert_eq!(
        said("gate"),
        json!({"name": "gate", "on": "before_tool", "match": {"tool": ["Shell"]}, "priority": 7,
            "on_failure": "continue", "timeout": 600_000, "amends": false})
    );
    assert_eq!(said("amends")["amends"], json!(true));
    assert_eq!(said("panics")["mode"], json!("shadow"));
    let event = elsewhere();
    let ask =
        async |name: &str| named(&session, name).ask(&event, Duration::from_secs(3)).await.map(Answer::from);
    assert_eq!(ask("gate").await.unwrap().verdict, Verdict::block("no rm"));
    let amended = ask("amends").await.unwrap().to_json();
    assert_eq!(json!(amended), json!({"verdict": "continue", "amend": {"tool_input": {"command": "ls"}}}));
    let late = ask("waits").await.unwrap_err();
    assert_eq!((late.kind, late.started), (FailureKind::Timeout, true));
    let panicked = ask("panics").await.unwrap_err();
    assert!(panicked.kind == FailureKind::Panic && panicked.detail.contains("as it may"));
}

#[tokio::test]
async fn each_is_found_by_its_registration_until_it_is_taken_away_and_what_is_below_holds_it() {
    let (_bus, door, session) = session().await;
    let gates: Vec<_> = (0..5)
        .map(|number| {
            let gate = session.intercept::<BeforeTool>(format!("gate-{number}")).priority(number);
            gate.gate(async |_, _| Verdict::Continue).unwrap()
        })
        .collect();
    let found = |name: &str| {
        let number = named(&session, name).hook().registration;
        session.living_of(number).map(|living| living.hook().name.to_string())
    };
    for number in 0..5 {
        let name = format!("gate-{number}");
        assert_eq!(found(&name), Some(name));
    }
    let number = named(&session, "gate-0").hook().registration;
    assert!(gates[0].remove());
    assert!(session.living_of(number).is_none() && door.heard() == (6, 4));
    assert!(!gates[0].remove() && door.heard() == (6, 4));
    session.of_dialect("native").switch_off();
    assert!(door.heard() == (7, 0) && session.living(&|_| true).is_empty());
    session.of_dialect("native").switch_on();
    let child = session.subagent("child").open().await.unwrap();
    session.close().await;
    assert_eq!(session.living(&|_| true).len(), 4, "what is below it is under them");
    assert_eq!(session.remove("gate-1"), 1);
    assert_eq!(door.heard(), (9, 3));
    child.close().await;
    assert!(session.living(&|_| true).is_empty());
}
