//! Hook formats, lineside's own and foreign ones, each in a folder of its own with the same rooms: where its files are, file to hooks, event to
//! their input, their output to an answer.
//!
//! A dialect is a value behind one trait; adding one touches its own folder and the list below.
//! lineside's own format is always there; each other one is a feature of its own name, as is each agent program, whose
//! features bring `hosts`, which is what they share. What the formats and their events are called is known without
//! any.
//!
//! This crate reads files when hooks are loaded. It does not know the bus, starts no process and opens no connection:
//! a handler only says what is to be run, and reads what came of it.
// What only formats that are off would use is compiled anyway.
#![cfg_attr(
    not(all(
        feature = "agenthooks",
        feature = "chord",
        feature = "claude",
        feature = "codex",
        feature = "copilot",
        feature = "cursor",
        feature = "flyto",
        feature = "gemini",
        feature = "jcli",
        feature = "kimi",
        feature = "openclaw",
        feature = "opencode",
        feature = "qwen"
    )),
    allow(dead_code, unused_imports)
)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod dialect;
pub mod handler;

mod broken;
mod consent;
mod ending;
mod findings;
mod frontmatter;
mod ground;
mod names;
mod once;
mod rivals;
mod schema;
mod source;
mod near_keys;
mod payload_field;
mod programs;
mod unsupported_files;
mod layers;
mod web_address;
mod lined_json;
mod listed;
mod raw_object;
mod text;
#[cfg(feature = "toml")]
mod toml_text;
mod tree;
mod yaml;

#[cfg(test)]
mod samples;

// What must not come through in findings.
#[cfg(test)]
#[path = "../../../tests/redaction/canaries.rs"]
mod canaries;

#[cfg(feature = "agenthooks")]
pub mod agenthooks;
#[cfg(feature = "chord")]
pub mod chord;
#[cfg(feature = "flyto")]
pub mod flyto;
pub mod hosts;
#[cfg(feature = "jcli")]
pub mod jcli;
pub mod native;
#[cfg(feature = "openclaw")]
pub mod openclaw;

pub use broken::closed_guard;
pub use consent::refuse_programs_of_projects;
pub use dialect::{
    Automation, Dialect, ForeignHook, Inert, Loaded, LogTarget, Missed, Places, Plugins, Registered, Trust,
    Watched, Why,
};
pub use ground::Ground;
pub use handler::{Call, HandedOn, Handler, LogStage, Returned, Start, Work};
pub use layers::{Managed, Tightening, asked_of, keep_above, namesakes, tighten, unmet};
pub use lineside_search::{sharing, within};
pub use names::meant;
pub use near_keys::AnswerKeys;
pub use once::only_once;
pub use rivals::{exposed, outrun};
pub use unsupported_files::{HostPayload, UnspokenFile, host_payload, unspoken_files};
pub use web_address::is_web_address;
pub use yaml::{ReadYamlError, yaml_value};

/// The dialects whose features are on, in the order in which their hooks are registered.
pub static DIALECTS: &[&dyn Dialect] = &[
    &native::Native,
    #[cfg(feature = "agenthooks")]
    &agenthooks::AgentHooks,
    #[cfg(feature = "chord")]
    &chord::Chord,
    #[cfg(feature = "flyto")]
    &flyto::Flyto,
    #[cfg(feature = "jcli")]
    &jcli::Jcli,
    #[cfg(feature = "openclaw")]
    &openclaw::OpenClaw,
    #[cfg(feature = "claude")]
    &hosts::CLAUDE,
    #[cfg(feature = "codex")]
    &hosts::CODEX,
    #[cfg(feature = "copilot")]
    &hosts::COPILOT,
    #[cfg(feature = "cursor")]
    &hosts::CURSOR,
    #[cfg(feature = "gemini")]
    &hosts::GEMINI,
    #[cfg(feature = "kimi")]
    &hosts::KIMI,
];

/// The dialect of that name.
///
/// ```
/// use std::collections::BTreeMap;
/// use lineside_dialects::{Places, Trust, find};
///
/// let project = tempfile::tempdir()?;
/// let places = Places {
///     environment: BTreeMap::new(),
///     project_root: Some(project.path().to_owned()),
///     cwd: project.path().to_owned(),
///     trust: Trust::Withheld,
/// };
/// let loaded = find("agenthooks").expect("a dialect").load(&places);
/// assert!(loaded.hooks.is_empty() && loaded.diagnostics.is_empty());
/// assert!(find("agent-hooks").is_none());
/// # Ok::<_, std::io::Error>(())
/// ```
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Dialect> {
    DIALECTS.iter().copied().find(|dialect| dialect.name() == name)
}

/// Declares the points that the catalogue has not and a format has. A second call has no effect.
pub fn declare_points() {
    hosts::declare_points();
    #[cfg(feature = "openclaw")]
    openclaw::declare_points();
}
