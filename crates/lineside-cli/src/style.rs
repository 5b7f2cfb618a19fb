//! Terminals: whether to paint, how to paint, and how to say something on standard error without ever failing.
//!
//! Texts of hooks and events come from anywhere; what is printed of them cannot move the cursor.

use std::io::{IsTerminal, Write as _};

/// When text is painted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum When {
    /// On a terminal, unless NO_COLOR is set or the terminal is dumb.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What a piece of text is, as far as its looks go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Dim,
    Bold,
    Good,
    Warning,
    Bad,
}

/// How text looks on one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    colour: bool,
}

/// How text looks on both outputs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Styles {
    pub(crate) out: Style,
    pub(crate) err: Style,
}

impl Styles {
    pub(crate) fn new(when: When) -> Self {
        Self { out: Style::on(&std::io::stdout(), when), err: Style::on(&std::io::stderr(), when) }
    }
}

impl Style {
    /// Without colours.
    #[cfg(test)]
    pub(crate) const PLAIN: Self = Self { colour: false };

    fn on(stream: &impl IsTerminal, when: When) -> Self {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let colour = match when {
            When::Always => true,
            When::Never => false,
            When::Auto => {
                stream.is_terminal()
                    && set("NO_COLOR").is_none()
                    && set("TERM").is_none_or(|term| term != "dumb")
            }
        };
        Self { colour }
    }

    /// Whether it paints.
    pub(crate) fn is_coloured(self) -> bool {
        self.colour
    }

    /// The text in its tone.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Dim => "2",
            Tone::Bold => "1",
            Tone::Good => "32",
            Tone::Warning => "33",
            Tone::Bad => "1;31",
        };
        if self.colour && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// The text on one line and harmless: control characters are shown as their escapes.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for char in text.chars() {
        if char.is_control() {
            line.extend(char.escape_default());
        } else {
            line.push(char);
        }
    }
    line
}

/// One of it or several of them: `1 hook`, `2 hooks`.
pub(crate) fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// A line on standard error. Whoever has closed it does not want to hear anything, which is no error.
pub(crate) fn tell(line: &str) {
    writeln!(std::io::stderr(), "{line}").ok();
}

#[cfg(test)]
mod tests {
    use super::{Style, Tone, count, one_line};

    #[test]
    fn a_text_from_outside_cannot_move_the_cursor() {
        assert_eq!(one_line("a\x1b[2Jb\nc\tdé"), "a\\u{1b}[2Jb\\nc\\tdé");
    }

    #[test]
    fn only_colour_paints() {
        assert_eq!(Style { colour: true }.paint(Tone::Bad, "x"), "\x1b[1;31mx\x1b[0m");
        assert_eq!(Style::PLAIN.paint(Tone::Bad, "x"), "x");
    }

    #[test]
    fn one_hook_two_hooks() {
        assert_eq!(count(1, "hook"), "1 hook");
        assert_eq!(count(0, "hook"), "0 hooks");
    }
}
