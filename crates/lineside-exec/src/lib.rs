//! Handlers outside the process: commands and HTTP posts, with one deadline over everything.
//!
//! A [`Runner`] turns a [`lineside_core::invocation::Invocation`] into a [`lineside_core::invocation::Ended`], an
//! [`HttpClient`] a [`lineside_core::exchange::Post`] into a [`lineside_core::exchange::Posted`]; a [`Worker`] is a
//! process that is kept, for functions that are called in it again and again.
//! It is the only place that knows processes, signals, pipes and HTTP.
//! It knows no event, no verdict and no format: what an exit code or an output means is the dialect's business.
//!
//! The modules stand in the order in which a run meets them: its turn, its environment, its files, its program, the start,
//! the pipes, the watch for the exit, what holds the processes together (group, mark, cgroup), the tree that is ended, a
//! run in progress, the guard that ends a run which was dropped, and the run as a whole. A post needs none of them.
//!
//! Linux only today: another system needs its own way to learn of an exit without reaping, and of the members of a
//! process group; the public interface says nothing of either.
//!
//! The [`guide`] explains workers: their protocol, their kits, and what becomes of them.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

#[cfg(not(target_os = "linux"))]
compile_error!(
    "lineside-exec runs hooks on Linux only today: see `watch.rs` and `group.rs` for what is to be ported"
);

#[cfg(any(doc, doctest))]
pub mod guide;
mod admission;

mod environment;
mod files;
mod program;
mod spawn;

mod pipes;

mod procfs;
mod group;
mod watch;

mod run_tag;
mod escaped;
mod cgroup;
mod containment;

mod tree;

mod guard;
mod running;

mod background;
mod run;
mod runner;

mod worker;

#[cfg(feature = "http")]
mod http;
#[cfg(not(feature = "http"))]
mod without_http;

pub use containment::Containment;
pub use environment::inherited;
#[cfg(feature = "http")]
pub use http::{HttpClient, Proxy, ReadProxyError};
pub use program::{FindProgramError, look_for};
pub use runner::Runner;
#[cfg(not(feature = "http"))]
pub use without_http::HttpClient;
pub use worker::{
    HookWorkerClient, KITS, Kit, LineRoom, LineWorker, LogLevel, LogSource, RetiredWorker, Worker,
    WorkerListener, WorkerLog, WorkerSeat,
};
