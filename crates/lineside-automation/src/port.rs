//! Where the records of the machine are kept: the port of the core. Their implementations are elsewhere.
//!
//! Automations without a journal keep nothing: what they accepted is lost with the process, and they say so.

pub use lineside_core::journal::{AppendAck, Durability, Journal, Sequence, Unavailable};
