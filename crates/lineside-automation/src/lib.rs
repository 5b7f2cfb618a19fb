//! How the work that events start is paced: bursts become one run, and runs with the same key go one at a time.
//!
//! The rules are pure and are given the time; [`Debouncer`] drives them with tokio's clock, so that a test that pauses
//! it lives in virtual time. What runs, and what becomes of it, is the bus's.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod control;
pub mod report;
pub mod moment;
pub mod machine;
pub mod record;
pub mod bursts;
pub mod debouncer;
pub mod keys;

pub use bursts::Bursts;
pub use debouncer::Debouncer;
pub use keys::{Held, Keys};
