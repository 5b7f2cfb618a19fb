//! The running system: channels, dispatch, sessions, observers, mailboxes, signals, drain.
//!
//! Publishing walks a prepared, immutable plan in the publisher's own task: no lock, and nothing at all where nobody
//! listens. This crate is the only one that knows kameo. It does not know foreign formats, processes or files.
//!
//! The modules stand in reading order: a bus has sessions, a session has channels, a channel takes registrations and
//! publishes events, an event is dispatched, and what comes of it is decided, heard, collected and signalled.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod bus;
pub mod session;
pub mod channel;
pub mod register;
pub mod of_dialect;
pub mod interceptor;
mod asked;
pub mod observer;
pub mod publish;
pub mod decision;
pub mod mailbox;
pub mod signal;
pub mod drain;
pub mod cx;
pub mod afterwards;
pub mod keeper;
pub mod propagation;
pub mod ledger;

mod clock;
mod gauge;
mod tree;
mod registry;
mod dispatch;
mod turn;
mod advance;
mod group;
mod together;
mod guard;
mod gathered;
mod settle;
mod detached;
mod stop_limit;
mod background;

pub use afterwards::{Call, Late, WeakBus};
pub use background::Release;
pub use bus::{Bus, BusBuilder, Installed};
pub use channel::Channel;
pub use cx::{ChainTime, Cx};
pub use decision::Decision;
pub use detached::Ticket;
pub use drain::DrainReport;
pub use interceptor::{Intercept, Interceptor};
pub use keeper::{JobCounts, Keeper};
pub use ledger::{Accepted, Begun, Ending, Ledger, OnRecord, UntilBegun};
pub use mailbox::{
    ContextMessage, ContextRecovered, Delivery, FullTexts, Keeping, Missing, Posted, WhyMissing,
};
pub use observer::{Heard, Lost, Overflow};
pub use of_dialect::OfDialect;
pub use propagation::Propagate;
pub use publish::PublishError;
pub use register::{RegisterHookError, Registration};
pub use session::{OpenSessionError, Session};
pub use signal::{JobNews, Signal, Signals};
