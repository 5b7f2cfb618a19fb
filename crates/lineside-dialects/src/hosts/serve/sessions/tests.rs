//! Calls at the same moment: which waits for which, and what it gets.

use std::collections::BTreeMap;

use super::*;
use crate::hosts::serve::{HostCall, Reading, read};

fn arrival(host: Host, event: Option<&str>, document: &Value) -> Box<Arrival> {
    let call = HostCall {
        host,
        event: event.map(str::to_owned),
        stdin: document.to_string().into_bytes(),
        environment: BTreeMap::new(),
    };
    match read(call) {
        Reading::Event(arrival) => arrival,
        Reading::Answer(answer) => panic!("it was answered: {answer:?}"),
    }
}

fn publishing(arrived: Arrived) -> Publishing {
    match arrived {
        Arrived::Publish(publishing) => *publishing,
        other => panic!("it is not published: {other:?}"),
    }
}

fn later(arrived: Arrived) -> Box<Arrival> {
    match arrived {
        Arrived::Later(arrival) => arrival,
        other => panic!("it does not wait: {other:?}"),
    }
}

fn tool() -> Box<Arrival> {
    let document = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_use_id": "t", "tool_name": "Bash",
        "tool_input": {"command": "ls"}});
    arrival(Host::Claude, None, &document)
}

#[test]
fn ho_43_a_second_arrival_waits_for_the_first_and_has_its_decision() {
    let mut served = Served::default();
    let now = Instant::now();
    let first = publishing(served.arrive(tool(), now));
    let second = later(served.arrive(tool(), now));
    let second = later(served.arrive(second, now));
    let refused = Outcome { verdict: Verdict::block("no"), ..Outcome::default() };
    let settled = served.settle(first, &refused, &[]);
    assert!(settled.answer.stdout.contains("\"deny\""), "{settled:?}");
    match served.arrive(second, now) {
        Arrived::Answer(answer) => assert_eq!(answer, settled.answer),
        other => panic!("it has no answer: {other:?}"),
    }
}

#[test]
fn a_second_arrival_takes_the_place_of_a_first_that_is_given_up() {
    let mut served = Served::default();
    let now = Instant::now();
    let (root, call, is_start) = publishing(served.arrive(tool(), now)).if_abandoned();
    let second = later(served.arrive(tool(), now));
    served.abandon(&root, call, is_start);
    publishing(served.arrive(second, now));
}

#[test]
fn cp_25_the_first_prompt_waits_for_the_start_of_its_session() {
    let mut served = Served::default();
    let now = Instant::now();
    let call = |event: &str, document: &Value| arrival(Host::Copilot, Some(event), document);
    let start = || call("sessionStart", &json!({"sessionId": "s", "timestamp": 1, "source": "new"}));
    let prompt = |session: &str| {
        call("userPromptSubmitted", &json!({"sessionId": session, "timestamp": 1, "prompt": "p"}))
    };
    publishing(served.arrive(prompt("before"), now));
    let starting = publishing(served.arrive(start(), now));
    let waits = later(served.arrive(prompt("s"), now));
    publishing(served.arrive(prompt("other"), now));
    let held = Outcome { verdict: Verdict::block("frozen"), ..Outcome::default() };
    served.settle(starting, &held, &[]);
    let held = publishing(served.arrive(waits, now));
    assert_eq!(held.decided, Some(Verdict::block("frozen")));
}
