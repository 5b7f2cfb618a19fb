//! The filters of native hooks on real payloads: which events they let through.
#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::Arc;

use lineside_core::envelope::{Agent, AgentKind, Envelope, EventId, Model, Source};
use lineside_core::hook::{Select as _, Selected};
use lineside_core::json::{Value, json};
use lineside_core::matcher::{MatcherDraft, agent, argument, path, project, text, tool};
use lineside_core::{AnyEvent, Payload, SkipReason};
use lineside_points::parts::ToolCall;
use lineside_points::{AfterToolBatch, BeforeTool, ChangedFile, OnIdle};

/// An event of a main agent `main` in the project `/p`.
fn event(payload: impl Payload) -> AnyEvent {
    event_of(Source { project_root: Some("/p".into()), ..Source::root("s") }, payload)
}

fn event_of(source: Source, payload: impl Payload) -> AnyEvent {
    let envelope = Envelope {
        id: EventId::from_u128(0),
        time: lineside_core::Timestamp::UNIX_EPOCH,
        seq: 1,
        source: Arc::new(source),
        cause: None,
        turn: None,
        extra: None,
    };
    AnyEvent::new(envelope, Arc::new(payload))
}

fn call(name: &str, input: Value) -> AnyEvent {
    event(BeforeTool::new(name, input))
}

fn changed(path: &str) -> AnyEvent {
    let file = ChangedFile { path: path.to_owned(), ..ChangedFile::default() };
    event(AfterToolBatch::new(Vec::new(), vec![file]))
}

fn batch(names: &[&str]) -> AnyEvent {
    let call = |name: &&str| ToolCall { tool_name: (*name).to_owned(), ..ToolCall::default() };
    event(AfterToolBatch::new(names.iter().map(call).collect::<Vec<_>>(), Vec::new()))
}

fn of_agent(agent: Agent) -> AnyEvent {
    event_of(Source { agent, ..Source::root("s") }, OnIdle::new())
}

fn of_model(selected: Option<&str>, running: Option<&str>) -> AnyEvent {
    let model = Model { selected: selected.map(Arc::from), running: running.map(Arc::from) };
    event_of(Source { model: Some(model), ..Source::root("s") }, OnIdle::new())
}

fn check(filters: &MatcherDraft, event: &AnyEvent, expected: bool) {
    let matcher = filters.compile().unwrap();
    assert_eq!(matcher.matches(event), expected, "{filters:?} of {:?}", event.payload_json());
    let selected = if expected { Selected::Runs } else { Selected::Skipped(SkipReason::Filter) };
    assert_eq!(matcher.select(event), selected);
}

#[test]
fn without_a_filter_every_event_is_let_through() {
    check(&MatcherDraft::default(), &event(OnIdle::new()), true);
    check(&MatcherDraft::default(), &call("Shell", json!({})), true);
}

#[test]
fn a_tool_is_a_name_or_a_glob_and_case_counts() {
    check(&tool("Shell"), &call("Shell", json!({})), true);
    check(&tool("Shell"), &call("sHELL", json!({})), false);
    check(&tool("Shell"), &call("ShellX", json!({})), false);
    check(&tool("mcp__*"), &call("mcp__a__b", json!({})), true);
    check(&tool("mcp__*"), &call("Shell", json!({})), false);
    check(&tool("Read").tool("Write"), &call("Write", json!({})), true);
    check(&tool("Read").tool("W*"), &call("Write", json!({})), true);
    check(&tool("Shell"), &event(OnIdle::new()), false);
}

#[test]
fn a_batch_has_the_tools_of_its_calls() {
    check(&tool("Write"), &batch(&["Read", "Write"]), true);
    check(&tool("Write"), &batch(&["Read"]), false);
    check(&tool("Write"), &batch(&[]), false);
}

#[test]
fn an_agent_is_known_by_id_or_type_and_by_its_kind() {
    let reviewer = Agent { id: "a1".into(), kind: AgentKind::Subagent, role: Some("reviewer".into()) };
    check(&agent("a1"), &of_agent(reviewer.clone()), true);
    check(&agent("review*"), &of_agent(reviewer.clone()), true);
    check(&agent("main"), &of_agent(reviewer.clone()), false);
    check(&agent("main"), &of_agent(Agent::main("main")), true);
    check(&agent("reviewer"), &of_agent(Agent::main("main")), false);
    let subagents = MatcherDraft::default().agent_kind(AgentKind::Subagent);
    check(&subagents, &of_agent(reviewer.clone()), true);
    check(&subagents, &of_agent(Agent::main("a1")), false);
    check(&subagents.clone().agent("a1"), &of_agent(Agent::main("a1")), false);
    check(&subagents.agent("b1"), &of_agent(reviewer), false);
}

#[test]
fn a_model_is_the_selected_or_the_running_one() {
    let large = MatcherDraft::default().model("large-*");
    check(&large, &of_model(Some("large-2"), None), true);
    check(&large, &of_model(Some("small-1"), Some("large-2")), true);
    check(&large, &of_model(Some("small-1"), Some("small-2")), false);
    check(&large, &of_model(None, None), false);
    check(&large, &event(OnIdle::new()), false);
}

#[test]
fn a_path_is_whole_or_below_the_root_of_the_project() {
    check(&path("src/**/*.rs"), &changed("/p/src/a/b.rs"), true);
    check(&path("src/**/*.rs"), &changed("src/b.rs"), true);
    check(&path("/p/src/*.rs"), &changed("/p/src/b.rs"), true);
    check(&path("*.rs"), &changed("/p/src/b.rs"), false);
    check(&path("src/*.rs"), &changed("/other/src/b.rs"), false);
    check(&path("rivate/a.rs"), &changed("/private/a.rs"), false);
    check(&path("src/*.rs"), &event(OnIdle::new()), false);
    check(&path("src/a.rs").path("docs/*"), &changed("/p/docs/b.md"), true);
}

#[test]
fn a_text_is_looked_for_in_each_string_and_in_the_json() {
    let payload = json!({"command": "git push --force", "n": 7, "args": [{"deep": "x\ny"}]});
    check(&text("push --force$"), &call("Shell", payload.clone()), true);
    check(&text("^x\ny$"), &call("Shell", payload.clone()), true);
    check(&text(r#""n":7"#), &call("Shell", payload.clone()), true);
    check(&text("^Shell$"), &call("Shell", payload.clone()), true);
    check(&text("pull"), &call("Shell", payload.clone()), false);
    check(&text("pull").text("push"), &call("Shell", payload), true);
}

#[test]
fn every_filter_that_is_there_has_to_let_the_event_through() {
    let event = call("Shell", json!({"command": "ls"}));
    check(&tool("Shell").text("ls").agent("main"), &event, true);
    check(&tool("Read").text("ls").agent("main"), &event, false);
    check(&tool("Shell").text("rm").agent("main"), &event, false);
    check(&tool("Shell").text("ls").agent("other"), &event, false);
    check(&tool("Shell").text("ls").agent("main").path("*"), &event, false);
}

#[test]
fn filters_are_described_as_they_were_written() {
    let all = tool("Read")
        .tool("W*")
        .path("src/**")
        .agent("main")
        .model("large")
        .agent_kind(AgentKind::Main)
        .agent_kind(AgentKind::Subagent)
        .text("a.b");
    assert_eq!(
        all.compile().unwrap().describe(),
        "tool=Read|W* path=src/** agent=main model=large agent_kind=main|subagent text=/a.b/"
    );
    assert_eq!(MatcherDraft::default().compile().unwrap().describe(), "");
}

#[test]
fn a_pattern_that_is_none_is_named_with_its_filter() {
    for (filters, start) in [
        (tool("a[").tool("b"), "the tool pattern `a[` is not a glob: "),
        (path("{a"), "the path pattern `{a` is not a glob: "),
        (agent("[z-a]"), "the agent pattern `[z-a]` is not a glob: "),
        (MatcherDraft::default().model("["), "the model pattern `[` is not a glob: "),
        (text("("), "the text pattern `(` is not a regular expression: "),
        (text("(a{1000}){1000}"), "the text pattern `(a{1000}){1000}` is not a regular expression: "),
    ] {
        let error = filters.compile().unwrap_err().to_string();
        assert!(error.starts_with(start), "{error}");
    }
}

#[test]
fn an_argument_is_found_by_its_keys_and_belongs_to_the_call_of_the_tool() {
    let deep = call("Shell", json!({"command": "rm -rf /", "options": {"depth": 12, "none": null}}));
    for (key, pattern, expected) in [
        ("command", "^rm ", true),
        ("command", "^ls ", false),
        ("options.depth", "^12$", true),
        ("options", r#"\{"depth":12"#, true),
        ("options.none", "", false),
        ("options.other", "", false),
        ("none", "", false),
    ] {
        check(&argument(key, pattern), &deep, expected);
    }
    // All of them, and of a batch all in the same call as the tool.
    check(&argument("command", "rm").argument("options.depth", "2"), &deep, true);
    check(&argument("command", "rm").argument("options.depth", "3"), &deep, false);
    let called = |name: &str, command: &str| ToolCall {
        tool_name: name.to_owned(),
        tool_input: Some(json!({ "command": command })),
        ..ToolCall::default()
    };
    let both = event(AfterToolBatch::new(vec![called("Shell", "ls"), called("Other", "rm")], Vec::new()));
    check(&argument("command", "rm"), &both, true);
    check(&tool("Other").argument("command", "rm"), &both, true);
    check(&tool("Shell").argument("command", "rm"), &both, false);
    check(&argument("command", "rm"), &event(OnIdle::new()), false);
}

#[test]
fn a_project_is_known_by_its_root() {
    check(&project("/p"), &changed("/p/a"), true);
    check(&project("/*"), &changed("/p/a"), true);
    check(&project("/q").project("/p"), &changed("/p/a"), true);
    check(&project("/q"), &changed("/p/a"), false);
    check(&project("*"), &event_of(Source::root("s"), OnIdle::new()), false);
}

#[test]
fn a_tool_of_a_class_has_the_name_of_the_class_as_well() {
    let of_class = |name: &str, class: &str| {
        let mut payload = BeforeTool::new(name, json!({"command": "x"}));
        payload.tool_class = Some(class.to_owned());
        event(payload)
    };
    for (name, class, ours) in [
        ("Bash", "shell", "Shell"),
        ("write_file", "write", "WriteFile"),
        ("apply_patch", "edit", "StrReplaceFile"),
        ("view", "read", "ReadFile"),
        ("Agent", "task", "Task"),
    ] {
        check(&tool(ours), &of_class(name, class), true);
        check(&tool(name), &of_class(name, class), true);
        check(&tool(ours).argument("command", "^x$"), &of_class(name, class), true);
        check(&tool(ours).argument("command", "y"), &of_class(name, class), false);
        check(&tool(ours), &call(name, json!({})), true);
        check(&tool(ours), &of_class(name, "mcp"), false);
    }
    check(&tool("Shell"), &call("bASH", json!({})), false);
    check(&tool("Shell"), &batch(&["x", "run_shell_command"]), true);
    check(&tool("Sh*"), &of_class("Bash", "shell"), true);
    check(&tool("Shell"), &of_class("Shell", "shell"), true);
}
