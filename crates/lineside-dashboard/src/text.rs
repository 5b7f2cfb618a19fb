//! Texts and times as a person reads them in a page. That markup in them is escaped is left to the templates.

use std::fmt::Write as _;
use std::time::Duration;

use lineside_core::Timestamp;
pub use lineside_fleet::text::{block, head, line};

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
    fn times_and_numbers_are_short() {
        assert_eq!(took(Duration::from_micros(80)), "80 µs");
        assert_eq!(took(Duration::from_micros(8_240)), "8.2 ms");
        assert_eq!(took(Duration::from_millis(8_952)), "9.0 s");
        assert_eq!(number(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(ago(0, 3_700_000), "1 h 1 min");
        assert_eq!(short("01a20bf2-fc2c-79fc-b36d-448e0b4bfe58"), "0b4bfe58");
    }
}
