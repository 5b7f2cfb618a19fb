//! Agent Hooks: `HOOK.md` folders.
//!
//! The rooms, in the order in which a hook passes them: `places` finds its folder, `frontmatter` and `fields` read its
//! `HOOK.md`, `matcher` selects its events, `entry` and `input` say what is started with what, `output` and `effects`
//! read what came of it, `log` tells of it. `handler` joins the last five behind the trait. Numbers such as AH-28 are
//! those of `docs/rules/agenthooks.md`.

mod effects;
mod entry;
mod fields;
mod frontmatter;
mod guard;
mod handler;
mod identity;
mod input;
mod log;
mod matcher;
mod output;
mod places;
mod triggers;

#[cfg(test)]
mod samples;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lineside_core::hook::Select;
use lineside_core::json::Map;
use lineside_core::{Hook, Layer, Part, PointInfo};

use self::fields::{Declared, Mode};
use self::handler::Runtime;
use self::identity::Identity;
use self::places::{Folder, Lost};
use crate::broken::{IsGuard, Owner};
use crate::dialect::{Dialect, ForeignHook, Loaded, LogTarget, Places, Trust, Watched, of_project};
use crate::findings::Findings;
use crate::programs::Search;
use crate::source::{self, each};
use crate::yaml::Draft;

/// The name of the dialect.
const DIALECT: &str = "agenthooks";

/// What stands in for the hooks of a place in which they cannot be looked for.
const HOOKS: &str = "hooks";

/// Switches the debug log on (AH-68).
const DEBUG: &str = "LINESIDE_AGENTHOOKS_DEBUG";

/// What the process of a hook may take beyond its own timeout until its end is known (AH-40: one second), and a
/// little. The exact deadline is that of the invocation.
const MARGIN: Duration = Duration::from_millis(1500);

/// How many folders are read before what stands in them is looked at: it takes several times as much memory as a hook.
const AT_ONCE: usize = 1024;

/// The dialect `agenthooks`.
#[derive(Debug, Clone, Copy)]
pub struct AgentHooks;

impl Dialect for AgentHooks {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn replaces_by_name(&self) -> bool {
        true
    }

    fn load(&self, places: &Places) -> Loaded {
        load(places::find(places, places::all(places)), places)
    }

    /// Of the user's hooks only their names count, in whose places those of the project stand.
    fn load_of_project(&self, places: &Places) -> Loaded {
        let root = places::absolute(places.work_dir());
        let is_own = |(layer, place): &(Layer, PathBuf)| *layer == Layer::Project || place.starts_with(&root);
        let found = places::find(places, places::all(places).filter(is_own));
        let loaded = if found.folders.is_empty() { load(found, places) } else { self.load(places) };
        of_project(loaded, places)
    }

    fn names(&self) -> Vec<&'static str> {
        triggers::names().collect()
    }

    fn watched(&self, places: &Places) -> Vec<Watched> {
        places::all(places).map(|(_, place)| Watched::folders(place, &[places::FILE])).collect()
    }

    fn usual_priority(&self) -> Option<i32> {
        Some(fields::USUAL_PRIORITY.into())
    }

    /// The names of the page and those of the specification (AH-17).
    fn point(&self, name: &str, _payload: &Map) -> Option<&'static PointInfo> {
        triggers::find(name).map(|trigger| trigger.point)
    }
}

/// What stands in the folders that were found.
fn load(found: places::Found, places: &Places) -> Loaded {
    let places::Found { folders, lost: lost_places, mut diagnostics } = found;
    let runtime = Arc::new(Runtime {
        cwd: places::absolute(&places.cwd),
        path: places.variable("PATH").map(str::to_owned),
    });
    let mut loaded = Taken::default();
    let mut lost = Loaded::default();
    let owner = |layer| Owner { dialect: DIALECT, layer, trust: places.trust.of_layer(layer), priority: 0 };
    for Lost { layer, path, error } in lost_places {
        let mut findings = Findings::about(&path);
        findings.no_place(error);
        guard::lose(HOOKS, &Err(IsGuard(true)), &mut findings);
        findings.stand_in(&owner(layer), &mut lost);
        diagnostics.extend(findings.into_diagnostics());
    }
    let search = Search { path: runtime.path.clone(), work_dir: places::absolute(places.work_dir()) };
    for folders in folders.chunks(AT_ONCE) {
        let read = each(folders, |folder| Read::of(folder, places, &search));
        for (folder, read) in folders.iter().zip(read) {
            let (declared, mut findings) = read.declared(folder);
            if let Some(declared) = declared {
                loaded.take(Found { folder: folder.clone(), declared }, places.trust, &mut findings);
            }
            findings.stand_in(&owner(folder.layer), &mut lost);
            diagnostics.extend(findings.into_diagnostics());
        }
    }
    let mut loaded: Vec<Found> = loaded.found.into_iter().flatten().collect();
    // The sort keeps the load order of equal priorities (AH-28).
    loaded.sort_by_key(|found| Reverse(found.declared.priority));
    Loaded {
        hooks: loaded
            .into_iter()
            .map(|found| found.hook(places.trust, Arc::clone(&runtime)))
            .chain(lost.hooks)
            .collect(),
        diagnostics,
        log: log_target(places),
        inert: lost.inert,
        ..Loaded::default()
    }
}

/// A hook that loads.
struct Found {
    folder: Folder,
    declared: Declared,
}

/// What stands in a folder, whatever it means.
struct Read {
    draft: Result<Draft, IsGuard>,
    findings: Findings,
    /// What there is to say of its entry point. How things stand now; what counts is the start of the hook (AH-15).
    of_entry: Vec<String>,
}

impl Read {
    fn of(folder: &Folder, places: &Places, search: &Search) -> Self {
        let mut findings = Findings::about(&folder.file());
        let boundary = places.boundary(folder.layer);
        let draft = source::read(&folder.file(), boundary, &frontmatter::SYNTAX, &mut findings);
        let of_entry = match draft.is_ok().then(|| entry::find(&folder.path)) {
            None => Vec::new(),
            Some(None) => vec![entry::NONE.to_owned()],
            Some(Some(entry)) => entry.warnings(search),
        };
        Self { draft, findings, of_entry }
    }

    /// The hook that it declares, if it loads.
    fn declared(self, folder: &Folder) -> (Option<Declared>, Findings) {
        let Self { draft, mut findings, of_entry } = self;
        let declared =
            draft.as_ref().ok().and_then(|draft| fields::check(draft, &folder.name(), &mut findings));
        let Some(mut declared) = declared else {
            guard::lose(&folder.name(), &draft, &mut findings);
            return (None, findings);
        };
        if declared.closed.is_some() {
            declared.closed = Some(findings.repair(0, "").sentence());
        }
        of_entry.into_iter().for_each(|warning| findings.warning(1, warning));
        (Some(declared), findings)
    }
}

/// Hooks in load order.
#[derive(Default)]
struct Taken {
    /// One that another has taken the place of is none.
    found: Vec<Option<Found>>,
    /// Where the hook of a name stands.
    places: HashMap<String, usize>,
}

impl Taken {
    /// Puts a hook behind the others, in place of an earlier one of its name (AH-4).
    fn take(&mut self, found: Found, trust: Trust, findings: &mut Findings) {
        let name = &found.declared.name;
        let trusted = found.folder.layer == Layer::User || trust == Trust::Granted;
        let at = self.places.get(name).copied().filter(|_| trusted);
        if let Some(before) = at.and_then(|at| self.found.get_mut(at)?.take()) {
            let warning = if before.folder.layer == found.folder.layer {
                let (by, before) = (found.folder.name(), before.folder.name());
                format!("Hook '{name}' in '{by}' overrides the one in '{before}'")
            } else {
                format!("Project hook '{name}' overrides user-level hook")
            };
            findings.warning(found.declared.name_line, warning);
        }
        self.places.insert(name.clone(), self.found.len());
        self.found.push(Some(found));
    }
}

impl Found {
    fn hook(self, trust: Trust, runtime: Arc<Runtime>) -> ForeignHook {
        let Self { folder, declared } = self;
        let name: Arc<str> = declared.name.into();
        let origin = Findings::about(&folder.file()).origin(declared.name_line);
        let part = match declared.mode {
            // One after another, each once (AH-29).
            Mode::Sync => Part::Amender,
            Mode::Async => Part::Detached,
        };
        let hook = Hook::foreign(DIALECT, Arc::clone(&name), part)
            .origin(Some(origin))
            .layer(folder.layer)
            .priority(declared.priority)
            .on_failure(declared.on_failure)
            .timeout(declared.timeout + MARGIN)
            // Hooks of a project without trust are listed and never started (AH-5).
            .standby(trust.of_layer(folder.layer).standby())
            .when(declared.filter.map(|filter| Arc::new(filter) as Arc<dyn Select>));
        let closed = declared.closed.is_some();
        let (trigger, points) = (declared.written.clone(), vec![declared.trigger.point]);
        let handler = Arc::new(handler::Hook {
            identity: Identity {
                name,
                folder: folder.path,
                trigger: declared.trigger,
                trigger_as_written: declared.written,
                mode: declared.mode,
            },
            timeout: declared.timeout,
            on_failure: declared.on_failure,
            worker: declared.worker,
            closed: declared.closed,
            runtime,
        });
        ForeignHook { closed, ..ForeignHook::new(hook, trigger, points, handler) }
    }
}

/// Where `LINESIDE_AGENTHOOKS_DEBUG` sends the log (AH-68).
fn log_target(places: &Places) -> Option<LogTarget> {
    match places.variable(DEBUG) {
        None | Some("") => None,
        Some("1") => Some(LogTarget::Stderr),
        Some(file) => Some(LogTarget::File(places::absolute(places.work_dir()).join(file))),
    }
}
