//! Replaces secrets in text that is logged or shown: failures, log lines, descriptions of requests.
//!
//! A secret is known by its look (`ghp_…`, `-----BEGIN … PRIVATE KEY-----`) or by the name beside it (`password=…`,
//! `Cookie: …`); the tables are in `rules`. What is neither stays, so this is the last net and not a reason to put
//! secrets into text. A text that the caller acts on is not to be redacted, only what is reported about it.
//!
//! The time is linear in the length of the text: every pattern is an automaton, and no match is searched twice. The
//! first call of a process compiles the patterns, which takes some milliseconds. No function fails or panics, on any
//! input.
//!
//! ```
//! use lineside_redact::{Lines, redact, redact_head, redact_header};
//!
//! assert_eq!(redact("curl -u me --token abcd1234efgh"), "curl -u me --token [redacted]");
//! assert_eq!(redact_head("password=hunter2 and more", 19), "password=[redacted]");
//! assert_eq!(redact_header("X-Api-Key", "k"), "[redacted]");
//!
//! // A private key is longer than a line.
//! let mut lines = Lines::default();
//! let log = "-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----\ndone";
//! let shown: Vec<_> = log.lines().map(|line| lines.redact(line).into_owned()).collect();
//! assert_eq!(shown, ["[redacted]", "[redacted]", "[redacted]", "done"]);
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

use std::borrow::Cow;

mod json;
mod pem;
mod rules;

pub use json::redact_json;
pub use pem::Lines;

/// Replaces a secret.
pub const REDACTED: &str = "[redacted]";

/// Returns the text with [`REDACTED`] in the place of each secret; everything else stays byte for byte. A text without
/// secrets is borrowed, not copied.
///
/// A second call changes nothing. To cut a text use [`redact_head`]: half a secret has lost the look by which it is
/// known.
///
/// ```
/// use lineside_redact::redact;
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

/// Bytes beyond a cut that are searched: more than any key but a private one has, and of that one the beginning is
/// enough.
const BEYOND: usize = 4096;

/// Returns the first bytes of the redacted text: at most `most`, and up to three fewer so that no character is split.
///
/// The time is that of `most` bytes and 4096 more, however long the text is.
///
/// ```
/// use lineside_redact::redact_head;
///
/// assert_eq!(redact_head("token=abcd1234efgh", 12), "token=[redac");
/// assert_eq!(redact_head("äöü", 3), "ä");
/// ```
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

/// Returns the value of an HTTP header as it may be shown: [`REDACTED`] where the name marks a secret, in any case of
/// letters; otherwise the value as of [`redact`].
///
/// ```
/// use lineside_redact::redact_header;
///
/// assert_eq!(redact_header("cookie", "a=1"), "[redacted]");
/// assert_eq!(redact_header("Accept", "*/*"), "*/*");
/// ```
#[must_use]
pub fn redact_header<'a>(name: &str, value: &'a str) -> Cow<'a, str> {
    if rules::is_secret_header(name) { Cow::Borrowed(REDACTED) } else { redact(value) }
}

#[cfg(test)]
mod tests;
