//! What all agents do now, for everything that watches many of them: the dashboard, `lineside top`, a program's own view.
//!
//! A [`Model`] hears the signals of a bus, or the lines of a daemon's stream, and is bounded. It is pure: it does not know
//! where either comes from, nor a clock, and is given the time. How it is shown is left to others.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod text;
mod model;

pub use model::{Agent, Counts, Model, Notable, Sign, State, Times};
