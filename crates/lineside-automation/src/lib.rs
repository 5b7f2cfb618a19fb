//! How the work that events start is paced: bursts become one run, runs with the same key go one at a time, and what
//! was accepted runs, across failures and kills.
//!
//! The rules are pure and are given the time. [`Machine`] is all of them together; [`Automations`] drives it with
//! tokio's clock, so that a test that pauses it lives in virtual time, and keeps its records. What runs is a closure,
//! and what it reports goes through the bus.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod automate;
pub mod engine;
pub mod jobs;
pub mod machine;
pub mod record;
pub mod port;
pub mod shared_keys;
pub mod shared_windows;
pub mod offered;
pub mod unix_micros;
pub mod bursts;
pub mod hook_id;
pub mod adopted;
pub mod declared;

mod tasks;

pub use adopted::{HookJobRegistry, HookJobSpec, HookJobs};
pub use automate::{Automate, AutomateError, Automating, Automation, WhyNotAutomate};
pub use bursts::Bursts;
pub use control::{AtEnd, Batch, Control, ControlError, Excess, OnBusy, Place, Rate, Retry, Scope};
pub use declared::Declaration;
pub use engine::{Automations, HeldKey, KeyClaim, OpenError, Recording, Recovered};
pub use hook_id::HookId;
pub use jobs::Jobs;
pub use lineside_core::{control, report};
pub use machine::Machine;
pub use machine::job::JobId;
pub use port::{Durability, Journal, Unavailable};
pub use report::{Format, Report, ResultRule, ResultWhen};
pub use shared_keys::{LostKeyError, RunUnderKey, SharedKeys};
pub use shared_windows::{SharedRate, SharedWindows};
