//! Texts from outside on one line or in a block, without what cannot be seen.

use std::borrow::Cow;

use lineside_core::context::is_unseen;
use lineside_redact::redact_head;

/// The text on one line: line breaks and tabs are blanks, controls and invisible characters are written out.
///
/// ```
/// assert_eq!(lineside_fleet::text::line("a\u{202e}b\nc"), "a\\u{202e}b c");
/// ```
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    shown(text, false)
}

/// The text with its line breaks and tabs; controls and invisible characters are written out.
#[must_use]
pub fn block(text: &str) -> Cow<'_, str> {
    shown(text, true)
}

fn shown(text: &str, has_lines: bool) -> Cow<'_, str> {
    let is_plain = |char: char| !char.is_control() && !is_unseen(char);
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        match char {
            '\n' | '\t' if has_lines => shown.push(char),
            '\n' | '\t' => shown.push(' '),
            char if is_plain(char) => shown.push(char),
            char => shown.extend(char.escape_unicode()),
        }
    }
    Cow::Owned(shown)
}

/// The beginning of a text on one line, without secrets, of at most so many bytes; what is cut off is marked.
#[must_use]
pub fn head(text: &str, most: usize) -> String {
    let mut head = redact_head(text, most);
    if text.len() > most {
        head.push('…');
    }
    line(&head).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        assert_eq!(line("\u{1b}[31mred\u{200b}\r"), "\\u{1b}[31mred\\u{200b}\\u{d}");
        assert_eq!(block("a\n\tb\u{2066}"), "a\n\tb\\u{2066}");
        assert!(matches!(line("plain ä"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_head_has_no_secret_and_says_that_it_is_cut() {
        let text = head("password=hunter2hunter2 and more", 512);
        assert!(!text.contains("hunter2"), "{text}");
        assert!(head(&"x".repeat(600), 512).ends_with('…'));
    }
}
