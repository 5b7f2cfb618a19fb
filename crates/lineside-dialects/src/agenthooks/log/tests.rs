//! The lines, to the byte.

use std::time::Duration;

use lineside_core::invocation::{Captured, Ended, Exit, Leaked};
use lineside_core::json::json;
use lineside_core::{Failure, FailureKind, OnFailure};

use super::{Hook, LogStage, Mode, lines};
use crate::agenthooks::samples::{event, hook};
use crate::handler::{Handler as _, Returned};

fn ended(code: i32, stdout: &str, stderr: &str) -> Ended {
    let captured = |text: &str| Captured { bytes: text.into(), dropped: 0 };
    Ended {
        exit: Exit::Code(code),
        stdout: captured(stdout),
        stderr: captured(stderr),
        took: Duration::from_millis(12),
        leaked: Leaked::Nothing,
    }
}

fn check(hook: &Hook, ended: &Ended, expected: &[&str]) {
    let event = event("before_tool", json!({"tool_name": "Shell", "tool_input": {}}));
    let returned = Returned::Command(ended.clone());
    let result = hook.read(&event, &returned);
    let stage =
        LogStage::Finished { call: None, returned: Some(&returned), result: &result, took: ended.took };
    let expected: Vec<_> = expected.iter().map(|line| format!("[HOOK DEBUG] {line}")).collect();
    assert_eq!(lines(hook, &stage), expected);
}

#[test]
fn the_lines_of_an_end() {
    // AH-67
    let sync = hook("before_tool");
    check(
        &sync,
        &ended(2, "ignored", "Dangerous\n\ncommand\n"),
        &[
            "[SYNC] Completed hook 'h' in 12ms: blocked=True",
            "Reason: Dangerous\\n\\ncommand",
            "stderr: Dangerous\\n\\ncommand",
        ],
    );
    check(
        &sync,
        &ended(0, "{\"decision\": \"allow\", \"reason\": \"fine\", \"log\": \"Command\\nvalidated\"}", ""),
        &["[SYNC] Completed hook 'h' in 12ms: blocked=False", "Reason: fine", "Log: Command\\nvalidated"],
    );
    check(
        &sync,
        &ended(0, "{\"log\": {\"n\": [1, 2]}}", ""),
        &["[SYNC] Completed hook 'h' in 12ms: blocked=False", "Log: {\"n\": [1, 2]}"],
    );
    check(
        &sync,
        &ended(3, "out", "oops"),
        &[
            "[SYNC] Completed hook 'h' in 12ms: blocked=False",
            "Hook 'h' failed: exit status 3 (stderr: oops)",
            "stdout: out",
            "stderr: oops",
        ],
    );
    let long = format!("stdout: {}", "ä".repeat(2000));
    check(
        &sync,
        &ended(0, &"ä".repeat(2001), ""),
        &["[SYNC] Completed hook 'h' in 12ms: blocked=False", &long],
    );
    let guard = Hook { on_failure: OnFailure::Block, ..sync.clone() };
    check(
        &guard,
        &ended(3, "", ""),
        &[
            "[SYNC] Completed hook 'h' in 12ms: blocked=True",
            "Reason: hook \"h\" failed: exit status 3",
            "Hook 'h' failed: exit status 3",
        ],
    );
    let mut background = sync;
    background.identity.mode = Mode::Async;
    check(
        &background,
        &ended(2, "text", "err"),
        &["[ASYNC] Completed hook 'h' in 12ms: blocked=False", "stdout: text", "stderr: err"],
    );
}

#[test]
fn a_hook_that_was_never_started_has_its_lines_too() {
    // AH-67
    let result = Err(Failure::not_started(FailureKind::Spawn, "cannot start: x"));
    let stage = LogStage::Finished { call: None, returned: None, result: &result, took: Duration::ZERO };
    assert_eq!(
        lines(&hook("before_stop"), &stage),
        [
            "[HOOK DEBUG] [SYNC] Completed hook 'h' in 0ms: blocked=False",
            "[HOOK DEBUG] Hook 'h' failed: cannot start: x",
        ]
    );
}
