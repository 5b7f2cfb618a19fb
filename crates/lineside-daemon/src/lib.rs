//! One bus for every agent program of a user: sessions, events, decisions and context over HTTP, on a Unix socket and,
//! when asked, on loopback.
//!
//! The daemon owns nothing of its own but the door and the form of the answers: what a session, a decision or a job is
//! comes from `lineside`. Where its files lie is handed in; it does not read the environment. This crate is the only
//! one that knows HTTP servers.
//!
//! The modules stand in reading order: settings, who may come in, what is kept for those who ask, the API, and the
//! server that puts them together.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod settings;
pub mod socket;
pub mod token;
pub mod switch;
mod strangers;

mod random;
mod problem;
mod projects;
mod door;
mod bequests;
mod body;
mod room;
mod sync;
mod closed;
mod measures;
mod feed;
mod logged;
mod texts;
mod outlet;
mod observers;
mod telemetry;
mod deliveries;
mod inherited;
mod attachments;
mod preparing;
mod grants;
mod elsewhere;
mod cluster;
mod lineage;
mod orphans;
pub mod guarded;
mod shares;
mod boxed;
mod agents;
mod trace;
mod mismatches;
mod approvals;
mod footprint;
mod in_force;
mod dashboard;
mod watch;
mod watcher;
mod aside;
mod begun;
mod whole;
mod daemon;
mod heritage;
mod place;
mod caller;
pub mod api;
mod pages;
mod shared_stream;
mod inline_waker;
mod pace;
mod deciding;
mod publishing;
mod turns;
mod accepting;
mod connections;
pub mod serve;

pub use problem::Problem;
pub use serve::{Report, ServeError, Server};
pub use settings::Settings;
