//! Law 3, of what a guard cannot tell: that is not agreement, and it is named.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lineside::dialects::Trust;
use lineside::prelude::*;
use lineside::{Assembly, Bus};

use crate::loading::{NATIVE, places, project};

/// Calls of which it is not known what they run, and a part of the reason.
fn unclear() -> Vec<(BeforeTool, &'static str)> {
    let shell = |command: &str| BeforeTool::new("Shell", json!({ "command": command }));
    vec![
        (shell("$CMD -r x"), "`$CMD` is not set within the command"),
        (shell(&"$(".repeat(32_768)), "cannot tell which program runs"),
        (shell(&format!("echo {}", "a".repeat(70_000))), "cannot tell which program runs"),
        (shell("git \"x"), "cannot tell which program runs"),
        (shell("ls \0"), "cannot tell which program runs"),
        (BeforeTool::new("PowerShell", json!({"command": "Remove-Item x"})), "neither bash, sh nor zsh"),
        (BeforeTool::new("Bash", json!({"command": "ls x", "shell": "fish"})), "neither bash, sh nor zsh"),
        (BeforeTool::new("write_bash", json!({"input": "rm -r x"})), "no command that is known here"),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_told_is_no_agreement_and_is_named_under_any_load() {
    let text = "hooks:\n- {name: asks, on: before_tool, match: {runs: rm}, verdict: block, reason: no rm}\n\
        - {name: skips, on: before_tool, match: {runs: rm, unclear: skip}, verdict: block, reason: skipped}\n\
        - {name: allows, on: before_tool, match: {runs: rm}, verdict: allow}\n";
    let project = project(&[(NATIVE, text)]);
    let assembly = Assembly::new(Bus::new());
    let report = assembly.load(&places(project.path(), Trust::Granted)).await.unwrap();
    assert_eq!(report.diagnostics, []);
    let session = assembly.bus().session("s1").open().await.unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let load: Vec<_> = (0..8)
        .map(|_| {
            let over = Arc::clone(&over);
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        })
        .collect();
    for (call, why) in unclear().into_iter().chain(unclear()) {
        let decision = session.publish(call).await.unwrap();
        let reason = decision.verdict().to_string();
        assert!(reason.starts_with("block: no rm (cannot tell") && reason.contains(why), "{reason}");
        let receipt = lineside::json::to_string(&decision.receipt().unwrap().to_json()).unwrap();
        assert!(receipt.contains(why), "{receipt}");
    }
    for (command, verdict) in [
        ("git commit -m \"$(date)\" $FILE", Verdict::Continue),
        ("echo rm -r x", Verdict::Continue),
        ("sudo rm x", Verdict::block("no rm (rm, by sudo)")),
    ] {
        let decision =
            session.publish(BeforeTool::new("Shell", json!({ "command": command }))).await.unwrap();
        assert_eq!(decision.verdict(), &verdict, "{command}");
    }
    over.store(true, Ordering::Relaxed);
    for one in load {
        one.join().unwrap();
    }
    drop(assembly.drain(Duration::from_secs(5)).await);
}

#[tokio::test]
async fn a_search_that_was_given_up_counts_for_a_guard_and_not_for_a_hook_that_allows() {
    let pattern = r"\b(apple|banana|cherry|damson|elder|fig|grape|hazel) needle\b";
    let judged = async |verdict: &str| {
        let text =
            format!("hooks:\n- {{name: h, on: before_tool, match: {{text: '{pattern}'}}, {verdict}}}\n");
        let project = project(&[(NATIVE, &text)]);
        let assembly = Assembly::new(Bus::new());
        let report = assembly.load(&places(project.path(), Trust::Granted)).await.unwrap();
        assert_eq!(report.diagnostics, []);
        let session = assembly.bus().session("s1").open().await.unwrap();
        let call = BeforeTool::new("WriteFile", json!({"content": "\u{e9}a \u{4e16}b ".repeat(500_000)}));
        session.publish(call).await.unwrap().verdict().strength()
    };
    assert_eq!(judged("verdict: block, reason: r").await, Strength::Block);
    assert_eq!(judged("verdict: allow").await, Strength::Continue);
}
