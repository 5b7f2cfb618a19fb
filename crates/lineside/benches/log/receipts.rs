//! Receipts as there are of many agents: fifty sessions at a time in eight projects, of three agent programs, with three
//! hooks that run and others that do not fit; and at the very beginning a few of everything that is rare.

use std::sync::Arc;

use fastrand::Rng;
use lineside::core::{Agent, Receipt};
use lineside::json::Map;
use lineside::prelude::*;

/// How many receipts its sessions have together.
pub(crate) const ROUND: u64 = 20_000;

/// Every term of a query: with a value that nearly all have, one that some have, one that the first few alone have, and one
/// that none has.
pub(crate) const QUERIES: &[(&str, &str)] = &[
    ("all", ""),
    ("session", "session:s-7-3"),
    ("session/rare", "session:rare"),
    ("session/none", "session:none"),
    ("session/glob", "session:s-7-*"),
    ("tree", "tree:s-7-3"),
    ("agent", "agent:main"),
    ("agent/type", "agent:reviewer"),
    ("agent/rare", "agent:rare"),
    ("host", "host:claude"),
    ("host/some", "host:gemini"),
    ("host/old", "host:old"),
    ("host/rare", "host:rare"),
    ("project", "project:project-3"),
    ("project/old", "project:old"),
    ("project/rare", "project:rare"),
    ("tool", "tool:Shell"),
    ("tool/some", "tool:mcp__issues__list"),
    ("tool/rare", "tool:Rare"),
    ("tool/glob", "tool:*a*"),
    ("point", "point:before_tool"),
    ("hook", "hook:audit"),
    ("hook/some", "hook:secrets verdict:block"),
    ("hook/rare", "hook:rare"),
    ("hook/rare/block", "hook:rare verdict:block"),
    ("verdict", "verdict:continue"),
    ("verdict/some", "verdict:refused"),
    ("verdict/rare", "verdict:ask"),
    ("verdict/none", "verdict:stop"),
    ("failed/rare", "failed:any"),
    ("failed/none", "failed:timeout"),
    ("shadow/some", "shadow:refused"),
    ("shadow/none", "shadow:stop"),
    ("took/none", "took:>10s"),
    ("since", "since:10s"),
    ("until", "until:2000-01-01"),
    ("text", "cargo"),
    ("text/some", "page_77"),
    ("text/rare", "\"xylophone --quietly\""),
    ("text/none", "marimba"),
    ("text/short", "zq"),
    ("text/reason", "\"a rare reason\""),
    ("two", "tool:Shell project:project-3"),
    ("two/never", "session:s-7-3 tool:Rare"),
    ("two/text", "tool:Shell \"xylophone\""),
];

/// A bus with their hooks.
pub(crate) fn bus() -> Bus {
    let bus = Bus::new();
    let guard = async |call: Event<BeforeTool>, _| match call.tool_input["command"].as_str() {
        Some(command) if command.ends_with("99") => Verdict::block("run the tests of one page at a time"),
        _ => Verdict::Continue,
    };
    for name in ["format", "audit"] {
        bus.intercept::<BeforeTool>(name).priority(1).gate(async |_, _| Verdict::Continue).unwrap();
    }
    bus.intercept::<BeforeTool>("secrets").gate(guard).unwrap();
    let rare = bus.intercept::<BeforeTool>("rare").matching(tool("Rare"));
    rare.gate(async |_, _| Verdict::ask("a rare reason")).unwrap();
    for (name, of) in [("writes", "WriteFile"), ("issues", "mcp__issues__create")] {
        let hook = bus.intercept::<BeforeTool>(name).matching(tool(of));
        hook.gate(async |_, _| Verdict::Continue).unwrap();
    }
    bus
}

const HOSTS: [&str; 8] = ["claude", "claude", "claude", "claude", "claude", "codex", "codex", "gemini"];

/// The receipts of one round; of the first one with what is rare.
pub(crate) async fn round(bus: &Bus, round: u64) -> Vec<Arc<Receipt>> {
    let mut random = Rng::with_seed(round);
    let mut receipts = Vec::new();
    if round == 0 {
        let session = bus.session("rare").host("rare").project_root("/home/user/projects/rare");
        let session = session.agent(Agent::subagent("rare")).open().await.unwrap();
        for _ in 0..3 {
            let call = BeforeTool::new("Rare", json!({"command": "xylophone --quietly"}));
            receipts.push(Arc::new(session.publish(call).await.unwrap().receipt().unwrap().clone()));
        }
    }
    let mut sessions = Vec::new();
    for number in 0..50 {
        // In the first rounds there is a project with more sessions than most.
        let is_old = round < 8;
        let project = if is_old { "old".to_owned() } else { format!("project-{}", number % 8) };
        let host = if is_old && number % 2 == 0 { "old" } else { HOSTS[number % 8] };
        let project = format!("/home/user/projects/{project}");
        let agent = if number % 5 == 4 { Agent::subagent("reviewer") } else { Agent::main("main") };
        let session = bus.session(format!("s-{round}-{number}")).host(host).agent(agent);
        sessions.push(session.project_root(&*project).cwd(&*project).open().await.unwrap());
    }
    for number in 0..ROUND {
        let session = &sessions[random.usize(..sessions.len())];
        let decision = session.publish(call(&mut random, number)).await.unwrap();
        receipts.push(Arc::new(decision.receipt().unwrap().clone()));
    }
    for session in sessions {
        session.close().await;
    }
    receipts
}

/// A call of a tool, as agents make them.
pub(crate) fn call(random: &mut Rng, number: u64) -> BeforeTool {
    const WORDS: [&str; 12] = [
        "handler", "session", "config", "parser", "router", "schema", "tests", "index", "client", "server",
        "cache", "model",
    ];
    let (word, other) = (WORDS[random.usize(..12)], WORDS[random.usize(..12)]);
    let path = format!("/home/user/projects/site/src/{word}/{other}_{}.rs", random.u16(..400));
    let (tool, input) = match number % 100 {
        0..40 => (
            "Shell",
            json!({"command": format!("cargo test -p {word} --lib {other}::page_{number}"), "description": "Runs a test"}),
        ),
        40..70 => ("ReadFile", json!({"path": path, "offset": random.u16(..900), "limit": 200})),
        70..85 => (
            "WriteFile",
            json!({"path": path, "content": format!("//! The {word} of the {other}.\n\npub fn {other}_{number}() {{}}\n")}),
        ),
        85..99 => {
            ("Grep", json!({"pattern": format!("fn {word}_{other}"), "path": "/home/user/projects/site/src"}))
        }
        _ => ("mcp__issues__list", Value::Object(Map::new())),
    };
    let id: String = (0..22).map(|_| random.alphanumeric()).collect();
    BeforeTool::new(tool, input).tool_call_id(format!("toolu_01{id}"))
}
