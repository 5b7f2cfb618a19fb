//! Lines that come one at a time: a private key is longer than a line.

use std::borrow::Cow;

use super::{REDACTED, redact};

/// The most lines that are taken as the body of one key. A beginning whose end never comes hides no more than these.
const LONGEST_KEY: u32 = 256;

/// Redacts a text line by line, and remembers whether it is inside a private key.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    /// How many lines may still belong to a key.
    inside: u32,
}

impl Lines {
    /// The line, without what is secret in it.
    #[must_use]
    pub fn redact<'a>(&mut self, line: &'a str) -> Cow<'a, str> {
        if self.is_inside(line) { Cow::Borrowed(REDACTED) } else { redact(line) }
    }

    /// Takes notice of a line that is not told. It is cheaper than [`Lines::redact`], and as necessary: a key may begin
    /// in it, or end.
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
