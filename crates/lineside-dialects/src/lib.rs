//! Hook formats, lineside's own and foreign ones, each in a folder of its own with the same rooms: where its files are, file to hooks, event to
//! their input, their output to an answer.
//!
//! A dialect is a value behind one trait; adding one touches its own folder and the list below.
//! This crate reads files when hooks are loaded. It does not know the bus, starts no process and opens no connection:
//! a handler only says what is to be run, and reads what came of it.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod dialect;
pub mod handler;

mod broken;
mod consent;
mod findings;
mod frontmatter;
mod names;
mod rivals;
mod near_keys;
mod programs;
mod unspoken;
pub mod lined_json;
pub mod raw_object;
pub mod text;
pub mod yaml;

// What must not come through in what is told.
#[cfg(test)]
#[path = "../../../tests/redaction/canaries.rs"]
mod canaries;

pub mod agenthooks;
pub mod chord;
pub mod flyto;
pub mod hosts;
pub mod jcli;
pub mod native;
pub mod openclaw;

pub use consent::refuse_programs_of_projects;
pub use dialect::{
    Automation, Dialect, ForeignHook, Inert, Loaded, LogTarget, Missed, Places, Plugins, Registered, Trust,
    Watched, Why,
};
pub use handler::{Call, HandedOn, Handler, LogStage, Returned, Start, Work};
pub use names::meant;
pub use near_keys::AnswerKeys;
pub use rivals::{exposed, outrun};
pub use unspoken::{HostPayload, UnspokenFile, host_payload, unspoken_files};

/// All dialects, in the order in which their hooks are registered.
pub static DIALECTS: &[&dyn Dialect] = &[
    &native::Native,
    &agenthooks::AgentHooks,
    &chord::Chord,
    &flyto::Flyto,
    &jcli::Jcli,
    &openclaw::OpenClaw,
    &hosts::CLAUDE,
    &hosts::CODEX,
    &hosts::COPILOT,
    &hosts::CURSOR,
    &hosts::GEMINI,
    &hosts::KIMI,
];

/// The dialect of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Dialect> {
    DIALECTS.iter().copied().find(|dialect| dialect.name() == name)
}
