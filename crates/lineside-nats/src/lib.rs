//! Many daemons on one NATS: who is there, a registry of entries that each machine writes and all read, questions from
//! one machine to another, keys of which one machine has each at a time, windows and rates that all of them keep, and names of
//! jobs that any of them may run.
//!
//! What an entry or a question means is not known here: both are bytes. Nothing here blocks a caller on a server that is
//! away: entries are written behind, reads are answered from memory, and a question fails at once. This crate is the only
//! one that knows NATS.
//!
//! The modules stand in reading order: the clock, names and settings, the subjects, streams, what is known of the server and of members, the
//! registry, questions, keys, rates, windows, jobs, and the cluster that puts them together.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod clock;
pub mod settings;
mod subjects;
mod streams;
pub mod health;
mod members;
pub mod registry;
pub mod questions;
pub mod keys;
mod remembered;
mod ledger;
pub mod rates;
pub mod windows;
pub mod jobs;
pub mod cluster;
mod connecting;
mod joined;

pub use clock::Clock;
pub use cluster::Cluster;
pub use health::{Health, Link};
pub use jobs::{JobName, JobQueue, NewName, TakenName};
pub use keys::LostKeyError;
pub use questions::{AskMachineError, Question};
pub use rates::StartsIn;
pub use registry::{Entry, EntryName};
pub use settings::{Credentials, JoinClusterError, JoinSettings, Sync, Token};
pub use windows::{HeldEvents, WindowPart};
