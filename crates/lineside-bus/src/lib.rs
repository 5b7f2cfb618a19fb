//! The running system: dispatch, sessions, observers, mailboxes, signals, drain.
//!
//! Publishing walks a prepared, immutable plan in the publisher's own task: no lock, and nothing at all where no hook
//! listens. This crate is the only one that knows kameo, and only with the feature `actors`. It does not know foreign formats, processes or files.
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
    bus, collect, decision, drain, extension, job_store, living, of_dialect, propagation, publish, register,
    scope, session,
};
pub use base::{approver, signal};
pub use hook::{cx, durable_run, interceptor, observer};

pub use bus::{Bus, BusBuilder};
pub use cx::{ChainTime, Cx};
pub use decision::Decision;
pub use extension::{Call, DeferredMessage, WeakBus};

pub use base::background::Release;
pub use collect::Collect;
pub use context::{
    ContextMessage, ContextRecovered, Delivery, FullTexts, Keeping, Missing, NotKept, Posted, TextsInMemory,
    WhyMissing,
};
pub use drain::DrainReport;
pub use durable_run::{Accepted, Begun, DurableRun, Ending, RunRecorder, UntilBegun};
#[cfg(feature = "actors")]
pub use interceptor::Intercept;
pub use interceptor::{BackgroundRuns, Interceptor, Ticket};
pub use job_store::{JobCounts, JobStore};
pub use living::{Living, LivingEntry};
pub use observer::{Heard, Lost, Overflow};
pub use of_dialect::OfDialect;
pub use propagation::Propagate;
pub use publish::PublishError;
pub use register::{Installed, RegisterHookError, Registration};
pub use scope::Scope;
pub use session::{OpenSessionError, Session};
pub use signal::{JobNews, Signal, Signals};
