//! Sessions, turns, tools, decisions and hooks as spans of OpenTelemetry, with metrics and logs, over OTLP (HTTP, protobuf).
//!
//! An [`Exporter`] hears the signals of a bus and never waits: what it makes of them lies in a queue of bounded length until
//! [`Exporter::send`] has it taken by a collector, and what has no room is counted. Names are those of the semantic
//! conventions for generative AI, [`CONVENTIONS`], and `lineside.…` for what these have no name for. What prompts and tools
//! hold is left out unless the settings ask for it.
//!
//! This crate is the only one that knows OpenTelemetry. Where signals come from, and when is sent, is left to others.
//!
//! The [`guide`] explains what a collector is given.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

#[cfg(any(doc, doctest))]
pub mod guide;
mod settings;
mod weight;
mod queue;
mod spans;
mod figures;
mod send;

pub use queue::Loss;
pub use send::{Exporter, StartExporterError};
pub use settings::{ReadSettingsError, Settings};

/// The version of the semantic conventions whose names are used.
pub const CONVENTIONS: &str = "1.38.0";
