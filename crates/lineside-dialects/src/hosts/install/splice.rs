//! Insertions and deletions in a text whose other bytes stay: where they are made, and in which indentation.

use std::ops::Range;

use super::super::import::Syntax;
use super::piece::{Content, Piece};

/// Bytes that give way to a text. Those of one edit are disjoint and in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) at: Range<usize>,
    pub(super) text: String,
}

/// A value that is written anew.
#[derive(Debug, Clone)]
pub(super) enum New {
    /// A value on one line.
    Line(String),
    /// An object.
    Object(Vec<(String, New)>),
    /// A list.
    List(Vec<New>),
}

/// A text, and how it is laid out.
#[derive(Debug)]
pub(super) struct Page<'a> {
    text: &'a str,
    syntax: Syntax,
    /// Its line end.
    eol: &'static str,
    /// One level of indentation.
    unit: String,
    /// Whether it has more than one line, or has nothing yet.
    is_tall: bool,
}

/// What stands between an item and the next one or the end of its container.
#[derive(Debug, Default, Clone, Copy)]
struct Tail {
    comma: Option<usize>,
    /// The end of the last comma or comment.
    end: usize,
    /// Whether a comment is the last of it that lasts to the end of its line.
    is_line_comment: bool,
}

impl<'a> Page<'a> {
    /// The layout of a text.
    pub(super) fn new(text: &'a str, root: &Piece, syntax: Syntax) -> Self {
        let eol = match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let is_empty = root.members().is_empty();
        let mut page = Self { text, syntax, eol, unit: String::new(), is_tall: false };
        page.is_tall = is_empty || text[root.span.clone()].contains('\n') || syntax == Syntax::Toml;
        let first = root.members().first().filter(|_| syntax == Syntax::Json);
        page.unit = first
            .and_then(|member| page.margin(member.span.start))
            .filter(|unit| !unit.is_empty())
            .unwrap_or("  ")
            .to_owned();
        page
    }

    /// The text.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// The blanks before a byte, if there is nothing else before it on its line.
    fn margin(&self, at: usize) -> Option<&'a str> {
        let line = &self.text[self.line_start(at)..at];
        line.bytes().all(|byte| matches!(byte, b' ' | b'\t')).then_some(line)
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// The blanks with which the line of a byte begins.
    fn indent(&self, at: usize) -> &'a str {
        let line = &self.text[self.line_start(at)..at];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// What stands in these bytes, which have no value.
    fn tail(&self, from: usize, to: usize) -> Tail {
        let bytes = self.text.as_bytes();
        let mut tail = Tail { end: from, ..Tail::default() };
        let mut at = from;
        while at < to {
            let rest = &self.text[at..to];
            let is_line = match self.syntax {
                Syntax::Json => rest.starts_with("//"),
                Syntax::Toml => rest.starts_with('#'),
            };
            if is_line {
                let length = rest.find('\n').unwrap_or(rest.len());
                at += rest[..length].trim_end_matches('\r').len();
                (tail.end, tail.is_line_comment) = (at, true);
            } else if self.syntax == Syntax::Json && rest.starts_with("/*") {
                at += rest[2..].find("*/").map_or(rest.len(), |end| end + 4);
                (tail.end, tail.is_line_comment) = (at, false);
            } else {
                if bytes[at] == b',' {
                    tail.comma = Some(at);
                    (tail.end, tail.is_line_comment) = (at + 1, false);
                }
                at += rest.chars().next().map_or(1, char::len_utf8);
            }
        }
        tail
    }

    /// Appends members or elements to an object or a list in brackets.
    pub(super) fn append(&self, container: &Piece, items: &[(Option<&str>, New)]) -> Vec<Change> {
        let (open, close) = (container.span.start, container.span.end - 1);
        let spans = spans(container);
        let tail = self.tail(spans.last().map_or(open + 1, |last| last.end), close);
        let is_tall = match spans.first() {
            Some(first) => self.text[open..first.start].contains('\n') || tail.is_line_comment,
            None => self.is_tall,
        };
        let own = self.indent(open);
        let inner = match spans.first().and_then(|first| self.margin(first.start)) {
            Some(margin) => margin.to_owned(),
            _ => format!("{own}{}", self.unit),
        };
        let mut changes = Vec::new();
        let mut text = String::new();
        match spans.last() {
            Some(last) if tail.comma.is_none() => {
                if last.end == tail.end {
                    text.push(',');
                } else {
                    changes.push(Change { at: last.end..last.end, text: ",".to_owned() });
                }
            }
            _ => {}
        }
        for (index, (key, value)) in items.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            if is_tall {
                text.push_str(self.eol);
                text.push_str(&inner);
            } else if index + spans.len() > 0 && self.has_blanks() {
                text.push(' ');
            }
            text.push_str(&self.keyed(*key, value, &inner, is_tall));
        }
        if tail.comma.is_some() {
            text.push(',');
        }
        if is_tall && !self.text[tail.end..close].contains('\n') {
            text.push_str(self.eol);
            text.push_str(own);
        }
        changes.push(Change { at: tail.end..tail.end, text });
        changes
    }

    /// Whether a line of values has blanks between them.
    fn has_blanks(&self) -> bool {
        self.text.contains("\": ") || self.text.contains(", ")
    }

    fn keyed(&self, key: Option<&str>, value: &New, indent: &str, is_tall: bool) -> String {
        let blank = if is_tall || self.has_blanks() { " " } else { "" };
        let value = self.written(value, indent, is_tall);
        match key {
            Some(key) => format!("\"{key}\":{blank}{value}"),
            None => value,
        }
    }

    /// A value in the indentation of its line.
    pub(super) fn written(&self, value: &New, indent: &str, is_tall: bool) -> String {
        let inner = format!("{indent}{}", self.unit);
        let (brackets, items): (_, Vec<String>) = match value {
            New::Line(text) => return text.clone(),
            New::Object(members) => (
                ('{', '}'),
                members.iter().map(|(key, value)| self.keyed(Some(key), value, &inner, is_tall)).collect(),
            ),
            New::List(elements) => {
                (('[', ']'), elements.iter().map(|value| self.written(value, &inner, is_tall)).collect())
            }
        };
        let (open, close) = brackets;
        let eol = self.eol;
        if is_tall {
            format!("{open}{eol}{inner}{}{eol}{indent}{close}", items.join(&format!(",{eol}{inner}")))
        } else {
            format!("{open}{}{close}", items.join(if self.has_blanks() { ", " } else { "," }))
        }
    }

    /// Removes members or elements, each with one comma.
    pub(super) fn cut(&self, container: &Piece, which: &[usize]) -> Vec<Change> {
        let Range { start: open, end } = container.span;
        let spans = spans(container);
        let mut changes = Vec::new();
        for (index, span) in spans.iter().enumerate() {
            let before = index.checked_sub(1).map_or(open + 1, |before| spans[before].end);
            let after = spans.get(index + 1).map_or(end, |next| next.start);
            let follow = self.tail(span.end, after);
            if which.contains(&index) {
                let lead = self.tail(before, span.start);
                // A comment that lasts to the end of its line keeps the end of its line.
                let start = if lead.is_line_comment { span.start } else { lead.end };
                changes.push(start..span.end);
                changes.extend(follow.comma.map(|comma| comma..comma + 1));
            } else if (index + 1..spans.len()).all(|later| which.contains(&later))
                && self.tail(spans[spans.len() - 1].end, end).comma.is_none()
            {
                // It is the last one now, and the last one had no comma.
                changes.extend(follow.comma.map(|comma| comma..comma + 1));
            }
        }
        changes.sort_by_key(|range| (range.start, range.end));
        changes.into_iter().map(|at| Change { at, text: String::new() }).collect()
    }

    /// Appends tables of TOML to the end of the text, after an empty line.
    pub(super) fn append_tables(&self, tables: &[String]) -> Vec<Change> {
        let eol = self.eol;
        let ends = self.text.ends_with('\n');
        let before = match self.text.trim_start_matches('\u{feff}') {
            "" => String::new(),
            _ if ends => eol.to_owned(),
            _ => format!("{eol}{eol}"),
        };
        let body = tables.join("\n\n").replace('\n', eol);
        let after = if ends || self.text.is_empty() { eol } else { "" };
        let end = self.text.len();
        vec![Change { at: end..end, text: format!("{before}{body}{after}") }]
    }

    /// Removes a table of TOML, from its heading to the end of its last line, and the empty line before it.
    pub(super) fn cut_table(&self, table: &Piece) -> Change {
        let last = table.members().iter().map(|member| member.span.end).max().unwrap_or(table.span.end);
        let end = self.text[last..].find('\n').map_or(self.text.len(), |newline| last + newline + 1);
        let mut start = self.line_start(table.span.start);
        let above = &self.text[..start];
        for empty in ["\r\n\r\n", "\n\n"] {
            if above.ends_with(empty) {
                start -= empty.len() / 2;
                break;
            }
        }
        // The line before had no end of its own.
        if end == self.text.len() && !self.text.ends_with('\n') {
            let above = &self.text[..start];
            start = above.strip_suffix('\n').map_or(start, |above| above.trim_end_matches('\r').len());
        }
        Change { at: start..end, text: String::new() }
    }
}

fn spans(container: &Piece) -> Vec<Range<usize>> {
    match &container.content {
        Content::Object(members) => members.iter().map(|member| member.span.clone()).collect(),
        Content::List(elements) => elements.iter().map(|element| element.span.clone()).collect(),
        _ => Vec::new(),
    }
}

/// The text with all changes made.
pub(super) fn apply(text: &str, changes: &[Change]) -> String {
    let mut changed = String::with_capacity(text.len() + changes.iter().map(|c| c.text.len()).sum::<usize>());
    let mut at = 0;
    for change in changes {
        changed.push_str(text.get(at..change.at.start).unwrap_or_default());
        changed.push_str(&change.text);
        at = change.at.end.max(at);
    }
    changed.push_str(text.get(at..).unwrap_or_default());
    changed
}
