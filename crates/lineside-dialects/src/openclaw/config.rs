//! The configuration: what its carriers say, joined, and what holds for one plugin (OC-13 to OC-16, OC-57).

mod fields;
mod section;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lineside_core::Layer;
use lineside_core::json::{Map, Value, json};
use lineside_core::worker::WorkerBounds;
use lineside_files::Boundary;

pub(super) use self::section::Entry;
use self::section::{Carrier, Rights, Section};
use super::catalogue::Row;
use super::findings::{About, Findings};
use super::json5;
use super::of_openclaw;
use super::places::absolute;
use crate::dialect::{CONFIGURATION, Places};

/// The own configuration of the dialect, and that of OpenClaw, in `.openclaw`.
const LINESIDE: &str = "lineside.json";
const UPSTREAM: &str = "openclaw.json";

/// No call may take longer (OC-57).
const LONGEST: Duration = Duration::from_millis(600_000);
/// Calls without an answer that may be under way (OC-43).
const MOST_UNTOLD: usize = 1024;
/// OC-72. What the worker waits for a processor meanwhile is not counted, up to twice as much; together that is the time
/// that a handler of a gate has.
const HELLO: Duration = Duration::from_secs(5);

/// What other files than the dialect's own say of it: its sections in lineside's native configuration.
#[derive(Debug, Clone, Default)]
pub(super) struct Native {
    /// The administrator's.
    pub(super) managed: Map,
    /// The user's.
    pub(super) user: Map,
    /// The file that they are in.
    pub(super) file: PathBuf,
}

/// The configuration.
#[derive(Debug)]
pub(super) struct Config {
    /// The whole of `openclaw.json`.
    pub(super) upstream: Map,
    managed_paths: Vec<PathBuf>,
    user: Section,
    project: Section,
    /// Files that are there and cannot be read.
    pub(super) unreadable: Vec<(PathBuf, Layer)>,
    /// Ids that are named, and where.
    named: Vec<(PathBuf, &'static str, String)>,
}

/// The files of the configuration, whether they exist or not.
pub(super) fn files(places: &Places) -> impl Iterator<Item = (Layer, PathBuf)> {
    let home = places.home().map(|home| home.join(".openclaw"));
    let user = home.map(|home| [LINESIDE, UPSTREAM].map(|name| (Layer::User, home.join(name))));
    let project = absolute(places.work_dir()).join(".openclaw").join(LINESIDE);
    user.into_iter().flatten().chain([(Layer::Project, project)])
}

/// Reads the carriers.
pub(super) fn read(places: &Places, native: &Native, findings: &mut Findings) -> Config {
    let home = places.home();
    let root = absolute(places.work_dir());
    let mut config = Config {
        upstream: Map::new(),
        managed_paths: Vec::new(),
        user: Section::default(),
        project: Section::default(),
        unreadable: Vec::new(),
        named: Vec::new(),
    };
    let base = home.unwrap_or(Path::new("/"));
    let of_native = Carrier { file: &native.file, base, home, rights: Rights::User };
    let managed = config.section(&native.managed, &of_native, findings);
    config.managed_paths.clone_from(&managed.paths);
    let own = config.section(&native.user, &of_native, findings);
    config.user = Section { paths: Vec::new(), ..managed }.over(own);
    if let Some(home) = home {
        let file = home.join(".openclaw").join(LINESIDE);
        let map = config.object(&file, Layer::User, Boundary::Own, findings);
        let section = config.section(&map, &Carrier { file: &file, ..of_native }, findings);
        config.user = config.user.over(section);
        let file = home.join(".openclaw").join(UPSTREAM);
        config.upstream = config.object(&file, Layer::User, Boundary::Own, findings);
        if let Some(Value::Object(plugins)) = config.upstream.get("plugins").cloned() {
            let carrier = Carrier { file: &file, rights: Rights::Upstream, ..of_native };
            let section = config.section(&plugins, &carrier, findings);
            config.user = config.user.over(section);
        }
    }
    if home.is_none_or(|home| home != root) {
        let file = root.join(".openclaw").join(LINESIDE);
        let map = config.object(&file, Layer::Project, places.boundary(Layer::Project), findings);
        let carrier = Carrier { file: &file, base: &root, home, rights: Rights::Project };
        config.project = config.section(&map, &carrier, findings);
    }
    config
}

impl Config {
    /// The object that a file is; empty when it is absent or broken.
    fn object(&mut self, file: &Path, layer: Layer, boundary: Boundary<'_>, findings: &mut Findings) -> Map {
        let about = About::File(file.to_owned());
        match json5::read(file, boundary, CONFIGURATION) {
            Ok(Some(Value::Object(map))) => return map,
            Ok(Some(_)) => findings.error(&about, "the configuration must be an object"),
            Ok(None) => return Map::new(),
            Err(error) => findings.error(&about, format!("failed to read the configuration: {error}")),
        }
        self.unreadable.push((file.to_owned(), layer));
        Map::new()
    }

    /// Reads a carrier, and keeps the ids that it names.
    fn section(&mut self, map: &Map, carrier: &Carrier<'_>, findings: &mut Findings) -> Section {
        let section = Section::read(map, carrier, findings);
        let lists = [
            ("entries", section.entries.keys().collect::<Vec<_>>()),
            ("allow", section.allow.iter().collect()),
            ("deny", section.deny.iter().collect()),
        ];
        for (key, ids) in lists {
            self.named.extend(ids.into_iter().map(|id| (carrier.file.to_owned(), key, id.clone())));
        }
        section
    }

    /// OC-4: the paths that are named, in load order.
    pub(super) fn paths(&self, layer: Layer) -> &[PathBuf] {
        match layer {
            Layer::Managed => &self.managed_paths,
            Layer::User => &self.user.paths,
            Layer::Project | Layer::Session => &self.project.paths,
        }
    }

    /// Whether any plugin is enabled (OC-14).
    pub(super) fn is_on(&self) -> bool {
        self.user.enabled != Some(false)
    }

    /// Whether a plugin is on: neither denied nor left out of the list of those allowed (OC-14).
    pub(super) fn enables(&self, id: &str, layer: Layer) -> bool {
        let has = |list: &[String]| list.iter().any(|other| other == id);
        let denied = has(&self.user.deny) || (layer == Layer::Project && has(&self.project.deny));
        let allowed = self.user.allow.is_empty() || has(&self.user.allow);
        let entry = self.entry(id, layer);
        self.is_on() && !denied && allowed && entry.enabled != Some(false)
    }

    /// Whether a plugin of these kinds is the one for their slots: of a kind for which none or another is chosen it is
    /// not. One that is not in any slot is.
    pub(super) fn chooses(&self, id: &str, kinds: &[String]) -> bool {
        let slots: Vec<Option<&String>> =
            kinds.iter().filter_map(|kind| slot(kind)).map(|slot| self.user.slots.get(slot)).collect();
        slots.is_empty() || slots.iter().any(|chosen| chosen.is_none_or(|chosen| chosen == id))
    }

    /// What is said of a plugin. The project speaks of its own plugins, where the user says nothing (OC-16).
    pub(super) fn entry(&self, id: &str, layer: Layer) -> Entry {
        let user = self.user.entries.get(id).cloned().unwrap_or_default();
        match self.project.entries.get(id) {
            Some(project) if layer == Layer::Project => user.over(project.clone()),
            _ => user,
        }
    }

    /// What the project says of a plugin, which is trusted together with it (OC-12).
    pub(super) fn of_project(&self, id: &str) -> Option<&Entry> {
        self.project.entries.get(id)
    }

    /// OC-14, OC-16: unknown ids, and what the project says of plugins that are not its own.
    pub(super) fn check_ids(
        &self,
        known: &BTreeSet<(String, Layer)>,
        project_file: &Path,
        findings: &mut Findings,
    ) {
        let mut told = BTreeSet::new();
        for (file, key, id) in &self.named {
            let about = About::File(file.clone());
            let mut layers =
                known.iter().filter(|(other, _)| other == id).map(|(_, layer)| *layer).peekable();
            if layers.peek().is_none() {
                if !of_openclaw::has(id) && told.insert((file, id)) {
                    findings.warning(&about, format!("plugin not found: {id}"));
                }
            } else if file == project_file && !layers.any(|layer| layer == Layer::Project) {
                findings.warning(&about, format!("ignored in the project layer: {key}.{id}"));
            }
        }
    }

    /// Whether a handler of this hook refuses when it fails (OC-56).
    pub(super) fn closes(&self, row: &Row) -> bool {
        let named = |section: &Section| section.fail_closed.contains(&row.name);
        row.can_close() && (!self.catches_errors() || named(&self.user) || named(&self.project))
    }

    /// Whether errors of handlers let the event go on (OC-16).
    pub(super) fn catches_errors(&self) -> bool {
        self.user.catch_errors.unwrap_or(true)
    }

    /// The program `node` (OC-16).
    pub(super) fn node(&self) -> &str {
        self.user.node.as_deref().unwrap_or("node")
    }

    /// Whether a loader of TypeScript that is nowhere to be found may be taken from the registry (OC-8).
    pub(super) fn downloads(&self) -> bool {
        self.user.download.unwrap_or(true)
    }

    /// How much memory the worker may take, in MiB (OC-16).
    pub(super) fn memory_mb(&self) -> u64 {
        self.number("memoryMb", 512)
    }

    /// How long the end of a session waits for handlers that observe (OC-43).
    pub(super) fn drain(&self) -> Duration {
        Duration::from_millis(self.number("drainMs", 5000))
    }

    /// How long the worker may take, and how large its frames may be (OC-16, OC-68).
    pub(super) fn bounds(&self) -> WorkerBounds {
        let time = |key, usual| Duration::from_millis(self.number(key, usual));
        let frame = self.number("maxFrameBytes", 33_554_432);
        WorkerBounds {
            hello: HELLO,
            load: time("loadTimeoutMs", 10_000),
            cancel: time("cancelGraceMs", 1000),
            shutdown: time("shutdownGraceMs", 2000),
            frame: usize::try_from(frame).unwrap_or(usize::MAX),
            untold: MOST_UNTOLD,
        }
    }

    fn number(&self, key: &str, usual: u64) -> u64 {
        self.user.numbers.get(key).copied().unwrap_or(usual)
    }

    /// The commands and methods that plugins may not register (OC-72).
    pub(super) fn reserved(&self) -> Value {
        json!({ "commands": self.user.reserved_commands, "gatewayMethods": self.user.reserved_methods })
    }
}

/// The slot that plugins of a kind share.
fn slot(kind: &str) -> Option<&'static str> {
    match kind {
        "memory" => Some("memory"),
        "context-engine" => Some("contextEngine"),
        _ => None,
    }
}

impl Entry {
    /// OC-57: the first that is given, at most ten minutes.
    pub(super) fn time(&self, row: &Row, registered: Option<u64>) -> Duration {
        let said = self.timeouts.get(row.name).copied().or(self.timeout).or(registered);
        said.map_or_else(|| row.timeout(), Duration::from_millis).min(LONGEST)
    }
}

#[cfg(test)]
mod tests;
