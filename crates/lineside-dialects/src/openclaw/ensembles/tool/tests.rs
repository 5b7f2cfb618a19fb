//! Parameters and approvals before a tool call.
#![allow(clippy::needless_pass_by_value, reason = "samples are written where they are expected")]

use lineside_core::json::{Value, json};
use lineside_core::outcome::FromHook;
use lineside_core::{Answer, Ensemble as _, Verdict};

use super::super::member::Merged;
use super::super::samples::{amendments, nothing, said};
use super::ToolCalls;
use crate::openclaw::samples::event;

fn settled(input: Value, given: Vec<FromHook<Answer>>) -> Vec<FromHook<Answer>> {
    Merged(ToolCalls)
        .finalize(&event("before_tool", json!({ "tool_name": "exec", "tool_input": input })), given)
}

fn params(place: u32, params: Value) -> FromHook<Answer> {
    said(place, "before_tool_call", "p", json!({ "params": params }))
}

fn approval(place: u32, plugin: &str, approval: Value) -> FromHook<Answer> {
    said(place, "before_tool_call", plugin, json!({ "requireApproval": approval }))
}

fn verdicts(settled: &[FromHook<Answer>]) -> Vec<Verdict> {
    settled.iter().map(|by| by.what.verdict.clone()).collect()
}

#[test]
fn the_last_params_win_as_a_whole_and_keep_what_they_do_not_name() {
    // OC-49
    let given = vec![
        params(0, json!({ "a": 1, "b": 1 })),
        nothing(1),
        params(2, json!({ "a": { "x": 2 }, "c": null })),
    ];
    let settled_ = settled(json!({ "z": 1.10, "a": { "y": 0 } }), given);
    let expected = json!({ "z": 1.10, "a": { "x": 2 }, "c": null });
    assert_eq!(amendments(&settled_), [(2, json!({ "tool_input": expected }))]);
    let text = settled(json!("ls"), vec![params(0, json!({ "a": 1 }))]);
    assert_eq!(amendments(&text), [(0, json!({ "tool_input": { "a": 1 } }))]);
}

#[test]
fn the_first_approval_freezes_the_params() {
    // OC-49, OC-50
    let ask = json!({ "title": "T", "description": "D", "severity": "info", "pluginId": "forged" });
    let settled = settled(
        json!({}),
        vec![
            params(0, json!({ "n": 0 })),
            approval(1, "asker", ask),
            params(2, json!({ "n": 2 })),
            approval(3, "late", json!({})),
        ],
    );
    assert_eq!(amendments(&settled), [(0, json!({ "tool_input": { "n": 0 } }))]);
    let ask = Verdict::ask("T: D");
    assert_eq!(verdicts(&settled), [Verdict::Continue, ask, Verdict::Continue, Verdict::Continue]);
    assert_eq!(
        settled[1].what.extra.get("openclaw.approval"),
        Some(&json!({ "title": "T", "description": "D", "severity": "info", "pluginId": "asker" }))
    );
    assert!(settled[3].what.extra.is_empty());
}

#[test]
fn an_approval_has_a_reason() {
    // OC-50
    for (ask, reason) in [
        (json!({ "title": "T", "description": " " }), "T"),
        (json!({ "description": "D" }), "D"),
        (json!({ "title": "" }), "Plugin approval required"),
    ] {
        assert_eq!(verdicts(&settled(json!({}), vec![approval(0, "a", ask)])), [Verdict::ask(reason)]);
    }
}

#[test]
fn a_block_stands_alone() {
    // OC-42, OC-49
    let mut blocking = said(2, "before_tool_call", "no", json!({ "block": true, "params": { "x": 1 } }));
    blocking.what.verdict = Verdict::block("no");
    let settled =
        settled(json!({}), vec![params(0, json!({ "a": 1 })), approval(1, "a", json!({})), blocking]);
    assert_eq!(settled.len(), 1);
    assert_eq!((settled[0].hook, &settled[0].what.own), (2, &None));
    assert_eq!(amendments(&settled), []);
}
