//! Laws of the worker, with the real script and a real Node.
//!
//! Every test runs in a [`room::Room`], which checks at its end that no process, zombie or descriptor stayed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::needless_pass_by_value)]

#[allow(dead_code, reason = "the tests of runs need more of it")]
#[path = "../processes/room.rs"]
mod room;
#[allow(unreachable_pub, reason = "it is public where it belongs")]
#[path = "../../../lineside-dialects/src/openclaw/script.rs"]
mod script;

mod set;

mod answers;
mod api;
mod bounds;
mod conflicts;
mod endings;
mod faults;
mod line_worker;
mod loading;
mod output;
mod restarts;
mod sdk;
mod start;
mod typescript;
mod wire;
