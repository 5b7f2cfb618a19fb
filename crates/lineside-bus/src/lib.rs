//! The running system: channels, dispatch, sessions, observers, mailboxes, signals, drain.
//!
//! Publishing walks a prepared, immutable plan in the publisher's own task: no lock, and nothing at all where nobody
//! listens. This crate is the only one that knows kameo. It does not know foreign formats, processes or files.
//!
//! The folders are layers, each of which knows only those before it: `base`, `registry`, `context`, `hook`, `dispatch`,
//! `api`. `docs/architecture.md` has the picture.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod base;
mod registry;
mod context;
mod hook;
mod dispatch;
mod api;

pub use api::{
    afterwards, bus, channel, decision, drain, of_dialect, propagation, publish, register, session,
};
pub use base::signal;
pub use context::mailbox;
pub use hook::{cx, interceptor, keeper, ledger, observer};

pub use afterwards::{Call, Late, WeakBus};
pub use bus::{Bus, BusBuilder, Installed};
pub use channel::Channel;
pub use cx::{ChainTime, Cx};
pub use decision::Decision;
pub use dispatch::detached::Ticket;
pub use drain::DrainReport;
pub use hook::background::Release;
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
