//! The shortest way through the bus.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use lineside_bus::Bus;
use lineside_core::json::json;
use lineside_core::matcher::tool;
use lineside_core::{Agent, Reply, Verdict};
use lineside_points::{BeforeStop, BeforeTool};

#[tokio::test]
async fn a_gate_blocks_and_a_child_is_under_it() {
    let bus = Bus::new();
    let session = bus.session("s1").agent(Agent::main("main")).open().await.unwrap();
    let captured = String::from("rm -rf /");
    session
        .intercept::<BeforeTool>("no-rm-rf")
        .priority(900)
        .matching(tool("Shell"))
        .gate(async |call, _cx| match call.command() {
            Some(command) if command.contains("rm -rf /") => Verdict::block("refuses to delete /"),
            _ => Verdict::Continue,
        })
        .unwrap();
    session
        .intercept::<BeforeTool>("trim")
        .amend(move |call, _cx| {
            let captured = captured.clone();
            async move {
                let _ = captured;
                let command = call.command().unwrap_or_default().trim().to_owned();
                Reply::amend(BeforeTool::amend().tool_input(json!({ "command": command })))
            }
        })
        .unwrap();
    let decision = session.publish(BeforeTool::new("Shell", json!({"command": "rm -rf /"}))).await.unwrap();
    assert_eq!(decision.verdict(), &Verdict::block("refuses to delete /"));
    let child = session.subagent("s2").open().await.unwrap();
    let decision = child.publish(BeforeTool::new("Shell", json!({"command": " ls "}))).await.unwrap();
    assert_eq!(decision.payload().command(), Some("ls"));
    assert_eq!(decision.receipt().unwrap().runs.len(), 3);
    assert_eq!(child.coverage(), session.coverage());
    let quiet = child.publish(BeforeStop::new(false)).await.unwrap();
    assert_eq!(quiet.seq(), 2);
    assert!(bus.drain(std::time::Duration::from_secs(1)).await.is_clean());
}
