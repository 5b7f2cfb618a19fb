//! Agent programs that run hooks of a format of their own: the words of each, in tables, and one engine for all.
//!
//! Two ways lead through the tables. [`import`] reads the hooks that stand in a host's own files; [`serve`] turns a
//! host's call of `lineside hook HOST` into an event, and what was decided into the host's words. The rooms, in the
//! order in which a call passes them: `program` says which host it is, `table` and a table per host what its events
//! are, `quirks` what else is a host's own, `phrases` what several of these share, `tools` what its tools are. Numbers such as HO-8
//! are those of `docs/rules/hosts.md`; CL, CX, GE, CU, CP, KI, OP and QW those of a host's own page beside it.

mod program;
mod table;
#[cfg(feature = "hosts")]
mod quirks;
mod changes;
mod phrases;
mod tools;

mod claude;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod kimi;
mod opencode;
mod qwen;

#[cfg(feature = "hosts")]
pub mod import;
#[cfg(feature = "hosts")]
pub mod install;
#[cfg(feature = "hosts")]
pub mod serve;

#[cfg(all(test, feature = "hosts"))]
mod tests;

use lineside_core::hook::NATIVE;
use lineside_core::hook::Standby;
use lineside_core::{Diagnostic, Hook, Part, Point as _};
use lineside_points::{AfterTool, AfterToolError};

use crate::dialect::Places;

pub use changes::{ChangeFate, change_fate};
#[cfg(feature = "claude")]
pub use claude::front_matter::hooks_in_front_matter;
#[cfg(feature = "claude")]
pub use claude::plugins::{NamePluginError, name_plugin};
pub use program::{HOSTS, Host, SERVED};
pub(crate) use tools::{Column, Seen, arguments};
pub use tools::{named_paths, tool_fields};

/// The hooks in the files of Claude Code.
#[cfg(feature = "claude")]
pub static CLAUDE: import::Imported = import::Imported(&claude::Files);
/// The hooks in the files of Codex.
#[cfg(feature = "codex")]
pub static CODEX: import::Imported = import::Imported(&codex::Files);
/// The hooks in the files of Copilot.
#[cfg(feature = "copilot")]
pub static COPILOT: import::Imported = import::Imported(&copilot::Files);
/// The hooks in the files of Cursor.
#[cfg(feature = "cursor")]
pub static CURSOR: import::Imported = import::Imported(&cursor::Files);
/// The hooks in the files of Gemini CLI.
#[cfg(feature = "gemini")]
pub static GEMINI: import::Imported = import::Imported(&gemini::Files);
/// The hooks in the files of Kimi CLI and Kimi Code.
#[cfg(feature = "kimi")]
pub static KIMI: import::Imported = import::Imported(&kimi::Files);

/// The agent programs that have an entry of ours of the user and no format by whose reading that would be known.
#[must_use]
pub fn served_without_format(places: &Places) -> Vec<&'static str> {
    #[cfg(feature = "hosts")]
    {
        let others = SERVED.into_iter().filter(|host| host.is_supported() && format(*host).is_none());
        let has_entry = |host: &Host| {
            install::installed(*host, install::Level::User, places).is_ok_and(|files| !files.is_empty())
        };
        others.filter(has_entry).map(Host::name).collect()
    }
    #[cfg(not(feature = "hosts"))]
    {
        let _ = places;
        Vec::new()
    }
}

/// A finding for each hook that waits for something that an agent program with an entry of ours never reports, as Codex has
/// no event for a call that failed (CX-8), and for each that changes what such a program does not take changed.
pub fn never_reported<'a>(
    served: &[&str],
    hooks: impl IntoIterator<Item = (&'a Hook, &'static str)>,
) -> Vec<Diagnostic> {
    let ready = hooks.into_iter().filter(|(hook, _)| hook.standby == Standby::Ready);
    let mut findings = Vec::new();
    for (hook, point) in ready {
        let Some(origin) = &hook.origin else { continue };
        let hosts = || SERVED.into_iter().filter(|host| served.contains(&host.name()));
        if point == AfterToolError::INFO.name {
            let is_reported =
                |host: &Host| tables(*host).iter().copied().flatten().any(|row| row.point == point);
            for host in hosts().filter(|host| !is_reported(host)) {
                let text = format!(
                    "hook \"{}\" waits for {point}, which {host} never reports: it has no event for a call that failed",
                    hook.name
                );
                findings.push(Diagnostic::warning(origin.clone(), text));
            }
        }
        let is_native = hook.dialect == NATIVE;
        // What a file of another format may do, few hooks of it do.
        let may_matter = is_native || point == AfterTool::INFO.name;
        let Ok(info) = lineside_points::find(point) else { continue };
        if hook.part == Part::Amender
            && may_matter
            && let Some(text) = changes::unchanged(info, hosts())
        {
            let text = format!("hook \"{}\" {text}", hook.name);
            let severity = if is_native { Diagnostic::warning } else { Diagnostic::note };
            findings.push(severity(origin.clone(), text));
        }
    }
    findings
}

/// The format of the files of a host, where it has one and its feature is on.
#[cfg(feature = "hosts")]
fn format(host: Host) -> Option<&'static dyn import::Format> {
    match host {
        #[cfg(feature = "claude")]
        Host::Claude => Some(&claude::Files),
        #[cfg(feature = "codex")]
        Host::Codex => Some(&codex::Files),
        #[cfg(feature = "copilot")]
        Host::Copilot => Some(&copilot::Files),
        #[cfg(feature = "cursor")]
        Host::Cursor => Some(&cursor::Files),
        #[cfg(feature = "gemini")]
        Host::Gemini => Some(&gemini::Files),
        #[cfg(feature = "kimi")]
        Host::Kimi => Some(&kimi::Files),
        _ => None,
    }
}

/// The tables of a host: of Copilot one for each of its forms, of Kimi one for each of its programs.
fn tables(host: Host) -> &'static [&'static [table::Row]] {
    match host {
        Host::Claude => &[claude::ROWS],
        Host::Codex => &[codex::ROWS],
        Host::Copilot => &[copilot::CAMEL, copilot::PASCAL],
        Host::Cursor => &[cursor::ROWS],
        Host::Gemini => &[gemini::ROWS],
        Host::Kimi => &[kimi::ROWS, kimi::CODE_ROWS],
        Host::Opencode => &[opencode::ROWS],
        Host::Qwen => &[qwen::ROWS],
    }
}

/// What is a host's own beside its tables.
#[cfg(feature = "hosts")]
fn quirks(host: Host) -> &'static quirks::Quirks {
    match host {
        Host::Claude => &claude::QUIRKS,
        Host::Codex => &codex::QUIRKS,
        Host::Copilot => &copilot::QUIRKS,
        Host::Cursor => &cursor::QUIRKS,
        Host::Gemini => &gemini::QUIRKS,
        Host::Kimi => &kimi::QUIRKS,
        Host::Opencode => &opencode::QUIRKS,
        Host::Qwen => &qwen::QUIRKS,
    }
}

/// Declares the points that hosts have and the catalogue has not. Costs nothing when it is called again.
pub fn declare_points() {
    static DECLARED: std::sync::Once = std::sync::Once::new();
    DECLARED.call_once(|| {
        for row in SERVED.into_iter().flat_map(tables).copied().flatten() {
            // A program may have declared a point of this name before; then that one is it.
            table::point(row);
        }
        #[cfg(feature = "hosts")]
        for name in serve::of_prompts() {
            table::point_named(&name, &[]);
        }
    });
}
