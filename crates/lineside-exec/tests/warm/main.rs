//! Workers for hooks: both kits with a real Python and a real Node, programs without a kit, and programs that are
//! another program's.
//!
//! Every test runs in a [`room::Room`], which checks at its end that no process, zombie or descriptor stayed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::needless_pass_by_value)]

#[allow(dead_code, reason = "the tests of runs need more of it")]
#[path = "../processes/room.rs"]
mod room;

mod yard;

mod faults;
mod forgery;
mod frames;
mod kits;
mod owners;
mod supervision;
