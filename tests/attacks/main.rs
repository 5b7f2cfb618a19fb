//! Attacks, by class: each with the command and the daemon as processes, from outside.
//!
//! `docs/security.md` says what is promised against whom; a class of attack there is a module here.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ground;

mod environment;
mod answers;
mod approvals;
mod doors;
mod files;
mod guards;
mod halves;
mod memory;
mod orphans;
mod projects;
mod content;
mod protection;
mod traced;
