//! JSON with what a good diagnostic needs: the line of every key and value, and the keys that occur twice.
//!
//! The text is one JSON value, at most [`DEEPEST`] levels deep. What a value should be is asked elsewhere; JSON whose
//! lines do not matter is read with `lineside_core::json` alone.

mod located;

use lineside_core::json::{DEEPEST, Error, Reader};

use crate::tree::{DuplicateKey, Node};

/// A document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document {
    /// Its value.
    pub(crate) root: Node,
    /// Keys that an object has more than once: each but the first, in the order of the text.
    pub(crate) duplicates: Vec<DuplicateKey>,
}

/// Reads a document.
///
/// # Errors
/// What is not exactly one JSON value within the bound. The error has the line where reading stopped.
pub(crate) fn read(text: &str) -> Result<Document, Error> {
    located::Located::document(text.as_bytes(), Reader::new(text.as_bytes(), DEEPEST)?)
}

/// The line at which reading stopped, counted from 1.
pub(crate) fn line_of(error: &Error) -> u32 {
    error.line().and_then(|line| u32::try_from(line).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests;
