//! Every kind of end of a run, and what is reported of it.

use std::time::Duration;

use lineside_core::FailureKind;
use lineside_core::exchange::Posted;
use lineside_core::invocation::{Ended, Exit, Leaked};
use lineside_core::worker::WorkerEnded;

use super::*;

fn bytes(text: &str) -> Captured {
    Captured { bytes: text.into(), dropped: 0 }
}

fn ended(exit: Exit, stdout: &str, stderr: &str) -> Returned {
    let (stdout, stderr) = (bytes(stdout), bytes(stderr));
    Returned::Command(Ended { exit, stdout, stderr, took: Duration::ZERO, leaked: Leaked::Nothing })
}

fn posted(status: u16, body: &str) -> Returned {
    Returned::Post(Posted::Answered { status, body: bytes(body), took: Duration::ZERO })
}

#[test]
fn the_status_says_whether_all_is_in_order_and_the_output_is_the_text() {
    let code = |code, stdout: &str, stderr: &str| read(&ended(Exit::Code(code), stdout, stderr)).unwrap();
    assert_eq!(code(0, "", "warned"), Report::success("in order"));
    assert_eq!(code(0, "done\n", ""), Report::success("done"));
    assert_eq!(code(1, "", ""), Report::failure("not in order"));
    assert_eq!(code(1, "\n2 errors\r\na\nb\n", ""), Report::failure("2 errors").body("a\nb"));
    assert_eq!(code(1, " \n", "only here\nand here"), Report::failure("only here").body("and here"));
    assert_eq!(code(1, "here", "not here"), Report::failure("here"));
    assert_eq!(code(0, "[1, 2]", ""), Report::success("[1, 2]"));
}

#[test]
fn an_object_says_more() {
    let said = |text: &str| read(&ended(Exit::Code(0), text, ""));
    assert_eq!(
        said(r#"{"summary": "2 errors", "body": "a\nb", "found": "failure"}"#).unwrap(),
        Report::failure("2 errors").body("a\nb")
    );
    assert_eq!(said(r#"{"summary": "fine", "body": null}"#).unwrap(), Report::success("fine"));
    let failed = read(&ended(Exit::Code(1), r#"{"summary": "no", "found": "success"}"#, "")).unwrap();
    assert_eq!(failed.found, Found::Success);
    for (text, expected) in [
        ("{", "not one JSON object"),
        ("{} {}", "not one JSON object"),
        ("{}", "`summary` is not a text that is not blank"),
        (r#"{"summary": " "}"#, "`summary` is not a text that is not blank"),
        (r#"{"summary": "a", "found": "bad"}"#, "`found` is not success or failure"),
        (r#"{"summary": "a", "body": 5}"#, "`body` is not a string"),
        (r#"{"sumary": "a"}"#, "unknown key `sumary`, did you mean `summary`?"),
        (r#"{"summary": "a", "summary": "b"}"#, "not one JSON object"),
    ] {
        let failure = said(text).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Output, "{text}");
        assert!(failure.detail.contains(expected), "{text}: {failure}");
    }
}

#[test]
fn any_other_end_is_a_failure() {
    for (exit, kind, expected) in [
        (Exit::Code(2), FailureKind::Exit, "exit status 2 (stderr: why)"),
        (Exit::Code(101), FailureKind::Exit, "exit status 101 (stderr: why)"),
        (Exit::Signal(9), FailureKind::Signal, "signal 9 (stderr: why)"),
        (
            Exit::TimedOut { after: Duration::from_secs(2) },
            FailureKind::Timeout,
            "timed out after 2 s (stderr: why)",
        ),
        (Exit::NotStarted { why: "none".into() }, FailureKind::Spawn, "cannot start: none"),
    ] {
        let failure = read(&ended(exit, r#"{"summary": "fine"}"#, "why")).unwrap_err();
        assert_eq!((failure.kind, &*failure.detail), (kind, expected));
    }
    let long = Captured { bytes: b"long".to_vec(), dropped: 1 };
    let Returned::Command(ended) = ended(Exit::Code(0), "", "") else { panic!() };
    let failure = read(&Returned::Command(Ended { stdout: long, ..ended })).unwrap_err();
    assert!(failure.detail.contains("longer than the limit of 4 bytes"), "{failure}");
}

#[test]
fn servers_and_workers_report_as_well() {
    assert_eq!(read(&posted(204, "")).unwrap(), Report::success("in order"));
    assert_eq!(read(&posted(200, "fine\nmore")).unwrap(), Report::success("fine").body("more"));
    assert_eq!(
        read(&posted(200, r#"{"summary": "no", "found": "failure"}"#)).unwrap(),
        Report::failure("no")
    );
    assert_eq!(read(&posted(500, "secret")).unwrap_err().detail, "HTTP status 500");
    let failure = read(&posted(200, r#"{"secret": 1}"#)).unwrap_err();
    assert_eq!(failure.detail, "unreadable output: an unknown key");
    let worker = |text: &str| read(&Returned::Worker(WorkerEnded::Answered(text.to_owned())));
    assert_eq!(worker("").unwrap(), Report::success("in order"));
    assert_eq!(worker(r#"{"summary": "no", "found": "failure"}"#).unwrap(), Report::failure("no"));
    assert!(worker("\"text\"").unwrap_err().detail.contains("not an object"));
}
