//! The text of a value: as it is written, shown and read.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::DEEPEST_OF_ALL;
use super::error::Error;
use super::map::Map;
use super::read;
use super::value::Value;
use super::write::{Layout, text};

impl Value {
    /// The value as text in that layout.
    #[must_use]
    pub fn to_text(&self, layout: Layout) -> String {
        written(self, layout)
    }
}

impl Map {
    /// The entries as the text of an object in that layout.
    #[must_use]
    pub fn to_text(&self, layout: Layout) -> String {
        written(self, layout)
    }
}

/// On one line without blanks; with `#`, on indented lines.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(self, f)
    }
}

/// On one line without blanks; with `#`, on indented lines.
impl fmt::Display for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(self, f)
    }
}

impl FromStr for Value {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        read::typed(text.as_bytes(), DEEPEST_OF_ALL)
    }
}

/// A value or its entries, which always have a text.
fn written<T: Serialize>(value: &T, layout: Layout) -> String {
    text(value, layout).unwrap_or_default()
}

fn display<T: Serialize>(value: &T, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let layout = if f.alternate() { Layout::Indented } else { Layout::Compact };
    f.write_str(&text(value, layout).map_err(|_| fmt::Error)?)
}
