//! The filters of native hooks on real payloads: which events they let through.
#![allow(clippy::unwrap_used, missing_docs)]

use std::borrow::Cow;
use std::sync::Arc;

use lineside_core::envelope::{Agent, AgentKind, Envelope, EventId, Model, Source};
use lineside_core::hook::{Select as _, Selected};
use lineside_core::json::{Value, json};
use lineside_core::matcher::{
    Filter, MatcherDraft, Patterns, agent, argument, each_tool, path, project, text, tool,
};
use lineside_core::{AnyEvent, Payload, Point as _, SkipReason};
use lineside_points::parts::ToolCall;
use lineside_points::{AfterToolBatch, BeforeTool, ChangedFile, OnIdle, custom};

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
fn each_path_counts_that_a_call_names_and_what_its_publisher_says_of_them_hides_none() {
    let input = json!({"path": "/p/a.md", "file_path": "/p/src/b.rs", "paths": ["/p/c"], "filePath": "/p/d"});
    for (glob, expected) in [("*.md", true), ("src/*.rs", true), ("c", true), ("d", true), ("e", false)] {
        check(&path(glob), &call("Write", input.clone()), expected);
        let mut said = BeforeTool::new("Write", input.clone());
        said.paths = Some(vec!["/p/f".to_owned()]);
        check(&path(glob), &event(said.clone()), expected);
        check(&path("f"), &event(said), true);
    }
}

#[test]
fn each_command_is_in_what_a_call_is_about() {
    let about = |input: Value| BeforeTool::new("Bash", input).command().map(Cow::into_owned);
    assert_eq!(about(json!({"command": "ls", "cmd": "rm -rf /"})).as_deref(), Some("ls\nrm -rf /"));
    assert_eq!(about(json!({"command": ["bash", "-lc", "rm x"]})).as_deref(), Some("bash -lc rm x"));
    assert_eq!(about(json!({"path": "ls"})), None);
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
    let both = event(AfterToolBatch::new(vec![called("Shell", "ls"), called("Read", "rm")], Vec::new()));
    check(&argument("command", "rm"), &both, true);
    check(&tool("Read").argument("command", "rm"), &both, true);
    check(&tool("Shell").argument("command", "rm"), &both, false);
    check(&argument("command", "rm"), &event(OnIdle::new()), false);
    // Which name of a command the tool reads is not known.
    for input in [json!({"command": "ls", "cmd": "rm x"}), json!({"command": ["ls"], "script": "rm x"})] {
        check(&argument("command", "^rm "), &call("exec_command", input.clone()), true);
        check(&argument("command", "^ls"), &call("exec_command", input), true);
    }
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

#[test]
fn a_tool_that_no_table_knows_is_one_of_a_shell_when_it_is_called_with_a_command() {
    let guard = || tool("Shell").argument("command", "rm +-rf");
    check(&guard(), &call("Monitor", json!({"command": "rm -rf /"})), true);
    check(&guard(), &call("BrandNew", json!({"command": "rm -rf /", "x": 1})), true);
    check(&guard(), &call("BrandNew", json!({"cmd": "rm -rf /"})), true);
    check(&guard(), &call("BrandNew", json!({"command": ["rm", "-rf", "/"]})), true);
    check(&guard(), &call("BrandNew", json!({"command": "ls"})), false);
    check(&tool("Shell"), &call("BrandNew", json!({"path": "rm -rf /"})), false);
    check(&tool("Shell"), &call("Read", json!({"command": "rm -rf /"})), false);
    check(&tool("Shell"), &call("mcp__a__b", json!({"command": "rm -rf /"})), false);
}

#[test]
fn the_place_of_a_pattern_that_is_none_is_its_filter_and_itself() {
    let place = |filters: &MatcherDraft| {
        let error = filters.compile().unwrap_err();
        let (filter, pattern) = error.place();
        (filter, pattern.to_owned())
    };
    assert_eq!(place(&tool("a[")), ("tool", "a[".to_owned()));
    assert_eq!(place(&text("(")), ("text", "(".to_owned()));
}

#[test]
fn prepared_filters_know_how_they_were_written_and_which_tools_they_are_for() {
    let tools = |filters: &MatcherDraft| filters.compile().unwrap().tools().map(<[String]>::to_vec);
    let named = tool("Shell").tool("Task").text("x");
    assert_eq!(named.compile().unwrap().draft(), &named);
    assert_eq!(tools(&named), Some(vec!["Shell".to_owned(), "Task".to_owned()]));
    assert_eq!(tools(&tool("Sh*")), None);
    assert_eq!(tools(&text("x")), None);
}

#[test]
fn the_tools_of_an_event_are_visited_by_their_names_and_those_of_their_classes() {
    let visited = |event: &AnyEvent| {
        let mut names = Vec::new();
        each_tool(event, &mut |name| names.push(name.to_owned()));
        names
    };
    assert_eq!(visited(&call("Bash", json!({}))), ["Bash", "Shell"]);
    assert_eq!(visited(&batch(&["x", "view"])), ["x", "Shell", "view", "ReadFile"]);
    assert_eq!(visited(&event(OnIdle::new())), [""; 0]);
}

#[test]
fn a_search_that_is_given_up_is_in_doubt() {
    let matcher = text("a[ab]{400}c").compile().unwrap();
    let mut state = 1_u32;
    let mut letter = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 31 == 0 { 'a' } else { 'b' }
    };
    let command: String = (0..90_000).map(|_| letter()).collect();
    let long = call("Shell", json!({"command": command}));
    assert!(matches!(matcher.select(&long), Selected::InDoubt(_)));
}

#[test]
fn every_filter_has_a_name_and_a_pattern_of_its_own() {
    for filter in Filter::ALL {
        assert_eq!(Filter::named(filter.as_str()), Some(filter));
        let patterns = match filter {
            Filter::Argument => Patterns::ForEachKey,
            Filter::Text => Patterns::One,
            _ => Patterns::OneOf,
        };
        assert_eq!(filter.patterns(), patterns, "{filter:?}");
        let pattern = if filter == Filter::AgentKind { "subagent" } else { "p" };
        let draft = MatcherDraft::default().with(filter, "k", pattern).unwrap();
        assert_eq!(draft.filters().collect::<Vec<_>>(), [filter]);
        let written = match patterns {
            Patterns::OneOf => json!([pattern]),
            Patterns::One => json!(pattern),
            Patterns::ForEachKey => json!({"k": pattern}),
        };
        assert_eq!(
            Value::Object(draft.to_json()),
            Value::Object([(filter.as_str().to_owned(), written)].into_iter().collect())
        );
    }
    assert_eq!(Filter::named("tools"), None);
    assert!(MatcherDraft::default().with(Filter::AgentKind, "", "Main").is_err());
    let expected: std::collections::BTreeSet<_> =
        Filter::ALL.iter().map(|filter| filter.expected()).collect();
    assert_eq!(expected.len(), Filter::ALL.len());
    assert_eq!(Filter::Text.expected(), "a regular expression");
}

#[test]
fn a_filter_finds_nothing_at_a_point_without_its_fields() {
    let own = custom::declare("x.matching.on_test", &[]).unwrap();
    for (filter, of_idle, of_tool, of_batch) in [
        (Filter::Tool, false, true, true),
        (Filter::Argument, false, true, true),
        (Filter::Path, false, true, true),
        (Filter::Agent, true, true, true),
        (Filter::Text, true, true, true),
    ] {
        let has = |point| filter.has_candidates(point);
        assert_eq!(
            (has(OnIdle::INFO), has(BeforeTool::INFO), has(AfterToolBatch::INFO), has(own)),
            (of_idle, of_tool, of_batch, true),
            "{filter:?}"
        );
    }
}
