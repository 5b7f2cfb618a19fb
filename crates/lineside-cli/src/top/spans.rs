//! Painted lines to cells of a screen: the escapes that [`Style`](crate::style::Style) writes, and no others.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use crate::style::on_this_terminal;

/// The line as a screen has it. What of it is no escape of a colour is a text that has none: it came through the painter.
pub(super) fn line(painted: &str) -> Line<'static> {
    let mut spans = Vec::new();
    let mut style = Style::default();
    let mut add = |text: &str, style| {
        if !text.is_empty() {
            spans.push(Span::styled(on_this_terminal(text).into_owned(), style));
        }
    };
    let mut rest = painted;
    while let Some((text, after)) = rest.split_once("\x1b[") {
        add(text, style);
        let (codes, after) = after.split_once('m').unwrap_or_default();
        style = codes.split(';').fold(style, with);
        rest = after;
    }
    add(rest, style);
    Line::from(spans)
}

fn with(style: Style, code: &str) -> Style {
    match code {
        "1" => style.add_modifier(Modifier::BOLD),
        "2" => style.add_modifier(Modifier::DIM),
        "31" => style.fg(Color::Red),
        "32" => style.fg(Color::Green),
        "33" => style.fg(Color::Yellow),
        "34" => style.fg(Color::Blue),
        "35" => style.fg(Color::Magenta),
        "36" => style.fg(Color::Cyan),
        "94" => style.fg(Color::LightBlue),
        _ => Style::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tone_is_known_and_ends() {
        let line = line("a\x1b[1;31mb\x1b[0mc\x1b[2md\x1b[0m");
        let shown: Vec<(&str, Style)> = line.iter().map(|span| (&*span.content, span.style)).collect();
        let bad = Style::default().fg(Color::Red).add_modifier(Modifier::BOLD);
        let dim = Style::default().add_modifier(Modifier::DIM);
        assert_eq!(shown, [("a", Style::default()), ("b", bad), ("c", Style::default()), ("d", dim)]);
    }
}
