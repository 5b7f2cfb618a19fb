//! The tables of CH-56 and CH-59, and the message to the byte.

use lineside_core::{NoticeLevel, Role};
use proptest::prelude::*;

use super::{Disposal, Format, Report};
use crate::chord::output::Reply;
use crate::chord::samples::captured;

const PLAIN: Report = Report { disposal: None, format: Format::Summary, lines: 50, bytes: 4096 };

fn body(format: Format, lines: usize, bytes: usize, body: &str) -> String {
    let report = Report { format, lines, bytes, ..PLAIN };
    match format {
        Format::Tail => report.tail(body),
        _ => report.head(body),
    }
}

#[test]
fn a_body_is_cut_at_lines_and_characters() {
    // CH-59
    for (text, format, lines, bytes, expected) in [
        ("a\nb\nc", Format::Full, 2, 100, "a\nb\n... (truncated)"),
        ("a\nb\nc", Format::Tail, 2, 100, "b\nc"),
        ("abcdef", Format::Full, 50, 3, "abc\n... (truncated)"),
        ("abcdef", Format::Tail, 50, 3, "... (truncated)\ndef"),
        ("äöü", Format::Full, 50, 5, "äö\n... (truncated)"),
        ("äöü", Format::Tail, 50, 5, "... (truncated)\nöü"),
        ("one\ntwo\nthree", Format::Tail, 2, 5, "... (truncated)\nthree"),
        ("\r\n\n a\nb \n\n", Format::Full, 2, 4, " a\nb"),
        ("ab\n\ncd", Format::Full, 50, 4, "ab\n... (truncated)"),
        ("ab\n\ncd", Format::Tail, 50, 4, "... (truncated)\ncd"),
        ("a\r\nb\r\nc", Format::Full, 2, 100, "a\r\nb\n... (truncated)"),
        ("a\nb", Format::Full, 2, 3, "a\nb"),
        ("a\nb", Format::Tail, 2, 3, "a\nb"),
        ("", Format::Full, 1, 1, ""),
        (" \n ", Format::Tail, 1, 1, ""),
        ("ä", Format::Full, 1, 1, "... (truncated)"),
        ("ä", Format::Tail, 1, 1, "... (truncated)"),
    ] {
        assert_eq!(body(format, lines, bytes, text), expected, "{text:?} {format:?} {lines} {bytes}");
    }
}

fn context(report: Report, stdout: &str) -> Option<String> {
    let mut answer = report.answer("h", &Reply::read(&captured(stdout)).unwrap()).unwrap();
    assert!(answer.context.iter().all(|append| append.role == Role::System));
    answer.context.pop().map(|append| append.text)
}

#[test]
fn the_message_in_the_context() {
    // CH-58
    let always = Report { disposal: Some(Disposal::AlwaysAppend), ..PLAIN };
    let check = |format, bytes, stdout: &str, expected: &str| {
        let report = Report { format, bytes, ..always };
        let start = "[hook:h] Automated feedback\nstatus: ";
        assert_eq!(context(report, stdout).unwrap(), format!("{start}{expected}"), "{stdout}");
    };
    check(Format::Summary, 4096, "", "success");
    check(Format::Summary, 4096, r#"{"summary":" s ","body":"b"}"#, "success\nsummary: s");
    check(Format::Summary, 4096, r#"{"summary":" ","body":"b\n"}"#, "success\n\nb");
    check(Format::Full, 4096, r#"{"status":"failed","summary":"s","body":"b"}"#, "failed\nsummary: s\n\nb");
    check(Format::Full, 4096, r#"{"summary":"s","body":"\n \n"}"#, "success\nsummary: s");
    check(Format::Tail, 4096, r#"{"body":"b"}"#, "success\n\nb");
    check(Format::Summary, 4096, r#"{"summary":"a\r\nb\nc\rd"}"#, "success\nsummary: a b c d");
    check(Format::Summary, 5, r#"{"summary":"äöü"}"#, "success\nsummary: äö ... (truncated)");
    check(Format::Summary, 6, r#"{"summary":"äöü"}"#, "success\nsummary: äöü");
}

#[test]
fn the_policy_decides_who_is_told() {
    // CH-39, CH-56
    let asks = r#"{"append_context":true,"notify":true}"#;
    let failed = r#"{"status":"failed"}"#;
    for (disposal, stdout, appended, shown) in [
        (None, "", false, false),
        (None, asks, true, true),
        (None, failed, false, false),
        (Some(Disposal::Ignore), asks, false, false),
        (Some(Disposal::NotifyOnly), asks, false, true),
        (Some(Disposal::NotifyOnly), "", false, true),
        (Some(Disposal::AppendOnFailure), "", false, false),
        (Some(Disposal::AppendOnFailure), failed, true, false),
        (Some(Disposal::AppendOnFailure), asks, true, true),
        (Some(Disposal::AlwaysAppend), "", true, false),
        (Some(Disposal::AlwaysAppend), asks, true, true),
    ] {
        let report = Report { disposal, ..PLAIN };
        let answer = report.answer("h", &Reply::read(&captured(stdout)).unwrap()).unwrap();
        assert_eq!(answer.context.len(), usize::from(appended), "{disposal:?} {stdout}");
        assert_eq!(answer.notices.len(), usize::from(shown), "{disposal:?} {stdout}");
    }
}

#[test]
fn the_message_for_the_user_has_a_level() {
    // CH-39, CH-57
    let check = |stdout: &str, level: NoticeLevel, text: &str| {
        let report = Report { disposal: Some(Disposal::NotifyOnly), ..PLAIN };
        let mut answer = report.answer("h", &Reply::read(&captured(stdout)).unwrap()).unwrap();
        let notice = answer.notices.pop().unwrap();
        assert_eq!((notice.level, notice.text.as_str()), (level, text), "{stdout}");
    };
    check("", NoticeLevel::Info, "Hook h finished with status success");
    check(r#"{"summary":" s\n"}"#, NoticeLevel::Info, "s");
    check(r#"{"status":"failed"}"#, NoticeLevel::Error, "Hook h finished with status failed");
    check(r#"{"status":"failed","severity":"info","summary":"s"}"#, NoticeLevel::Info, "s");
    check(r#"{"severity":"warn","summary":"s"}"#, NoticeLevel::Warning, "s");
    check(r#"{"severity":"warning","summary":"s"}"#, NoticeLevel::Warning, "s");
    check(r#"{"severity":"error","summary":"s"}"#, NoticeLevel::Error, "s");
    check(r#"{"severity":"fatal","summary":"s"}"#, NoticeLevel::Info, "s");
}

#[test]
fn a_value_that_a_key_cannot_have_spoils_the_result() {
    // CH-39
    for (stdout, part) in [
        (r#"{"status":"warning"}"#, "`status` is \"warning\", not success or failed"),
        (r#"{"status":true}"#, "`status`"),
        (r#"{"summary":5}"#, "`summary`"),
        (r#"{"body":[]}"#, "`body`"),
        (r#"{"severity":1}"#, "`severity`"),
        (r#"{"append_context":"yes"}"#, "`append_context`"),
        (r#"{"notify":1}"#, "`notify`"),
    ] {
        let error = PLAIN.answer("h", &Reply::read(&captured(stdout)).unwrap()).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}

proptest! {
    #[test]
    fn no_limit_is_exceeded(text in "[a-cäö\n\r ]{0,40}", lines in 1_usize..5, bytes in 1_usize..12) {
        for format in [Format::Full, Format::Tail] {
            let cut = body(format, lines, bytes, &text);
            let kept = cut.strip_suffix("... (truncated)").or_else(|| cut.strip_prefix("... (truncated)"));
            let kept = kept.unwrap_or(&cut).trim_matches('\n');
            prop_assert!(kept.len() <= bytes, "{:?}", cut);
            prop_assert!(kept.split('\n').count() <= lines, "{:?}", cut);
        }
    }
}
