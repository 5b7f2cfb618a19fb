//! Redacts lines that arrive one at a time: a private key is longer than a line.

use std::borrow::Cow;

use super::{REDACTED, redact};

/// The most lines that count as the body of one key. A key whose end never arrives hides no more than these.
const LONGEST_KEY: u32 = 256;

/// Redacts a text line by line, and remembers whether it is inside a private key.
///
/// One value is for one source of lines. A key without an end hides at most 256 lines after its beginning.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    /// How many lines may still belong to a key.
    inside: u32,
}

impl Lines {
    /// Returns the line without its secrets: [`REDACTED`] for a line within a private key, otherwise as of [`redact`].
    #[must_use]
    pub fn redact<'a>(&mut self, line: &'a str) -> Cow<'a, str> {
        if self.is_inside(line) { Cow::Borrowed(REDACTED) } else { redact(line) }
    }

    /// Notes a line that is not shown. It costs less than [`Lines::redact`] and is as necessary: a key may begin or end
    /// in it.
    pub fn pass_over(&mut self, line: &str) {
        self.is_inside(line);
    }

    /// Whether the line is of a key that began before it.
    fn is_inside(&mut self, line: &str) -> bool {
        if self.inside > 0 {
            self.inside = if ends(line) { 0 } else { self.inside - 1 };
            return true;
        }
        if begins(line) && !ends(line) {
            self.inside = LONGEST_KEY;
        }
        false
    }
}

fn begins(line: &str) -> bool {
    line.rsplit_once("-----BEGIN ").is_some_and(|(_, kind)| is_private(kind))
}

fn ends(line: &str) -> bool {
    line.rsplit_once("-----END ").is_some_and(|(_, kind)| is_private(kind))
}

fn is_private(kind: &str) -> bool {
    kind.split_once("-----").is_some_and(|(kind, _)| kind.contains("PRIVATE KEY"))
}
