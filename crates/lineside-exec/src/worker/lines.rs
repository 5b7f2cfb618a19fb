//! One output of a worker as lines, whole ones and in constant memory.

use std::fmt;
use std::io;

use crate::pipes::try_again;

/// One read; the usual capacity of a pipe.
pub(super) const READ_BYTES: usize = 64 * 1024;
/// Reads in a row before the others get their turn.
const READS: usize = 16;

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Without its end.
    Whole(&'a [u8]),
    /// One that was longer than the limit, and how much of it was dropped.
    TooLong(usize),
}

/// The room that lines take which have no end yet, for the lines of one worker.
pub trait LineRoom: fmt::Debug + Send + Sync {
    /// From now on a line that was begun takes this many bytes of memory, instead of what it took before; nothing where there
    /// is none. `false` where there is no room for it: the line is dropped, and takes nothing.
    fn hold(&mut self, bytes: usize) -> bool;
}

/// One output.
#[derive(Debug)]
pub(super) struct Lines {
    at_end: bool,
    splitter: Splitter,
}

impl Lines {
    pub(super) fn new(limit: usize) -> Self {
        Self { at_end: false, splitter: Splitter::new(limit) }
    }

    /// With lines that were begun in this room.
    pub(super) fn within(mut self, room: Option<Box<dyn LineRoom>>) -> Self {
        self.splitter.room = room;
        self
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at_end
    }

    /// Reads what is there, from this source and through this room, and hands over the lines.
    pub(super) fn read(
        &mut self,
        chunk: &mut [u8],
        mut source: impl FnMut(&mut [u8]) -> io::Result<usize>,
        mut line: impl FnMut(Line<'_>),
    ) {
        for _ in 0..READS {
            match source(chunk) {
                Ok(0) => return self.end(line),
                Ok(bytes) => {
                    self.splitter.take(&chunk[..bytes], &mut line);
                    // There was no more; what comes now makes itself known.
                    if bytes < chunk.len() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if try_again(&error) => {}
                Err(_) => return self.end(line),
            }
        }
    }

    fn end(&mut self, mut line: impl FnMut(Line<'_>)) {
        self.at_end = true;
        self.splitter.end(&mut line);
        self.splitter.weigh();
    }
}

/// Cuts bytes into lines.
#[derive(Debug)]
struct Splitter {
    begun: Vec<u8>,
    dropped: usize,
    limit: usize,
    room: Option<Box<dyn LineRoom>>,
    /// What the line that was begun takes of that.
    held: usize,
}

impl Splitter {
    fn new(limit: usize) -> Self {
        Self { begun: Vec::new(), dropped: 0, limit, room: None, held: 0 }
    }

    fn take(&mut self, bytes: &[u8], line: &mut impl FnMut(Line<'_>)) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let whole = &rest[..end];
            if self.begun.is_empty() && self.dropped == 0 && whole.len() <= self.limit {
                // Most lines lie in one read, and need not be copied.
                if !whole.is_empty() {
                    line(Line::Whole(whole));
                }
            } else {
                self.add(whole);
                self.end(line);
            }
            rest = &rest[end + 1..];
        }
        self.add(rest);
        self.weigh();
    }

    /// Takes the room that the line needs which was begun.
    fn weigh(&mut self) {
        let Some(room) = &mut self.room else { return };
        let bytes = self.begun.capacity();
        if bytes == self.held {
            return;
        }
        self.held = bytes;
        if !room.hold(bytes) {
            self.dropped += self.begun.len();
            (self.begun, self.held) = (Vec::new(), 0);
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        if self.dropped > 0 || self.begun.len() + bytes.len() > self.limit {
            self.dropped += self.begun.len() + bytes.len();
            self.begun = Vec::new();
        } else {
            self.begun.extend_from_slice(bytes);
        }
    }

    /// The end of a line, or of the output; empty lines are skipped.
    fn end(&mut self, line: &mut impl FnMut(Line<'_>)) {
        let dropped = std::mem::take(&mut self.dropped);
        let whole = std::mem::take(&mut self.begun);
        if dropped > 0 {
            line(Line::TooLong(dropped));
        } else if !whole.is_empty() {
            line(Line::Whole(&whole));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Lines as their texts, and the sizes of those that were dropped in brackets.
    fn check(limit: usize, chunks: &[&str], expected: &[&str]) {
        let mut splitter = Splitter::new(limit);
        let mut lines = Vec::new();
        let mut keep = |line: Line<'_>| {
            lines.push(match line {
                Line::Whole(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
                Line::TooLong(bytes) => format!("<{bytes}>"),
            });
        };
        for chunk in chunks {
            splitter.take(chunk.as_bytes(), &mut keep);
        }
        splitter.end(&mut keep);
        assert_eq!(lines, expected);
    }

    /// OC-70: empty lines are skipped.
    #[test]
    fn lines_come_out_whole_however_they_arrive() {
        check(9, &["\na", "b\n\nc\nd", "e"], &["ab", "c", "de"]);
        check(9, &["a\nb\n", "c\n"], &["a", "b", "c"]);
    }

    /// Has room for this many bytes.
    #[derive(Debug)]
    struct Most(usize, Arc<AtomicUsize>);

    impl LineRoom for Most {
        fn hold(&mut self, bytes: usize) -> bool {
            self.1.store(if bytes > self.0 { 0 } else { bytes }, Ordering::Relaxed);
            bytes <= self.0
        }
    }

    #[test]
    fn a_line_that_was_begun_takes_room_until_it_is_whole_and_is_dropped_where_there_is_none() {
        let held = Arc::<AtomicUsize>::default();
        let mut lines = Lines::new(9_000).within(Some(Box::new(Most(2_000, Arc::clone(&held)))));
        let mut sizes = Vec::new();
        let mut take = |text: &str| {
            let mut rest = text.as_bytes();
            let source = |into: &mut [u8]| {
                if rest.is_empty() {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                io::Read::read(&mut rest, into)
            };
            lines.read(&mut [0; 512], source, |line| {
                sizes.push(match line {
                    Line::Whole(bytes) => bytes.len(),
                    Line::TooLong(bytes) => 10_000 + bytes,
                });
            });
            held.load(Ordering::Relaxed)
        };
        assert!((1_000..2_000).contains(&take(&"x".repeat(1_000))));
        assert_eq!((take("\n"), take("ab\nc\n")), (0, 0));
        assert_eq!((take(&"x".repeat(3_000)), take(&"x".repeat(1_000))), (0, 0), "there is no room for it");
        take("\nab\n");
        assert_eq!(sizes, [1_000, 2, 1, 14_000, 2]);
    }

    /// OC-68: the bound of a frame.
    #[test]
    fn a_line_over_the_limit_is_dropped_and_the_next_one_is_not() {
        check(3, &["abcd", "efg\nxyz\n"], &["<7>", "xyz"]);
        check(3, &["abcd\nxyz\nab", "cd\nx"], &["<4>", "xyz", "<4>", "x"]);
    }
}
