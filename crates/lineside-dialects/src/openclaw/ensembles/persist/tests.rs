//! The message that goes from handler to handler.

use lineside_core::ensemble::Sees;
use lineside_core::json::{Value, json};
use lineside_core::{AnyEvent, Ensemble as _};

use super::super::samples::{amendments, nothing, said};
use super::Persist;
use crate::openclaw::samples::event;

const HOOK: &str = "tool_result_persist";

fn result(payload: Value) -> AnyEvent {
    event("before_result_append", payload)
}

#[test]
fn the_first_handler_gets_the_message_of_the_event() {
    // OC-53
    let messages = Persist::default().messages();
    let plain = result(json!({ "tool_name": "read", "tool_output": "text" }));
    assert_eq!(
        messages.next(&plain),
        json!({
            "role": "toolResult", "toolCallId": "", "toolName": "read", "isError": false,
            "content": [{ "type": "text", "text": "text" }], "timestamp": 1_772_360_430_040_i64,
        })
    );
    let failed =
        result(json!({ "tool_name": "x", "tool_output": { "a": 1 }, "display_output": "d", "error": "e" }));
    let message = messages.next(&failed);
    assert_eq!(message.pointer("/content/0/text"), Some(&json!("{\"a\":1}")));
    assert_eq!(message.get("isError"), Some(&json!(true)));
    assert_eq!(message.get("details"), Some(&json!({ "displayOutput": "d" })));
}

#[test]
fn a_message_is_handed_on_as_it_is_until_it_is_settled() {
    // OC-44, OC-53
    let persist = Persist::default();
    let messages = persist.messages();
    let event = result(json!({ "tool_name": "read", "tool_output": "text" }));
    messages.leave(&event, json!({ "content": "short", "mine": [1] }));
    assert_eq!(messages.next(&event), json!({ "content": "short", "mine": [1] }));
    persist.finalize(&event, vec![nothing(0)]);
    assert_eq!(messages.next(&event).get("role"), Some(&json!("toolResult")));
}

#[test]
fn only_what_differs_in_the_last_message_takes_effect() {
    // OC-53
    let check = |payload: Value, last: Value, expected: Option<Value>| {
        let given = vec![
            said(0, HOOK, "a", json!({ "message": { "content": "overtaken" } })),
            said(1, HOOK, "b", json!({ "message": last })),
            nothing(2),
        ];
        let settled = Persist::default().finalize(&result(payload), given);
        assert_eq!(amendments(&settled), expected.map(|fields| (1, fields)).into_iter().collect::<Vec<_>>());
    };
    let payload = || json!({ "tool_name": "x", "tool_output": { "a": 1 }, "display_output": "d" });
    let same =
        json!({ "content": [{ "type": "text", "text": "{\"a\":1}" }], "details": { "displayOutput": "d" } });
    check(payload(), same, None);
    check(payload(), json!({ "content": "new", "isError": true }), Some(json!({ "tool_output": "new" })));
    check(
        payload(),
        json!({ "content": "{\"a\":1}", "details": { "displayOutput": { "x": 1 } } }),
        Some(json!({ "display_output": { "x": 1 } })),
    );
    check(payload(), json!({ "content": [] }), Some(json!({ "tool_output": "" })));
}

#[test]
fn each_is_shown_the_event_as_it_was_and_none_is_asked_again() {
    // OC-42
    let persist = Persist::default();
    assert_eq!((persist.sees(), persist.judges_again()), (Sees::First, false));
}
