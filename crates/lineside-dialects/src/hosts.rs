//! Agent programs that run hooks of a format of their own: the words of each, in tables, and one engine for all.
//!
//! Two ways lead through the tables. [`import`] reads the hooks that stand in a host's own files; [`serve`] turns a
//! host's call of `lineside hook HOST` into an event, and what was decided into the host's words. The rooms, in the
//! order in which a call passes them: `program` says which host it is, `table` and a table per host what its events
//! are, `tools` what its tools are. Numbers such as HO-8 are those of the hosts' common rules; CL, CX, GE, CU, CP, KI,
//! OP and QW those of a host's page.

mod program;
mod table;
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
mod pages;

use lineside_core::hook::Standby;
use lineside_core::{Diagnostic, Hook, Point as _};
use lineside_points::AfterToolError;

#[cfg(feature = "hosts")]
pub use claude::front_matter::hooks_in_front_matter;
#[cfg(feature = "hosts")]
pub use claude::plugins::{NamePluginError, name_plugin};
pub use program::{HOSTS, Host, SERVED};
pub(crate) use tools::{Column, Seen};
pub use tools::{named_paths, tool_fields};

/// The hooks in the files of Claude Code.
#[cfg(feature = "hosts")]
pub static CLAUDE: import::Imported = import::Imported(&claude::FORMAT);
/// The hooks in the files of Codex.
#[cfg(feature = "hosts")]
pub static CODEX: import::Imported = import::Imported(&codex::FORMAT);
/// The hooks in the files of Copilot.
#[cfg(feature = "hosts")]
pub static COPILOT: import::Imported = import::Imported(&copilot::FORMAT);
/// The hooks in the files of Cursor.
#[cfg(feature = "hosts")]
pub static CURSOR: import::Imported = import::Imported(&cursor::FORMAT);
/// The hooks in the files of Gemini CLI.
#[cfg(feature = "hosts")]
pub static GEMINI: import::Imported = import::Imported(&gemini::FORMAT);
/// The hooks in the files of Kimi CLI and Kimi Code.
#[cfg(feature = "hosts")]
pub static KIMI: import::Imported = import::Imported(&kimi::FORMAT);

/// A finding for each hook that waits for something that an agent program with an entry of ours never reports: Codex
/// has no event for a call that failed (CX-8).
pub fn never_reported<'a>(
    served: &[&str],
    hooks: impl IntoIterator<Item = (&'a Hook, &'static str)>,
) -> Vec<Diagnostic> {
    if !served.contains(&Host::Codex.name()) {
        return Vec::new();
    }
    let waiting = hooks
        .into_iter()
        .filter(|(hook, point)| *point == AfterToolError::INFO.name && hook.standby == Standby::Ready);
    let finding = |(hook, point): (&Hook, &str)| {
        let text = format!(
            "hook \"{}\" waits for {point}, which codex never reports: it has no event for a call that failed",
            hook.name
        );
        Some(Diagnostic::warning(hook.origin.clone()?, text))
    };
    waiting.filter_map(finding).collect()
}

/// The tables of all hosts.
const TABLES: [&[table::Row]; 10] = [
    claude::ROWS,
    codex::ROWS,
    copilot::CAMEL,
    copilot::PASCAL,
    cursor::ROWS,
    gemini::ROWS,
    kimi::ROWS,
    kimi::CODE_ROWS,
    opencode::ROWS,
    qwen::ROWS,
];

/// Declares the points that hosts have and the catalogue has not. Costs nothing when it is called again.
pub fn declare_points() {
    static DECLARED: std::sync::Once = std::sync::Once::new();
    DECLARED.call_once(|| {
        for row in TABLES.iter().flat_map(|table| table.iter()) {
            // A program may have declared a point of this name before; then that one is it.
            table::point(row);
        }
    });
}
