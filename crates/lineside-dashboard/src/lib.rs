//! The dashboard: the pages that show a person what all agents do now.
//!
//! [`page`] turns the model of `lineside-fleet`, and what the decision log and the daemon have, into HTML; [`assets`] are
//! the style and the scripts; [`flow`] plays flow control for the lab. All of it is pure: it does not know HTTP, a clock, a file or a daemon, and is given the time.
//!
//! Every text that comes from a file, a hook or an event is hostile: it is escaped by the templates, and what is invisible
//! in it is written out by [`text`].
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod text;
pub mod flow;
pub mod assets;
pub mod page;
