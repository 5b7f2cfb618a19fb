//! The account that a process runs as: what the system says of it, where its daemon is, and whether the other end of a
//! socket is it.
//!
//! One place knows these rules, for the small program that agent programs start as for the full command. The system says
//! who an account is; what a person has set in their environment is handed in by those who may read it.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod account;
mod mark;
mod places;
mod peer;

pub use account::Account;
pub use mark::Mark;
#[cfg(target_os = "linux")]
pub use peer::peer_of;
pub use peer::{ConnectError, connect, is_own, own_user};
pub use places::{Named, Places, is_of_own};
