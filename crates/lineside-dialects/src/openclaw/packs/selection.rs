//! Which packs `hooks.internal` of `openclaw.json` chooses.

use std::collections::BTreeSet;

use lineside_core::json::{Map, Value};

use super::Source;

/// What is said of packs.
#[derive(Debug, Default)]
pub(super) struct Selection {
    is_off: bool,
    /// Whether anything is chosen at all.
    is_configured: bool,
    /// The names that are chosen; all, when absent.
    names: Option<BTreeSet<String>>,
    entries: Map,
    /// Further folders.
    pub(super) extra: Vec<String>,
}

impl Selection {
    pub(super) fn read(upstream: &Map) -> Self {
        let internal = upstream.get("hooks").and_then(|hooks| hooks.get("internal"));
        let enabled = internal.and_then(|internal| internal.get("enabled")).and_then(Value::as_bool);
        let entries = internal.and_then(|internal| internal.get("entries")).and_then(Value::as_object);
        let entries = entries.cloned().unwrap_or_default();
        let extra = internal.and_then(|internal| internal.get("load")?.get("extraDirs")?.as_array());
        let extra: Vec<String> = extra
            .into_iter()
            .flatten()
            .filter_map(|path| Some(path.as_str()?.trim().to_owned()).filter(|path| !path.is_empty()))
            .collect();
        let declared = entries.keys().any(|name| !name.trim().is_empty());
        let named = entries.iter().filter(|(_, entry)| flag(entry) != Some(false));
        let names: BTreeSet<String> = named.map(|(name, _)| name.trim().to_owned()).collect();
        let is_open = !extra.is_empty();
        Self {
            is_off: enabled == Some(false),
            is_configured: enabled != Some(false) && (enabled == Some(true) || !names.is_empty() || is_open),
            names: (!(is_open || (!declared && enabled == Some(true)))).then_some(names),
            entries,
            extra,
        }
    }

    /// Whether packs of OpenClaw and of the user may be chosen.
    pub(super) fn names_any(&self) -> bool {
        self.is_configured
    }

    /// Whether a pack is chosen. One of the project is chosen with the project, unless it is switched off; what is in
    /// the folder where OpenClaw looks has to be named.
    pub(super) fn chooses(&self, source: Source, name: &str, key: &str) -> bool {
        let said = self.entries.get(key).and_then(flag);
        match source {
            Source::Project => !self.is_off && said != Some(false),
            Source::Workspace => !self.is_off && said == Some(true),
            Source::Bundled | Source::Managed => {
                let names = self.names.as_ref();
                let is_named = names.is_none_or(|names| names.contains(name) || names.contains(key));
                self.is_configured && is_named && said != Some(false)
            }
        }
    }

    /// A variable that is given to a pack.
    pub(super) fn variable(&self, key: &str, name: &str) -> Option<&str> {
        self.entries.get(key)?.get("env")?.get(name)?.as_str()
    }
}

fn flag(entry: &Value) -> Option<bool> {
    entry.get("enabled")?.as_bool()
}
