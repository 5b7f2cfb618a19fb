//! OpenClaw: JavaScript plugins that register handlers with `api.on`.
//!
//! The rooms, in the order in which a plugin passes them: `config` says which plugins are meant and how, `places` finds
//! them, `package` reads what they say of themselves, `packs` finds hook packs, `entry` chooses the file, `safety`, `content` and `schema` check
//! it, and `set` puts together what a worker is to load. `script` is that worker. From what it says, `registered` makes
//! hooks: `event` and `context` are what a handler is called with, `ensembles` is what the answers of several handlers
//! come to, `failure` how it is put when one fails; `handler` joins these behind the trait, `catalogue` is the table
//! of hooks, and `pack_events` that of the events of hook packs. Numbers such as OC-49 are
//! those of `docs/rules/openclaw.md`.
//!
//! Everything that happens in JavaScript is the worker's business: which registrations there are, which of two that
//! conflict stays, and whether what a handler returned can be read.

mod answer_keys;
mod api_range;
mod catalogue;
mod config;
mod content;
mod context;
mod derived;
mod ensembles;
mod entry;
mod event;
mod failure;
mod fields;
mod findings;
mod guard;
mod handler;
mod identity;
mod json5;
mod matcher;
mod of_openclaw;
mod pack_events;
mod packs;
mod package;
mod places;
mod registered;
mod safety;
mod schema;
mod script;
mod set;

#[cfg(test)]
mod samples;

use lineside_core::Point as _;
use lineside_core::json::Map;
use lineside_core::{Layer, PointInfo};
use lineside_points::AfterToolError;

pub use identity::DIALECT;
pub use script::SCRIPT;

use self::config::Native;
use self::findings::Findings;
use self::identity::LOG;
use crate::dialect::{Dialect, Loaded, Places, Plugins, Watched};

/// How many levels below a folder of plugins count: the plugins, their files, and those of one folder in them.
const PLUGIN: u8 = 3;

/// How the names of files end that a plugin is made of.
const ENDS: [&str; 9] = [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".json", ".json5", "HOOK.md"];

/// Declares the points of hooks whose moments only OpenClaw has, `x.openclaw.…`, so that they can be published before
/// a plugin is loaded. Declaring them again changes nothing.
pub fn declare_points() {
    catalogue::names().for_each(drop);
}

/// The dialect `openclaw`.
#[derive(Debug, Clone, Copy)]
pub struct OpenClaw;

impl Dialect for OpenClaw {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn names(&self) -> Vec<&'static str> {
        catalogue::names().collect()
    }

    fn load(&self, places: &Places) -> Loaded {
        load(places, |_| true)
    }

    /// A worker of its own has the plugins of the project, and none of the user's.
    fn load_of_project(&self, places: &Places) -> Loaded {
        load(places, |layer| layer == Layer::Project)
    }

    fn watched(&self, places: &Places) -> Vec<Watched> {
        // What is wrong with the configuration is reported when it is loaded.
        let config = config::read(places, &Native::default(), &mut Findings::default());
        let files = config::files(places).map(|(_, file)| Watched::file(file));
        files
            .chain(places::all(places, &config).map(|path| Watched { path, levels: PLUGIN, ends: &ENDS }))
            .chain(packs::all(places, &config.upstream).map(|path| Watched {
                path,
                levels: PLUGIN,
                ends: &ENDS,
            }))
            .collect()
    }

    /// The point of a hook; that of a failure where the payload has an error (OC-35).
    fn point(&self, name: &str, payload: &Map) -> Option<&'static PointInfo> {
        let row = catalogue::find(name).filter(|_| !pack_events::is_family(name))?;
        let failed = payload.get("error").is_some_and(|error| !error.is_null());
        let otherwise = row.points.iter().find(|point| **point == AfterToolError::INFO);
        match otherwise {
            Some(point) if failed => Some(point),
            _ => row.points.first().copied(),
        }
    }
}

/// The plugins of these layers.
fn load(places: &Places, is_meant: impl Fn(Layer) -> bool) -> Loaded {
    let mut findings = Findings::default();
    let mut set = set::find(places, &Native::default(), &mut findings);
    set.plugins.retain(|plugin| is_meant(plugin.layer));
    let mut loaded = Loaded::default();
    for (file, layer) in set.config.unreadable.iter().filter(|(_, layer)| is_meant(*layer)) {
        let boundary = places.boundary(*layer);
        guard::stand_in_for_file(file, *layer, boundary, places.trust, &findings.diagnostics, &mut loaded);
    }
    let inert = std::mem::take(&mut set.inert).into_iter().filter(|inert| is_meant(inert.layer)).collect();
    guard::stand_in(inert, &set.config, places.trust, &findings.diagnostics, &mut loaded);
    // OC-2
    let plugins = (!set.plugins.is_empty()).then(|| Plugins {
        worker: set.worker(places),
        script: SCRIPT,
        may_refuse: registered::possible(&set.plugins, &set.config),
        registered: Box::new(move |became| registered::read(&set.plugins, &set.config, became)),
    });
    let log = plugins.is_some().then_some(LOG);
    Loaded { diagnostics: findings.diagnostics, log, plugins, ..loaded }
}

#[cfg(test)]
mod tests;
