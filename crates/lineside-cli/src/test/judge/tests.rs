//! Each expectation, met and not met.

use std::sync::Arc;
use std::time::Duration;

use lineside::Bus;
use lineside::core::{Failure, FailureKind};
use lineside::json::{Value, json};
use lineside::prelude::*;

use super::super::observed::Background;
use super::super::step::Step;
use super::*;

/// One event at which two hooks run: an amender with a message, and a gate that blocks.
async fn observed() -> Observed {
    let bus = Bus::new();
    bus.intercept::<BeforeTool>("amends")
        .priority(2)
        .amend(async |_, _| Reply::amend(BeforeTool::amend().tool_input(json!({"n": 1.5}))).append("told"))
        .unwrap();
    bus.intercept::<BeforeTool>("blocks").gate(async |_, _| Verdict::block("no")).unwrap();
    bus.intercept::<BeforeTool>("late").priority(-1).gate(async |_, _| Verdict::Continue).unwrap();
    let session = bus.session("s1").open().await.unwrap();
    let receipt =
        session.any_event(Arc::new(BeforeTool::new("Shell", json!({})))).publish_any().await.unwrap();
    let failures = vec![("bg".to_owned(), Failure::new(FailureKind::Exit, "exit status 1"))];
    let background = Background { failures, ..Background::default() };
    Observed { receipts: vec![receipt], background, took: Duration::from_millis(20), ..Observed::default() }
}

async fn check(expect: Value, faults: &[&str]) {
    let step = Step::read(&json!({"publish": {"point": "before_tool"}, "expect": expect})).unwrap();
    let got: Vec<String> = judge(&step.expect, &observed().await, Path::new("/nowhere"))
        .into_iter()
        .map(|fault| format!("{}: {} / {}", fault.what, fault.expected.unwrap_or_default(), fault.got))
        .collect();
    assert_eq!(got, faults, "{expect}");
}

#[tokio::test]
async fn what_is_met_is_not_told() {
    check(
        json!({
            "verdict": "block", "reason": "no", "payload": {"tool_input": {"n": 1.50}, "timeout_ms": null},
            "ran": ["amends", "blocks"], "ran_set": ["blocks", "amends"], "skipped": {"late": "blocked"},
            "failed": {"bg": "exit"}, "context": [{"contains": "tol"}], "notices": [], "within_ms": 20,
            "files": {"x": {"absent": true}},
        }),
        &[],
    )
    .await;
    check(json!({}), &[]).await;
}

#[tokio::test]
async fn every_difference_is_told() {
    check(json!({"verdict": "continue"}), &["verdict: continue / block: \"no\""]).await;
    check(json!({"reason": "yes"}), &["reason: \"yes\" / \"no\""]).await;
    check(json!({"payload": {"tool_name": "X"}}), &["payload.tool_name: \"\\\"X\\\"\" / \"\\\"Shell\\\"\""])
        .await;
    check(json!({"ran": ["blocks"]}), &["ran: [blocks] / [amends, blocks]"]).await;
    check(json!({"ran_set": []}), &["ran_set: none / [amends, blocks]"]).await;
    check(json!({"skipped": {"late": "filter"}}), &["skipped.late: filter / blocked"]).await;
    check(json!({"skipped": {"x": "filter"}}), &["skipped.x: filter / no such hook at this point"]).await;
    check(json!({"failed": {}}), &["failed: none / [bg: exit (exit status 1)]"]).await;
    check(json!({"context": []}), &["context: none / [\"told\"]"]).await;
    check(json!({"context": ["x"]}), &["context[0]: \"x\" / \"told\""]).await;
    check(json!({"within_ms": 19}), &["within_ms: at most 0.019 s / 0.02 s"]).await;
    check(
        json!({"files": {"x": {"lines": 1}}}),
        &["files.x: a file / No such file or directory (os error 2)"],
    )
    .await;
}

#[test]
fn numbers_are_equal_by_value() {
    for (a, b, same) in [
        ("1.0", "1", true),
        ("1e1", "10", true),
        ("1", "2", false),
        ("9007199254740993", "9007199254740992", false),
        ("-0", "0", true),
    ] {
        let value = |written: &str| lineside::json::from_str::<Value>(written).unwrap();
        assert_eq!(equal(&value(a), &value(b)), same, "{a} {b}");
    }
}
