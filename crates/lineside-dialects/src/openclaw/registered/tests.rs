//! What becomes of what a worker says.
#![allow(clippy::needless_pass_by_value, reason = "samples are written where they are expected")]

use lineside_core::hook::{Lane, Standby};
use lineside_core::json::{Value, json};
use lineside_core::worker::{PluginLoaded, StartWorkerError, WorkerReady};
use lineside_core::{Layer, OnFailure, Part};

use super::read;
use crate::dialect::{Loaded, Trust, Why};
use crate::openclaw::config::Native;
use crate::openclaw::findings::Findings;
use crate::openclaw::samples::{Room, object};
use crate::openclaw::set::{self, Set};

/// The plugins `u` of the user and `p` of the project.
fn two(options: &str) -> Set {
    let room = Room::new(&[("home/.openclaw/lineside.json", options)]);
    room.plugin("home/.openclaw/plugins", "u");
    room.plugin("project/.openclaw/plugins", "p");
    let mut findings = Findings::default();
    let set = set::find(&room.places(Trust::Granted), &Native::default(), &mut findings);
    assert_eq!(findings.diagnostics, []);
    set
}

fn answered(id: &str, registrations: Value, diagnostics: Value) -> PluginLoaded {
    let frame = json!({
        "plugin": { "id": id }, "registrations": registrations, "diagnostics": diagnostics,
    });
    PluginLoaded::Answered(object(frame))
}

fn ready(plugins: Vec<PluginLoaded>) -> Result<WorkerReady, StartWorkerError> {
    Ok(WorkerReady { hello: object(json!({ "node": "20.1.0", "typescript": false })), plugins })
}

fn names(loaded: &Loaded) -> Vec<&str> {
    loaded.hooks.iter().map(|hook| &*hook.hook.name).collect()
}

fn texts(loaded: &Loaded) -> Vec<String> {
    loaded
        .diagnostics
        .iter()
        .map(|found| {
            let (about, message) = found.text.split_once("): ").unwrap();
            format!("{} {}: {message}", found.severity.as_str(), about.split(" (").next().unwrap())
        })
        .collect()
}

fn hook(handler: u64, hook: &str, priority: Value) -> Value {
    json!({ "kind": "hook", "handler": handler, "hook": hook, "priority": priority })
}

#[test]
fn handlers_are_named_and_listed_in_run_order() {
    // OC-26, OC-29, OC-41
    let set = two("{}");
    let of_user = json!([
        hook(1, "after_tool_call", json!(0)),
        hook(2, "before_tool_call", json!(-1)),
        hook(3, "before_tool_call", json!(1.5)),
        { "kind": "command", "name": "x" },
        hook(4, "session_start", json!(0)),
    ]);
    let of_project = json!([hook(5, "before_tool_call", json!(2)), hook(6, "before_tool_call", json!(1.25))]);
    let became = ready(vec![answered("u", of_user, json!([])), answered("p", of_project, json!([]))]);
    let loaded = read(&set.plugins, &set.config, became);
    assert_eq!(
        names(&loaded),
        [
            "u:session_start", "p:before_tool_call", "u:before_tool_call#2", "p:before_tool_call#2",
            "u:before_tool_call", "u:after_tool_call",
        ]
    );
    let priorities: Vec<_> = loaded.hooks.iter().map(|hook| hook.hook.priority).collect();
    assert_eq!(priorities, [0, 2, 1, 1, -1, 0]);
    let last = &loaded.hooks[5];
    assert_eq!(
        last.points.iter().map(|point| point.name).collect::<Vec<_>>(),
        ["after_tool", "after_tool_error"]
    );
    assert_eq!((last.trigger.as_str(), last.hook.layer), ("after_tool_call", Layer::User));
}

#[test]
fn what_is_awaited_amends_together_and_what_is_told_stands_alone() {
    // OC-42, OC-43, OC-44, OC-56
    let set = two("{ failClosed: ['before_tool_call'] }");
    let hooks =
        ["before_agent_start", "before_prompt_build", "before_tool_call", "tool_result_persist", "agent_end"];
    let registrations: Vec<_> =
        hooks.iter().zip(1..).map(|(name, number)| hook(number, name, json!(0))).collect();
    let became = ready(vec![answered("u", registrations.into(), json!([])), PluginLoaded::TimedOut]);
    let loaded = read(&set.plugins, &set.config, became);
    let find = |name: &str| &loaded.hooks.iter().find(|hook| hook.trigger == name).unwrap().hook;
    let start = find("before_agent_start");
    assert_eq!((start.part, start.on_failure), (Part::Amender, OnFailure::Continue));
    assert!(start.counts_with(find("before_prompt_build")) && !start.counts_with(find("before_tool_call")));
    assert_eq!(find("before_tool_call").on_failure, OnFailure::Block);
    assert_eq!(find("tool_result_persist").part, Part::Amender);
    let end = find("agent_end");
    assert_eq!((end.part, end.lane, end.ensemble.is_none()), (Part::PostDecision, Lane::Own, true));
    assert_eq!(end.standby, Standby::Ready);
}

#[test]
fn what_never_fires_is_listed_and_what_the_worker_found_is_told() {
    // OC-3, OC-25, OC-33, OC-36
    let set = two("{}");
    let registrations = json!([{ "kind": "hook", "hook": "subagent_spawning", "fires": false }]);
    let diagnostics = json!([
        { "severity": "warning", "message": "hook \"subagent_spawning\" is recorded but never fired" },
        { "severity": "error", "message": "gateway method already registered: x" },
    ]);
    let became = ready(vec![answered("u", registrations, diagnostics), answered("p", json!([]), json!([]))]);
    let loaded = read(&set.plugins, &set.config, became);
    assert_eq!(names(&loaded), Vec::<&str>::new());
    assert_eq!(
        texts(&loaded),
        [
            "warning plugin \"u\": hook \"subagent_spawning\" is recorded but never fired",
            "error plugin \"u\": gateway method already registered: x"
        ]
    );
    let inert = &loaded.inert[0];
    assert_eq!(
        (inert.name.as_str(), inert.trigger.as_str(), inert.why),
        ("u:subagent_spawning", "subagent_spawning", Why::NeverFires)
    );
}

#[test]
fn what_only_openclaw_publishes_is_a_hook_that_is_listed_apart() {
    // OC-36
    let set = two("{}");
    let registrations = json!([
        hook(1, "before_install", json!(0)),
        { "kind": "hook", "handler": 2, "hook": "command:new", "priority": 0, "own": true },
        { "kind": "hook", "handler": 3, "hook": "message:received", "priority": 0 },
    ]);
    let became = ready(vec![answered("u", registrations, json!([])), answered("p", json!([]), json!([]))]);
    let loaded = read(&set.plugins, &set.config, became);
    let find = |name: &str| loaded.hooks.iter().find(|hook| hook.trigger == name).unwrap();
    let points = |name: &str| find(name).points.iter().map(|point| point.name).collect::<Vec<_>>();
    assert_eq!(
        (find("before_install").apart, find("before_install").hook.on_failure),
        (true, OnFailure::Block)
    );
    assert_eq!((find("command:new").apart, points("command:new")), (true, vec!["x.openclaw.on_command_new"]));
    assert_eq!(
        (find("message:received").apart, points("message:received")),
        (false, vec!["on_message_received"])
    );
    let received = &find("message:received").hook;
    assert_eq!((received.part, received.lane), (Part::PostDecision, Lane::Shared));
    assert_eq!(find("command:new").listed_apart().why, Why::Apart);
}

#[test]
fn a_name_that_no_hook_has_leads_to_the_one_that_is_meant_or_to_none() {
    let set = two("{}");
    let unknown = |hook: &str| json!({ "severity": "warning", "code": "unknown-hook", "hook": hook, "message": format!("\"{hook}\"") });
    let names = ["before_toolcall", "PreToolUse", "SubagentStop", "xyzzy", "7"];
    let diagnostics = Value::Array(names.iter().map(|name| unknown(name)).collect());
    let became = ready(vec![answered("u", json!([]), diagnostics), answered("p", json!([]), json!([]))]);
    let expected = [
        "\"before_toolcall\"; nearest: before_tool_call",
        "\"PreToolUse\"; nearest: before_tool_call",
        "\"SubagentStop\"; nearest: subagent_ended",
        "\"xyzzy\"",
        "\"7\"",
    ];
    let expected = expected.map(|text| format!("warning plugin \"u\": {text}"));
    assert_eq!(texts(&read(&set.plugins, &set.config, became)), expected);
}

#[test]
fn a_plugin_that_does_not_load_is_told() {
    // OC-20, OC-21, OC-22
    let set = two("{ loadTimeoutMs: 500 }");
    let error = json!({ "plugin": { "id": "u" }, "error": { "phase": "register", "message": "plugin failed during register: x" } });
    for (loaded, expected) in [
        (PluginLoaded::TimedOut, "plugin failed during load: timed out after 500ms"),
        (PluginLoaded::Died { why: "it ended".to_owned() }, "plugin failed during load: it ended"),
        (PluginLoaded::Answered(object(error)), "plugin failed during register: x"),
    ] {
        let loaded =
            read(&set.plugins, &set.config, ready(vec![loaded, answered("p", json!([]), json!([]))]));
        assert_eq!(texts(&loaded), [format!("error plugin \"u\": {expected}")]);
        assert_eq!(loaded.inert[0].why, Why::Error);
    }
}

#[test]
fn without_a_fitting_node_every_plugin_is_refused() {
    // OC-17
    let set = two("{ node: '/opt/node' }");
    let refused = |became| texts(&read(&set.plugins, &set.config, became));
    let each =
        |what: &dyn Fn(&str) -> String| ["u", "p"].map(|id| format!("error plugin \"{id}\": {}", what(id)));
    let missing = refused(Err(StartWorkerError::NotFound { why: "no such file".to_owned() }));
    assert_eq!(
        missing,
        each(&|id| format!("node not found: plugin \"{id}\" needs Node 20 or newer (looked for /opt/node)"))
    );
    let old = each(&|id| format!("node too old: plugin \"{id}\" needs Node 20 or newer, found 18.20.4"));
    let hello = object(json!({ "node": "18.20.4" }));
    assert_eq!(refused(Ok(WorkerReady { hello: hello.clone(), plugins: Vec::new() })), old);
    let failed = |hello| refused(Err(StartWorkerError::Failed { why: "it ended".to_owned(), hello }));
    assert_eq!(failed(Some(hello)), old);
    assert_eq!(
        failed(None),
        each(&|_| "plugin failed during load: the worker did not start: it ended".to_owned())
    );
}

#[test]
fn a_standalone_plugin_takes_the_id_that_it_exports() {
    // OC-9, OC-14, OC-29
    let room = Room::new(&[
        ("home/.openclaw/lineside.json", "{ load: { paths: ['f.mjs', 'g.mjs'] }, deny: ['hidden'] }"),
        ("home/f.mjs", ""),
        ("home/g.mjs", ""),
    ]);
    let mut findings = Findings::default();
    let set = set::find(&room.places(Trust::Granted), &Native::default(), &mut findings);
    let registered = || json!([hook(1, "agent_end", json!(0))]);
    let became =
        ready(vec![answered("named", registered(), json!([])), answered("hidden", registered(), json!([]))]);
    assert_eq!(names(&read(&set.plugins, &set.config, became)), ["named:agent_end"]);
}

#[test]
fn matchers_and_times_come_from_the_registration() {
    // OC-27, OC-28, OC-57
    let set = two("{ entries: { p: { hooks: { timeoutMs: 300 } } } }");
    let registration = json!([{
        "kind": "hook", "handler": 1, "hook": "before_tool_call", "priority": 0, "timeoutMs": 700, "matcher": ["exec"],
    }]);
    let became =
        ready(vec![answered("u", registration.clone(), json!([])), answered("p", registration, json!([]))]);
    let loaded = read(&set.plugins, &set.config, became);
    let times: Vec<_> = loaded.hooks.iter().map(|hook| hook.hook.timeout.as_millis()).collect();
    assert_eq!(times, [2200, 1800]);
    let select = loaded.hooks[0].hook.select.as_ref().unwrap();
    assert_eq!(select.describe(), "tool=exec");
}
