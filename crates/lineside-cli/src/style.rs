//! Terminals: whether to paint, how to paint, which characters there are, and how to print a line.
//!
//! Texts of hooks and events come from anywhere; what is printed of them goes through the [`painter`](crate::painter).

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::LazyLock;

use serde::Serialize;

use crate::painter::{in_ascii, json_line};

/// When text is painted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum When {
    // Ordinary comments: a described value would make `--help` longer than a screen.
    // On a terminal, unless NO_COLOR is set or the terminal is dumb.
    #[default]
    Auto,
    Always,
    Never,
}

/// What a piece of text is, as far as its looks go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Dim,
    Bold,
    Good,
    /// Not as it was, or not as it should be.
    Warning,
    Asked,
    /// Refused, or wrong.
    Bad,
    Message,
    /// One of the agents, by the order in which they came.
    Agent(usize),
}

/// The colours of agents: none of them means a verdict.
pub(crate) const AGENTS: [&str; 4] = ["1", "1;36", "1;35", "1;34"];

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
    pub(crate) const PLAIN: Self = Self { colour: false };

    /// With them.
    #[cfg(test)]
    pub(crate) const PAINTED: Self = Self { colour: true };

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

    /// Whether there are colours.
    pub(crate) fn has_colours(self) -> bool {
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
            Tone::Asked => "1;33",
            Tone::Bad => "1;31",
            Tone::Message => "94",
            Tone::Agent(number) => AGENTS[number % AGENTS.len()],
        };
        if self.colour && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// One of it or several of them: `1 hook`, `2 hooks`.
pub(crate) fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// A line on standard error. A closed standard error is no error.
pub(crate) fn tell(line: &str) {
    let columns = terminal_size::terminal_size_of(io::stderr()).map(|(width, _)| usize::from(width.0));
    writeln!(io::stderr(), "{}", on_this_terminal(&wrapped(line, columns))).ok();
}

/// Lines for people.
///
/// # Errors
/// The output cannot be written.
pub(crate) fn print<L: AsRef<str>>(lines: impl IntoIterator<Item = L>) -> io::Result<()> {
    write_out(&lines_for_people(lines))
}

/// Lines for people that would be others if they were broken: each as long as it is.
///
/// # Errors
/// The output cannot be written.
pub(crate) fn print_unbroken<L: AsRef<str>>(lines: impl IntoIterator<Item = L>) -> io::Result<()> {
    let text: String =
        lines.into_iter().map(|line| format!("{}\n", on_this_terminal(line.as_ref()))).collect();
    write_out(&text)
}

/// A value for programs, on a line of its own.
///
/// # Errors
/// The value has no JSON, or the output cannot be written.
pub(crate) fn print_json(value: &impl Serialize) -> io::Result<()> {
    write_out(&json_line(value)?)
}

fn write_out(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Lines for people as one text, each with its end.
pub(crate) fn lines_for_people<L: AsRef<str>>(lines: impl IntoIterator<Item = L>) -> String {
    let columns = columns();
    let fitted = |line: L| format!("{}\n", on_this_terminal(&wrapped(line.as_ref(), columns)));
    lines.into_iter().map(fitted).collect()
}

/// The line, broken between words where it is longer than the page; what goes on stands a little further to the right.
fn wrapped(line: &str, columns: Option<usize>) -> Cow<'_, str> {
    let Some(columns) = columns.filter(|columns| shown_width(line) > *columns) else { return line.into() };
    let indent = line.chars().take_while(|char| *char == ' ').count();
    let mut text = " ".repeat(indent);
    let mut used = indent;
    for (index, word) in line.trim_start().split(' ').enumerate() {
        let width = shown_width(word);
        if index > 0 && used + 1 + width > columns {
            text.push('\n');
            text.push_str(&" ".repeat(indent + 2));
            used = indent + 2 + width;
        } else if index > 0 {
            text.push(' ');
            used += 1 + width;
        } else {
            used += width;
        }
        text.push_str(word);
    }
    text.into()
}

/// How many columns a text takes: its characters without its colours.
fn shown_width(text: &str) -> usize {
    let mut width = 0;
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\x1b') {
        width += before.chars().count();
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    width + rest.chars().count()
}

/// How wide a page is that cannot be of any width, when no terminal says so.
pub(crate) const COLUMNS: usize = 80;

/// How wide standard output is; `None` when it is no terminal, and lines may have any length.
pub(crate) fn columns() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0))
}

/// Whether the locale has only ASCII. Where none is set at all, which is usual in containers, it is not taken to say so.
static IS_ASCII: LazyLock<bool> = LazyLock::new(|| {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    is_ascii(["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).as_deref())
});

fn is_ascii(locale: Option<&str>) -> bool {
    let locale = locale.map(str::to_ascii_lowercase);
    locale.is_some_and(|locale| !locale.contains("utf-8") && !locale.contains("utf8"))
}

/// The line in the characters that there are.
pub(crate) fn on_this_terminal(line: &str) -> Cow<'_, str> {
    if *IS_ASCII { in_ascii(line).into() } else { line.into() }
}

#[cfg(test)]
mod tests {
    use super::{Style, Tone, count, is_ascii, wrapped};

    #[test]
    fn a_long_line_breaks_between_words_and_colours_have_no_width() {
        assert_eq!(wrapped("one two three", None), "one two three");
        assert_eq!(wrapped("one two three", Some(13)), "one two three");
        assert_eq!(wrapped("one two three", Some(8)), "one two\n  three");
        assert_eq!(wrapped("  one two three", Some(9)), "  one two\n    three");
        let red = Style { colour: true }.paint(Tone::Bad, "one");
        assert_eq!(wrapped(&format!("{red} two three"), Some(13)), format!("{red} two three"));
        assert_eq!(wrapped("a-word-too-long b", Some(6)), "a-word-too-long\n  b");
    }

    #[test]
    fn a_locale_without_unicode_is_ascii() {
        for (locale, expected) in [
            (None, false),
            (Some("C"), true),
            (Some("POSIX"), true),
            (Some("C.UTF-8"), false),
            (Some("en_GB.utf8"), false),
            (Some("de_DE.ISO-8859-1"), true),
        ] {
            assert_eq!(is_ascii(locale), expected, "{locale:?}");
        }
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
