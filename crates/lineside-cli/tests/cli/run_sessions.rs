//! `lineside run` and its sessions: opened by their events, below their parents, and closed for good.

use lineside::json::{Value, json};

use crate::stage::{Stage, timeless};

fn lines(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

#[test]
fn numbers_are_counted_by_session() {
    let stage = Stage::new();
    let events = ["a", "b", "a"].map(|session| json!({"point": "on_idle", "session": session}));
    let said = stage.run(&["run"], lines(&events));
    assert_eq!(said.field("seq"), [json!(1), json!(1), json!(2)]);
}

#[test]
fn subagents_are_under_the_hooks_and_have_numbers_of_their_own() {
    let stage = Stage::new();
    stage.hook("guard", "trigger: session_start", "cat >/dev/null\necho no >&2\nexit 2");
    let announced = json!({"child_session": "sub", "agent_type": "reviewer"});
    let begins = json!({"source": "subagent"});
    let events = [
        json!({"point": "before_subagent", "session": "top", "payload": announced}),
        json!({"point": "before_session", "session": "sub", "payload": begins}),
        json!({"point": "before_session", "session": "deep", "parent_session": "sub", "payload": begins}),
        json!({"point": "on_idle", "session": "x", "parent_session": "x"}),
    ];
    let said = stage.run(&["run", "--project", "."], lines(&events));
    assert_eq!(said.field("session"), ["top", "sub", "deep"]);
    assert_eq!(said.field("verdict"), ["continue", "block", "block"]);
    assert_eq!(said.field("seq"), [1, 1, 1]);
    assert!(said.err.starts_with("error: stdin:4: session `x` cannot be below itself\n"), "{}", said.err);
}

#[test]
fn after_session_closes_it_for_good() {
    let stage = Stage::new();
    stage.hook("bg", "trigger: session_end\nasync: true", "cat >/dev/null\nsleep 0.3\necho x > end.txt");
    let events = [
        json!({"point": "after_session", "payload": {"reason": "completed"}}),
        json!({"point": "on_idle"}),
        json!({"point": "on_idle", "session": "s2"}),
    ];
    let said = stage.run(&["run", "--project", "."], lines(&events));
    assert_eq!(said.field("verdict"), [json!("continue"), json!("continue")]);
    assert_eq!(said.code, Some(1));
    assert!(stage.path("project/end.txt").exists());
    assert_eq!(
        timeless(&said.err),
        "error: stdin:2: session `s1` is closed\n2 events: 2 continue; 1 hook in force; 1 line refused; [time]\n"
    );
}
