//! Filters over what a tool call does, and hooks that answer without a process of their own.
//!
//! A shell command is read as its shell would read it, a read, write or edit tool touches the paths that it names, and both
//! are asked the same questions: what runs, what is read, written, deleted. An event is read once for all hooks.
//!
//! ```
//! use lineside_core::matcher::tool;
//! use lineside_guards::{deletes, runs};
//!
//! let push = runs("git").subcommand("push").any_flag("-f|--force");
//! assert!(tool("Shell").and(push).compile().is_ok());
//! assert!(deletes("migrations/**").not("migrations/drafts/**").acts().is_ok());
//! ```
//!
//! This crate does not know files of hooks, nor who asks.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod account;
mod links;
mod calls;
mod found;
mod keys;
mod never;
mod read;
mod acts;
mod build;
mod wording;
mod limit;
mod ruling;

pub use account::Account;
pub use acts::Acts;
pub use build::{ActsDraft, Runs, Touches, deletes, reads, runs, writes};
pub use calls::PATCHES;
pub use found::Found;
pub use keys::KEYS;
pub use limit::{LONGEST_CALL, Limit, MOST as MOST_OF_A_LIMIT};
pub use lineside_commands::filter::WhenUnclear;
pub use read::{ReadActsError, Step, Wrong};
pub use ruling::{Change, Ruling};
pub use wording::{Wording, WordingError};
