//! Laws of the runner with real processes.
//!
//! A test whose name begins with `pNN` is of that row of the table of faults.
//! Every test runs in a [`room::Room`], which checks at its end that no process, zombie or descriptor stayed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod room;

mod cancellation;
mod deadline;
mod environment;
mod escapes;
mod exits;
mod files;
mod input;
mod leftovers;
mod orphans;
mod output;
mod resources;
mod start;
mod suspension;
mod turns;
