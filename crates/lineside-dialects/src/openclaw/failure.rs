//! How a failure of a handler is put: one line, without secrets (OC-54, OC-56, OC-58).

use std::borrow::Cow;
use std::sync::LazyLock;

use fancy_regex::Regex;

use super::catalogue::{Kind, Row};
use crate::text::first_characters;

/// The longest message, in characters.
const LONGEST: usize = 500;
/// What stands in the place of a secret.
const REDACTED: &str = "[redacted]";

/// Secrets by their look, and what takes their place.
static SECRETS: LazyLock<Vec<(Regex, String)>> = LazyLock::new(|| {
    let whole = REDACTED.to_owned();
    let after = format!("${{1}}{REDACTED}");
    let patterns = [
        (r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", &whole),
        (r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}", &whole),
        (r"\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,})", &whole),
        (r"\b(?:xox[a-z]-[A-Za-z0-9-]{8,}|AKIA[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{30,})", &whole),
        (r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*", &whole),
        (r"(?i)\b((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}", &after),
        (r"(://[^\s/:@]*:)[^\s/@]+(?=@)", &after),
        (
            r#"(?i)((?:api[_-]?key|access[_-]?key|secret|token|passw(?:or)?d|passphrase)["']?\s*=\s*["']?)[^\s"',;&]{4,}"#,
            &after,
        ),
        (
            r#"(?i)((?:api[_-]?key|access[_-]?key|secret|password|passphrase|[_-]token)["']?\s*:\s*["']?)[^\s"',;&]{4,}"#,
            &after,
        ),
    ];
    let compiled = patterns.into_iter().map(|(pattern, by)| Some((Regex::new(pattern).ok()?, by.clone())));
    compiled.flatten().collect()
});

/// A message as one line (OC-58).
pub(super) fn one_line(message: &str) -> String {
    let redacted = SECRETS.iter().fold(message.to_owned(), |text, (pattern, by)| {
        pattern
            .try_replacen(&text, 0, by.as_str())
            .map(Cow::into_owned)
            .unwrap_or_else(|_| REDACTED.to_owned())
    });
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
    use super::{SECRETS, one_line};

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
        assert_eq!(SECRETS.len(), 9);
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
        ] {
            assert_eq!(one_line(message), expected);
        }
    }
}
