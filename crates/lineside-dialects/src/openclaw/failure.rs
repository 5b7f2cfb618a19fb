//! How a failure of a handler is put: one line, without secrets (OC-54, OC-56, OC-58).

use lineside_redact::redact_head;

use super::catalogue::{Kind, Row};
use crate::text::first_characters;

/// The longest message, in characters.
const LONGEST: usize = 500;
/// As much of a message as is looked at, in bytes: the longest and room for white space that goes.
const LOOKED_AT: usize = 64 * 1024;

/// A message as one line (OC-58).
pub(super) fn one_line(message: &str) -> String {
    let redacted = redact_head(message, LOOKED_AT);
    let space = |c: char| c == ' ' || c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let words: Vec<&str> = redacted.split(space).filter(|word| !word.is_empty()).collect();
    let line = words.join(" ");
    if line.is_empty() { "unknown error".to_owned() } else { first_characters(&line, LONGEST).to_owned() }
}

/// The log line of a failure, without its prefix.
pub(super) fn line(row: &Row, plugin: &str, message: &str) -> String {
    format!("{} handler from {plugin} failed: {message}", row.name)
}

/// Why a failing handler blocks (OC-56).
pub(super) fn refusal(row: &Row, plugin: &str, message: &str) -> String {
    if row.kind == Kind::BeforeToolCall {
        return "Tool call blocked because before_tool_call hook failed".to_owned();
    }
    line(row, plugin, message)
}

/// Why an event that cannot be shown to a guard is blocked (OC-56).
pub(super) fn too_large(handler: &str) -> String {
    format!("too large to be judged by {handler}")
}

#[cfg(test)]
mod tests {
    use super::one_line;
    use crate::canaries;

    #[test]
    fn c04_a_message_tells_no_secret() {
        // OC-58
        let all = canaries::all();
        for canary in &all {
            let line = one_line(&canary.text);
            assert_eq!(canaries::told(&line, &all), [""; 0], "{line}");
        }
    }

    #[test]
    fn a_message_is_one_line() {
        // OC-58
        assert_eq!(
            one_line("first line\nforged: ok\t\u{1b}[31mred  end "),
            "first line forged: ok [31mred end"
        );
        assert_eq!(one_line("a\u{2028}b\r\nc"), "a b c");
        assert_eq!(one_line(" \n "), "unknown error");
        assert_eq!(one_line(&"ä".repeat(600)).chars().count(), 500);
    }

    #[test]
    fn secrets_are_not_told() {
        // OC-58
        for (message, expected) in [
            ("401 for Bearer abcdefghijkl", "401 for Bearer [redacted]"),
            ("key sk-abcdefghijklmnopqrstuv refused", "key [redacted] refused"),
            ("https://me:hunter2@example.org/x", "https://me:[redacted]@example.org/x"),
            ("api_key=12345678&x=1", "api_key=[redacted]&x=1"),
            ("{\"password\": \"hunter2\"}", "{\"password\": \"[redacted]\"}"),
            ("Unexpected token: export", "Unexpected token: export"),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- is wrong",
                "[redacted] is wrong",
            ),
            ("no secret here", "no secret here"),
            // As short as OpenClaw knows them.
            ("bad key sk-12345678", "bad key [redacted]"),
        ] {
            assert_eq!(one_line(message), expected);
        }
    }
}
