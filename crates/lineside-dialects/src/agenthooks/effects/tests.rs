//! Each way to end, and what it amounts to.

use std::time::Duration;

use lineside_core::answer::{Beyond, KeepWorking};
use lineside_core::invocation::{Captured, Ended, Exit, Leaked};
use lineside_core::json::{Value, json};
use lineside_core::{Answer, Failure, FailureKind, Strength};
use proptest::prelude::*;

use super::{Mode, answer};
use crate::agenthooks::samples::{event, hook};

fn captured(text: &str) -> Captured {
    Captured { bytes: text.into(), dropped: 0 }
}

fn ended(exit: Exit, stdout: &str, stderr: &str) -> Ended {
    Ended {
        exit,
        stdout: captured(stdout),
        stderr: captured(stderr),
        took: Duration::from_millis(7),
        leaked: Leaked::Nothing,
    }
}

/// A payload with which every point can be published.
fn payload() -> Value {
    json!({"source": "startup", "reason": "x", "success": true, "tool_name": "Shell", "tool_input": {"c": "ls"},
        "tool_output": "o", "error": "e", "child_session": "c1", "kind": "auto", "stop_active": false})
}

fn with(mut payload: Value, field: &str, value: &str) -> Value {
    payload[field] = json!(value);
    payload
}

fn read_at(trigger: &str, mode: Mode, payload: Value, ended: &Ended) -> Result<Answer, Failure> {
    let mut hook = hook(trigger);
    hook.identity.mode = mode;
    let event = event(hook.identity.trigger.point.name, payload);
    answer(&hook.identity, &event, ended)
}

fn read(trigger: &str, exit: i32, stdout: &str, stderr: &str) -> Result<Answer, Failure> {
    read_at(trigger, Mode::Sync, payload(), &ended(Exit::Code(exit), stdout, stderr))
}

fn reason(answer: &Answer) -> &str {
    answer.verdict.reason().map_or("", |reason| reason.as_str())
}

#[test]
fn exit_2_blocks_with_stderr_as_the_reason() {
    // AH-46, AH-47
    let check = |stderr: &str, expected: &str| {
        let answer = read("before_tool", 2, "{\"decision\": \"allow\"}", stderr).unwrap();
        assert_eq!(answer.verdict.strength(), Strength::Block);
        assert_eq!(reason(&answer), expected);
        assert!(answer.notices.is_empty() && answer.context.is_empty());
    };
    check(" \n", "Blocked by hook (exit code 2)");
    check("\n  first\n\n  second: \"x\"\n\n", "first\n\n  second: \"x\"");
    check(&"ä".repeat(10_000), &"ä".repeat(10_000));
    check(&"ä".repeat(10_001), &format!("{}… [truncated]", "ä".repeat(10_000)));
    let mut invalid = ended(Exit::Code(2), "", "");
    invalid.stderr.bytes = b"bad \xff byte".to_vec();
    let answer = read_at("before_tool", Mode::Sync, payload(), &invalid).unwrap();
    assert_eq!(reason(&answer), "bad \u{fffd} byte");
}

#[test]
fn failures_are_told_exactly() {
    // AH-46, AH-64
    let check = |exit: Exit, stderr: &str, kind: FailureKind, detail: &str| {
        let failure = read_at("before_tool", Mode::Sync, payload(), &ended(exit, "x", stderr)).unwrap_err();
        assert_eq!((failure.kind, failure.detail.as_ref()), (kind, detail));
        assert_eq!(failure.started, kind != FailureKind::Spawn);
    };
    let after = |ms| Exit::TimedOut { after: Duration::from_millis(ms) };
    check(Exit::Code(1), "", FailureKind::Exit, "exit status 1");
    check(Exit::Code(7), " boom \n", FailureKind::Exit, "exit status 7 (stderr: boom)");
    check(Exit::Signal(9), "no", FailureKind::Signal, "signal 9 (stderr: no)");
    check(after(300), "", FailureKind::Timeout, "timed out after 0.3 s");
    check(after(30_000), "x", FailureKind::Timeout, "timed out after 30 s (stderr: x)");
    let why = Exit::NotStarted { why: "No such file".into() };
    check(why, "x", FailureKind::Spawn, "cannot start: No such file");
    let long = format!("exit status 1 (stderr: {})", "é".repeat(1024));
    check(Exit::Code(1), &"é".repeat(2000), FailureKind::Exit, &long);
    let failure = read("before_tool", 0, "[1]", "").unwrap_err();
    assert_eq!(failure.kind, FailureKind::Output);
    assert_eq!(failure.detail, "unreadable output: a JSON value that is not an object");
}

#[test]
fn ask_means_something_else_at_each_trigger() {
    // AH-59
    for (trigger, strength) in [
        ("session_start", Strength::Ask),
        ("before_agent", Strength::Ask),
        ("pre-tool-call", Strength::Ask),
        ("subagent_start", Strength::Ask),
        ("pre_compact", Strength::Ask),
        ("before_stop", Strength::Block),
        ("session_end", Strength::Continue),
        ("after_agent", Strength::Continue),
        ("after_tool", Strength::Continue),
        ("after_tool_failure", Strength::Continue),
        ("subagent_stop", Strength::Continue),
        ("post_compact", Strength::Continue),
        ("after_stop", Strength::Continue),
    ] {
        let answer = read(trigger, 0, "{\"decision\": \"ask\"}", "").unwrap();
        assert_eq!(answer.verdict.strength(), strength, "{trigger}");
        assert_eq!(answer.remarks.is_empty(), strength != Strength::Continue, "{trigger}");
        if strength != Strength::Continue {
            assert_eq!(reason(&answer), "Hook requested confirmation");
        }
        // AH-20
        let answer = read(trigger, 0, "{\"decision\": \"deny\"}", "").unwrap();
        assert_eq!(reason(&answer), "Blocked by hook 'h'", "{trigger}");
    }
    let answer = read("before_tool", 0, "{\"decision\": \"allow\", \"reason\": \"trusted\"}", "").unwrap();
    assert_eq!(answer, Answer::default(), "AH-51");
}

#[test]
fn a_new_input_counts_before_a_tool_only() {
    // AH-30, AH-50
    let stdout = "{\"modified_input\": {\"command\": \"ls -la\"}, \"additional_context\": \" kept \"}";
    let answer = read("pre-tool-call", 0, stdout, "").unwrap();
    assert_eq!(
        Value::Object(answer.amendment.fields().clone()),
        json!({"tool_input": {"command": "ls -la"}})
    );
    assert_eq!(answer.context[0].text, " kept ");
    let answer = read("before_agent", 0, stdout, "").unwrap();
    assert!(answer.amendment.is_empty());
    assert_eq!(answer.remarks, ["`modified_input` has no effect at before_agent"]);
    assert_eq!(answer.context.len(), 1);
    let answer = read("before_tool", 0, "{\"decision\": \"deny\", \"modified_input\": {}}", "").unwrap();
    assert!(answer.amendment.is_empty(), "AH-52");
}

#[test]
fn context_is_dropped_where_there_is_none() {
    // AH-55
    let stdout = "{\"additional_context\": \"branch: main\"}";
    let check = |trigger: &str, source: &str, kept: bool| {
        let payload = with(payload(), "source", source);
        let answer = read_at(trigger, Mode::Sync, payload, &ended(Exit::Code(0), stdout, "")).unwrap();
        assert_eq!(answer.context.len(), usize::from(kept), "{trigger} {source}");
        assert_eq!(answer.remarks.is_empty(), kept, "{trigger} {source}");
    };
    check("session_start", "startup", true);
    check("session_start", "compact", true);
    check("pre-session", "resume", false);
    check("session_start", "fork", false);
    check("session_end", "x", false);
}

#[test]
fn stderr_beside_success_is_a_notice() {
    // AH-53
    let answer = read("after_tool", 0, "plain text", " HOOK: formatted \n").unwrap();
    assert_eq!(answer.notices[0].text, "[Hook h]: HOOK: formatted");
    assert_eq!((answer.verdict.strength(), answer.context.len()), (Strength::Continue, 0));
    let answer = read("after_tool", 0, "{\"decision\": \"deny\"}", &"x".repeat(10_001)).unwrap();
    assert_eq!(answer.notices[0].text, format!("[Hook h]: {}… [truncated]", "x".repeat(10_000)));
}

fn overridden(keep: &KeepWorking) -> &str {
    match &keep.beyond {
        Beyond::Continue(notice) => &notice.text,
        Beyond::Stop => "",
    }
}

#[test]
fn a_blocked_stop_keeps_the_agent_working() {
    // AH-56, AH-57
    let answer = read("pre-agent-turn-stop", 2, "", "two:\n- a [x]").unwrap();
    let keep = answer.keep_working.unwrap();
    assert_eq!(keep.append.text, "[Hook blocked stop: two:\n- a [x]]");
    assert_eq!(
        overridden(&keep),
        "[Warning: before_stop hook blocked stop 4 times, exceeding limit. Allowing stop to proceed.]"
    );
    let keep = read("post-subagent", 2, "", "no").unwrap().keep_working.unwrap();
    assert!(overridden(&keep).starts_with("[Warning: subagent_stop hook"));
    assert!(read("before_tool", 2, "", "no").unwrap().keep_working.is_none());
    assert!(read("before_stop", 0, "{}", "").unwrap().keep_working.is_none());
}

#[test]
fn a_final_stop_cannot_be_blocked() {
    // AH-58
    for stop in ["tool_rejected", "max_steps"] {
        for (exit, stdout) in [(2, ""), (0, "{\"decision\": \"deny\"}"), (0, "{\"decision\": \"ask\"}")] {
            let payload = with(payload(), "reason", stop);
            let answer =
                read_at("before_stop", Mode::Sync, payload, &ended(Exit::Code(exit), stdout, "")).unwrap();
            assert_eq!(answer.verdict.strength(), Strength::Continue);
            assert!(answer.keep_working.is_none());
            assert_eq!(answer.remarks.len(), 1);
        }
    }
}

#[test]
fn an_async_hook_has_no_say() {
    // AH-61, AH-64
    let all = "{\"decision\": \"deny\", \"modified_input\": {}, \"additional_context\": \"c\"}";
    for (exit, stdout) in [(2, ""), (0, all), (0, "{\"decision\": \"ask\"}"), (0, "text")] {
        let ended = ended(Exit::Code(exit), stdout, "stderr");
        let answer = read_at("before_tool", Mode::Async, payload(), &ended).unwrap();
        assert_eq!(answer, Answer::default());
    }
    for (exit, stdout) in [(1, ""), (0, "[1]")] {
        let ended = ended(Exit::Code(exit), stdout, "");
        assert!(read_at("before_tool", Mode::Async, payload(), &ended).is_err());
    }
}

proptest! {
    #[test]
    fn no_end_is_an_approval_or_a_panic(
        exit in 0..4,
        stdout in prop::collection::vec(any::<u8>(), 0..60),
        stderr in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut end = ended(Exit::Code(exit), "", "");
        end.stdout.bytes = stdout;
        end.stderr.bytes = stderr;
        if let Ok(answer) = read_at("before_tool", Mode::Sync, payload(), &end) {
            prop_assert_ne!(answer.verdict.strength(), Strength::Allow);
        }
    }
}

#[test]
fn what_may_have_been_an_objection_was_heard_whole_or_it_is_a_failure() {
    let of = |exit: Exit, stdout: &str, dropped: u64| {
        let mut ended = ended(exit, stdout, "");
        ended.stdout.dropped = dropped;
        super::heard_whole(&ended)
    };
    for plain in ["text", "", "{\"decision\": \"allow\"}"] {
        assert_eq!(of(Exit::Code(0), plain, 0), Ok(()), "{plain}");
    }
    let cut = of(Exit::Code(0), "text", 1).unwrap_err();
    assert_eq!(cut.kind, FailureKind::Output);
    let buried = of(Exit::Code(0), "note\n{\"decision\": \"deny\"}", 0).unwrap_err();
    assert_eq!(buried.kind, FailureKind::Output);
    assert_ne!(cut.detail, buried.detail);
    // Another end speaks for itself.
    for exit in [Exit::Code(2), Exit::Code(1), Exit::Signal(9)] {
        assert_eq!(of(exit.clone(), "text", 1), Ok(()), "{exit:?}");
        assert_eq!(of(exit, "note\n{\"decision\": \"deny\"}", 0), Ok(()));
    }
}
