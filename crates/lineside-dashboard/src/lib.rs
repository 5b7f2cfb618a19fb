//! The dashboard: a model of what all agents do now, and the pages that show it to a person.
//!
//! A [`Model`] is fed with signals and is bounded; [`page`] turns it, and what the decision log and the daemon have, into
//! HTML; [`assets`] are the style and the scripts. All of it is pure: it does not know HTTP, a clock, a file or a daemon,
//! and is given the time.
//!
//! Every text that comes from a file, a hook or an event is hostile: it is escaped by the templates, and what is invisible
//! in it is written out by [`text`].
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod text;
mod model;
pub mod assets;
pub mod page;

pub use model::{Agent, Counts, Model, Notable, Sign, State};
