//! The running system: channels, dispatch, sessions, observers, mailboxes, signals, drain.
//!
//! Publishing walks a prepared, immutable plan in the publisher's own task: no lock, and nothing at all where nobody
//! listens. This crate is the only one that knows kameo. It does not know foreign formats, processes or files.
//!
//! The modules stand in reading order: a bus has sessions, a session has channels, a channel takes registrations and
//! publishes events, an event is dispatched, and what comes of it is decided, heard, collected and signalled.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod bus;
pub mod channel;
pub mod cx;
pub mod decision;
pub mod drain;
pub mod interceptor;
pub mod mailbox;
pub mod observer;
pub mod publish;
pub mod register;
pub mod session;
pub mod signal;

mod background;
mod clock;
mod dispatch;
mod gathered;
mod group;
mod guard;
mod stop_limit;
mod table;
mod tree;

pub use bus::{Bus, BusBuilder, Installed};
pub use channel::Channel;
pub use cx::Cx;
pub use decision::Decision;
pub use drain::DrainReport;
pub use interceptor::{Intercept, Interceptor};
pub use mailbox::{ContextMessage, Delivery};
pub use observer::{Heard, Lost, Overflow};
pub use publish::PublishError;
pub use register::{RegisterHookError, Registration};
pub use session::{OpenSessionError, Session};
pub use signal::{Signal, Signals};
