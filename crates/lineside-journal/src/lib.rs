//! The embedded journal.
