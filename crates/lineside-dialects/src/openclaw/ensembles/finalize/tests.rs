//! Whether an agent goes on working.
#![allow(clippy::needless_pass_by_value, reason = "samples are written where they are expected")]

use lineside_core::json::{Value, json};
use lineside_core::outcome::FromHook;
use lineside_core::{Answer, AnyEvent, Ensemble as _, Layer, Verdict};

use super::super::member::Merged;
use super::super::samples::{said, said_in};
use super::Finalize;
use crate::openclaw::samples::event;

const HOOK: &str = "before_agent_finalize";

fn stop() -> AnyEvent {
    event("before_stop", json!({ "stop_active": false }))
}

fn in_turn(turn: Option<u64>) -> AnyEvent {
    let event = stop();
    let mut envelope = event.envelope().clone();
    envelope.turn = turn;
    event.with_envelope(envelope)
}

/// Who blocks and why.
fn blocks(
    ensemble: &Merged<Finalize>,
    event: &AnyEvent,
    given: Vec<FromHook<Answer>>,
) -> Option<(u32, String)> {
    let settled = ensemble.finalize(event, given);
    settled.into_iter().find_map(|by| match by.what.verdict {
        Verdict::Block(reason) => Some((by.hook, reason.to_string())),
        _ => None,
    })
}

fn fresh(given: Vec<FromHook<Answer>>) -> Option<(u32, String)> {
    blocks(&Merged(Finalize::default()), &stop(), given)
}

fn revise(place: u32, reason: &str) -> FromHook<Answer> {
    said(place, HOOK, "r", json!({ "action": "revise", "reason": reason }))
}

fn block(place: u32, reason: &str) -> Option<(u32, String)> {
    Some((place, reason.to_owned()))
}

#[test]
fn reasons_to_revise_are_joined() {
    // OC-52
    let fine = said(0, HOOK, "f", json!({ "action": "continue", "reason": "fine" }));
    assert_eq!(
        fresh(vec![fine, revise(1, " "), revise(2, "lint"), revise(3, "tests ")]),
        block(2, "lint\n\ntests")
    );
    assert_eq!(fresh(vec![revise(0, " ")]), None);
    assert_eq!(fresh(vec![said(0, HOOK, "a", json!({ "reason": "no action" }))]), None);
}

#[test]
fn finalize_takes_back_what_it_may() {
    // OC-52
    let finalize = |layer| said_in(layer, 5, HOOK, "f", json!({ "action": "finalize" }));
    let of_project =
        said_in(Layer::Project, 1, HOOK, "p", json!({ "action": "revise", "reason": "project" }));
    let both = || vec![revise(0, "user"), of_project.clone()];
    assert_eq!(fresh([both(), vec![finalize(Layer::User)]].concat()), None);
    assert_eq!(fresh([both(), vec![finalize(Layer::Managed)]].concat()), None);
    assert_eq!(fresh([both(), vec![finalize(Layer::Project)]].concat()), block(0, "user"));
    assert_eq!(fresh(vec![of_project.clone(), finalize(Layer::Project)]), None);
}

fn retry(place: u32, reason: &str, retry: Value) -> FromHook<Answer> {
    said(place, HOOK, "r", json!({ "action": "revise", "reason": reason, "retry": retry }))
}

#[test]
fn a_retry_is_taken_so_often_in_a_run() {
    // OC-52
    let ensemble = Merged(Finalize::default());
    let given = || {
        vec![
            retry(0, "red", json!({ "instruction": "run tests", "maxAttempts": 2.9 })),
            retry(1, "", json!({ "instruction": "run red tests", "idempotencyKey": "k", "maxAttempts": 0 })),
        ]
    };
    let first = block(0, "red\n\nrun tests");
    assert_eq!(blocks(&ensemble, &stop(), given()), first);
    assert_eq!(blocks(&ensemble, &stop(), given()), first);
    // Then the next one, once.
    assert_eq!(blocks(&ensemble, &stop(), given()), block(1, "red\n\nrun red tests"));
    assert_eq!(blocks(&ensemble, &stop(), given()), None);
    assert_eq!(blocks(&ensemble, &in_turn(Some(8)), given()), first);
    assert_eq!(blocks(&ensemble, &in_turn(None), given()), first);
}

#[test]
fn an_instruction_that_is_said_already_is_not_said_twice() {
    // OC-52
    let said_already = retry(0, "please run tests now", json!({ "instruction": "run tests" }));
    assert_eq!(fresh(vec![said_already]), block(0, "please run tests now"));
    assert_eq!(fresh(vec![retry(0, "", json!({ "instruction": "run tests" }))]), block(0, "run tests"));
    // A blank instruction is none.
    assert_eq!(fresh(vec![retry(0, "r", json!({ "instruction": " " }))]), block(0, "r"));
}

#[test]
fn retries_of_one_key_are_counted_together_whatever_they_ask_for() {
    // OC-52
    let ensemble = Merged(Finalize::default());
    let asks = |instruction: &str, key: &str| {
        let retry = json!({ "instruction": instruction, "idempotencyKey": key });
        vec![said(0, HOOK, "r", json!({ "action": "revise", "retry": retry }))]
    };
    assert_eq!(blocks(&ensemble, &stop(), asks("a", "k")), block(0, "a"));
    assert_eq!(blocks(&ensemble, &stop(), asks("b", "k")), None);
    assert_eq!(blocks(&ensemble, &stop(), asks("b", " ")), block(0, "b"));
    assert_eq!(blocks(&ensemble, &stop(), asks("c", "")), block(0, "c"));
    assert_eq!(blocks(&ensemble, &stop(), asks("c", "")), None);
}
