//! One carrier of the configuration: its keys and their values (OC-13, OC-16).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lineside_core::json::{Map, Value};
use lineside_core::nearest::suggestion;

use super::super::catalogue;
use super::super::findings::Findings;
use super::fields::{Fields, Unknown};
use crate::dialect::at_home;

/// The keys of upstream's.
const UPSTREAM: [&str; 6] = ["enabled", "allow", "deny", "load", "slots", "entries"];
/// What only one plugin at a time is for.
const SLOTS: [&str; 2] = ["memory", "contextEngine"];
/// All keys, those of OC-16 last.
const KEYS: [&str; 17] = [
    "enabled", "allow", "deny", "load", "slots", "entries", "failClosed", "catchErrors", "node", "download",
    "memoryMb", "loadTimeoutMs", "cancelGraceMs", "shutdownGraceMs", "drainMs", "maxFrameBytes", "reserved",
];
/// What the project may set.
const NUMBERS: [&str; 6] =
    ["memoryMb", "loadTimeoutMs", "cancelGraceMs", "shutdownGraceMs", "drainMs", "maxFrameBytes"];
const OF_PROJECT: [&str; 4] = ["load", "entries", "deny", "failClosed"];

/// What a carrier may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rights {
    /// Everything, in upstream's own file.
    Upstream,
    /// Everything.
    User,
    /// Restrictions (OC-16).
    Project,
}

/// What a carrier says; what it does not say is absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Section {
    pub(super) enabled: Option<bool>,
    pub(super) allow: Vec<String>,
    pub(super) deny: Vec<String>,
    /// Absolute.
    pub(super) paths: Vec<PathBuf>,
    /// The plugin chosen for each slot; `none` is an id that no plugin has.
    pub(super) slots: BTreeMap<&'static str, String>,
    pub(super) entries: BTreeMap<String, Entry>,
    pub(super) fail_closed: Vec<&'static str>,
    pub(super) catch_errors: Option<bool>,
    pub(super) node: Option<String>,
    pub(super) download: Option<bool>,
    /// The values of those of [`NUMBERS`] that are given.
    pub(super) numbers: BTreeMap<&'static str, u64>,
    pub(super) reserved_commands: Vec<String>,
    pub(super) reserved_methods: Vec<String>,
}

/// What is said of one plugin.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in super::super) struct Entry {
    pub(in super::super) enabled: Option<bool>,
    pub(in super::super) config: Option<Map>,
    /// Milliseconds, for each of its hooks.
    pub(in super::super) timeout: Option<u64>,
    /// Milliseconds, by hook.
    pub(in super::super) timeouts: BTreeMap<&'static str, u64>,
    pub(in super::super) allow_prompt_injection: Option<bool>,
    pub(in super::super) allow_conversation_access: Option<bool>,
}

/// Where a carrier stands and from where its paths start.
pub(super) struct Carrier<'a> {
    pub(super) file: &'a Path,
    pub(super) base: &'a Path,
    pub(super) home: Option<&'a Path>,
    pub(super) rights: Rights,
}

impl Section {
    /// Reads a carrier.
    pub(super) fn read(map: &Map, carrier: &Carrier<'_>, findings: &mut Findings) -> Self {
        let (place, unknown) = match carrier.rights {
            Rights::Upstream => ("plugins.", Unknown::Passed),
            Rights::User | Rights::Project => ("", Unknown::Warned),
        };
        let allowed = |key: &str| match carrier.rights {
            Rights::Upstream => UPSTREAM.contains(&key),
            Rights::User => true,
            Rights::Project => OF_PROJECT.contains(&key),
        };
        let whole = Fields::top(map, place, unknown, carrier.file);
        whole.only(&KEYS, findings);
        if carrier.rights == Rights::Project {
            for key in whole.keys().filter(|key| KEYS.contains(&key.as_str()) && !allowed(key)) {
                findings.warning(&whole.about(), format!("ignored in the project layer: {key}"));
            }
        }
        let read: Map = map
            .iter()
            .filter(|(key, _)| allowed(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        Self::read_fields(&Fields::top(&read, place, unknown, carrier.file), carrier, findings)
    }

    fn read_fields(fields: &Fields<'_>, carrier: &Carrier<'_>, findings: &mut Findings) -> Self {
        let mut section = Self {
            enabled: fields.flag("enabled", findings),
            allow: fields.texts("allow", findings),
            deny: fields.texts("deny", findings),
            catch_errors: fields.flag("catchErrors", findings),
            node: fields.text("node", findings).map(|node| program(&node, carrier.home)),
            download: fields.flag("download", findings),
            numbers: NUMBERS.iter().filter_map(|key| Some((*key, fields.count(key, findings)?))).collect(),
            ..Self::default()
        };
        if let Some(load) = fields.object("load", findings) {
            load.only(&["paths"], findings);
            let written = load.texts("paths", findings);
            section.paths = written.iter().map(|path| resolved(path, carrier)).collect();
        }
        if let Some(slots) = fields.object("slots", findings) {
            slots.only(&SLOTS, findings);
            let chosen = SLOTS.iter().filter_map(|slot| Some((*slot, slots.text(slot, findings)?)));
            section.slots = chosen.collect();
        }
        if let Some(entries) = fields.object("entries", findings) {
            for id in entries.keys() {
                if let Some(entry) = entries.object(id, findings) {
                    section.entries.insert(id.clone(), Entry::read(&entry, findings));
                }
            }
        }
        section.fail_closed = fail_closed(fields, findings);
        if let Some(reserved) = fields.object("reserved", findings) {
            reserved.only(&["commands", "gatewayMethods"], findings);
            section.reserved_commands = reserved.texts("commands", findings);
            section.reserved_methods = reserved.texts("gatewayMethods", findings);
        }
        section
    }

    /// OC-13: what `self` says wins; objects are joined key by key, lists are joined.
    pub(super) fn over(mut self, lower: Self) -> Self {
        self.allow.extend(lower.allow);
        self.deny.extend(lower.deny);
        self.paths.extend(lower.paths);
        self.fail_closed.extend(lower.fail_closed);
        self.reserved_commands.extend(lower.reserved_commands);
        self.reserved_methods.extend(lower.reserved_methods);
        for (slot, chosen) in lower.slots {
            self.slots.entry(slot).or_insert(chosen);
        }
        for (key, number) in lower.numbers {
            self.numbers.entry(key).or_insert(number);
        }
        for (id, entry) in lower.entries {
            let higher = self.entries.remove(&id).unwrap_or_default();
            self.entries.insert(id, higher.over(entry));
        }
        Self {
            enabled: self.enabled.or(lower.enabled),
            catch_errors: self.catch_errors.or(lower.catch_errors),
            node: self.node.or(lower.node),
            download: self.download.or(lower.download),
            ..self
        }
    }
}

impl Entry {
    fn read(fields: &Fields<'_>, findings: &mut Findings) -> Self {
        fields.only(&["enabled", "config", "hooks"], findings);
        let mut entry = Self {
            enabled: fields.flag("enabled", findings),
            config: fields.map("config", findings).cloned(),
            ..Self::default()
        };
        let Some(hooks) = fields.object("hooks", findings) else {
            return entry;
        };
        let known = ["timeoutMs", "timeouts", "allowPromptInjection", "allowConversationAccess"];
        hooks.only(&known, findings);
        entry.timeout = hooks.count("timeoutMs", findings);
        entry.allow_prompt_injection = hooks.flag("allowPromptInjection", findings);
        entry.allow_conversation_access = hooks.flag("allowConversationAccess", findings);
        if let Some(timeouts) = hooks.object("timeouts", findings) {
            timeouts.only(&catalogue::names().collect::<Vec<_>>(), findings);
            for hook in timeouts.keys().filter_map(|name| catalogue::find(name)) {
                if let Some(time) = timeouts.count(hook.name, findings) {
                    entry.timeouts.insert(hook.name, time);
                }
            }
        }
        entry
    }

    /// What `self` says wins.
    pub(in super::super) fn over(self, lower: Self) -> Self {
        let mut timeouts = lower.timeouts;
        timeouts.extend(self.timeouts);
        Self {
            enabled: self.enabled.or(lower.enabled),
            config: match (self.config, lower.config) {
                (Some(higher), Some(lower)) => Some(joined(higher, lower)),
                (higher, lower) => higher.or(lower),
            },
            timeout: self.timeout.or(lower.timeout),
            timeouts,
            allow_prompt_injection: self.allow_prompt_injection.or(lower.allow_prompt_injection),
            allow_conversation_access: self.allow_conversation_access.or(lower.allow_conversation_access),
        }
    }
}

/// OC-56. What cannot be read closes everything that it may have meant.
fn fail_closed(fields: &Fields<'_>, findings: &mut Findings) -> Vec<&'static str> {
    let closable = || catalogue::rows().filter(|row| row.can_close()).map(|row| row.name);
    let before = findings.diagnostics.len();
    let hooks = fields.texts("failClosed", findings);
    if findings.diagnostics.len() > before {
        return closable().collect();
    }
    let mut closed = Vec::new();
    for hook in hooks {
        if let Some(row) = catalogue::find(&hook).filter(|row| row.can_close()) {
            closed.push(row.name);
            continue;
        }
        let near = suggestion(&hook, closable()).filter(|_| catalogue::find(&hook).is_none());
        let near = near.and_then(catalogue::find);
        let hint = near.map_or_else(String::new, |row| format!("; did you mean `{}`?", row.name));
        findings.warning(&fields.about(), format!("failClosed has no effect on {hook}{hint}"));
        closed.extend(near.map(|row| row.name));
    }
    closed
}

/// OC-13, for the configuration of a plugin.
fn joined(mut higher: Map, lower: Map) -> Map {
    for (key, below) in lower {
        let value = match (higher.remove(&key), below) {
            (None, below) => below,
            (Some(Value::Object(above)), Value::Object(below)) => Value::Object(joined(above, below)),
            (Some(Value::Array(mut above)), Value::Array(below)) => {
                above.extend(below);
                Value::Array(above)
            }
            (Some(above), _) => above,
        };
        higher.insert(key, value);
    }
    higher
}

/// A path of the configuration, absolute (OC-4).
fn resolved(path: &str, carrier: &Carrier<'_>) -> PathBuf {
    at_home(path, carrier.home).unwrap_or_else(|| carrier.base.join(path))
}

fn program(node: &str, home: Option<&Path>) -> String {
    at_home(node, home).map_or_else(|| node.to_owned(), |path| path.to_string_lossy().into_owned())
}
