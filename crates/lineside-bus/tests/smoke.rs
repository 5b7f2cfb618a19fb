//! The shortest way through the bus.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use lineside_bus::Bus;
use lineside_core::json::json;
use lineside_core::matcher::tool;
use lineside_core::{Agent, Reply, Timestamp, Verdict};
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
        .gate(async |call, _cx| match call.command().as_deref() {
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
    assert_eq!(decision.payload().command().as_deref(), Some("ls"));
    assert_eq!(decision.receipt().unwrap().runs.len(), 3);
    assert_eq!(child.coverage(), session.coverage());
    let quiet = child.publish(BeforeStop::new(false)).await.unwrap();
    assert_eq!(quiet.seq(), 2);
    assert!(bus.drain(std::time::Duration::from_secs(1)).await.is_clean());
}

#[tokio::test]
async fn the_payload_of_a_decision_is_moved_out_and_not_copied() {
    let bus = Bus::new();
    let session = bus.session("s1").open().await.unwrap();
    let text_of = |payload: &BeforeTool| payload.tool_name.as_ptr();
    let publish = || session.publish(BeforeTool::new("Shell", json!({"command": "ls"})));
    let gate = session.intercept::<BeforeTool>("gate").gate(async |_, _cx| Verdict::Continue).unwrap();
    let decision = publish().await.unwrap();
    let at = text_of(decision.payload());
    assert_eq!(text_of(&decision.into_payload()), at);

    // What another reference needs is copied.
    let decision = publish().await.unwrap();
    let (at, receipt) = (text_of(decision.payload()), decision.receipt().cloned());
    assert_ne!(text_of(&decision.into_payload()), at);
    assert_eq!(receipt.unwrap().event.payload().text("tool_name"), Some("Shell"));

    assert!(gate.remove());
    let input = json!({"command": "pwd"});
    session
        .intercept::<BeforeTool>("amends")
        .amend(move |_, _cx| std::future::ready(Reply::amend(BeforeTool::amend().tool_input(input.clone()))))
        .unwrap();
    let decision = publish().await.unwrap();
    let at = text_of(decision.payload());
    let payload = decision.into_payload();
    assert_eq!((payload.command().as_deref(), text_of(&payload)), (Some("pwd"), at));
}

#[tokio::test]
async fn no_event_has_happened_later_than_it_was_published() {
    let bus = Bus::new();
    let session = bus.session("s1").open().await.unwrap();
    session.intercept::<BeforeStop>("gate").gate(async |_, _cx| Verdict::Continue).unwrap();
    let far_off = "2999-01-01T00:00:00Z".parse().unwrap();
    for (said, is_believed) in [(Timestamp::UNIX_EPOCH, true), (far_off, false)] {
        let decision = session.event(BeforeStop::new(false)).time(said).publish().await.unwrap();
        let time = decision.receipt().unwrap().event.envelope().time;
        assert_eq!(time == said, is_believed, "{time}");
        assert!(time <= bus.wall_clock());
    }
}
