//! Redacts secrets in text that leaves the process: failures, log lines, descriptions of requests.
//!
//! A secret is known by its look (`ghp_…`, `-----BEGIN … PRIVATE KEY-----`) or by the name beside it (`password=…`,
//! `Cookie: …`); the tables are in `rules`. What is neither stays, so this is the last net and not a reason to put
//! secrets into text. A hook's input and answer are not touched: only what is reported about them is.
//!
//! The time is linear in the length of the text: every pattern is an automaton, and no match is looked for twice.

use std::borrow::Cow;

mod pem;
mod rules;

pub use pem::Lines;

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";

/// The text with [`REDACTED`] in the place of each secret. Everything else stays as it is, byte for byte.
///
/// Doing it twice is the same as doing it once. To cut a text use [`redact_head`]: half a secret has lost the look by
/// which it is known.
///
/// ```
/// use lineside_core::redact::redact;
///
/// assert_eq!(redact("401 for https://me:hunter2@h/x"), "401 for https://me:[redacted]@h/x");
/// assert_eq!(redact("DB_PASSWORD=hunter2 make"), "DB_PASSWORD=[redacted] make");
/// assert_eq!(redact("max_tokens: 4096"), "max_tokens: 4096");
/// ```
#[must_use]
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for rule in rules::all() {
        if let Some(changed) = rule.apply(&text) {
            text = Cow::Owned(changed);
        }
    }
    text
}

/// How much beyond a cut is looked at, in bytes: more than any key but a private one, and of that the beginning is
/// enough.
const BEYOND: usize = 4096;

/// The first bytes of the redacted text, at most `most` of them and up to three fewer so that no character is split.
///
/// It takes time for `most` bytes and a little, however long the text is.
#[must_use]
pub fn redact_head(text: &str, most: usize) -> String {
    let mut redacted = redact(head(text, most.saturating_add(BEYOND))).into_owned();
    let end = head(&redacted, most).len();
    redacted.truncate(end);
    redacted
}

fn head(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// The value of a header as it may be shown: [`REDACTED`] where the name says that it is a secret.
#[must_use]
pub fn redact_header<'a>(name: &str, value: &'a str) -> Cow<'a, str> {
    if rules::is_secret_header(name) { Cow::Borrowed(REDACTED) } else { redact(value) }
}

#[cfg(test)]
mod tests;
