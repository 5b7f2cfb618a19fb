//! What each type makes of each end.

use std::time::Duration;

use lineside_core::exchange::Posted;
use lineside_core::invocation::{Captured, Ended, Exit, Leaked};
use lineside_core::json::json;

use super::super::samples::{self, command};
use super::super::{Definition, FlytoHook, HookType};
use super::*;
use crate::flyto::handler::Identity;

fn identity(hook_type: &str) -> Identity {
    let hook_type = HookType::find(hook_type).unwrap();
    Identity {
        hook_type,
        name: "h".into(),
        background: !hook_type.waits(),
        on_failure: lineside_core::OnFailure::Continue,
    }
}

/// How a command ended that has printed this on standard error.
fn ran(exit: Exit, stderr: &str) -> Result<i32, Failure> {
    let stderr = Captured { bytes: stderr.into(), dropped: 0 };
    let (stdout, took) = (Captured::default(), Duration::ZERO);
    crate::ending::status(&Ended { exit, stdout, stderr, took, leaked: Leaked::Nothing })
}

/// How a webhook answered.
fn posted(posted: &Posted) -> Result<i32, Failure> {
    Err(Output::of_post(posted).failure.unwrap())
}

fn refused(status: u16) -> Posted {
    Posted::Answered { status, body: Captured::default(), took: Duration::ZERO }
}

fn unreachable(why: &str) -> Posted {
    Posted::Unreachable { why: why.to_owned() }
}

fn output(end: Result<i32, Failure>, stdout: &str, stderr: &str) -> Output {
    let json = lineside_core::json::from_str(stdout).ok();
    Output {
        status: end.clone().unwrap_or_default(),
        failure: end.err(),
        text: stdout.trim().to_owned(),
        json,
        stderr: stderr.trim().to_owned(),
        ..Output::default()
    }
}

/// What a command has printed, of which so many bytes were dropped.
fn printed(stdout: &str, dropped: u64) -> Output {
    let captured = |text: &str, dropped| Captured { bytes: text.into(), dropped };
    Output::of_command(&Ended {
        exit: Exit::Code(0),
        stdout: captured(stdout, dropped),
        stderr: captured("", 0),
        took: Duration::ZERO,
        leaked: Leaked::Nothing,
    })
}

#[test]
fn i02_a_key_that_occurs_twice_grants_nothing() {
    const TWICE: &str = "output: unreadable output: a key occurs twice";
    let guard =
        |hook_type: &str| Identity { on_failure: lineside_core::OnFailure::Block, ..identity(hook_type) };
    for text in [
        "{\"decision\": \"block\", \"decision\": \"allow\"}",
        "{\"decision\": \"allow\", \"decision\": \"deny\"}",
        "{\"decision\": \"deny\", \"d\\u0065cision\": null}",
    ] {
        for hook_type in BLOCKING {
            let (verdict, failure) = said(&identity(hook_type), printed(text, 0));
            assert_eq!((verdict.as_str(), failure.as_str()), ("block: blocked by hook", ""), "{text}");
        }
    }
    for text in [
        "{\"decision\": \"allow\", \"decision\": \"ask\"}",
        "{\"decision\": \"allow\", \"reason\": \"a\", \"reason\": \"b\"}",
        "{\"decision\": \"allow\", \"x\": [{\"a\": 1, \"a\": 2}]}",
    ] {
        let (verdict, failure) = said(&identity("permission_request"), printed(text, 0));
        assert_eq!((verdict.as_str(), failure.as_str()), ("continue", TWICE), "{text}");
        let (verdict, _) = said(&guard("permission_request"), printed(text, 0));
        assert!(verdict.starts_with("block: "), "{text}: {verdict}");
    }
    let stop = "{\"decision\": \"stop\", \"decision\": \"allow\"}";
    assert_eq!(said(&identity("stop"), printed(stop, 0)).0, "stop: stopped by hook");
}

#[test]
fn i06_what_was_cut_is_a_failure_of_a_guard() {
    let block = lineside_core::OnFailure::Block;
    for text in ["{\"decision\": \"block\", \"reason\": \"xx", "    ", "{\"decision\": \"allow\"}", "text"] {
        for hook_type in BLOCKING {
            let guard = Identity { on_failure: block, ..identity(hook_type) };
            let (verdict, failure) = said(&guard, printed(text, 9));
            assert!(verdict.starts_with("block: "), "{text}: {verdict}");
            assert_eq!(failure, format!("output: unreadable output: longer than {} bytes", text.len()));
            // FL-16
            let usual = said(&identity(hook_type), printed(text, 9));
            assert_eq!(usual, ("continue".to_owned(), String::new()), "{text}");
        }
    }
}

#[test]
fn what_a_hook_without_authority_prints_is_no_failure() {
    // FL-9, FL-29
    for hook_type in ["session_start", "notification", "task_created"] {
        for text in ["{\"decision\": \"block\"}", "{\"decision\": 5}", "{\"decision\": 1, \"decision\": 2}"] {
            let got = said(&identity(hook_type), printed(text, 0));
            assert_eq!(got, ("continue".to_owned(), String::new()), "{hook_type} {text}");
        }
    }
}

/// The verdict and the failure, as words: `block: reason`, `exit: exit status 1`.
fn said(hook: &Identity, output: Output) -> (String, String) {
    let event = samples::event_at(hook.hook_type.name());
    let word = |verdict: &Verdict| match verdict.reason() {
        Some(reason) => format!("{}: {reason}", verdict.strength()),
        None => verdict.strength().to_string(),
    };
    match read(hook, &event, output) {
        Ok(answer) => (word(&answer.verdict), String::new()),
        Err(failure) => {
            let taken_as =
                failure.taken_as.as_ref().map_or("continue".to_owned(), |answer| word(&answer.verdict));
            (taken_as, format!("{}: {}", failure.kind, failure.detail))
        }
    }
}

fn check(hook_type: &str, status: i32, stdout: &str, stderr: &str, verdict: &str, failure: &str) {
    let got = said(&identity(hook_type), output(Ok(status), stdout, stderr));
    assert_eq!(got, (verdict.to_owned(), failure.to_owned()), "{hook_type} {status} {stdout} {stderr}");
}

const BLOCKING: [&str; 7] = [
    "user_prompt_submit", "pre_sampling", "pre_tool_use", "post_tool_use", "post_tool_use_failure",
    "permission_request", "pre_compact",
];

#[test]
fn a_status_says_whether_it_was_meant() {
    // FL-17, FL-23, FL-24, FL-26, FL-27
    for hook_type in BLOCKING {
        check(hook_type, 0, "text", "warn", "continue", "");
        check(hook_type, 2, "", " no \n", "block: no", "");
        check(hook_type, 1, "", "no", "continue", "exit: exit status 1 (stderr: no)");
        check(hook_type, 127, "", "", "continue", "exit: exit status 127");
    }
    for hook_type in ["session_start", "post_compact", "session_end", "post_sampling", "notification"] {
        check(hook_type, 2, "", "", "continue", "exit: exit status 2");
    }
}

#[test]
fn a_decision_is_one_of_the_words_that_its_type_knows() {
    // FL-19
    for hook_type in BLOCKING {
        for word in ["block", "deny"] {
            check(
                hook_type,
                0,
                &format!("{{\"decision\":\"{word}\",\"reason\":\"r\"}}"),
                "e",
                "block: r",
                "",
            );
        }
        for nothing in ["{}", "{\"decision\":null}", "{\"decision\":\"\",\"reason\":\"r\"}"] {
            check(hook_type, 0, nothing, "", "continue", "");
        }
        for (word, shown) in [("\"Block\"", "\"Block\""), ("true", "true"), ("\"stop\"", "\"stop\"")] {
            let failure = format!("output: unreadable output: unknown `decision` {shown}");
            check(hook_type, 0, &format!("{{\"decision\":{word}}}"), "", "continue", &failure);
        }
    }
    let ask = "{\"decision\":\"ask\",\"reason\":\"sure?\"}";
    check("pre_tool_use", 0, ask, "", "ask: sure?", "");
    // FL-24: there a reason is for a refusal only.
    check("permission_request", 0, ask, "", "ask: ", "");
    let unknown = "output: unreadable output: unknown `decision` \"ask\"";
    check("post_tool_use", 0, ask, "", "continue", unknown);
    let allow = "{\"decision\":\"allow\",\"reason\":\"r\"}";
    check("permission_request", 0, allow, "", "allow", "");
    for hook_type in ["pre_tool_use", "user_prompt_submit", "stop"] {
        check(hook_type, 0, allow, "", "continue", "");
    }
    check("session_start", 0, allow, "", "continue", "");
    let block = "{\"decision\":\"block\"}";
    let unknown = "output: unreadable output: unknown `decision` \"block\"";
    check("stop", 0, block, "", "continue", unknown);
    check("session_start", 0, block, "", "continue", "");
}

#[test]
fn a_block_counts_from_any_run_that_ended_by_itself_and_nothing_else_does() {
    // FL-20
    let block = "{\"decision\":\"deny\",\"reason\":\"meant\"}";
    check("pre_tool_use", 1, block, "", "block: meant", "exit: exit status 1");
    for word in ["allow", "ask"] {
        let text = format!("{{\"decision\":\"{word}\"}}");
        check("permission_request", 4, &text, "", "continue", "exit: exit status 4");
        check("permission_request", 2, &text, "", "block: blocked by hook", "");
    }
    let hook = identity("pre_tool_use");
    for (end, failure) in [
        (ran(Exit::Signal(9), ""), "signal: signal 9"),
        (ran(Exit::TimedOut { after: Duration::from_millis(1500) }, ""), "timeout: timed out after 1.5 s"),
        (ran(Exit::NotStarted { why: "no shell".to_owned() }, ""), "spawn: cannot start: no shell"),
    ] {
        assert_eq!(said(&hook, output(end, block, "")), ("continue".to_owned(), failure.to_owned()));
    }
    // Status 2 is meant whatever is printed beside it.
    let unknown = "output: unreadable output: unknown `decision` \"forbid\"";
    check("pre_tool_use", 2, "{\"decision\":\"forbid\"}", "", "block: blocked by hook", unknown);
}

#[test]
fn the_reason_is_that_of_the_json_output_or_standard_error() {
    // FL-21
    check("pre_tool_use", 2, "{\"reason\":\" json \"}", "err", "block:  json ", "");
    check("pre_tool_use", 2, "{\"reason\":\" \"}", "err", "block: err", "");
    check("pre_tool_use", 2, "{\"reason\":7}", "", "block: blocked by hook", "");
    let long = "é".repeat(5000);
    check("pre_tool_use", 2, "", &format!("a{long}"), &format!("block: a{}", &long[..8190]), "");
}

#[test]
fn every_end_of_a_stop_hook_that_is_not_well_means_stop() {
    // FL-25
    check("stop", 0, "text", "warn", "continue", "");
    check("stop", 0, "{\"reason\":\"r\"}", "", "continue", "");
    check("stop", 0, "{\"decision\":\"stop\",\"reason\":\"enough\"}", "e", "stop: enough", "");
    check("stop", 1, "", " tests fail ", "stop: tests fail", "");
    check("stop", 2, "{\"reason\":\"r\"}", "e", "stop: r", "");
    check("stop", 1, "{\"decision\":\"allow\"}", "", "stop: stopped by hook", "");
    let hook = identity("stop");
    for (end, verdict, failure) in [
        (ran(Exit::Signal(9), "e"), "stop: e", "signal: signal 9 (stderr: e)"),
        (
            ran(Exit::TimedOut { after: Duration::from_secs(1) }, "e"),
            "stop: e",
            "timeout: timed out after 1 s (stderr: e)",
        ),
        (
            ran(Exit::NotStarted { why: "no shell".to_owned() }, "e"),
            "stop: e",
            "spawn: cannot start: no shell",
        ),
        (posted(&unreachable("refused")), "stop: e", "spawn: cannot start: refused"),
        (posted(&refused(500)), "stop: e", "exit: HTTP status 500"),
        (
            Err(Failure::new(FailureKind::Output, "unreadable output: text")),
            "continue",
            "output: unreadable output: text",
        ),
    ] {
        assert_eq!(said(&hook, output(end, "", "e")), (verdict.to_owned(), failure.to_owned()));
    }
    let failure = Failure::new(FailureKind::Panic, "panicked");
    let taken_as = without_run(&hook, failure).taken_as.unwrap();
    assert_eq!(taken_as.verdict, Verdict::stop("stopped by hook"));
}

#[test]
fn a_round_that_is_refused_is_a_message_for_the_user() {
    // FL-26
    let refused = |hook: &Identity, output| match read(hook, &samples::event_at("pre_sampling"), output) {
        Ok(answer) => answer,
        Err(failure) => *failure.taken_as.unwrap(),
    };
    let mut hook = identity("pre_sampling");
    let answer = refused(&hook, output(Ok(2), "", "quota used"));
    assert_eq!(answer.notices, [Notice::warning("quota used")]);
    hook.on_failure = lineside_core::OnFailure::Block;
    let answer = refused(&hook, output(Ok(1), "", ""));
    assert_eq!(answer.notices, [Notice::warning("hook \"h\" failed: exit status 1")]);
    let answer = read(&hook, &samples::event_at("pre_sampling"), output(Ok(0), "", "")).unwrap();
    assert_eq!(answer, Answer::default());
}

#[test]
fn what_a_background_hook_prints_has_no_effect() {
    // FL-26, FL-32
    let mut hook = identity("pre_tool_use");
    hook.background = true;
    for text in ["{\"decision\":\"block\"}", "{\"decision\":\"forbid\"}"] {
        let got = said(&hook, output(Ok(0), text, ""));
        assert_eq!(got, ("continue".to_owned(), String::new()));
        check("post_sampling", 0, text, "", "continue", "");
    }
    let got = said(&hook, output(Ok(2), "", ""));
    assert_eq!(got, ("continue".to_owned(), "exit: exit status 2".to_owned()));
}

fn summary_after(before: Option<&str>, output: Output) -> Option<String> {
    let payload = match before {
        Some(summary) => json!({"kind": "auto", "summary": summary}),
        None => json!({"kind": "auto"}),
    };
    let event = samples::event("after_compact", payload);
    let answer = read(&identity("post_compact"), &event, output).ok()?;
    answer.amendment.fields().get("summary").map(|text| text.as_str().unwrap().to_owned())
}

#[test]
fn what_post_compact_prints_joins_the_summary_as_a_block() {
    // FL-28
    let added = |before, text: &str| summary_after(before, output(Ok(0), text, "e"));
    let block = "[hook: post_compact]\nkeep: API v2";
    assert_eq!(added(Some("Short."), " keep: API v2 \n").unwrap(), format!("Short.\n\n{block}"));
    assert_eq!(added(Some("Short.\n"), "keep: API v2").unwrap(), format!("Short.\n\n{block}"));
    assert_eq!(added(Some("Short.\n\n"), "keep: API v2").unwrap(), format!("Short.\n\n{block}"));
    assert_eq!(added(None, "keep: API v2").unwrap(), block);
    let json = "{\"decision\":\"block\"}";
    assert_eq!(added(None, json).unwrap(), format!("[hook: post_compact]\n{json}"));
    assert_eq!(added(Some("S"), " \n"), None);
    assert_eq!(summary_after(Some("S"), output(Ok(1), "text", "")), None);
    let long = format!("a{}", "é".repeat(40_000));
    let kept = &long[..65_535];
    assert_eq!(added(None, &long).unwrap(), format!("[hook: post_compact]\n{kept}\n... (truncated)"));
}

#[test]
fn a_failure_decides_nothing_unless_the_hook_is_a_guard() {
    // FL-30, FL-31
    let mut hook = identity("pre_tool_use");
    let got = said(&hook, output(posted(&refused(503)), "", ""));
    assert_eq!(got, ("continue".to_owned(), "exit: HTTP status 503".to_owned()));
    hook.on_failure = lineside_core::OnFailure::Block;
    for (end, detail) in [
        (Ok(1), "exit status 1 (stderr: oops)"),
        (ran(Exit::Signal(15), "oops"), "signal 15 (stderr: oops)"),
        (
            ran(Exit::TimedOut { after: Duration::from_millis(300) }, "oops"),
            "timed out after 0.3 s (stderr: oops)",
        ),
        (ran(Exit::NotStarted { why: "w".to_owned() }, "oops"), "cannot start: w"),
        (posted(&unreachable("w")), "cannot start: w"),
        (posted(&refused(503)), "HTTP status 503"),
        (Err(Failure::new(FailureKind::Output, "unreadable output: w")), "unreadable output: w"),
    ] {
        let (verdict, _) = said(&hook, output(end, "", "oops"));
        assert_eq!(verdict, format!("block: hook \"h\" failed: {detail}"));
    }
    let unknown = output(Ok(0), "{\"decision\":\"forbid\"}", "oops");
    let detail = "unreadable output: unknown `decision` \"forbid\" (stderr: oops)";
    assert_eq!(said(&hook, unknown).0, format!("block: hook \"h\" failed: {detail}"));
    let long = "x".repeat(3000);
    let (_, failure) = said(&hook, output(Ok(1), "", &long));
    assert_eq!(failure, format!("exit: exit status 1 (stderr: {})", &long[..2048]));
}

#[test]
fn being_a_guard_needs_the_authority_to_block() {
    // FL-31
    let guards = |hook_type: &str, is_async: bool| {
        let definition = Definition {
            is_async,
            on_failure: lineside_core::OnFailure::Block,
            ..Definition::new(command())
        };
        let hook: FlytoHook = samples::defined(hook_type, definition);
        hook.hook().on_failure == lineside_core::OnFailure::Block
    };
    for hook_type in HookType::all() {
        assert_eq!(guards(hook_type.name(), false), BLOCKING.contains(&hook_type.name()));
        assert!(!guards(hook_type.name(), true));
    }
}
