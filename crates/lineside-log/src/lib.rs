//! The decision log: what was decided and why, in SQLite, for `lineside why`, `log` and `stats`, and for tools of others.
//!
//! A [`Log`] takes [`Record`]s and never waits: a thread of its own writes them, many in one transaction, and what it cannot
//! take is counted. A [`Look`] reads the file, whether or not something writes it. Where records come from, and how what is
//! read looks on a page, is left to others.
//!
//! The log is not the truth about anything: it may lag, and it may be deleted. A store that is damaged, full or locked costs
//! the log and nothing else; [`Log::state`] names it.
//!
//! The modules stand in the order in which a record meets them.
//!
//! The [`guide`] explains the log and its queries.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

#[cfg(any(doc, doctest))]
pub mod guide;
mod record;
mod queue;
mod writer;
mod redacted;
mod schema;
mod lock;
mod store;
mod names;
mod retention;
mod query;
mod words;
mod plan;
mod look;
mod why;
mod stats;
mod recorded;
mod live;
mod told;

pub use look::{Decision, Look, LookError, News};
pub use query::{ParseQueryError, Query};
pub use queue::State;
pub use record::{Happened, LEFT, Record, Shadowed};
pub use recorded::{Kept, Recorded};
pub use retention::Retention;
pub use schema::VERSION;
pub use stats::{DOUBLINGS, HookStats, SessionStats, Stats};
pub use why::{Considered, Given, Why};
pub use writer::{Log, OpenLogError, Options};
