//! A text with labels at places of it, as compilers show what they mean.
//!
//! A row of the text is as wide as the terminal leaves it beside its labels; below it stand lines under the places, and
//! below these the labels, that of the last place first. Characters that are not seen are shown as their escapes.

use std::ops::Range;

use unicode_width::UnicodeWidthChar as _;

use crate::painter::{in_passing, one_line};
use crate::style::{Style, Tone, on_this_terminal};

/// What is to be read at a place.
#[derive(Debug)]
pub(crate) struct Label {
    /// Bytes of the text; not empty.
    pub(crate) place: Range<usize>,
    pub(crate) tone: Tone,
    /// Empty where the place is underlined alone.
    pub(crate) text: String,
}

/// What a label is never narrower than.
const LABEL: usize = 30;
/// The columns of a page of any width.
const WIDE: usize = 200;
/// The least columns of a row.
const ROW: usize = 24;
/// Columns from one stop of tabs to the next.
const TAB: usize = 4;
/// Rows without a label that are shown beside those with one.
const CONTEXT: usize = 1;
/// Rows of a text without any label.
const UNLABELLED: usize = 12;

/// A character as it is shown.
struct Cell {
    /// Where it begins.
    at: usize,
    shown: String,
    width: usize,
    /// Whether it is shown otherwise than it is.
    escaped: bool,
}

/// A line of the text, or as much of it as one of the terminal holds.
struct Row {
    /// The number of the line, at its beginning.
    number: Option<usize>,
    cells: Vec<Cell>,
}

impl Row {
    fn range(&self) -> Range<usize> {
        let end = self.cells.last().map_or(0, |cell| cell.at + 1);
        self.cells.first().map_or(0, |cell| cell.at)..end
    }

    /// The columns of a place: where it begins here and how many it takes.
    fn columns(&self, place: &Range<usize>) -> Range<usize> {
        let mut column = 0;
        let mut found: Option<Range<usize>> = None;
        for cell in &self.cells {
            let next = column + cell.width;
            if place.contains(&cell.at) {
                found = Some(found.map_or(column, |found| found.start)..next);
            }
            column = next;
        }
        found.unwrap_or(0..0)
    }
}

/// The labels of one place: where their line goes down, and the lines themselves.
struct Hanging<'l> {
    column: usize,
    labels: Vec<&'l Label>,
}

/// The lines of a picture.
pub(crate) fn lines(text: &str, labels: &[Label], columns: Option<usize>, style: Style) -> Vec<String> {
    // A text of one line needs no number.
    let is_numbered = text.trim_end_matches('\n').contains('\n');
    drawn(text, is_numbered.then_some(1), labels, columns, style)
}

/// The same of a part of a text, which begins with this line of it.
pub(crate) fn lines_from(
    first: usize,
    text: &str,
    labels: &[Label],
    columns: Option<usize>,
    style: Style,
) -> Vec<String> {
    drawn(text, Some(first), labels, columns, style)
}

fn drawn(
    text: &str,
    first: Option<usize>,
    labels: &[Label],
    columns: Option<usize>,
    style: Style,
) -> Vec<String> {
    let page = columns.unwrap_or(WIDE);
    let lines: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
    let digits = first.map_or(0, |first| (first + lines.len() - 1).to_string().len());
    let gutter = if digits > 0 { digits + 5 } else { 2 };
    let room = page.saturating_sub(gutter).saturating_sub(LABEL).max(ROW);
    let mut rows = Vec::new();
    let mut at = 0;
    for (index, line) in lines.iter().enumerate() {
        rows.extend(folded(line, at, index + first.unwrap_or(1), room));
        at += line.len() + 1;
    }
    let painter = Painter { labels, page, digits, gutter, style };
    let shown = shown(&rows, labels);
    let mut out = Vec::new();
    let mut skipped = false;
    for (row, is_shown) in rows.iter().zip(shown) {
        if is_shown {
            painter.row(row, &mut out);
        } else if !skipped {
            out.push(format!("{}{}", " ".repeat(gutter), style.paint(Tone::Dim, "⋮")));
        }
        skipped = !is_shown;
    }
    out
}

/// A line as rows that fit, broken behind blanks where there are some.
fn folded(line: &str, start: usize, number: usize, room: usize) -> Vec<Row> {
    let mut rows = vec![Row { number: Some(number), cells: Vec::new() }];
    let mut width = 0;
    for (at, char) in line.char_indices() {
        let cell = cell(char, start + at, width);
        if width + cell.width > room
            && let Some(row) = rows.last_mut()
        {
            let blank = row.cells.iter().rposition(|cell| cell.shown == " ").map_or(0, |at| at + 1);
            let from = if blank * 2 > row.cells.len() { blank } else { row.cells.len() };
            let rest = row.cells.split_off(from);
            width = rest.iter().map(|cell| cell.width).sum();
            rows.push(Row { number: None, cells: rest });
        }
        width += cell.width;
        if let Some(row) = rows.last_mut() {
            row.cells.push(cell);
        }
    }
    rows
}

fn cell(char: char, at: usize, column: usize) -> Cell {
    if char == '\t' {
        let width = TAB - column % TAB;
        return Cell { at, shown: " ".repeat(width), width, escaped: false };
    }
    let plain = char.to_string();
    let shown = on_this_terminal(&one_line(&plain)).into_owned();
    let width = shown.chars().map(|char| char.width().unwrap_or(0)).sum();
    Cell { at, width, escaped: shown != plain, shown }
}

/// Which rows are shown: those with a label, and some beside them.
fn shown(rows: &[Row], labels: &[Label]) -> Vec<bool> {
    let labelled: Vec<usize> = (0..rows.len())
        .filter(|index| labels.iter().any(|label| rows[*index].range().contains(&label.place.start)))
        .collect();
    let near = |index: usize| labelled.iter().any(|at| at.abs_diff(index) <= CONTEXT);
    let all = rows.len() <= UNLABELLED;
    (0..rows.len()).map(|index| all || near(index) || (labelled.is_empty() && index < UNLABELLED)).collect()
}

struct Painter<'l> {
    labels: &'l [Label],
    page: usize,
    digits: usize,
    gutter: usize,
    style: Style,
}

impl<'l> Painter<'l> {
    fn row(&self, row: &Row, out: &mut Vec<String>) {
        let cover = self.cover(row);
        out.push(format!("{}{}", self.margin(row.number, true), self.text(row, &cover)));
        let hanging = self.hanging(row, &cover);
        if cover.iter().any(Option::is_some) {
            out.push(format!("{}{}", self.margin(None, false), self.underlined(&cover, &hanging)));
        }
        for (index, one) in hanging.iter().enumerate().rev() {
            self.hang(one, &hanging[..index], out);
        }
    }

    fn margin(&self, number: Option<usize>, of_text: bool) -> String {
        if self.digits == 0 {
            return " ".repeat(self.gutter);
        }
        let number = number.map(|number| number.to_string()).unwrap_or_default();
        let sign = if of_text { "│" } else { " " };
        self.style.paint(Tone::Dim, &format!("  {number:>digits$} {sign} ", digits = self.digits))
    }

    /// The narrowest label over each column.
    fn cover(&self, row: &Row) -> Vec<Option<&'l Label>> {
        let width = row.cells.iter().map(|cell| cell.width).sum();
        let mut cover = vec![None; width];
        let mut labels: Vec<&Label> = self.labels.iter().collect();
        labels.sort_by_key(|label| std::cmp::Reverse(label.place.len()));
        for label in labels {
            let columns = row.columns(&label.place);
            cover[columns].fill(Some(label));
        }
        cover
    }

    fn text(&self, row: &Row, cover: &[Option<&Label>]) -> String {
        let mut column = 0;
        let mut pieces = Vec::with_capacity(row.cells.len());
        for cell in &row.cells {
            let tone = match cover.get(column) {
                _ if cell.escaped => Tone::Warning,
                Some(Some(label)) => label.tone,
                _ => Tone::Plain,
            };
            pieces.push((tone, cell.shown.as_str()));
            column += cell.width;
        }
        self.painted(pieces)
    }

    /// Pieces of text, those of one tone next to each other painted at once.
    fn painted<'p>(&self, pieces: impl IntoIterator<Item = (Tone, &'p str)>) -> String {
        let mut out = String::new();
        let mut run = (Tone::Plain, String::new());
        for (tone, text) in pieces {
            if tone != run.0 {
                out.push_str(&self.style.paint(run.0, &run.1));
                run = (tone, String::new());
            }
            run.1.push_str(text);
        }
        out + &self.style.paint(run.0, &run.1)
    }

    fn underlined(&self, cover: &[Option<&Label>], hanging: &[Hanging<'_>]) -> String {
        let goes_down = |column: usize| hanging.iter().any(|one| one.column == column);
        let sign = |(column, label): (usize, &Option<&Label>)| match label {
            Some(label) if goes_down(column) => (label.tone, "┬"),
            Some(label) => (label.tone, "─"),
            None => (Tone::Plain, " "),
        };
        let end = cover.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        self.painted(cover[..end].iter().enumerate().map(sign))
    }

    /// The places that begin in a row, from left to right, each with its labels.
    fn hanging(&self, row: &Row, cover: &[Option<&Label>]) -> Vec<Hanging<'l>> {
        let mut all: Vec<Hanging<'_>> = Vec::new();
        let range = row.range();
        let texts = self.labels.iter().filter(|label| !label.text.is_empty());
        for label in texts.filter(|label| range.contains(&label.place.start)) {
            if let Some(same) = all.iter_mut().find(|one| one.labels[0].place == label.place) {
                same.labels.push(label);
                continue;
            }
            let columns = row.columns(&label.place);
            let middle = usize::midpoint(columns.start, columns.end.saturating_sub(1));
            let is_free = |column: &usize| all.iter().all(|one| one.column != *column);
            let is_own = |column: &usize| {
                is_free(column)
                    && cover
                        .get(*column)
                        .is_some_and(|over| over.is_some_and(|over| over.place == label.place))
            };
            let mut own = std::iter::once(middle).chain(columns.clone()).filter(is_own);
            let column = own.next().or_else(|| columns.clone().find(is_free)).unwrap_or(middle);
            all.push(Hanging { column, labels: vec![label] });
        }
        all.sort_by_key(|one| one.column);
        all
    }

    fn hang(&self, one: &Hanging<'_>, before: &[Hanging<'_>], out: &mut Vec<String>) {
        let room = self.page.saturating_sub(self.gutter + one.column + 3).max(LABEL / 2);
        let mut is_first = true;
        for label in &one.labels {
            for line in broken(&in_passing(&label.text), room) {
                let mut text = self.margin(None, false);
                let mut column = 0;
                for other in before {
                    text.push_str(&" ".repeat(other.column.saturating_sub(column)));
                    if other.column >= column {
                        text.push_str(&self.style.paint(other.labels[0].tone, "│"));
                        column = other.column + 1;
                    }
                }
                text.push_str(&" ".repeat(one.column.saturating_sub(column)));
                let sign = if std::mem::take(&mut is_first) { "╰─ " } else { "   " };
                text.push_str(&self.style.paint(one.labels[0].tone, sign));
                text.push_str(&self.style.paint(label.tone, &line));
                out.push(text.trim_end().to_owned());
            }
        }
    }
}

/// A text in lines of so many columns, broken at blanks where there are some.
pub(crate) fn broken(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let width: usize = word.chars().map(|char| char.width().unwrap_or(0)).sum();
        if used > 0 && used + 1 + width > room {
            lines.push(String::new());
            used = 0;
        } else if used > 0 {
            push(&mut lines, ' ');
            used += 1;
        }
        for char in word.chars() {
            let width = char.width().unwrap_or(0);
            if used + width > room {
                lines.push(String::new());
                used = 0;
            }
            push(&mut lines, char);
            used += width;
        }
    }
    lines
}

fn push(lines: &mut [String], char: char) {
    if let Some(line) = lines.last_mut() {
        line.push(char);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(text: &str, part: &str, said: &str) -> Label {
        let start = text.find(part).unwrap();
        Label { place: start..start + part.len(), tone: Tone::Plain, text: said.to_owned() }
    }

    fn shown(text: &str, labels: &[Label], columns: usize) -> String {
        let lines = lines(text, labels, Some(columns), Style::PLAIN);
        let width = |line: &String| line.chars().map(|char| char.width().unwrap_or(0)).sum::<usize>();
        assert!(lines.iter().all(|line| width(line) <= columns), "{}", lines.join("\n"));
        lines.join("\n")
    }

    #[test]
    fn a_long_line_is_folded_and_its_labels_stay_on_the_page() {
        let text = "rm -rf one two three four five six && cat seven eight nine ten eleven";
        let labels = [
            label(text, "rm", "runs rm"),
            label(text, "two", "deletes /proj/two, of which more is said here"),
            label(text, "eleven", "reads /proj/eleven"),
        ];
        insta::assert_snapshot!(shown(text, &labels, 60));
    }

    #[test]
    fn places_lie_under_wide_characters_tabs_and_escapes() {
        let text = "日本 é\tx\u{200b}y z\n\u{1b}[2J w";
        let labels =
            [label(text, "本", "wide"), label(text, "x\u{200b}y", "escaped"), label(text, "w", "after")];
        insta::assert_snapshot!(shown(text, &labels, 70));
    }

    #[test]
    fn a_place_within_another_has_a_line_of_its_own() {
        let text = r#"rm "$(cat a)" b"#;
        let labels =
            [label(text, r#""$(cat a)""#, "outer"), label(text, "cat", "inner"), label(text, "a)", "last")];
        insta::assert_snapshot!(shown(text, &labels, 70));
    }

    #[test]
    fn lines_that_say_nothing_are_left_out() {
        let text: String = (1..=40).map(|number| format!("line {number}\n")).collect();
        insta::assert_snapshot!(shown(&text, &[label(&text, "line 20", "here")], 70));
    }
}
