//! Hooks of lineside's own format: the entries of `hooks.yaml`.
//!
//! The rooms, in the order in which a hook passes them: `places` finds its file, `file` and `entry` (with `run` for
//! what is started) read it into a `definition`, `output` reads what it answers. `handler` joins definition and
//! output behind the trait. There is no foreign page to follow: the format is documented in `docs/dialects/native.md`.

mod attached;
mod automate;
mod daemon;
mod definition;
mod enforce;
mod entry;
mod file;
mod findings;
mod guard;
mod handler;
mod matching;
mod output;
mod places;
mod policies;
mod protection;
mod report;
mod rule;
mod run;
mod tightening;
mod used;
mod values;

#[cfg(test)]
mod samples;

pub use attached::{Attached, attached};
pub use daemon::{
    ApprovalSettings, ClusterSettings, DaemonSettings, LogSettings, ObserveSettings, ObserveTo, RemoteGrants,
    Setting, Unanswered, WhoseAsks, daemon_settings,
};
pub use enforce::{EnforceError, Enforced, meant};
pub use policies::{Policy, matching_policies, policies};
pub use protection::{PROTECT_POLICY, protection};

use std::path::Path;
use std::sync::Arc;

use lineside_core::hook::{NATIVE, Select};
use lineside_core::invocation::Inherit;
use lineside_core::json::Map;
use lineside_core::{Diagnostic, Hook, Layer, Matcher, OnFailure, Origin, PointInfo};
use lineside_points::CATALOGUE;

use self::definition::{Definition, MARGIN};
use self::entry::Entry;
use self::findings::Findings;
use self::handler::NativeHook;
use crate::broken::Owner;
use crate::dialect::{Automation, Dialect, ForeignHook, Loaded, Places, Trust, Watched};
use crate::layers::{Managed, Tightening};

/// What the user's file says that the hooks of every format inherit of our environment that do not say it themselves;
/// `None` where it says nothing. Reads the file.
#[must_use]
pub fn inherited(places: &Places) -> Option<Inherit> {
    let user = places::all(places).into_iter().find(|place| place.layer == Layer::User)?;
    file::inherited(&user, places)
}

/// The dialect `native`.
#[derive(Debug, Clone, Copy)]
pub struct Native;

impl Dialect for Native {
    fn name(&self) -> &'static str {
        NATIVE
    }

    fn names(&self) -> Vec<&'static str> {
        CATALOGUE.iter().map(|point| point.name).collect()
    }

    fn load(&self, places: &Places) -> Loaded {
        let mut loaded = Loaded::default();
        let cwd: Arc<Path> = places::absolute(&places.cwd).into();
        let (mut inherit, mut account) = (None, None);
        for mut place in places::all(places) {
            let mut findings = Findings::about(&place.file);
            let trust = places.trust.of_layer(place.layer);
            if let Some(inherit) = inherit.take() {
                place.inherit = inherit;
            }
            if let Some(account) = account.take() {
                place.account = account;
            }
            let contents = file::read(&place, places, &mut findings);
            (inherit, account) = (contents.inherit, contents.account);
            findings
                .stand_in(&Owner { dialect: NATIVE, layer: place.layer, trust, priority: 0 }, &mut loaded);
            loaded.trusts.extend(contents.trusts);
            for entry in contents.entries {
                take(entry, place.layer, trust, &cwd, &findings, &mut loaded);
            }
            loaded.diagnostics.append(&mut findings.diagnostics);
        }
        loaded.diagnostics.extend(places::near(places).into_iter().map(|(file, instead)| {
            let text = format!(
                "this file is not read, and no hook in it runs: they are read from {}",
                instead.display()
            );
            Diagnostic::warning(Origin::new(&file, 1), text)
        }));
        loaded.diagnostics.extend(daemon::refused_of_project(places));
        loaded
    }

    fn load_managed(&self, managed: &Managed, places: &Places) -> Loaded {
        let mut loaded = Loaded::default();
        let cwd: Arc<Path> = places::absolute(&places.cwd).into();
        let place = places::managed(managed, places);
        let mut findings = Findings::about(&place.file);
        let contents = file::read(&place, places, &mut findings);
        let owner = Owner { dialect: NATIVE, layer: place.layer, trust: Trust::Granted, priority: 0 };
        findings.stand_in(&owner, &mut loaded);
        for entry in contents.entries {
            take(entry, place.layer, Trust::Granted, &cwd, &findings, &mut loaded);
        }
        loaded.diagnostics.append(&mut findings.diagnostics);
        loaded
    }

    fn watched_of(&self, managed: &Managed) -> Vec<Watched> {
        vec![Watched::file(managed.folder.join("hooks.yaml"))]
    }

    fn has_given_names(&self) -> bool {
        true
    }

    fn watched(&self, places: &Places) -> Vec<Watched> {
        places::all(places).into_iter().map(|place| Watched::file(place.file)).collect()
    }

    fn point(&self, name: &str, _payload: &Map) -> Option<&'static PointInfo> {
        lineside_points::find(name).ok()
    }
}

/// Puts an entry behind those that are loaded: once for each of its points, because what it may do differs.
fn take(entry: Entry, layer: Layer, trust: Trust, cwd: &Arc<Path>, findings: &Findings, loaded: &mut Loaded) {
    let Entry { name, line, points, definition, tightens, .. } = entry;
    let origin = Some(findings.origin(line));
    let name: Arc<str> = name.into();
    if let (Some(asked), Trust::Granted) = (tightens, trust) {
        let origin = findings.origin(line);
        loaded.tightenings.push(Tightening { name: Arc::clone(&name), layer, asked, origin });
    }
    let Some(definition) = definition else { return };
    let definition = Arc::new(definition);
    let ends = definition.ends(&points);
    for point in points.into_iter().chain(ends.iter().copied()) {
        // The end of a call is heard whatever it says of it.
        let matcher = definition.matcher.clone().filter(|_| !ends.contains(&point));
        let part = definition.part(point);
        let hook = Hook::native(Arc::clone(&name), part)
            .origin(origin.clone())
            .layer(layer)
            .priority(definition.priority)
            .mode(definition.mode)
            .on_failure(on_failure(&definition, point))
            .required(is_required(&definition, layer))
            .timeout(definition.timeout.saturating_add(MARGIN))
            .standby(trust.standby())
            .when(matcher.map(|matcher| Arc::new(matcher) as Arc<dyn Select>));
        let handler = Arc::new(NativeHook {
            name: Arc::clone(&name),
            definition: Arc::clone(&definition),
            cwd: Arc::clone(cwd),
        });
        loaded.hooks.push(ForeignHook {
            can_fire: ends.contains(&point) || definition.can_match(point),
            is_pure: definition.is_pure,
            automation: automation(&definition, point, &handler),
            ..ForeignHook::new(hook, point.name, vec![point], handler)
        });
    }
}

/// What the hook is as an automation at this point, if it is one.
fn automation(definition: &Definition, point: &PointInfo, handler: &Arc<NativeHook>) -> Option<Automation> {
    let automated = definition.automate.as_ref()?;
    let (_, rules) = automated.rules.iter().find(|(own, _)| *own == point)?;
    let select = |matcher: &Matcher| Arc::new(matcher.clone()) as Arc<dyn Select>;
    let cancelled_by =
        automated.cancelled_by.iter().map(|(point, matcher)| (*point, matcher.as_ref().map(select)));
    Some(Automation {
        control: Arc::clone(&automated.control),
        rules: Arc::clone(rules),
        cancelled_by: cancelled_by.collect(),
        work: Arc::clone(handler) as _,
    })
}

/// Whether events are refused that it cannot be started for; a project requires nothing.
fn is_required(definition: &Definition, layer: Layer) -> bool {
    definition.required && layer <= Layer::User
}

/// A failure refuses what the hook could refuse, unless it says otherwise.
fn on_failure(definition: &Definition, point: &PointInfo) -> OnFailure {
    if definition.judges(point) {
        definition.on_failure.unwrap_or(OnFailure::Block)
    } else {
        OnFailure::Continue
    }
}

#[cfg(test)]
mod tests;
