//! The table of faults, where a bus and real hooks meet: what a fault is taken for, and that nothing stays.
//!
//! A test whose name begins with a letter and two digits is of that row of the table.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bench;
mod commands;
mod context;
mod inputs;
mod loading;
mod posts;
mod secrets;
mod workers;
