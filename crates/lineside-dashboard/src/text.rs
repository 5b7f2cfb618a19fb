//! Texts and times as a person reads them in a page. That markup in them is escaped is left to the templates.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use lineside_core::Timestamp;
use lineside_core::context::is_unseen;
use lineside_redact::redact_head;

/// The text on one line: line breaks and tabs are blanks, controls and invisible characters are written out.
///
/// ```
/// assert_eq!(lineside_dashboard::text::line("a\u{202e}b\nc"), "a\\u{202e}b c");
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

/// A part of a path or of a query in a link.
///
/// ```
/// assert_eq!(lineside_dashboard::text::encoded("s/1 ä"), "s%2F1%20%C3%A4");
/// ```
#[must_use]
pub fn encoded(part: &str) -> String {
    let mut text = String::with_capacity(part.len());
    for byte in part.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            write!(text, "%{byte:02X}").ok();
        }
    }
    text
}

/// How long something took.
#[must_use]
pub fn took(time: Duration) -> String {
    match time.as_micros() {
        0..1_000 => format!("{} µs", time.as_micros()),
        1_000..100_000 => format!("{:.1} ms", time.as_secs_f64() * 1e3),
        100_000..1_000_000 => format!("{:.0} ms", time.as_secs_f64() * 1e3),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

/// How long ago something was, both in milliseconds.
#[must_use]
pub fn ago(then: i64, now: i64) -> String {
    let seconds = (now - then).max(0) / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// The time of day, in UTC, with milliseconds.
#[must_use]
pub fn clock(time: Timestamp) -> String {
    format!("{time:.3}").get(11..23).unwrap_or_default().to_owned()
}

/// A number with a thin blank between thousands.
#[must_use]
pub fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// The beginning of an id, as much as tells it from others.
#[must_use]
pub fn short(id: &str) -> String {
    let digits: String = id.chars().filter(|char| *char != '-').collect();
    match digits.len() {
        0..=12 => digits,
        length => digits.get(length - 8..).unwrap_or_default().to_owned(),
    }
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

    #[test]
    fn times_and_numbers_are_short() {
        assert_eq!(took(Duration::from_micros(80)), "80 µs");
        assert_eq!(took(Duration::from_micros(8_240)), "8.2 ms");
        assert_eq!(took(Duration::from_millis(8_952)), "9.0 s");
        assert_eq!(number(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(ago(0, 3_700_000), "1 h 1 min");
        assert_eq!(short("01a20bf2-fc2c-79fc-b36d-448e0b4bfe58"), "0b4bfe58");
    }
}
