//! Doubles for tests: scripted hooks, and the reference model that says what the bus has to decide.
//!
//! The model is slow and plain on purpose: it states the laws of a decision so that they can be read off it, and the
//! bus is compared with it on random plans. No crate depends on this one but in its tests.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod scripted;
pub mod reference;

pub use reference::{Decided, decide};
pub use scripted::{Reaction, ScriptedHook};
