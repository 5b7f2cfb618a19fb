//! Which event of hook packs an event is, what its handlers are given, and what they leave.

use lineside_core::hook::{Select as _, Selected};
use lineside_core::json::{Value, json};

use super::{Subscription, answer, key_of, of, rows};
use crate::openclaw::catalogue;
use crate::openclaw::samples::{event, object};

fn key(point: &str, payload: Value) -> Option<&'static str> {
    // Declares the points that are there for one event alone.
    assert!(catalogue::find("command:new").is_some());
    key_of(&event(point, payload))
}

#[test]
fn each_event_happens_where_the_catalogue_has_it_and_at_a_point_of_its_own_where_it_has_not() {
    let points = |name: &str| {
        let row = rows().find(|row| row.name == name).unwrap();
        row.points.iter().map(|point| point.name).collect::<Vec<_>>()
    };
    assert_eq!(points("message:received"), ["on_message_received"]);
    assert_eq!(points("command:new"), ["x.openclaw.on_command_new", "after_session"]);
    assert_eq!(points("gateway:pre-restart"), ["x.openclaw.on_gateway_pre_restart"]);
    assert_eq!(points("agent:bootstrap"), ["x.openclaw.before_agent_bootstrap", "before_session"]);
    let command = ["new", "reset", "stop"].map(|action| format!("x.openclaw.on_command_{action}"));
    assert_eq!(
        points("command"),
        [&*command[0], "after_session", &*command[1], &*command[2], "on_interrupt"]
    );
}

#[test]
fn the_end_of_a_session_is_the_event_that_its_reason_says() {
    let ended = |reason: &str| key("after_session", json!({ "reason": reason }));
    assert_eq!(ended("new"), Some("command:new"));
    assert_eq!((ended("clear"), ended("reset")), (Some("command:reset"), Some("command:reset")));
    assert_eq!((ended("idle"), ended("daily")), (Some("session:auto-reset"), Some("session:auto-reset")));
    assert_eq!(ended("exit"), None);
    assert_eq!(key("x.openclaw.on_command_stop", json!({})), Some("command:stop"));
    assert_eq!(key("before_tool", json!({ "tool_name": "x", "tool_input": {} })), None);
}

#[test]
fn a_family_hears_all_of_its_events_and_no_other() {
    let runs = |name, reason: &str| {
        Subscription(name).select(&event("after_session", json!({ "reason": reason }))) == Selected::Runs
    };
    assert!(runs("command", "new") && runs("command", "clear") && runs("command:new", "new"));
    assert!(!runs("command", "idle") && !runs("command:new", "clear") && !runs("session", "exit"));
    assert!(runs("session", "idle"));
}

#[test]
fn a_handler_is_given_the_event_in_the_words_of_openclaw() {
    let received =
        of(&event("on_message_received", json!({ "from": "u", "content": "c", "channel": "telegram" })));
    let received = Value::from(received.into_map());
    assert_eq!(received["type"], "message");
    assert_eq!(received["action"], "received");
    assert_eq!(received["sessionKey"], "agent:main:s1");
    assert_eq!(received["context"]["channelId"], "telegram");
    let compacted = of(&event("after_compact", json!({ "kind": "auto", "summary": "s", "usage_after": 7 })));
    let compacted = Value::from(compacted.into_map());
    assert_eq!(
        (&compacted["action"], &compacted["context"]["tokenCount"]),
        (&json!("compact:after"), &json!(7))
    );
    let started = Value::from(of(&event("on_service_start", json!({}))).into_map());
    assert_eq!(started["sessionKey"], "gateway:startup");
    assert!(catalogue::find("session:patch").is_some());
    let own = of(&event("x.openclaw.on_session_patch", json!({ "patch": { "model": "m" } })));
    assert_eq!(Value::from(own.into_map())["context"], json!({ "patch": { "model": "m" } }));
}

#[test]
fn messages_are_for_the_user_where_openclaw_delivers_them() {
    let left = object(json!({ "messages": ["one", "two"] }));
    let said = |point: &str, payload| answer(&event(point, payload), &left).notices;
    let told = said("after_session", json!({ "reason": "clear" }));
    assert_eq!(told.iter().map(|notice| notice.text.as_str()).collect::<Vec<_>>(), ["one\n\ntwo"]);
    assert!(said("on_message_received", json!({ "content": "c" })).is_empty());
}

#[test]
fn files_that_are_added_at_bootstrap_become_context() {
    let left = object(json!({ "bootstrapFiles": [
        { "name": "A.md", "path": "docs/A.md", "content": "a" }, { "name": "B.md", "missing": true }, { "content": "c" },
    ] }));
    let given = answer(&event("before_session", json!({ "source": "startup" })), &left);
    let texts: Vec<_> = given.context.iter().map(|append| append.text.as_str()).collect();
    assert_eq!(texts, ["## docs/A.md\n\na", "c"]);
    assert!(catalogue::find("agent:bootstrap").is_some());
    let own = event("x.openclaw.before_agent_bootstrap", json!({ "bootstrapFiles": [] }));
    let given = answer(&own, &left);
    assert!(given.context.is_empty() && !given.amendment.is_empty());
    assert!(answer(&own, &object(json!({ "bootstrapFiles": [] }))).amendment.is_empty());
}
