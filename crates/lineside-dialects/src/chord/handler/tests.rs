//! What is started for an event, and what its end amounts to.

use std::path::PathBuf;
use std::time::Duration;

use lineside_core::envelope::Source;
use lineside_core::invocation::{Ended, Ending, Exit, Invocation, Leftovers};
use lineside_core::json::{Value, json};
use lineside_core::{Answer, AnyEvent, FailureKind, SkipReason, Verdict};

use super::Hook;
use crate::chord::samples::{Sample, captured, event, hook, printed};
use crate::chord::shell::Run;
use crate::handler::{Call, Handler as _, Returned};

fn invocation(hook: &Hook, event: &AnyEvent) -> Invocation {
    match hook.prepare(event) {
        Ok(Call::Command(invocation)) => invocation,
        other => panic!("{other:?}"),
    }
}

fn tool() -> AnyEvent {
    event("before_tool", json!({"tool_name": "Shell", "tool_input": {"command": "a && b < \"é\"\n"}}))
}

#[test]
fn the_envelope_is_one_line_of_compact_json() {
    // CH-27, CH-28
    let stdin = invocation(&hook("on_tool_call", ""), &tool()).stdin;
    assert_eq!(
        String::from_utf8(stdin).unwrap(),
        concat!(
            r#"{"point":"on_tool_call","timestamp":"2026-03-01T10:20:30.040Z","session_id":"root","turn_id":7,"#,
            r#""agent_id":"main-1","agent_kind":"main","project_root":"/repo","selected_model":"acme/big","#,
            r#""running_model":"acme/small","data":{"tool_name":"Shell","args":{"command":"a && b < \"é\"\n"}}}"#,
        )
    );
    let bare = Sample { source: Source::root("s"), turn: Some(0), extra: None }.event("on_idle", json!({}));
    let stdin: Value =
        lineside_core::json::from_slice(&invocation(&hook("on_idle", ""), &bare).stdin).unwrap();
    assert_eq!(
        stdin,
        json!({"point": "on_idle", "timestamp": "2026-03-01T10:20:30.040Z", "session_id": "s",
               "agent_id": "main", "agent_kind": "main", "data": {"agent_id": "main"}})
    );
}

#[test]
fn the_bounds_of_a_process() {
    // CH-32 to CH-35
    let limits = invocation(&hook("on_tool_call", ", timeout: 10"), &tool()).limits;
    assert_eq!(limits.timeout, Duration::from_secs(10));
    assert_eq!(limits.ending, Ending::Kill);
    assert_eq!(limits.leak_grace, Duration::from_millis(500));
    assert_eq!(limits.leftovers, Leftovers::Leave);
    assert_eq!((limits.stdout_bytes, limits.stderr_bytes), (10_485_760, 10_485_760));
}

#[test]
fn the_working_directory_is_that_of_the_project_then_of_the_agent_then_ours() {
    // CH-31
    let check = |root: Option<&str>, cwd: Option<&str>, expected: &str| {
        let source =
            Source { project_root: root.map(Into::into), cwd: cwd.map(Into::into), ..Source::root("s") };
        let event = Sample { source, ..Sample::default() }.event("on_idle", json!({}));
        let found = invocation(&hook("on_idle", ""), &event).working_directory;
        assert_eq!(found, Some(PathBuf::from(expected)));
    };
    check(Some("/repo"), Some("/cwd"), "/repo");
    check(None, Some("/cwd"), "/cwd");
    check(None, None, "/runtime");
}

#[test]
fn a_command_is_an_argument_vector_or_a_shell_line() {
    // CH-9, CH-10
    let argv = |run: Run| run.program().argv;
    assert_eq!(argv(Run::Arguments(vec!["a b".into(), "$HOME".into()])), ["a b", "$HOME"]);
    assert_eq!(argv(Run::line("echo $HOME".into(), true)), ["sh", "-c", "echo $HOME"]);
    assert_eq!(argv(Run::line("cat <<< x".into(), true)), ["bash", "-c", "cat <<< x"]);
    assert_eq!(argv(Run::line("cat <<< x".into(), false)), ["sh", "-c", "cat <<< x"]);
}

#[test]
fn only_a_good_end_is_read() {
    // CH-36
    let hook = hook("on_tool_call", "");
    let block = r#"{"action":"block","message":"no"}"#;
    let read = |ended: Ended| hook.read(&tool(), &Returned::Command(ended));
    assert_eq!(read(printed(block)).unwrap().verdict, Verdict::block("no"));
    for exit in [Exit::Code(1), Exit::Code(2), Exit::Signal(15)] {
        assert!(read(Ended { exit, ..printed(block) }).is_err());
    }
    let failure = read(Ended { stderr: captured("why"), ..printed("oops") }).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Output);
    assert!(failure.detail.starts_with("unreadable output: not JSON"), "{failure}");
    assert!(failure.detail.ends_with("(stderr: why)"), "{failure}");
    assert!(hook.read(&tool(), &Returned::Nothing).is_err());
}

#[test]
fn an_observer_says_nothing() {
    // CH-40
    let hook = hook("on_idle", "");
    let event = event("on_idle", json!({}));
    let mut cut = printed("{}");
    cut.stdout.dropped = 1;
    for ended in [printed(r#"{"action":"block","append_context":true}"#), printed("nonsense"), cut] {
        assert_eq!(hook.read(&event, &Returned::Command(ended)).unwrap(), Answer::default());
    }
    let failed = Ended { exit: Exit::Code(1), ..printed("") };
    assert_eq!(hook.read(&event, &Returned::Command(failed)).unwrap_err().kind, FailureKind::Exit);
}

#[test]
fn the_record_tells_of_variables_that_were_not_set() {
    // CH-29
    let hook = hook("on_tool_call", "");
    let event = event("before_tool", json!({"tool_name": "a\u{0}b", "tool_input": {}}));
    let answer = hook.read(&event, &Returned::Command(printed(""))).unwrap();
    assert_eq!(answer.remarks, ["not set because of NUL or more than 131000 bytes: CHORD_HOOK_TOOL_NAME"]);
}

#[test]
fn a_failure_blocks_where_the_hook_says_so() {
    // CH-61, CH-62
    let failed = Returned::Command(Ended { exit: Exit::Code(3), stderr: captured("boom \n"), ..printed("") });
    let guard = hook("on_tool_call", ", on_failure: block");
    let failure = guard.read(&tool(), &failed).unwrap_err();
    let answer = guard.refuse(&tool(), &failure).unwrap();
    let reason = "hook \"h\" failed: exit status 3 (stderr: boom)";
    assert_eq!(answer.verdict, Verdict::block(reason));
    assert_eq!(answer.notices[0].text, reason);
    assert_eq!(hook("on_tool_call", "").refuse(&tool(), &failure), None);
}

#[test]
fn a_burst_with_too_few_files_is_skipped() {
    // CH-54
    let hook = hook("on_tool_batch_complete", ", min_changed_files: 1, debounce_ms: 5");
    let batch = |files: Value| event("after_tool_batch", json!({"tool_calls": [], "changed_files": files}));
    assert_eq!(hook.skips_burst(&batch(json!([]))), Some(SkipReason::Filter));
    assert_eq!(hook.skips_burst(&batch(json!([{"path": "a"}]))), None);
}
