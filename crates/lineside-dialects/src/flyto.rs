//! Flyto: the hooks of `settings.json` and of plugins' `hooks.json`.
//!
//! The rooms, in the order in which a hook passes them: `places` finds its file, `file` and `entry` read it into a
//! `definition`; `variables` and `environment` say what it is started with, `output` and `decision` read what came of
//! it. `handler` joins the last four behind the trait, `catalogue` is the table of types. Numbers such as FL-28 are
//! those of `docs/rules/flyto.md`.
//!
//! What is public is for programs that register hooks of this format at run time: a [`Definition`] becomes a [`FlytoHook`],
//! and what a function returned is read like the output of a command.

mod catalogue;
mod decision;
mod definition;
mod entry;
mod environment;
mod file;
mod handler;
mod output;
mod places;
mod platform;
mod variables;

#[cfg(test)]
mod samples;

use lineside_core::json::Map;
use lineside_core::{Hook, PointInfo};

pub use catalogue::HookType;
pub use definition::{DEFAULT_TIMEOUT, Definition, Run};
pub use handler::FlytoHook;
pub use output::HookResult;

use self::places::{Level, Place};
use crate::broken::Owner;
use crate::dialect::{Dialect, ForeignHook, Loaded, Places, Watched};
use crate::findings::Findings;
use crate::listed::{Counts, Listed};
use crate::tree::Node;

/// The name of the dialect.
pub const DIALECT: &str = "flyto";

/// The dialect `flyto`.
#[derive(Debug, Clone, Copy)]
pub struct Flyto;

impl Dialect for Flyto {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn names(&self) -> Vec<&'static str> {
        HookType::all().map(HookType::name).collect()
    }

    fn load(&self, places: &Places) -> Loaded {
        let mut loaded = Loaded::default();
        let mut counts = Counts::default();
        let (found, lost) = places::find(places);
        for place in found {
            let mut findings = Findings::about(&place.file);
            let read = |hook_type, unnamed, item: &Node, findings: &mut Findings| {
                entry::read(hook_type, unnamed, item, &place, findings)
            };
            let boundary = place.level.boundary(places);
            for entry in file::SETTINGS.read(&place.file, boundary, &mut counts, &mut findings, read) {
                take(entry, &place, places, &findings, &mut loaded);
            }
            finish(findings, place.level, places, &mut loaded);
        }
        for place in lost {
            let mut findings = Findings::about(&place.directory);
            file::lose_plugins(&place.error, &mut findings);
            finish(findings, place.level, places, &mut loaded);
        }
        loaded
    }

    fn watched(&self, places: &Places) -> Vec<Watched> {
        let files = places::settings(places).map(|(_, file)| Watched::file(file));
        files
            .chain(
                places::plugin_folders(places).map(|(_, folder)| Watched::folders(folder, &[places::FILE])),
            )
            .collect()
    }

    fn point(&self, name: &str, _payload: &Map) -> Option<&'static PointInfo> {
        HookType::find(name).map(HookType::point)
    }
}

/// Puts what was found about a place, and what stands in for its hooks, behind what is loaded.
fn finish(mut findings: Findings, level: Level, places: &Places, loaded: &mut Loaded) {
    let trust = level.trust(places);
    findings.stand_in(&Owner { dialect: DIALECT, layer: level.layer(), trust, priority: 0 }, loaded);
    loaded.diagnostics.append(&mut findings.diagnostics);
}

/// Puts an entry behind those that are loaded.
fn take(
    entry: Listed<HookType, Definition>,
    place: &Place,
    places: &Places,
    findings: &Findings,
    loaded: &mut Loaded,
) {
    let Listed { row: hook_type, name, line, declared } = entry;
    let (layer, origin) = (place.level.layer(), Some(findings.origin(line)));
    let Some(definition) = declared else { return };
    let hook = FlytoHook::new(hook_type, name, definition, places::absolute(&places.cwd));
    loaded.hooks.push(installed(hook, |hook| {
        hook.layer(layer)
            .origin(origin)
            // Without trust in the project its hooks are listed and never started (FL-2).
            .standby(place.level.trust(places).standby())
    }));
}

fn installed(hook: FlytoHook, change: impl FnOnce(Hook) -> Hook) -> ForeignHook {
    let known = change(hook.hook());
    hook.into_foreign(known)
}

#[cfg(test)]
mod tests;
