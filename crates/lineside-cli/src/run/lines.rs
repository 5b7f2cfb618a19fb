//! The lines of the input, counted, each of bounded length.

use std::io::IsTerminal as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use crate::style::tell;

/// The longest line that is kept: a whole file in a payload fits, an endless one does not.
pub(super) const LONGEST: usize = 64 << 20;

/// A line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Text(Vec<u8>),
    /// It was longer than [`LONGEST`] and was passed over.
    TooLong,
}

/// Reads lines.
pub(super) struct Lines {
    reader: BufReader<Box<dyn AsyncRead + Unpin + Send>>,
    longest: usize,
    partial: Vec<u8>,
    too_long: bool,
    number: u64,
}

impl Lines {
    /// The lines of a file; of standard input for `-` or nothing. Reports on a terminal that it is read.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(super) async fn open(path: Option<&Path>) -> Result<Self> {
        Ok(match path {
            Some(path) if path != Path::new("-") => {
                let open = File::open(path).await;
                let file = open.with_context(|| format!("failed to open {}", path.display()))?;
                Self::of(Box::new(file), LONGEST)
            }
            _ => {
                if std::io::stdin().is_terminal() {
                    tell("reading events from this terminal, one JSON object a line; Ctrl-D ends the input");
                }
                Self::of(Box::new(tokio::io::stdin()), LONGEST)
            }
        })
    }

    fn of(reader: Box<dyn AsyncRead + Unpin + Send>, longest: usize) -> Self {
        Self {
            reader: BufReader::with_capacity(1 << 16, reader),
            longest,
            partial: Vec::new(),
            too_long: false,
            number: 0,
        }
    }

    /// The number of the last line, counted from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next line; `None` at the end of the input. Cancel safe: what was read of a line is kept.
    pub(super) async fn next(&mut self) -> std::io::Result<Option<Line>> {
        loop {
            let chunk = self.reader.fill_buf().await?;
            if chunk.is_empty() {
                let rest = self.too_long || !self.partial.is_empty();
                return Ok(rest.then(|| self.end()));
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let text = &chunk[..end.unwrap_or(chunk.len())];
            if self.too_long || self.partial.len() + text.len() > self.longest {
                self.too_long = true;
                self.partial = Vec::new();
            } else {
                self.partial.extend_from_slice(text);
            }
            let used = text.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Some(self.end()));
            }
        }
    }

    fn end(&mut self) -> Line {
        self.number += 1;
        let text = std::mem::take(&mut self.partial);
        if std::mem::take(&mut self.too_long) { Line::TooLong } else { Line::Text(text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(text: &'static str, expected: &[Option<&str>]) {
        let mut lines = Lines::of(Box::new(text.as_bytes()), 5);
        for expected in expected {
            let expected = match expected {
                Some(text) => Line::Text(text.as_bytes().to_vec()),
                None => Line::TooLong,
            };
            assert_eq!(lines.next().await.unwrap(), Some(expected));
        }
        assert_eq!(lines.next().await.unwrap(), None);
        assert_eq!(lines.number(), expected.len() as u64);
    }

    #[tokio::test]
    async fn lines_end_at_a_line_feed_or_with_the_input() {
        check("", &[]).await;
        check("a\n\nbc", &[Some("a"), Some(""), Some("bc")]).await;
        check("a\n", &[Some("a")]).await;
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_costs_only_itself() {
        check("12345\n123456\n1\n1234567", &[Some("12345"), None, Some("1"), None]).await;
    }
}
