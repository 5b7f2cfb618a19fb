//! The client of a daemon: sessions, events, decisions and context over its Unix socket, with the types and the verbs of
//! the bus in the process.
//!
//! ```no_run
//! use lineside_client::Client;
//! use lineside_points::BeforeTool;
//! use lineside_core::Verdict;
//! use lineside_core::json::json;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new("/run/user/1000/lineside/lineside.sock");
//! let session = client.session("s1").open().await?;
//! let decision = session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await?;
//! if decision.is_refused() {
//!     // Give the reason to the model instead of a result.
//! } else if let Verdict::Ask(_) = decision.verdict() {
//!     // Ask a person; a program that cannot does not go on.
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Hooks of this process are registered on a session with the builders of the bus, and asked over a connection of their
//! own, which is made again when it breaks. It lasts as long as a clone of the client: while it is away, each hook has
//! failed, which means what its `on_failure` says.
//!
//! It does not know how to start a daemon.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod tasks;
mod lines;
mod request;
mod segment;
mod publish;
mod wire;
mod client;
mod environment;
mod opening;
mod session;
mod decision;
mod delivery;

mod cx;
mod answer;
mod attach;
mod register;
mod signals;
mod logs;
mod observe;

pub use attach::Registration;
pub use client::Client;
pub use cx::Cx;
pub use decision::Decision;
pub use delivery::{Collect, Delivery};
pub use environment::{ReadEnvironmentError, default_socket};
pub use observe::{Heard, Observation, Observing};
pub use register::{Automating, Intercepting};
pub use request::RequestError;
pub use session::{OpenSession, Session};
pub use signals::Signals;
