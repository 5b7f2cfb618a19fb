//! Contexts, system prompts and tools before an agent's turn.

use lineside_core::ensemble::Sees;
use lineside_core::json::json;
use lineside_core::outcome::FromHook;
use lineside_core::{Answer, AnyEvent, Ensemble as _, Verdict};

use super::super::member::Merged;
use super::super::samples::{amendments, contexts, nothing, said};
use super::BeforeAgent;
use crate::openclaw::samples::{event, of};

const START: &str = "before_agent_start";
const BUILD: &str = "before_prompt_build";

fn before_agent(system: Option<&str>) -> AnyEvent {
    event("before_agent", json!({ "prompt": "p", "system_prompt": system }))
}

fn settled(system: Option<&str>, given: Vec<FromHook<Answer>>) -> Vec<FromHook<Answer>> {
    Merged(BeforeAgent::default()).finalize(&before_agent(system), given)
}

#[test]
fn nobody_sees_what_another_said_and_nobody_is_asked_again() {
    // OC-42
    let ensemble = Merged(BeforeAgent::default());
    assert_eq!(ensemble.sees(), Sees::First);
    assert!(!ensemble.judges_again());
}

#[test]
fn contexts_are_joined_in_run_order_into_one_message_before_and_one_after() {
    // OC-47, OC-48
    let settled = settled(
        None,
        vec![
            said(0, BUILD, "a", json!({ "appendContext": "post a" })),
            said(1, START, "b", json!({ "prependContext": "pre b" })),
            nothing(2),
            said(3, START, "c", json!({ "prependContext": "" })),
            said(4, BUILD, "d", json!({ "prependContext": "pre d", "appendContext": "post d" })),
        ],
    );
    assert_eq!(contexts(&settled), [(0, "pre b\n\npre d"), (0, "post a\n\npost d")]);
    assert_eq!(
        settled[0].what.remarks,
        [
            "the context before the prompt is of b:before_agent_start, d:before_prompt_build",
            "the context after the prompt is of a:before_prompt_build, d:before_prompt_build"
        ]
    );
    assert_eq!(amendments(&settled), []);
}

#[test]
fn of_before_agent_start_the_last_system_prompt_wins_and_of_before_prompt_build_the_first() {
    // OC-47, OC-48
    let start = |place, text: &str| said(place, START, "s", json!({ "systemPrompt": text }));
    let build = |place, text: &str| said(place, BUILD, "b", json!({ "systemPrompt": text }));
    let starts = settled(Some("own"), vec![start(0, "high"), start(1, "low")]);
    assert_eq!(amendments(&starts), [(1, json!({ "system_prompt": "low" }))]);
    let both = settled(Some("own"), vec![build(0, "first"), start(1, "s"), build(2, "second")]);
    assert_eq!(amendments(&both), [(0, json!({ "system_prompt": "first" }))]);
}

#[test]
fn system_contexts_stand_around_the_system_prompt() {
    // OC-48
    let around = |place, before: &str, after: &str| {
        let fields = json!({ "prependSystemContext": before, "appendSystemContext": after });
        said(place, BUILD, "a", fields)
    };
    let wrapped = settled(Some("own"), vec![around(0, "b1", ""), around(1, "b2", "a2")]);
    assert_eq!(amendments(&wrapped), [(0, json!({ "system_prompt": "b1\n\nb2\n\nown\n\na2" }))]);
    let replaced = said(1, START, "s", json!({ "systemPrompt": "new" }));
    let wrapped = settled(Some("own"), vec![around(0, "before", ""), replaced]);
    assert_eq!(amendments(&wrapped), [(1, json!({ "system_prompt": "before\n\nnew" }))]);
    let alone = settled(None, vec![around(0, "", "after")]);
    assert_eq!(amendments(&alone), [(0, json!({ "system_prompt": "after" }))]);
    assert_eq!(amendments(&settled(Some("own"), vec![around(0, "", "")])), []);
}

#[test]
fn tools_allow_is_told_once_for_each_handler_and_session() {
    // OC-48
    let ensemble = Merged(BeforeAgent::default());
    let given = || {
        vec![
            said(0, BUILD, "a", json!({ "toolsAllow": [] })),
            said(1, BUILD, "b", json!({ "toolsAllow": ["x"] })),
        ]
    };
    let told = |event: &AnyEvent| -> Vec<String> {
        let settled = ensemble.finalize(event, given());
        settled.into_iter().flat_map(|by| by.what.notices).map(|notice| notice.text).collect()
    };
    let first = before_agent(None);
    let both = ["a", "b"].map(|id| format!("toolsAllow of {id}:before_prompt_build is not supported"));
    assert_eq!(told(&first), both);
    assert_eq!(told(&first), Vec::<String>::new());
    assert_eq!(told(&of(&first, |source| source.session = "s2".into())), both);
}

#[test]
fn a_closing_failure_drops_what_was_merged() {
    // OC-42, OC-56
    let blocked = FromHook { hook: 1, what: Answer::from(Verdict::block("no")) };
    let settled = settled(None, vec![said(0, START, "a", json!({ "prependContext": "x" })), blocked.clone()]);
    assert_eq!(settled, [blocked]);
}

#[test]
fn who_contributed_is_said_of_more_than_one() {
    // OC-48
    let context = |place, plugin| said(place, BUILD, plugin, json!({ "prependContext": plugin }));
    let remarks = |given: Vec<FromHook<Answer>>| settled(None, given)[0].what.remarks.clone();
    assert_eq!(remarks(vec![context(0, "a")]), [""; 0]);
    let both = remarks(vec![context(0, "a"), context(1, "b")]);
    let of = "the context before the prompt is of a:before_prompt_build, b:before_prompt_build";
    assert_eq!(both, [of]);
}
