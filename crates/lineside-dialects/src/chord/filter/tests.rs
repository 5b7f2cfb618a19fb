//! Each filter with what it lets through and what not.

use lineside_core::envelope::Source;
use lineside_core::hook::{Select as _, Selected};
use lineside_core::json::{Value, json};
use lineside_core::{Agent, AnyEvent, SkipReason};

use crate::chord::samples::{Sample, amended, event, hook};

fn runs(point: &str, keys: &str, event: &AnyEvent) -> bool {
    match hook(point, keys).filter.select(event) {
        Selected::Runs => true,
        // CH-17
        Selected::Skipped(SkipReason::Filter) => false,
        other => panic!("{other:?}"),
    }
}

fn tool(payload: Value) -> AnyEvent {
    event("before_tool", payload)
}

fn batch(payload: Value) -> AnyEvent {
    event("after_tool_batch", payload)
}

#[test]
fn all_filters_must_match_and_of_each_one_pattern() {
    // CH-17, CH-18
    let write = tool(json!({"tool_name": "Write", "tool_input": {"path": "src/a.go"}}));
    for (keys, expected) in [
        ("", true),
        (", tools: []", true),
        (", tools: [Shell, Wr*]", true),
        (", tools: [write]", false),
        (", tools: [Write], paths: [\"lib/**\"]", false),
        (", tools: [Write], paths: [\"lib/**\", \"src/**\"]", true),
        (", tools: [Write], paths: [\"src/**\"], agents: [reviewer]", false),
        (", only_on_error: true", false),
    ] {
        assert_eq!(runs("on_tool_call", keys, &write), expected, "{keys}");
    }
    // A populated filter without a candidate does not match.
    assert!(!runs("on_idle", ", tools: [\"**\"]", &event("on_idle", json!({}))));
    assert!(!runs("on_idle", ", paths: [\"**\"]", &event("on_idle", json!({}))));
}

#[test]
fn a_search_that_is_given_up_is_a_match() {
    let write = tool(json!({"tool_name": "Write", "tool_input": {"path": "a".repeat(9_900_000)}}));
    let keys = format!(", paths: [\"{}b\"]", "*a".repeat(4000));
    let Selected::InDoubt(why) = hook("on_tool_call", &keys).filter.select(&write) else { panic!() };
    assert_eq!(why, "the search of its globs was given up after 10000000 steps and counts as a match");
    // Another filter that does not match leaves no doubt.
    assert!(!runs("on_tool_call", &format!("{keys}, only_on_error: true"), &write));
}

#[test]
fn filters_of_a_batch_are_independent() {
    // CH-17, CH-18, CH-19
    let event = batch(json!({
        "tool_calls": [{"tool_name": "Read", "paths": ["secret"]}, {"tool_name": "Edit"}],
        "changed_files": [{"path": " a.go "}]
    }));
    assert!(runs("on_tool_batch_complete", ", tools: [Read], paths: [\"*.go\"]", &event));
    assert!(!runs("on_tool_batch_complete", ", tools: [Write]", &event));
    // The paths of calls are no sources.
    assert!(!runs("on_tool_batch_complete", ", paths: [secret]", &event));
    let named = Sample { extra: Some(json!({"tool_name": "Other"})), ..Sample::default() };
    let event =
        named.event("after_tool_batch", json!({"tool_calls": [{"tool_name": "A"}], "changed_files": []}));
    assert!(!runs("on_tool_batch_complete", ", tools: [A]", &event));
}

#[test]
fn paths_are_compared_in_three_forms() {
    // CH-19
    let event = tool(json!({"tool_name": "T", "tool_input": {"path": "/repo/src/../a.go"}}));
    for (keys, expected) in [
        (", paths: [\"a.go\"]", true),
        (", paths: [\"/repo/a.go\"]", true),
        (", paths: [\"/repo/src/../a.go\"]", true),
        (", paths: [\"src/*\"]", false),
    ] {
        assert_eq!(runs("on_tool_call", keys, &event), expected, "{keys}");
    }
}

#[test]
fn agents_are_known_by_id_type_and_kind() {
    // CH-20, CH-21
    let main = event("on_idle", json!({}));
    let source = Source { agent: Agent::subagent("reviewer"), ..Source::root("s") };
    let sub = Sample { source, ..Sample::default() }.event("on_idle", json!({}));
    for (keys, of_main, of_sub) in [
        (", agents: [main-1]", true, false),
        (", agents: [coder]", true, false),
        (", agents: [main]", true, false),
        (", agents: [rev*]", false, true),
        (", agent_kinds: [main]", true, false),
        (", agent_kinds: [sub]", false, true),
        (", agent_kinds: [subagent]", false, true),
        (", agent_kinds: [main, sub]", true, true),
    ] {
        assert_eq!(runs("on_idle", keys, &main), of_main, "{keys}");
        assert_eq!(runs("on_idle", keys, &sub), of_sub, "{keys}");
    }
}

#[test]
fn either_model_counts_and_an_unknown_one_is_empty() {
    // CH-22
    let known = event("on_idle", json!({}));
    let unknown = Sample { source: Source::root("s"), ..Sample::default() }.event("on_idle", json!({}));
    for (keys, of_known, of_unknown) in [
        (", models: [\"acme/big\"]", true, false),
        (", models: [\"*/small\"]", true, false),
        (", models: [big]", false, false),
        (", models: [\"*\"]", false, true),
        (", models: [\"**\"]", true, true),
        (", models: [\"\"]", false, true),
    ] {
        assert_eq!(runs("on_idle", keys, &known), of_known, "{keys}");
        assert_eq!(runs("on_idle", keys, &unknown), of_unknown, "{keys}");
    }
}

#[test]
fn different_changed_files_are_counted() {
    // CH-23
    let twice =
        batch(json!({"tool_calls": [], "changed_files": [{"path": "a"}, {"path": "a"}, {"path": ""}]}));
    let two = batch(json!({"tool_calls": [], "changed_files": [{"path": "a"}, {"path": "b"}]}));
    let keys = ", min_changed_files: 2";
    assert!(!runs("on_tool_batch_complete", keys, &twice));
    assert!(runs("on_tool_batch_complete", keys, &two));
    assert!(runs("on_tool_batch_complete", ", min_changed_files: 1", &twice));
}

#[test]
fn a_burst_is_counted_when_it_is_complete() {
    // CH-26, CH-54
    let one = batch(json!({"tool_calls": [], "changed_files": [{"path": "a"}]}));
    let keys = ", min_changed_files: 2, debounce_ms: 5";
    assert!(runs("on_tool_batch_complete", keys, &one));
    let filter = hook("on_tool_batch_complete", keys).filter;
    assert!(!filter.passes_burst(&one));
    let both = lineside_core::burst::merge(&[
        one.clone(),
        batch(json!({"tool_calls": [], "changed_files": [{"path": "b"}]})),
    ]);
    assert!(filter.passes_burst(&both.unwrap()));
    assert!(hook("on_tool_batch_complete", ", debounce_ms: 5").filter.passes_burst(&one));
}

#[test]
fn an_error_is_a_text_that_is_not_blank() {
    // CH-24
    let keys = ", only_on_error: true";
    let check = |point: &str, canonical: &str, payload: Value, expected: bool| {
        assert_eq!(runs(point, keys, &event(canonical, payload.clone())), expected, "{payload}");
    };
    check("on_agent_error", "on_error", json!({"error": "e"}), true);
    check("on_agent_error", "on_error", json!({"error": " \n"}), false);
    check("on_tool_result", "after_tool", json!({"tool_name": "T", "tool_output": "x"}), false);
    check("on_tool_result", "after_tool_error", json!({"tool_name": "T", "error": "e"}), true);
    let calls =
        json!({"tool_calls": [{"tool_name": "A"}, {"tool_name": "B", "error": "e"}], "changed_files": []});
    check("on_tool_batch_complete", "after_tool_batch", calls, true);
    let calls = json!({"tool_calls": [{"tool_name": "A", "error": ""}], "changed_files": []});
    check("on_tool_batch_complete", "after_tool_batch", calls, false);
}

#[test]
fn filters_see_what_the_hooks_before_have_left() {
    // CH-26
    let published = tool(json!({"tool_name": "T", "tool_input": {"path": "a.go"}, "paths": ["a.go"]}));
    let keys = ", paths: [\"*.rs\"]";
    assert!(!runs("on_tool_call", keys, &published));
    assert!(runs("on_tool_call", keys, &amended(&published, "tool_input", json!({"path": "a.rs"}))));
}

#[test]
fn only_root_sessions_start_and_end() {
    // CH-13
    let check = |depth: u32, point: &str, canonical: &str, payload: Value, expected: bool| {
        let source = Source { depth, ..Source::root("s") };
        let event = Sample { source, ..Sample::default() }.event(canonical, payload.clone());
        assert_eq!(runs(point, "", &event), expected, "{point} {depth} {payload}");
    };
    check(0, "on_session_start", "before_session", json!({"source": "startup"}), true);
    check(0, "on_session_start", "before_session", json!({"source": "resume"}), true);
    check(0, "on_session_start", "before_session", json!({"source": "compact"}), false);
    check(1, "on_session_start", "before_session", json!({"source": "subagent"}), false);
    check(0, "on_session_end", "after_session", json!({"reason": "x"}), true);
    check(1, "on_session_end", "after_session", json!({"reason": "x"}), false);
    check(1, "on_idle", "on_idle", json!({}), true);
}

#[test]
fn filters_are_described() {
    let filter = hook(
        "on_tool_batch_complete",
        ", tools: [A, B], paths: [\"*\"], agents: [x], agent_kinds: [sub], models: [m], min_changed_files: 2, only_on_error: on",
    )
    .filter;
    assert_eq!(
        filter.describe(),
        "tools=A|B paths=* agents=x agent_kinds=subagent models=m min_changed_files=2 only_on_error"
    );
    assert_eq!(hook("on_session_end", "").filter.describe(), "root session");
}
