//! Columns that line up, for people: as many as the page has room for, and the others stacked under their row.

use crate::page::fitting::{cut, width};
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
        width(&self.text)
    }
}

/// A table.
pub(crate) struct Table<'a> {
    pub(crate) heading: &'a [&'a str],
    pub(crate) rows: Vec<Vec<Cell>>,
    /// The columns that go under the rows where the page is too narrow, the first of them first.
    pub(crate) stacked: &'a [usize],
}

/// What stands before each column.
const GAP: usize = 2;

/// Where the cells begin that stand under their row.
const INDENT: usize = 6;

/// No column is cut to less.
const NARROWEST: usize = 8;

impl Table<'_> {
    /// The lines: the heading and the rows, each column as wide as its widest cell; one without a text is left out. A page
    /// of so many columns has no longer line, as far as there is a choice; without a width everything stands in its row.
    pub(crate) fn lines(&self, columns: Option<usize>, style: Style) -> Vec<String> {
        let mut widths: Vec<usize> = self.heading.iter().map(|text| width(text)).collect();
        widths.resize(self.rows.iter().map(Vec::len).fold(widths.len(), usize::max), 0);
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.width().max(*width);
            }
        }
        let has_text =
            |column: &usize| self.rows.iter().filter_map(|row| row.get(*column)).any(|cell| cell.width() > 0);
        let mut beside: Vec<usize> = (0..widths.len()).filter(has_text).collect();
        let mut under = Vec::new();
        if let Some(columns) = columns {
            for column in self.stacked {
                if room(&beside, &widths) <= columns {
                    break;
                }
                beside.retain(|other| other != column);
                under.insert(0, *column);
            }
            // The widest gives way, and where that is not enough the next one.
            loop {
                let over = room(&beside, &widths).saturating_sub(columns);
                let widest = beside.iter().copied().max_by_key(|column| widths[*column]);
                let Some(widest) = widest.filter(|column| over > 0 && widths[*column] > NARROWEST) else {
                    break;
                };
                widths[widest] = widths[widest].saturating_sub(over).max(NARROWEST);
            }
        }
        under.sort_unstable();
        let heading: Vec<Cell> = self.heading.iter().map(|text| Cell::toned(text, Tone::Dim)).collect();
        let mut lines = vec![line(&heading, &beside, &widths, style)];
        for row in &self.rows {
            lines.push(line(row, &beside, &widths, style));
            lines.extend(self.under(row, &under, columns.unwrap_or(usize::MAX), style));
        }
        lines
    }

    /// The cells that have no column, each with its heading, as many on a line as fit.
    fn under(&self, row: &[Cell], under: &[usize], columns: usize, style: Style) -> Vec<String> {
        let mut lines: Vec<(usize, String)> = Vec::new();
        for (heading, cell) in
            under.iter().filter_map(|column| Some((self.heading[*column], row.get(*column)?)))
        {
            if cell.text.is_empty() {
                continue;
            }
            // A text without a heading says what it is.
            let heading = if heading.is_empty() { String::new() } else { format!("{heading} ") };
            let length = width(&heading) + cell.width();
            let text = style.paint(Tone::Dim, &heading) + &style.paint(cell.tone, &cell.text);
            match lines.last_mut() {
                Some((used, line)) if *used + GAP + length <= columns => {
                    *used += GAP + length;
                    line.push_str(&format!("{:GAP$}{text}", ""));
                }
                _ if INDENT + length > columns => {
                    // A path goes on in the next line, at one of its folders.
                    let blanks = INDENT + width(&heading);
                    let room = columns.saturating_sub(blanks);
                    let mut pieces = pieces(&cell.text, room).into_iter();
                    let first = style.paint(cell.tone, &pieces.next().unwrap_or_default());
                    lines.push((
                        columns,
                        format!("{:INDENT$}{}{first}", "", style.paint(Tone::Dim, &heading)),
                    ));
                    lines.extend(
                        pieces.map(|piece| {
                            (columns, format!("{:blanks$}{}", "", style.paint(cell.tone, &piece)))
                        }),
                    );
                }
                _ => lines.push((INDENT + length, format!("{:INDENT$}{text}", ""))),
            }
        }
        lines.into_iter().map(|(_, line)| line).collect()
    }
}

/// A text in pieces of at most so many characters, that end after a slash or a blank where there is one.
fn pieces(text: &str, room: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for part in text.split_inclusive(['/', ' ']) {
        let Some(last) = pieces.last_mut() else { break };
        if last.is_empty() || width(last) + width(part.trim_end()) <= room {
            last.push_str(part);
        } else {
            pieces.push(part.to_owned());
        }
    }
    pieces
}

/// How wide these columns are together.
fn room(beside: &[usize], widths: &[usize]) -> usize {
    beside.iter().map(|column| widths[*column] + GAP).sum()
}

fn line(row: &[Cell], beside: &[usize], widths: &[usize], style: Style) -> String {
    let mut line = String::new();
    let mut blanks = 0;
    let cell = |column: &usize| row.get(*column);
    let filled = beside.iter().rposition(|column| cell(column).is_some_and(|cell| !cell.text.is_empty()));
    for column in beside.iter().take(filled.map_or(0, |last| last + 1)) {
        let Some(cell) = cell(column) else { continue };
        let text = cut(&cell.text, widths[*column]);
        line.push_str(&" ".repeat(blanks + GAP));
        line.push_str(&style.paint(cell.tone, &text));
        blanks = widths[*column].saturating_sub(width(&text));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table<'a>(stacked: &'a [usize]) -> Table<'a> {
        let rows = vec![
            vec![Cell::new("a"), Cell::new("user"), Cell::new("x/y.md:1")],
            vec![Cell::new("büb"), Cell::new(""), Cell::new("y\n")],
        ];
        Table { heading: &["h", "layer", "where"], rows, stacked }
    }

    #[test]
    fn columns_line_up() {
        assert_eq!(
            table(&[]).lines(None, Style::PLAIN),
            ["  h    layer  where", "  a    user   x/y.md:1", "  büb         y\\n"]
        );
    }

    #[test]
    fn what_has_no_room_beside_stands_under() {
        assert_eq!(
            table(&[2, 1]).lines(Some(20), Style::PLAIN),
            ["  h    layer", "  a    user", "      where x/y.md:1", "  büb", "      where y\\n"]
        );
        assert_eq!(
            table(&[2, 1]).lines(Some(11), Style::PLAIN),
            [
                "  h", "  a", "      layer user", "      where x/", "            y.md:1", "  büb",
                "      where y\\n"
            ]
        );
    }

    #[test]
    fn a_long_path_breaks_at_a_folder() {
        let rows = vec![vec![Cell::new("a"), Cell::new("one/two/three/four.md:2")]];
        let table = Table { heading: &["h", "at"], rows, stacked: &[1] };
        assert_eq!(
            table.lines(Some(20), Style::PLAIN),
            ["  h", "  a", "      at one/two/", "         three/", "         four.md:2"]
        );
    }

    #[test]
    fn what_has_no_room_at_all_is_cut() {
        let rows = vec![vec![Cell::new("a-name-that-is-long"), Cell::new("1")]];
        let table = Table { heading: &["name", "#"], rows, stacked: &[] };
        assert_eq!(table.lines(Some(16), Style::PLAIN), ["  name         #", "  a-name-tha…  1"]);
        // Of two, the next one too.
        let rows = vec![vec![Cell::new("a-name-that-is-long"), Cell::new("what it stops"), Cell::new("1")]];
        let table = Table { heading: &["name", "stops", "#"], rows, stacked: &[] };
        let lines = table.lines(Some(24), Style::PLAIN);
        assert_eq!(lines, ["  name      stops      #", "  a-name-…  what it…   1"]);
    }
}
