//! Sessions while hooks are switched off: no hook runs, and who is open and below whom is known all the same.

use std::fs;

use lineside::prelude::*;

use crate::connection::{Line, shell};
use crate::hosts::ask;
use crate::house::House;

fn end(session: &str) -> lineside::json::Value {
    json!({"point": "after_session", "session": session, "payload": {"reason": "done"}})
}

#[tokio::test]
async fn law_19_a_session_that_ends_while_hooks_are_off_is_closed_and_no_hook_sees_it() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let hook =
        format!("{{name: sees, on: [after_session, before_tool], command: [touch, {}]}}", seen.display());
    let house = House::hooked(&format!("hooks:\n  - {hook}\n")).await;
    for id in ["a", "b"] {
        house.post("/v1/sessions", &json!({"id": id})).await;
    }
    let start =
        json!({"hook_event_name": "SessionStart", "session_id": "c", "source": "startup"}).to_string();
    assert_eq!(ask(&house, "claude", &[], start).await.3, Some(0));
    assert_eq!(house.get("/v1/sessions/c").await.0, 200);
    let off = house.folder.path().join("state/off");
    fs::write(&off, "").unwrap();
    let (_, decision) = house.post("/v1/events", &end("a")).await;
    assert_eq!((&decision["verdict"], &decision["off"]), (&json!("continue"), &json!(true)), "{decision}");
    let mut line = Line::open(&house).await;
    line.publish(1, &end("b")).await;
    assert_eq!(line.answer().await.unwrap().2["off"], json!(true));
    let end = json!({"hook_event_name": "SessionEnd", "session_id": "c", "reason": "exit"}).to_string();
    assert_eq!(ask(&house, "claude", &[], end).await, (200, String::new(), String::new(), Some(0)));
    for id in ["a", "b", "c"] {
        assert_eq!(house.get(&format!("/v1/sessions/{id}")).await.0, 404, "{id}");
    }
    assert!(!seen.exists());
    fs::remove_file(&off).unwrap();
    let (status, problem) = house.post("/v1/events?open=true", &shell("a", "ls")).await;
    assert_eq!((status, &problem["verdict"]), (409, &json!("block")), "{problem}");
}

#[tokio::test]
async fn law_13_a_session_that_begins_while_hooks_are_off_is_below_the_one_that_started_it() {
    let hook = "{name: no, on: before_tool, command: 'exit 1'}";
    let house = House::hooked(&format!("hooks:\n  - {hook}\n")).await;
    let off = house.folder.path().join("state/off");
    fs::write(&off, "").unwrap();
    let mut first = shell("below", "ls");
    first["parent_session"] = json!("above");
    let (_, decision) = house.post("/v1/events?open=true", &first).await;
    assert_eq!(decision["off"], json!(true));
    // A session that is not open, and an event that could not open one, are no reason to hold anything up.
    for event in [
        shell("other", "ls"),
        json!({"point": "before_tool", "session": "", "payload":
        {"tool_name": "Shell", "tool_input": {}}}),
    ] {
        assert_eq!(house.post("/v1/events", &event).await.1["off"], json!(true));
    }
    fs::remove_file(&off).unwrap();
    let (_, decision) = house.post("/v1/events?open=true&receipt=true", &shell("below", "ls")).await;
    assert_eq!((&decision["verdict"], &decision["seq"]), (&json!("block"), &json!(1)), "{decision}");
    let (_, session) = house.get("/v1/sessions/below").await;
    assert_eq!(session["parent"], json!("above"), "{session}");
    assert_eq!(house.get("/v1/sessions/other").await.0, 404);
}
