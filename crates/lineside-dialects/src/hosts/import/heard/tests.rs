//! How each end of a run is heard.

use std::time::Duration;

use lineside_core::exchange::Posted;
use lineside_core::invocation::{Captured, Ended, Exit, Leaked};
use lineside_core::json::{Value, from_str, json};
use lineside_core::{Failure, FailureKind, Verdict};

use super::{Heard, Saying};
use crate::handler::Returned;

fn captured(text: &str, dropped: u64) -> Captured {
    Captured { bytes: text.as_bytes().to_vec(), dropped }
}

fn answered(status: u16, body: &str) -> Posted {
    Posted::Answered { status, body: captured(body, 0), took: Duration::ZERO }
}

fn ended(exit: Exit, stdout: Captured, stderr: &str) -> Heard {
    let ended =
        Ended { exit, stdout, stderr: captured(stderr, 0), took: Duration::ZERO, leaked: Leaked::Nothing };
    Heard::of(&Returned::Command(ended))
}

fn failure(heard: Heard) -> (FailureKind, String, bool) {
    let Some(Failure { kind, detail, started, .. }) = heard.failure else { panic!("{heard:?}") };
    assert_eq!(heard.code, None);
    (kind, detail.into_owned(), started)
}

fn printed(stdout: &str) -> Heard {
    ended(Exit::Code(0), captured(stdout, 0), "")
}

#[test]
fn an_endpoint_says_what_a_command_would_print() {
    for status in [200, 201, 299] {
        let heard = Heard::of(&Returned::Post(answered(status, " {\"a\": 1}\n")));
        assert_eq!((heard.code, heard.stdout.as_str()), (Some(0), "{\"a\": 1}"), "{status}");
        assert_eq!(heard.failure, None);
    }
}

#[test]
fn an_endpoint_that_says_nothing_that_can_be_read_has_failed() {
    let told = |posted| failure(Heard::of(&Returned::Post(posted)));
    let expected = |kind, detail: &str| (kind, detail.to_owned(), true);
    for body in ["", "ok", "[{}]", "{\"a\": "] {
        let none = expected(FailureKind::Output, "the endpoint answered no JSON object");
        assert_eq!(told(answered(200, body)), none, "{body}");
    }
    for status in [199, 400, 500] {
        let detail = format!("the endpoint answered {status}");
        assert_eq!(told(answered(status, "{}")), expected(FailureKind::Exit, &detail));
    }
    let elsewhere = Posted::Redirected { status: 302, to: None };
    let detail = "the endpoint answered 302, which is not followed";
    assert_eq!(told(elsewhere), expected(FailureKind::Exit, detail));
    let late = Posted::TimedOut { after: Duration::from_secs(7) };
    assert_eq!(told(late), expected(FailureKind::Timeout, "timed out after 7 s"));
    let gone = Posted::Unreachable { why: "refused".to_owned() };
    assert_eq!(told(gone), expected(FailureKind::Spawn, "cannot be reached: refused"));
}

#[test]
fn a_status_speaks_for_itself_and_every_other_end_is_a_failure() {
    let heard = ended(Exit::Code(2), captured("out", 0), "err");
    assert_eq!((heard.code, heard.failure, &*heard.stdout, &*heard.stderr), (Some(2), None, "out", "err"));
    assert_eq!(ended(Exit::Code(3), captured("out", 1), "").code, Some(3));
    let expected = |kind, detail: &str, started| (kind, detail.to_owned(), started);
    let told = |exit| failure(ended(exit, captured("", 0), " why \n"));
    let cut = failure(ended(Exit::Code(0), captured("out", 1), ""));
    assert_eq!(cut, expected(FailureKind::Output, "it printed more than 3 bytes", true));
    assert_eq!(told(Exit::Signal(9)), expected(FailureKind::Signal, "signal 9 (stderr: why)", true));
    let late = Exit::TimedOut { after: Duration::from_millis(1500) };
    assert_eq!(told(late), expected(FailureKind::Timeout, "timed out after 1.5 s (stderr: why)", true));
    assert_eq!(told(Exit::Lost), expected(FailureKind::Exit, "exit status lost (stderr: why)", true));
    let absent = Exit::NotStarted { why: "not found".to_owned() };
    assert_eq!(told(absent), expected(FailureKind::Spawn, "cannot start: not found", false));
    let nothing = failure(Heard::of(&Returned::Nothing));
    assert_eq!(nothing, expected(FailureKind::Error, "a command was to be run, and none was", false));
}

#[test]
fn a_mark_of_the_byte_order_and_blanks_stand_in_no_objects_way() {
    for text in ["{\"a\": 1}", " \n{\"a\": 1} ", "\u{feff}{\"a\": 1}", " \u{feff} {\"a\": 1}"] {
        assert_eq!(printed(text).object(), from_str(r#"{"a": 1}"#).ok(), "{text:?}");
    }
    for text in ["", "a", "[]", "{", "1"] {
        assert_eq!(printed(text).object(), None, "{text:?}");
    }
}

#[test]
fn a_reader_who_takes_the_first_of_two_values_hears_the_rest_alike() {
    let first = |text: &str| {
        let heard = printed(text).read_by_first_keys()?;
        Some(from_str::<Value>(&heard.stdout).unwrap())
    };
    let twice = r#"{"a": 1, "b": [true, null, "t", 1.50, {"c": "x", "c": "y"}], "a": {}}"#;
    let expected = from_str(r#"{"a": 1, "b": [true, null, "t", 1.50, {"c": "x"}]}"#).unwrap();
    assert_eq!(first(twice), Some(expected));
    assert_eq!(first("\u{feff}{\"a\": 1, \"a\": 2}"), Some(json!({"a": 1})));
    for once in [r#"{"a": 1, "b": {"a": 2}}"#, "no object", r#"{"a": 1, "a""#] {
        assert_eq!(first(once), None, "{once}");
    }
}

#[test]
fn of_several_verdicts_the_strongest_holds_and_of_equal_ones_the_first() {
    let mut saying = Saying::default();
    for verdict in
        [Verdict::allow(), Verdict::block("first"), Verdict::block("second"), Verdict::ask("sure?")]
    {
        saying.verdict(verdict);
    }
    assert_eq!(saying.0.verdict, Verdict::block("first"));
}

#[test]
fn blank_texts_are_no_context_and_no_notice() {
    let mut saying = Saying::default();
    for text in ["", " \n", "a"] {
        saying.context(text);
        saying.notice(text);
    }
    assert_eq!((saying.0.context.len(), saying.0.notices.len()), (1, 1));
    saying.amend("tool_input", Value::Null);
    assert!(!saying.0.amendment.is_empty());
    saying.amends_nothing();
    assert!(saying.0.amendment.is_empty());
}
