//! Every kind of answer, and every kind of end that is none.

use lineside_core::invocation::{Exit, Leaked};
use lineside_core::json::json;
use lineside_core::worker::WorkerEnded;
use proptest::prelude::*;

use super::super::samples::{event, shell};
use super::*;

fn asker(point: &str) -> Asker {
    let point = lineside_points::find(point).unwrap();
    Asker { point, judges: point.phase.may_intercept(), is_async: false, amends: false }
}

fn bytes(text: impl Into<Vec<u8>>) -> Captured {
    Captured { bytes: text.into(), dropped: 0 }
}

fn ended(exit: Exit, stdout: &str, stderr: &str) -> Returned {
    let (stdout, stderr) = (bytes(stdout), bytes(stderr));
    Returned::Command(Ended { exit, stdout, stderr, took: Duration::ZERO, leaked: Leaked::Nothing })
}

/// What a hook at `before_tool` that may amend says.
fn said(stdout: &str) -> Result<Answer, Failure> {
    let asker = Asker { amends: true, ..asker("before_tool") };
    read(asker, &shell(), &ended(Exit::Code(0), stdout, ""))
}

fn fails(stdout: &str, expected: &str) {
    let failure = said(stdout).unwrap_err();
    assert_eq!((failure.kind, failure.started), (FailureKind::Output, true));
    assert!(failure.detail.contains(expected), "{stdout}: {failure}");
}

#[test]
fn an_empty_amendment_is_none_where_nothing_may_be_amended_either() {
    let says = |point: &str, stdout: &str| {
        let payload = json!({"reason": "x", "output": "x", "stop_active": false});
        read(asker(point), &event(point, payload), &ended(Exit::Code(0), stdout, ""))
    };
    assert_eq!(says("before_stop", "{\"amend\": {}}"), Ok(Answer::default()));
    assert!(says("before_stop", "{\"amend\": {\"output\": \"y\"}}").is_err());
}

#[test]
fn a_key_by_which_another_format_decides_is_taken_for_the_verdict() {
    fails("{\"decision\": \"block\"}", "verdict");
    fails("{\"permissionDecision\": \"deny\"}", "verdict");
}

#[test]
fn each_verdict_is_understood() {
    for (text, verdict) in [
        ("", Verdict::Continue),
        (" \n", Verdict::Continue),
        ("{}", Verdict::Continue),
        (
            r#"{"verdict": null, "reason": null, "amend": null, "context": null, "notice": null}"#,
            Verdict::Continue,
        ),
        (r#"{"verdict": "continue", "reason": "x"}"#, Verdict::Continue),
        (r#"{"verdict": "allow"}"#, Verdict::allow()),
        (r#"{"verdict": "allow", "reason": " "}"#, Verdict::allow()),
        (r#"{"verdict": "allow", "reason": "it only reads"}"#, Verdict::allow_because("it only reads")),
        (r#"{"verdict": "ask", "reason": "sure?"}"#, Verdict::ask("sure?")),
        (r#"{"verdict": "block", "reason": "no"}"#, Verdict::block("no")),
        (r#"{"verdict": "block"}"#, Verdict::block("")),
        (r#"{"verdict": "stop", "reason": "over"}"#, Verdict::stop("over")),
    ] {
        assert_eq!(said(text).unwrap(), Answer::from(verdict), "{text}");
    }
}

#[test]
fn an_answer_amends_and_has_messages() {
    let answer = said(
        r#"{"amend": {"tool_input": {"command": "ls -a"}}, "notice": "n", "context": [
            {"text": "a"}, {"text": "b", "role": "tool", "key": "k", "expires_ms": 5}]}"#,
    )
    .unwrap();
    assert_eq!(answer.amendment.fields()["tool_input"], json!({"command": "ls -a"}));
    assert_eq!(answer.notices, [Notice::info("n")]);
    let second = Append::new(Role::Tool, "b").key("k").expires(Duration::from_millis(5));
    assert_eq!(answer.context, [Append::system("a"), second]);
    assert_eq!(said(r#"{"context": "a"}"#).unwrap().context, [Append::system("a")]);
    assert_eq!(said(r#"{"context": " ", "notice": " ", "amend": {}}"#).unwrap(), Answer::default());
}

#[test]
fn nothing_of_a_half_valid_answer_counts() {
    for (rest, expected) in [
        (r#""verdict": "block""#, "duplicate key `verdict`"),
        (r#""decision": "deny""#, "unknown key `decision`"),
        (r#""reasn": "x""#, "unknown key `reasn`, did you mean `reason`?"),
        (r#""reason": 5"#, "`reason` is not a string"),
        (r#""notice": []"#, "`notice` is not a string"),
        (r#""amend": []"#, "`amend` is not an object"),
        (r#""amend": {"tool_name": "x"}"#, "`amend`: `tool_name` of before_tool cannot be amended"),
        (r#""amend": {"nothing": 1}"#, "`amend`: "),
        (r#""context": 5"#, "`context` is not a string or a list of messages"),
        (r#""context": ["a"]"#, "`context[]` is not an object with `text`"),
        (r#""context": [{"role": "system"}]"#, "`context[].text` is not a text that is not blank"),
        (
            r#""context": [{"text": "a", "role": "user"}]"#,
            "`context[].role` is not system, assistant or tool",
        ),
        (r#""context": [{"text": "a", "expires": 1}]"#, "unknown key `expires`, did you mean `expires_ms`?"),
        (
            r#""context": [{"text": "a", "expires_ms": 0}]"#,
            "`context[].expires_ms` is not a positive integer",
        ),
        (r#""context": [{"text": "a", "key": 1}]"#, "`key` is not a string"),
    ] {
        fails(&format!("{{\"verdict\": \"allow\", {rest}}}"), expected);
    }
    for (text, expected) in [
        ("ok", "at line 1 column 1; a hook without an opinion prints nothing there"),
        ("{} {}", "more after the end of the value"),
        ("[]", "a JSON value that is not an object"),
        (r#"{"verdict": "deny"}"#, "`verdict` is \"deny\", not continue, allow, ask, block or stop"),
        (r#"{"verdict": "Block"}"#, "`verdict` is \"Block\""),
        (r#"{"verdict": true}"#, "`verdict` is true"),
    ] {
        fails(text, expected);
    }
}

#[test]
fn a_point_says_which_verdicts_there_are() {
    let payload = || json!({"tool_name": "Shell", "tool_output": "o"});
    let after = |text: &str| {
        read(asker("after_tool"), &event("after_tool", payload()), &ended(Exit::Code(0), text, ""))
    };
    for word in ["continue", "block", "stop"] {
        assert!(after(&format!("{{\"verdict\": \"{word}\"}}")).is_ok(), "{word}");
    }
    for word in ["allow", "ask"] {
        let failure = after(&format!("{{\"verdict\": \"{word}\"}}")).unwrap_err();
        let expected = format!(
            "unreadable output: `verdict` is {word}, and at after_tool a hook may say continue, block or stop"
        );
        assert_eq!(failure.detail, expected);
    }
    let idle =
        |text: &str| read(asker("on_idle"), &event("on_idle", json!({})), &ended(Exit::Code(0), text, ""));
    assert_eq!(idle(r#"{"context": "c"}"#).unwrap().context, [Append::system("c")]);
    let failure = idle(r#"{"verdict": "block"}"#).unwrap_err();
    assert_eq!(
        failure.detail,
        "unreadable output: `verdict` is block, and at on_idle a hook may say continue"
    );
}

#[test]
fn amending_is_for_those_who_say_so() {
    let text = r#"{"amend": {"tool_input": {}}}"#;
    let failure = read(asker("before_tool"), &shell(), &ended(Exit::Code(0), text, "")).unwrap_err();
    assert_eq!(failure.detail, "unreadable output: `amend`, and its entry has no `amends: true`");
    let stop = Asker { amends: true, ..asker("before_stop") };
    let event = event("before_stop", json!({"stop_active": false}));
    let failure = read(stop, &event, &ended(Exit::Code(0), text, "")).unwrap_err();
    assert_eq!(failure.detail, "unreadable output: `amend`: nothing can be amended at before_stop");
}

#[test]
fn exit_2_blocks_and_every_other_end_fails() {
    let end =
        |exit, stdout: &str, stderr: &str| read(asker("before_tool"), &shell(), &ended(exit, stdout, stderr));
    assert_eq!(end(Exit::Code(2), "", " no\n").unwrap(), Verdict::block("no").into());
    assert_eq!(end(Exit::Code(2), "\n", "").unwrap(), Verdict::block("").into());
    for (exit, stdout, kind, detail) in [
        (Exit::Code(2), "{}", FailureKind::Exit, "exit status 2 (stderr: e)"),
        (Exit::Code(1), "", FailureKind::Exit, "exit status 1 (stderr: e)"),
        (Exit::Code(1), r#"{"verdict": "allow"}"#, FailureKind::Exit, "exit status 1 (stderr: e)"),
        (Exit::Signal(9), "", FailureKind::Signal, "signal 9 (stderr: e)"),
        (
            Exit::TimedOut { after: Duration::from_millis(300) },
            "{}",
            FailureKind::Timeout,
            "timed out after 0.3 s (stderr: e)",
        ),
        (Exit::NotStarted { why: "gone".to_owned() }, "", FailureKind::Spawn, "cannot start: gone"),
        (Exit::Lost, "", FailureKind::Exit, "exit status lost (stderr: e)"),
    ] {
        let failure = end(exit, stdout, "e").unwrap_err();
        assert_eq!((failure.kind, &*failure.detail), (kind, detail));
    }
    let idle = event("on_idle", json!({}));
    let failure = read(asker("on_idle"), &idle, &ended(Exit::Code(2), "", "")).unwrap_err();
    assert_eq!(failure.detail, "exit status 2");
    let cut = Captured { bytes: b"{}".to_vec(), dropped: 1 };
    let cut = Ended {
        exit: Exit::Code(0),
        stdout: cut,
        stderr: bytes(""),
        took: Duration::ZERO,
        leaked: Leaked::Nothing,
    };
    let failure = read(asker("before_tool"), &shell(), &Returned::Command(cut)).unwrap_err();
    assert_eq!(failure.detail, "unreadable output: longer than the limit of 2 bytes");
}

#[test]
fn of_a_hook_that_nobody_waits_for_only_the_end_counts() {
    let detached = Asker { is_async: true, judges: false, ..asker("before_tool") };
    let end = |exit| read(detached, &shell(), &ended(exit, "anything", ""));
    assert_eq!(end(Exit::Code(0)).unwrap(), Answer::default());
    assert_eq!(end(Exit::Code(1)).unwrap_err().kind, FailureKind::Exit);
}

#[test]
fn a_worker_and_a_server_answer_in_the_same_words() {
    let block = r#"{"verdict": "block", "reason": "no"}"#;
    let worker = |ended| read(asker("before_tool"), &shell(), &Returned::Worker(ended));
    assert_eq!(worker(WorkerEnded::Answered(block.to_owned())).unwrap(), Verdict::block("no").into());
    assert_eq!(worker(WorkerEnded::Answered(String::new())).unwrap(), Answer::default());
    assert_eq!(worker(WorkerEnded::Answered("5".to_owned())).unwrap_err().kind, FailureKind::Output);
    assert_eq!(worker(WorkerEnded::Dropped).unwrap_err().kind, FailureKind::Error);
    let post = |status, body: &str| {
        let answered = Posted::Answered { status, body: bytes(body), took: Duration::ZERO };
        read(asker("before_tool"), &shell(), &Returned::Post(answered))
    };
    assert_eq!(post(200, block).unwrap(), Verdict::block("no").into());
    assert_eq!(post(204, "").unwrap(), Answer::default());
    assert_eq!(post(500, block).unwrap_err().detail, "HTTP status 500");
    for (posted, kind, detail) in [
        (
            Posted::Redirected { status: 302, to: Some("http://x".to_owned()) },
            FailureKind::Exit,
            "HTTP status 302, which points to http://x",
        ),
        (Posted::TimedOut { after: Duration::from_secs(1) }, FailureKind::Timeout, "timed out after 1 s"),
        (Posted::Unreachable { why: "refused".to_owned() }, FailureKind::Spawn, "cannot start: refused"),
    ] {
        let failure = read(asker("before_tool"), &shell(), &Returned::Post(posted)).unwrap_err();
        assert_eq!((failure.kind, &*failure.detail), (kind, detail));
    }
    // A server that says back what it was shown has nothing of it told.
    for body in [
        "hunter2",
        r#"{"verdict": "hunter2"}"#,
        r#"{"hunter2": 1}"#,
        r#"{"hunter2": 1, "hunter2": 1}"#,
        r#"{"amend": {"hunter2": 1}}"#,
        r#"{"reason": {"hunter2": 1}}"#,
        r#"{"context": [{"text": "a", "role": "hunter2"}]}"#,
    ] {
        let amends = Asker { amends: true, ..asker("before_tool") };
        let answered = Posted::Answered { status: 200, body: bytes(body), took: Duration::ZERO };
        let failure = read(amends, &shell(), &Returned::Post(answered)).unwrap_err();
        assert!(!format!("{failure:?}").contains("hunter2"), "{failure:?}");
    }
}

proptest! {
    #[test]
    fn any_output_is_an_answer_or_a_failure(text in "[{}\\[\\]\":, a-z0-9\\\\.]{0,60}") {
        let _read = said(&text);
    }
}
