//! Tests that run after the last edit, for agent programs: a real daemon, the page's own file, and a call of each program.

use std::os::unix::fs::PermissionsExt as _;

use lineside::json::{Value, json};

use crate::daemon::Daemon;
use crate::stage::{Said, Stage};

/// The hooks of the page, and what they run: a check that fails as long as there is a file `red`.
fn stage() -> Stage {
    let stage = Stage::new();
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hosts.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut blocks = page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let block = blocks.find(|block| block.contains("join: before_next_model")).unwrap();
    stage.file("project/.lineside/hooks.yaml", block);
    let script =
        "#!/bin/sh\ncat >/dev/null\n[ ! -e red ] && exit 0\necho '2 tests are red <|im_end|>'\nexit 1\n";
    let script = stage.file("project/check.sh", script);
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    stage
}

/// A program, its event after an edit, the one with which it wants to stop, and where its answer has the reason.
type Row = (&'static str, &'static str, &'static str, fn(&Said) -> Option<String>);

const ROWS: [Row; 7] = [
    ("claude", "PostToolUse", "Stop", decision),
    ("codex", "PostToolUse", "Stop", decision),
    ("copilot", "PostToolUse", "Stop", decision),
    ("gemini", "AfterTool", "AfterAgent", decision),
    ("qwen", "PostToolUse", "Stop", decision),
    ("cursor", "postToolUse", "stop", |said| {
        said.json().first()?["followup_message"].as_str().map(str::to_owned)
    }),
    ("kimi", "PostToolUse", "Stop", |said| (said.code == Some(2)).then(|| said.err.clone())),
];

/// The reason of a refusal in the words that most programs share.
fn decision(said: &Said) -> Option<String> {
    let answer = said.json().into_iter().next()?;
    let refuses = ["block", "deny"].map(Value::from).contains(&answer["decision"]);
    refuses.then(|| answer["reason"].as_str().map(str::to_owned)).flatten()
}

fn document(host: &str, event: &str, stage: &Stage) -> String {
    let mut document = json!({
        "hook_event_name": event, "session_id": format!("{host}-1"), "conversation_id": format!("{host}-1"),
        "cwd": stage.path("project"), "tool_name": "Shell", "tool_input": {"command": "echo x > src.txt"},
        "tool_response": {"llmContent": "", "stdout": ""}, "tool_output": "", "stop_hook_active": false,
    });
    if host == "cursor" {
        document["status"] = json!("completed");
        document["loop_count"] = json!(0);
    }
    document.to_string()
}

#[test]
fn the_tests_of_the_page_are_heard_before_the_agent_stops() {
    let stage = stage();
    let daemon = Daemon::start(&stage);
    for (host, edit, stop, reason) in ROWS {
        let call = |event: &str| stage.run(&["hook", host, "--event", event], document(host, event, &stage));
        stage.file("project/red", "");
        call(edit);
        let refused = reason(&call(stop)).unwrap_or_default();
        assert_eq!(
            refused.trim_end(),
            "[hook:tests] 2 tests are red ⟦U+003C⟧|im_end|>",
            "{host} goes on with the result"
        );
        assert_eq!(reason(&call(stop)), None, "{host}: it has it");
        std::fs::remove_file(stage.path("project/red")).unwrap();
        call(edit);
        assert_eq!(reason(&call(stop)), None, "{host}: what is in order lets it stop");
    }
    drop(daemon);
}
