//! Columns that line up, for people.

use crate::painter::one_line;
use crate::style::{Style, Tone};

/// A piece of text in a table.
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    pub(crate) fn new(text: impl AsRef<str>) -> Self {
        Self::toned(text, Tone::Plain)
    }

    pub(crate) fn toned(text: impl AsRef<str>, tone: Tone) -> Self {
        Self { text: one_line(text.as_ref()), tone }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }
}

/// The lines of a table: its heading and its rows, each column as wide as its widest cell.
pub(crate) fn lines(heading: &[&str], rows: Vec<Vec<Cell>>, style: Style) -> Vec<String> {
    let heading = heading.iter().map(|text| Cell::toned(text, Tone::Dim)).collect();
    let all: Vec<Vec<Cell>> = std::iter::once(heading).chain(rows).collect();
    let columns = all.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| all.iter().filter_map(|row| row.get(column)).map(Cell::width).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or_default()).collect();
    all.iter().map(|row| line(row, &widths, style)).collect()
}

fn line(row: &[Cell], widths: &[usize], style: Style) -> String {
    let mut line = String::new();
    for (index, (cell, width)) in row.iter().zip(widths).enumerate() {
        line.push_str("  ");
        line.push_str(&style.paint(cell.tone, &cell.text));
        if index + 1 < row.len() {
            line.push_str(&" ".repeat(width - cell.width()));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::{Cell, lines};
    use crate::style::Style;

    #[test]
    fn columns_line_up() {
        let rows = vec![vec![Cell::new("a"), Cell::new("x")], vec![Cell::new("büb"), Cell::new("y\n")]];
        assert_eq!(lines(&["h", "where"], rows, Style::PLAIN), ["  h    where", "  a    x", "  büb  y\\n"]);
    }
}
