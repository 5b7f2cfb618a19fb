//! One small change of the sources, as `cargo-mutants` lists it.

use serde::Deserialize;

/// Where and what. Its number is its index in the list.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Change {
    /// With the file, the line and the column.
    pub(super) name: String,
    pub(super) package: String,
    /// Relative to the root of the workspace.
    pub(super) file: String,
    pub(super) genre: Genre,
    /// Rust, in the place of what is there; empty where that is deleted.
    pub(super) replacement: String,
    pub(super) span: Span,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub(super) enum Genre {
    FnValue,
    BinaryOperator,
    UnaryOperator,
    MatchArm,
    MatchArmGuard,
    StructField,
    /// One that this version of the chore does not know.
    #[serde(other)]
    Other,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Span {
    pub(super) start: Place,
}

/// Counted from 1; the column in characters.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}
