//! A hook bus for AI agents.
//!
//! An agent publishes the events of its life; interceptors answer before it goes on; observers watch; what hooks find
//! comes back as messages for the agent's context. Subagents are under the hooks of their parents.
//!
//! ```
//! use lineside::prelude::*;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let bus = Bus::new();
//! let session = bus.session("s1").agent(Agent::main("main")).open().await?;
//!
//! session.intercept::<BeforeTool>("no-rm-rf").priority(900).matching(tool("Shell")).gate(async |call, _cx| {
//!     match call.command() {
//!         Some(command) if command.contains("rm -rf /") => Verdict::block("refuses to delete /"),
//!         _ => Verdict::Continue,
//!     }
//! })?;
//!
//! let decision = session.publish(BeforeTool::new("Shell", json!({"command": "rm -rf /"}))).await?;
//! assert_eq!(decision.verdict(), &Verdict::block("refuses to delete /"));
//! assert_eq!(&*decision.author().unwrap().name, "no-rm-rf");
//!
//! // A subagent is under the same hooks, from its first event on.
//! let child = session.subagent("s2").agent(Agent::subagent("reviewer")).open().await?;
//! assert_eq!(child.coverage(), session.coverage());
//! # Ok(())
//! # }
//! ```
//!
//! This crate puts the others together and adds nothing of its own but that.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod assembly;
pub mod durable;
pub mod flyto;
pub mod hosts;
pub mod jcli;
pub mod prelude;
pub mod text_files;
pub mod wire;

mod foreign;
mod automated;
mod attached;
mod missing;
mod patience;
mod content;
mod outside;
mod workers;
mod last_good;
mod debug_log;

pub use lineside_automation as automation;
pub use lineside_bus as bus;
pub use lineside_core as core;
pub use lineside_dialects as dialects;
pub use lineside_journal as journal;
pub use lineside_points as points;

pub use assembly::{Assembly, Found, State};
pub use attached::{AttachHookError, AttachedHook, Attachment};
pub use durable::Durable;
pub use kameo;
pub use lineside_bus::{
    Bus, ContextMessage, Cx, Decision, Delivery, Heard, Intercept, Session, Signal, Signals,
};
pub use lineside_client as client;
pub use lineside_client::Client;
pub use lineside_core::{Judgement, Reply, Verdict, json};
pub use lineside_exec::{Containment, KITS, Kit, Proxy, ReadProxyError};
pub use workers::PluginLine;

/// The code of the README and of the book's pages, which is run as it stands there.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/start.md")]
    struct Start;
    #[doc = include_str!("../../../docs/concepts.md")]
    struct Concepts;
    #[doc = include_str!("../../../docs/daemon.md")]
    struct Daemon;
    #[doc = include_str!("../../../docs/inheritance.md")]
    struct Inheritance;
    #[doc = include_str!("../../../docs/dialects/flyto.md")]
    struct Flyto;
}
