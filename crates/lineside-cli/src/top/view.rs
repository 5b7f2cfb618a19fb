//! One view: its rows, the chosen one of them, and how far it was scrolled.

use crate::top::keys::Kind;

/// A row: what it is about, and its lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// A session, an event, a question or a job; nothing for a row that cannot be opened.
    pub(super) about: String,
    /// None for a session: its line is made when it is seen.
    pub(super) lines: Vec<String>,
    /// How far it stands below another.
    pub(super) depth: usize,
}

impl Row {
    pub(super) fn new(about: impl Into<String>, lines: Vec<String>) -> Self {
        Self { about: about.into(), lines, depth: 0 }
    }

    /// Lines that are read and not chosen.
    pub(super) fn text(lines: impl IntoIterator<Item = String>) -> Vec<Self> {
        lines.into_iter().map(|line| Self::new("", vec![line])).collect()
    }

    fn height(&self) -> usize {
        self.lines.len().max(1)
    }
}

/// What is on the screen, or below what is.
#[derive(Debug, Clone)]
pub(super) struct View {
    pub(super) kind: Kind,
    /// The session, event or question that it is about.
    pub(super) about: String,
    /// Whether a timeline is that of the whole tree.
    pub(super) is_tree: bool,
    pub(super) rows: Vec<Row>,
    /// What is chosen, by what it is about and by its place.
    pub(super) chosen: String,
    pub(super) at: usize,
    /// The first row that is seen.
    pub(super) first: usize,
    /// How many rows of it have been on the screen, from the first one on.
    pub(super) seen: usize,
    /// Whether what it shows has come.
    pub(super) has_come: bool,
}

impl View {
    pub(super) fn new(kind: Kind, about: impl Into<String>) -> Self {
        let about = about.into();
        let (rows, chosen) = (Vec::new(), String::new());
        Self { kind, about, is_tree: false, rows, chosen, at: 0, first: 0, seen: 0, has_come: false }
    }

    /// Whether it is a text, which is scrolled, and no list.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.kind, Kind::Decision | Kind::Question | Kind::Hooks | Kind::Help)
    }

    /// Has other rows: what was chosen stays so, or what has come in its place is.
    pub(super) fn fill(&mut self, rows: Vec<Row>) {
        let was_last = self.at + 1 >= self.rows.len();
        self.rows = rows;
        let is_there = self.rows.get(self.at).is_some_and(|row| row.about == self.chosen);
        // A timeline that stands at its end goes on with what comes.
        if self.kind == Kind::Timeline && was_last {
            self.at = self.rows.len();
        } else if !is_there && !self.chosen.is_empty() {
            self.at = self.rows.iter().position(|row| row.about == self.chosen).unwrap_or(self.at);
        }
        self.choose(self.at);
    }

    /// Chooses the row at a place, or scrolls there.
    pub(super) fn choose(&mut self, at: usize) {
        self.at = at.min(self.rows.len().saturating_sub(1));
        self.chosen = self.rows.get(self.at).map(|row| row.about.clone()).unwrap_or_default();
    }

    /// The rows that are seen on so many lines: of a list the chosen one is among them.
    pub(super) fn window(&mut self, room: usize) -> std::ops::Range<usize> {
        // The first of the rows up to an end that all fit.
        let back = |end: usize| {
            let mut used = 0;
            let fits = |row: &&Row| {
                used += row.height();
                used <= room
            };
            end - self.rows[..end].iter().rev().take_while(fits).count()
        };
        let end = self.rows.len();
        self.first = match self.is_text() {
            true => self.at.min(back(end)),
            // Its last line is seen, and no room is left below the last row.
            false => self.first.max(back((self.at + 1).min(end))).min(self.at).min(back(end)),
        };
        if self.is_text() {
            self.at = self.first;
        }
        let mut used = 0;
        let is_seen = |row: &&Row| {
            let has_room = used < room;
            used += row.height();
            has_room
        };
        self.first..self.first + self.rows.iter().skip(self.first).take_while(is_seen).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(names: &str) -> Vec<Row> {
        names.chars().map(|name| Row::new(name, Vec::new())).collect()
    }

    #[test]
    fn the_chosen_row_is_kept_while_others_come_and_go_and_is_seen() {
        let mut view = View::new(Kind::Sessions, "");
        view.fill(rows("abcd"));
        view.choose(2);
        view.fill(rows("xaybc"));
        assert_eq!((view.at, &*view.chosen), (4, "c"));
        assert_eq!(view.window(3), 2..5);
        view.fill(rows("ab"));
        assert_eq!((view.at, &*view.chosen), (1, "b"));
        assert_eq!(view.window(3), 0..2);
        view.fill(Vec::new());
        assert_eq!(view.window(3), 0..0);
        assert_eq!((view.at, &*view.chosen), (0, ""));
    }

    #[test]
    fn a_timeline_goes_on_at_its_end_and_stays_where_a_person_reads() {
        let mut view = View::new(Kind::Timeline, "s");
        view.fill(rows("ab"));
        view.fill(rows("abc"));
        assert_eq!(&*view.chosen, "c");
        view.choose(0);
        view.fill(rows("abcd"));
        assert_eq!(&*view.chosen, "a");
    }
}
