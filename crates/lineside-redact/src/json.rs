//! Texts of JSON: what stands in a string is another text than that by which it is written.

use std::borrow::Cow;

use crate::redact;

/// Returns a text of JSON as [`redact`] does, where each string that is written with a backslash is also looked at as it
/// is read: in `"a\nghp_…"` an `n` stands before the key. A text without a backslash takes no more time than there.
///
/// What was JSON stays JSON as far as `redact` leaves it so.
///
/// ```
/// use lineside_redact::redact_json;
///
/// assert_eq!(redact_json(r#"{"a":"x\nTOKEN=abcd1234efgh"}"#), r#"{"a":"x\nTOKEN=[redacted]"}"#);
/// assert_eq!(redact_json(r#"{"a":"x\ny"}"#), r#"{"a":"x\ny"}"#);
/// ```
#[must_use]
pub fn redact_json(text: &str) -> Cow<'_, str> {
    match of_strings(text) {
        Some(changed) => Cow::Owned(redact(&changed).into_owned()),
        None => redact(text),
    }
}

/// The text without the secrets of strings with a backslash; `None` where there are none.
fn of_strings(text: &str) -> Option<String> {
    let (mut changed, mut done) = (None::<String>, 0);
    let mut rest = text.contains('\\').then_some(0);
    while let Some(from) = rest {
        let Some(start) = text[from..].find('"').map(|at| from + at + 1) else { break };
        let end = start + end_of_string(&text[start..]);
        rest = text.get(end + 1..).map(|_| end + 1);
        let written = &text[start..end];
        if written.contains('\\')
            && let Cow::Owned(clean) = redact(&read(written))
        {
            let changed = changed.get_or_insert_default();
            changed.push_str(&text[done..start]);
            write(&clean, changed);
            done = end;
        }
    }
    changed.map(|changed| changed + &text[done..])
}

/// Where the string ends whose text begins here: before its closing quote.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    let is_end = |byte: u8| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    };
    text.bytes().position(is_end).unwrap_or(text.len())
}

/// A string as it is read; half a pair of surrogates is a character that stands for none.
fn read(written: &str) -> String {
    let mut text = String::with_capacity(written.len());
    let mut rest = written;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let mut behind = rest[at + 1..].chars();
        match behind.next() {
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('t') => text.push('\t'),
            Some('b') => text.push('\u{8}'),
            Some('f') => text.push('\u{c}'),
            Some('u') => {
                let unit = behind.as_str().get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
                text.push(unit.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER));
                if unit.is_some() {
                    behind.nth(3);
                }
            }
            other => text.extend(other),
        }
        rest = behind.as_str();
    }
    text + rest
}

/// A string as it is written.
fn write(text: &str, out: &mut String) {
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            letter if letter < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(letter))),
            letter => out.push(letter),
        }
    }
}
