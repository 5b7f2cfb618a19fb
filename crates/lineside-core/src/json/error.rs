//! Why something is not JSON, or not JSON of the wanted type.

use std::borrow::Cow;
use std::fmt;

/// Why a text is not JSON, why JSON is not of a type, or why a type has no JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    detail: Cow<'static, str>,
    place: Option<Place>,
}

/// Where in a text, both counted from 1; the column in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    line: usize,
    column: usize,
}

impl Error {
    /// With that byte of a text as its place, unless it has one.
    pub(super) fn or_at(mut self, text: &[u8], byte: usize) -> Self {
        self.0.place.get_or_insert_with(|| {
            let before = &text[..byte.min(text.len())];
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
            Place { line, column }
        });
        self
    }

    pub(super) fn of(detail: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner { detail: detail.into(), place: None }))
    }

    /// What is wrong, without the place.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// The line, from 1, at which reading stopped; nothing if the text was JSON.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.0.place.map(|place| place.line)
    }

    /// The byte of that line, from 1, at which reading stopped.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.0.place.map(|place| place.column)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.detail)?;
        match self.0.place {
            Some(Place { line, column }) => write!(f, " at line {line} column {column}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        Self::new(std::io::ErrorKind::InvalidData, error)
    }
}

impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(detail: T) -> Self {
        Self::of(detail.to_string())
    }
}

impl serde::ser::Error for Error {
    fn custom<T: fmt::Display>(detail: T) -> Self {
        Self::of(detail.to_string())
    }
}
