//! What the answers at points of their own come to.
#![allow(clippy::needless_pass_by_value, reason = "samples are written where they are expected")]

use lineside_core::json::{Value, json};
use lineside_core::outcome::FromHook;
use lineside_core::{Answer, Ensemble as _, Layer, Verdict};

use super::super::super::catalogue;
use super::super::member::Merged;
use super::super::samples::{amendments, contexts, said};
use super::{Member, OwnGates, RESULT, verdict};
use crate::openclaw::samples::{event, object};

fn settled(hook: &str, given: &[Value]) -> Vec<FromHook<Answer>> {
    let point = catalogue::find(hook).unwrap().points[0].name;
    let given = given.iter().zip(0..).map(|(fields, place)| said(place, hook, "p", fields.clone())).collect();
    Merged(OwnGates).finalize(&event(point, json!({})), given)
}

fn result(settled: &[FromHook<Answer>]) -> Option<&Value> {
    settled.iter().find_map(|by| by.what.extra.get(RESULT))
}

#[test]
fn a_block_and_a_claim_end_the_event() {
    let judged = |hook: &str, fields: Value| {
        let kind = catalogue::find(hook).unwrap().kind;
        let (plugin, handler) = ("p".to_owned(), format!("p:{hook}"));
        verdict(hook, &Member { kind, plugin, handler, layer: Layer::User, fields: object(fields) })
    };
    let claimed = Verdict::block("handled by plugin \"p\"");
    assert_eq!(judged("before_agent_reply", json!({ "handled": true, "reply": { "text": "x" } })), claimed);
    assert_eq!(judged("before_agent_reply", json!({ "handled": false })), Verdict::Continue);
    let refused = judged("before_agent_run", json!({ "outcome": "block", "reason": "no" }));
    assert_eq!(refused, Verdict::block("no"));
    assert_eq!(judged("before_agent_run", json!({ "outcome": "pass" })), Verdict::Continue);
    assert_eq!(
        judged("before_install", json!({ "block": true })),
        Verdict::block("blocked by before_install")
    );
    assert_eq!(
        judged("reply_payload_sending", json!({ "cancel": true })),
        Verdict::block("blocked by reply_payload_sending")
    );
    // An opinion of one evaluator is not the decision.
    assert_eq!(judged("skill_proposal_evaluate", json!({ "block": true })), Verdict::Continue);
}

#[test]
fn answers_are_merged_as_the_hook_says() {
    let models = settled(
        "before_model_resolve",
        &[json!({ "modelOverride": "a" }), json!({ "modelOverride": "b", "providerOverride": "p" })],
    );
    assert_eq!(amendments(&models), [(1, json!({ "modelOverride": "a", "providerOverride": "p" }))]);
    let sent = settled(
        "reply_payload_sending",
        &[json!({ "payload": { "text": "a" } }), json!({ "payload": { "text": "b" } })],
    );
    assert_eq!(amendments(&sent), [(1, json!({ "payload": { "text": "b" } }))]);
    let variables = settled("resolve_exec_env", &[json!({ "A": "1", "B": "1" }), json!({ "B": "2" })]);
    assert_eq!(result(&variables), Some(&json!({ "A": "1", "B": "2" })));
    let found =
        settled("before_install", &[json!({ "findings": [1] }), json!({ "findings": [2], "x": null })]);
    assert_eq!(result(&found), Some(&json!({ "findings": [1, 2] })));
    let lists = settled("before_install", &[json!({ "x": [1] }), json!({ "x": [2] })]);
    assert_eq!(result(&lists), Some(&json!({ "x": [2] })));
}

#[test]
fn contexts_are_messages_and_no_part_of_the_result() {
    let given = settled(
        "agent_turn_prepare",
        &[json!({ "prependContext": "a", "appendContext": "b" }), json!({ "prependContext": "" })],
    );
    assert_eq!(contexts(&given), [(0, "a"), (0, "b")]);
    assert_eq!(result(&given), None);
}

#[test]
fn evaluations_stand_beside_one_another() {
    let given =
        settled("skill_proposal_evaluate", &[json!({ "decision": "pass" }), json!({ "decision": "block" })]);
    let of = |decision: &str| json!({ "evaluatorId": "p", "pluginId": "p", "status": "completed", "result": { "decision": decision } });
    assert_eq!(result(&given), Some(&json!([of("pass"), of("block")])));
}
