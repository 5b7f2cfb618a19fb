//! JSON with what a good diagnostic needs: the line of every key and value, and the keys that occur twice.
//!
//! The text is one JSON value, at most [`DEEPEST`] levels deep and, of a file, of at most [`MOST_NODES`] values. What a value should be is asked elsewhere; JSON whose
//! lines do not matter is read with `lineside_core::json` alone.

mod located;

use lineside_core::json::{DEEPEST, Error, Reader};

use crate::tree::{DuplicateKey, MOST_NODES, Node};

/// A document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document {
    /// Its value.
    pub(crate) root: Node,
    /// Keys that an object has more than once: each but the first, in the order of the text.
    pub(crate) duplicates: Vec<DuplicateKey>,
}

/// Reads a document of a file.
///
/// # Errors
/// What is not exactly one JSON value within the bounds. The error has the line where reading stopped, but where there are
/// too many values.
pub(crate) fn read(text: &str) -> Result<Document, Error> {
    read_values(text, MOST_NODES)
}

/// Reads a document whose length has a bound already, however many values it has.
///
/// # Errors
/// Those of [`read`] but that one.
pub(crate) fn read_any(text: &str) -> Result<Document, Error> {
    read_values(text, usize::MAX)
}

fn read_values(text: &str, most: usize) -> Result<Document, Error> {
    located::Located::document(text.as_bytes(), Reader::new(text.as_bytes(), DEEPEST)?, most)
}

/// The line at which reading stopped, counted from 1.
pub(crate) fn line_of(error: &Error) -> u32 {
    error.line().and_then(|line| u32::try_from(line).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests;
