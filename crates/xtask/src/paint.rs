//! Colour for a person at a terminal, and none elsewhere.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::sync::LazyLock;

static COLOURED: LazyLock<bool> = LazyLock::new(|| {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    std::io::stdout().is_terminal() && !refused && !dumb
});

/// A way of writing, by its ANSI code.
#[derive(Clone, Copy)]
pub(crate) enum Ink {
    Bold = 1,
    Faint = 2,
    Red = 31,
    Green = 32,
    Yellow = 33,
}

impl Ink {
    /// `text` in this ink, or as it is where colours are off.
    pub(crate) fn on<'a>(self, text: impl Into<Cow<'a, str>>) -> Cow<'a, str> {
        let text = text.into();
        if *COLOURED { format!("\x1b[{}m{text}\x1b[0m", self as u8).into() } else { text }
    }
}

/// The value of `CARGO_TERM_COLOR` for what we start, whose output passes through us.
pub(crate) fn for_cargo() -> &'static str {
    if *COLOURED { "always" } else { "never" }
}

/// `text` without its escape sequences of colour.
pub(crate) fn washed(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\x1b[") {
        plain.push_str(before);
        let end = after.find(|c: char| c.is_ascii_alphabetic()).map_or(after.len(), |end| end + 1);
        rest = &after[end..];
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn washing_leaves_the_words() {
        assert_eq!(washed("\x1b[32;1m3\x1b[0m passed"), "3 passed");
        assert_eq!(washed("plain"), "plain");
        assert_eq!(washed("cut short \x1b[3"), "cut short ");
    }
}
