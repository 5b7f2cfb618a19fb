//! The client of a daemon: sessions, events, decisions and context over its Unix socket, with the types and the verbs of
//! the bus in the process.
//!
//! ```no_run
//! use lineside_client::Client;
//! use lineside_points::BeforeTool;
//! use lineside_core::json::json;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new("/run/user/1000/lineside/lineside.sock");
//! let session = client.session("s1").open().await?;
//! let decision = session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await?;
//! if decision.is_refused() {
//!     // Give the reason to the model instead of a result.
//! }
//! # Ok(())
//! # }
//! ```
//!
//! It does not know how to start a daemon. Hooks that live in the client's process are not part of it.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod wire;
mod client;
mod environment;
mod session;
mod decision;
mod delivery;

pub use client::{Client, RequestError};
pub use decision::Decision;
pub use delivery::{Collect, Delivery};
pub use environment::{ReadEnvironmentError, default_socket};
pub use session::{OpenSession, Session};
