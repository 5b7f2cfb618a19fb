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
//!     match call.command().as_deref() {
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
//! The [`guide`] explains the concepts, with code that runs; [`prelude`] has what most programs need.
//!
//! This crate combines the other crates of the workspace. Without its default features it is the bus with closures; each
//! feature adds what its name says:
//!
//! | feature | adds |
//! |---|---|
//! | `actors` | actors of [`kameo`] as interceptors and observers |
//! | `counter` | the time-stamp counter of the processor instead of the system's clock, which makes gates cheaper |
//! | `automation` | background work that is debounced, keyed and retried |
//! | `journal` | jobs, context and long texts that survive the process (`automation`) |
//! | `exec` | programs and workers as handlers |
//! | `http` | HTTP posts as handlers (`exec`) |
//! | `dialects` | hooks in files, in lineside's own format (`automation`, `exec`) |
//! | `agenthooks`, `chord`, `flyto`, `jcli`, `openclaw` | hooks in files of the format of that name (`dialects`) |
//! | `claude`, `codex`, `copilot`, `cursor`, `gemini`, `kimi` | hooks in the files of the agent program of that name, and its hook command (`hosts`) |
//! | `opencode`, `qwen` | the hook command of the agent program of that name (`hosts`) |
//! | `hosts` | what agent programs share (`dialects`) |
//! | `commands` | analysis of what a shell command would do, without running it, and filters on the result |
//! | `otel` | spans, metrics and logs for a collector of OpenTelemetry; not a default |
//! | `client` | the API of the bus, over the socket of a daemon |
//! | `fleet` | a live view of what many agents do, on a bus or through a daemon |
//! | `macros` | the derives of [`kameo`] (`actors`) |
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

#[cfg(feature = "dialects")]
pub mod assembly;
#[cfg(feature = "dialects")]
pub mod claims;
#[cfg(feature = "journal")]
pub mod durable;
#[cfg(feature = "flyto")]
pub mod flyto;
#[cfg(feature = "hosts")]
pub mod hosts;
#[cfg(feature = "jcli")]
pub mod jcli;
#[cfg(feature = "dialects")]
pub mod listing;
#[cfg(feature = "log")]
pub mod log;
pub mod prelude;
#[cfg(feature = "journal")]
pub mod text_files;
#[cfg(feature = "dialects")]
pub mod wire;

#[cfg(feature = "dialects")]
mod binding;
#[cfg(feature = "dialects")]
mod foreign;
#[cfg(feature = "dialects")]
mod exported;
#[cfg(feature = "dialects")]
mod automated;
#[cfg(feature = "dialects")]
mod elsewhere;
#[cfg(feature = "dialects")]
mod attached;
#[cfg(feature = "dialects")]
mod missing;
#[cfg(feature = "dialects")]
pub mod closed_guards;
#[cfg(feature = "dialects")]
pub mod project;
#[cfg(feature = "dialects")]
pub mod protection;
#[cfg(feature = "dialects")]
mod seal;
#[cfg(feature = "dialects")]
mod started;
#[cfg(feature = "dialects")]
mod sealed_program;
#[cfg(feature = "dialects")]
mod matcher_budget;
#[cfg(feature = "dialects")]
mod content;
#[cfg(feature = "dialects")]
mod handler_runtime;
#[cfg(feature = "dialects")]
mod safe_path;
#[cfg(feature = "dialects")]
mod workers;
#[cfg(feature = "dialects")]
mod last_good;
#[cfg(feature = "dialects")]
mod limits;
#[cfg(feature = "dialects")]
mod of_project;
#[cfg(feature = "dialects")]
mod layered;
#[cfg(feature = "dialects")]
mod debug_log;

#[cfg(feature = "automation")]
pub use lineside_automation as automation;
pub use lineside_bus as bus;
#[cfg(feature = "commands")]
pub use lineside_commands as commands;
pub use lineside_core as core;
#[cfg(feature = "dialects")]
pub use lineside_dialects as dialects;
#[cfg(feature = "exec")]
pub use lineside_exec as exec;
#[cfg(feature = "fleet")]
pub use lineside_fleet as fleet;
#[cfg(feature = "commands")]
pub use lineside_guards as guards;
#[cfg(feature = "journal")]
pub use lineside_journal as journal;
#[cfg(feature = "otel")]
pub use lineside_otel as otel;
pub use lineside_points as points;
#[cfg(feature = "dialects")]
pub use lineside_stream as stream;
#[cfg(feature = "dialects")]
pub use lineside_trust as trust;

#[cfg(feature = "dialects")]
pub use assembly::{Assembly, LoadReport, LoadedHook, State};
#[cfg(feature = "dialects")]
pub use attached::{AttachHookError, AttachedHook, Attachment, DeclaredHook};
#[cfg(feature = "journal")]
pub use durable::Durable;
#[cfg(feature = "dialects")]
pub use elsewhere::Elsewhere;
#[cfg(feature = "dialects")]
pub use handler_runtime::NOT_RUN;
#[cfg(feature = "actors")]
pub use kameo;
#[cfg(feature = "actors")]
pub use lineside_bus::Intercept;
pub use lineside_bus::{Bus, ContextMessage, Cx, Decision, Delivery, Heard, Session, Signal, Signals};
#[cfg(feature = "client")]
pub use lineside_client as client;
#[cfg(feature = "client")]
pub use lineside_client::Client;
pub use lineside_core::{Judgement, Reply, Verdict, json};
#[cfg(feature = "exec")]
pub use lineside_exec::{Containment, KITS, Kit};
#[cfg(feature = "http")]
pub use lineside_exec::{Proxy, ReadProxyError};
#[cfg(feature = "dialects")]
pub use workers::PluginLine;

#[cfg(all(
    any(doc, doctest),
    feature = "agenthooks",
    feature = "chord",
    feature = "claude",
    feature = "client",
    feature = "commands",
    feature = "flyto",
    feature = "jcli",
    feature = "journal",
    feature = "openclaw"
))]
pub mod guide;

/// The code of the README and of other pages of the book, which is run as it stands there.
#[cfg(all(doctest, feature = "client", feature = "commands", feature = "flyto", feature = "journal"))]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/daemon.md")]
    struct Daemon;
    #[doc = include_str!("../../../docs/dialects/flyto.md")]
    struct Flyto;
}
