//! Texts that are cut, texts that are put into one line, and what a command has printed.

use lineside_core::invocation::Captured;
use lineside_redact::redact_head;

/// Stands at the end of a text that was cut.
pub(crate) const TRUNCATED: &str = "… [truncated]";

/// The first `most` characters.
#[must_use]
pub(crate) fn first_characters(text: &str, most: usize) -> &str {
    match text.char_indices().nth(most) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

/// The first `most` bytes, or up to three fewer so that no character is split.
#[must_use]
pub(crate) fn first_bytes(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// The text, or its first `most` characters and [`TRUNCATED`].
#[must_use]
pub(crate) fn truncated(text: &str, most: usize) -> String {
    let kept = first_characters(text, most);
    if kept.len() == text.len() { text.to_owned() } else { format!("{kept}{TRUNCATED}") }
}

/// The text with each line break written as `\n`.
#[must_use]
pub(crate) fn in_one_line(text: &str) -> String {
    text.replace("\r\n", "\\n").replace(['\n', '\r'], "\\n")
}

/// The text of a file, without a byte order mark; `None` when it is not UTF-8.
pub(crate) fn of_file(bytes: &[u8]) -> Option<&str> {
    let text = str::from_utf8(bytes).ok()?;
    Some(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// What was printed: decoded with replacement characters, without a byte order mark, trimmed.
#[must_use]
pub(crate) fn printed(stream: &Captured) -> String {
    let text = String::from_utf8_lossy(&stream.bytes);
    let text = text.trim();
    text.strip_prefix('\u{feff}').unwrap_or(text).trim().to_owned()
}

/// Whether text that is no answer may have one in it that decides: the key `decision`, quoted in any way, within a text of
/// JSON, or in characters of two bytes each.
#[cfg(any(feature = "agenthooks", feature = "flyto"))]
#[must_use]
pub(crate) fn may_decide(text: &str) -> bool {
    let plain = text.chars().filter(|char| !matches!(char, '\0' | '\\'));
    let plain: String = plain.map(|char| if char == '\'' { '"' } else { char }).collect();
    plain.contains("\"decision\"")
}

/// A failure's detail with what was printed on standard error, if anything was, 2048 bytes of it at most and no secret.
#[must_use]
pub(crate) fn with_stderr(detail: &str, stderr: &Captured) -> String {
    with_text_of_stderr(detail, &stderr.trimmed_text())
}

/// The same for what was decoded and trimmed before.
#[must_use]
pub(crate) fn with_text_of_stderr(detail: &str, stderr: &str) -> String {
    if stderr.is_empty() {
        detail.to_owned()
    } else {
        format!("{detail} (stderr: {})", redact_head(stderr, 2048))
    }
}

#[cfg(test)]
mod tests {
    use lineside_core::invocation::Captured;

    use super::{first_bytes, first_characters, in_one_line, printed, truncated, with_stderr};
    use crate::canaries;

    #[cfg(any(feature = "agenthooks", feature = "flyto"))]
    #[test]
    fn an_answer_is_found_in_text() {
        let wide: String = "{\"decision\": \"deny\"}".chars().flat_map(|char| [char, '\0']).collect();
        for text in [
            "loading\n{\"decision\": \"deny\"}",
            "{'decision': 'deny'}",
            "\"{\\\"decision\\\": \\\"deny\\\"}\"",
            &wide,
        ] {
            assert!(super::may_decide(text), "{text}");
        }
        for text in ["", "the decision is mine", "{\"verdict\": 1}"] {
            assert!(!super::may_decide(text), "{text}");
        }
    }

    fn captured(text: &str) -> Captured {
        Captured { bytes: text.as_bytes().to_vec(), dropped: 0 }
    }

    #[test]
    fn what_was_printed_is_read_without_its_margins() {
        assert_eq!(printed(&captured(" \u{feff}\n {} \r\n")), "{}");
        assert_eq!(printed(&Captured { bytes: b"a\xff".to_vec(), dropped: 0 }), "a\u{fffd}");
        assert_eq!(with_stderr("exit status 1", &captured(" \n")), "exit status 1");
        assert_eq!(with_stderr("exit status 1", &captured("no\n")), "exit status 1 (stderr: no)");
        let long = with_stderr("x", &captured(&"y".repeat(3000)));
        assert_eq!(long.len(), "x (stderr: )".len() + 2048);
    }

    #[test]
    fn c04_what_was_printed_on_standard_error_is_told_without_secrets() {
        let all = canaries::all();
        for canary in &all {
            for before in [0, 1900, 2000, 2030, 2040, 2048, 2060] {
                let text = format!("{} {}", "y".repeat(before), canary.text);
                let detail = with_stderr("exit status 1", &captured(&text));
                assert_eq!(canaries::told(&detail, &all), [""; 0], "{detail}");
            }
        }
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(first_characters("äöü", 2), "äö");
        assert_eq!(first_characters("äöü", 3), "äöü");
        assert_eq!(first_bytes("äöü", 3), "ä");
        assert_eq!(first_bytes("äöü", 99), "äöü");
        assert_eq!(truncated("äöü", 2), "äö… [truncated]");
        assert_eq!(truncated("äöü", 3), "äöü");
    }

    #[test]
    fn line_breaks_are_written_out() {
        assert_eq!(in_one_line("a\r\nb\n\nc\rd"), "a\\nb\\n\\nc\\nd");
    }
}
