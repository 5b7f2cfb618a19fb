//! A row as it is written.

/// Names, options, and what it does; [`crate::tables`] says how each is read.
pub(super) type Source = (&'static str, &'static str, &'static str);
