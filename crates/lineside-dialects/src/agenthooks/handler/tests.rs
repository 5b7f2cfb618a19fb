//! What is started, and what is found out before anything is.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lineside_core::invocation::{Ending, Inherit, Invocation, Leftovers};
use lineside_core::json::json;
use lineside_core::{AnyEvent, Envelope, Failure, FailureKind, OnFailure, Verdict};

use super::{Call, Handler as _, Hook, LogStage};
use crate::agenthooks::samples;

fn event_in(project_root: Option<&str>, cwd: Option<&str>) -> AnyEvent {
    let event = samples::event("before_tool", json!({"tool_name": "Shell", "tool_input": {"c": "ls"}}));
    let mut source = (*event.envelope().source).clone();
    source.project_root = project_root.map(Into::into);
    source.cwd = cwd.map(Into::into);
    let envelope = Envelope { source: Arc::new(source), ..event.envelope().clone() };
    event.with_envelope(envelope)
}

fn hook_in(folder: &Path) -> Hook {
    fs::create_dir_all(folder.join("scripts")).unwrap();
    fs::write(folder.join("scripts/run.sh"), "#!/bin/sh\n").unwrap();
    let mut hook = samples::hook("pre-tool-call");
    hook.identity.folder = folder.to_path_buf();
    hook.timeout = Duration::from_millis(300);
    hook
}

fn invocation(hook: &Hook, event: &AnyEvent) -> Invocation {
    match hook.prepare(event).unwrap() {
        Call::Command(invocation) => invocation,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_started_is_fixed_to_the_last_variable() {
    // AH-34, AH-35, AH-38 to AH-43
    let root = tempfile::tempdir().unwrap();
    let hook = hook_in(&root.path().join("h"));
    let work_dir = root.path().to_str().unwrap();
    let invocation = invocation(&hook, &event_in(Some(work_dir), Some("/")));
    let script = root.path().join("h/scripts/run.sh");
    assert_eq!(invocation.program.argv, [OsStr::new("/bin/sh"), script.as_os_str()]);
    assert_eq!(invocation.working_directory.as_deref(), Some(root.path()));
    assert_eq!(invocation.environment.inherit, Inherit::All);
    let folder = root.path().join("h");
    let expected = [
        ("AGENT_HOOK_NAME", "h"),
        ("AGENT_HOOK_DIR", folder.to_str().unwrap()),
        ("AGENT_HOOK_EVENT", "pre-tool-call"),
        ("AGENT_HOOK_SESSION_ID", "s1"),
        ("KIMI_SESSION_ID", "s1"),
        ("AGENT_HOOK_WORK_DIR", work_dir),
        ("KIMI_WORK_DIR", work_dir),
        ("KIMI_PROJECT_DIR", work_dir),
    ];
    let set: Vec<_> = invocation
        .environment
        .set
        .iter()
        .map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap()))
        .collect();
    assert_eq!(set, expected);
    let limits = invocation.limits;
    assert_eq!(limits.timeout, Duration::from_millis(300));
    let grace = Duration::from_millis(500);
    assert_eq!((limits.ending, limits.leak_grace), (Ending::Terminate { grace }, grace));
    assert_eq!(limits.leftovers, Leftovers::Leave);
    assert_eq!((limits.stdout_bytes, limits.stderr_bytes), (10_485_760, 10_485_760));
    assert_eq!(limits.busy_retry, Duration::from_millis(200));
    let stdin = String::from_utf8(invocation.stdin.clone()).unwrap();
    assert!(stdin.starts_with("{\"event_type\": \"pre-tool-call\", ") && stdin.ends_with("}\n"));
    // AH-67
    let call = Call::Command(invocation);
    let lines = hook.log(&LogStage::Starting { call: &call });
    assert_eq!(lines[0], "[HOOK DEBUG] [SYNC] Starting hook 'h' for event 'pre-tool-call'");
    assert_eq!(lines[1], format!("[HOOK DEBUG] Input: {}", stdin.trim_end()));
}

#[test]
fn the_working_directory_is_the_project_else_that_of_the_agent_else_ours() {
    // AH-38
    let root = tempfile::tempdir().unwrap();
    let hook = hook_in(root.path());
    let at = |project_root, cwd| invocation(&hook, &event_in(project_root, cwd)).working_directory.unwrap();
    let here = root.path().to_str();
    assert_eq!(at(here, Some("/")), root.path());
    assert_eq!(at(None, here), root.path());
    assert_eq!(at(None, None), Path::new("/"));
}

#[test]
fn what_cannot_start_is_found_out_beforehand() {
    // AH-16, AH-37, AH-64
    let root = tempfile::tempdir().unwrap();
    let mut hook = hook_in(root.path());
    let check = |hook: &Hook, event: &AnyEvent, detail: &str, refusal: Option<&str>| {
        let failure = hook.prepare(event).unwrap_err();
        assert_eq!((failure.kind, failure.started), (FailureKind::Spawn, false));
        assert_eq!(failure.detail, detail);
        assert_eq!(failure.refusal.as_deref(), refusal);
    };
    let event = event_in(None, None);
    check(
        &hook,
        &event_in(Some("/no/such/place"), None),
        "cannot start: the working directory /no/such/place is missing",
        None,
    );
    // AH-6: the entry point is looked up again.
    assert!(hook.prepare(&event).is_ok());
    fs::remove_file(root.path().join("scripts/run.sh")).unwrap();
    check(
        &hook,
        &event,
        "cannot start: No entry point found (scripts/run, scripts/run.sh, or scripts/run.py)",
        None,
    );
    hook.closed = Some("Field 'async' must be a boolean".to_owned());
    check(
        &hook,
        &event,
        "cannot start: Field 'async' must be a boolean",
        Some("hook \"h\" cannot run: Field 'async' must be a boolean"),
    );
}

#[test]
fn a_failure_that_refuses_a_stop_keeps_the_agent_working() {
    // AH-56, AH-58, AH-66
    let guard = Hook { on_failure: OnFailure::Block, ..samples::hook("before_stop") };
    let failure = Failure::new(FailureKind::Exit, "exit status 1");
    let stop = |reason: &str| samples::event("before_stop", json!({"stop_active": false, "reason": reason}));
    let answer = guard.refuse(&stop("no_tool_calls"), &failure).unwrap();
    assert_eq!(
        answer.keep_working.unwrap().append.text,
        "[Hook blocked stop: hook \"h\" failed: exit status 1]"
    );
    let answer = guard.refuse(&stop("max_steps"), &failure).unwrap();
    assert_eq!((answer.verdict, answer.remarks.len()), (Verdict::Continue, 1));
    let open = samples::hook("before_stop");
    assert!(open.refuse(&stop("x"), &failure).is_none());
}
