//! jcli: folders with a `HOOK.yaml`.
//!
//! The rooms, in the order in which a hook passes them: `places` finds its folder, `file` and `fields` read its file
//! into a `definition`, `filter` selects its events, `input` and `template` say what it is given, `output` and `judge`
//! read what came of it, `effects` says what that amounts to, `chain` what the hooks of an event amount to together.
//! `handler` joins them behind the trait, `events` is the table of events, `session` is for hooks that a host registers.
//! Numbers such as JC-28 are those of `docs/rules/jcli.md`.

mod chain;
mod definition;
mod effects;
mod events;
mod fields;
mod file;
mod filter;
mod guard;
mod handler;
mod input;
mod judge;
mod output;
mod places;
mod session;
mod template;

#[cfg(test)]
mod samples;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lineside_core::flow::{Retries, RetryAfter};
use lineside_core::hook::{LAST, Lane, Select, Standby};
use lineside_core::json::Map;
use lineside_core::{Hook, Layer, OnFailure, Origin, Part, PointInfo};
use lineside_files::Boundary;

pub use session::{Ask, RegisterSessionHookError, SessionHook, point_of, session_hook};

use self::chain::Chain;
use self::definition::{Definition, OnError, Run};
use self::events::Event;
use self::filter::Filter;
use self::handler::Runtime;
use self::places::{Folder, Lost};
use crate::broken::{IsGuard, Owner};
use crate::dialect::{Dialect, ForeignHook, Loaded, Places, Trust, Watched};
use crate::findings::Findings;
use crate::source;

/// The name of the dialect.
pub const DIALECT: &str = "jcli";

/// What an attempt may take beyond its timeout until its end is known (JC-27: one second), and a little. The exact
/// deadline is that of the invocation.
const MARGIN: Duration = Duration::from_millis(1500);

/// What stands in for the hooks of a place in which they cannot be looked for.
const HOOKS: &str = "hooks";

/// The dialect `jcli`.
#[derive(Debug, Clone, Copy)]
pub struct Jcli;

impl Dialect for Jcli {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn names(&self) -> Vec<&'static str> {
        events::names().collect()
    }

    fn load(&self, places: &Places) -> Loaded {
        let mut loaded = Loaded::default();
        let (runtime, chain) = (Arc::new(Runtime::of(places)), Chain::of(places));
        let trust = |layer| places.trust.of_layer(layer);
        let (folders, lost) = places::find(places);
        for folder in folders {
            let boundary = places.boundary(folder.layer);
            take(&folder, boundary, trust(folder.layer), &runtime, &chain, &mut loaded);
        }
        for Lost { layer, path, error } in lost {
            let mut findings = Findings::about(&path);
            findings.no_place(error);
            guard::lose(HOOKS, &Err(IsGuard(true)), &mut findings);
            findings.stand_in(&owner(layer, trust(layer)), &mut loaded);
            loaded.diagnostics.extend(findings.into_diagnostics());
        }
        loaded
    }

    fn watched(&self, places: &Places) -> Vec<Watched> {
        places::all(places).into_iter().map(|place| Watched::folders(place, &places::FILES)).collect()
    }

    fn point(&self, name: &str, _payload: &Map) -> Option<&'static PointInfo> {
        events::find(name).map(|event| event.point)
    }

    fn said_by(&self, name: &str) -> Option<(&'static str, &'static str)> {
        Some(("kind", events::find(name)?.kind()?))
    }
}

/// Whose a broken hook is: it stands where it would stand if it were sound.
fn owner(layer: Layer, trust: Trust) -> Owner {
    Owner { dialect: DIALECT, layer, trust, priority: LAST }
}

/// Puts the hook of a folder behind those that are loaded.
fn take(
    folder: &Folder,
    boundary: Boundary<'_>,
    trust: Trust,
    runtime: &Arc<Runtime>,
    chain: &Arc<Chain>,
    loaded: &mut Loaded,
) {
    if let Some(unread) = &folder.unread {
        let mut findings = Findings::about(unread);
        findings.warning(1, "HOOK.yml is not read beside HOOK.yaml");
        loaded.diagnostics.extend(findings.into_diagnostics());
    }
    let name = folder.name();
    let mut findings = Findings::about(&folder.file);
    let draft = source::read(&folder.file, boundary, &file::SYNTAX, &mut findings);
    let declared = draft.as_ref().ok().and_then(|draft| fields::check(draft, &name, &mut findings));
    let declared = declared.filter(|declared| !declared.events.is_empty());
    match (&draft, &declared) {
        (Ok(draft), Some(declared)) => guard::lose_unknown(&name, draft, declared.line, &mut findings),
        _ => guard::lose(&name, &draft, &mut findings),
    }
    findings.stand_in(&owner(folder.layer, trust), loaded);
    match declared {
        None => {}
        Some(declared) => {
            if let Run::Prompt { model, .. } = &declared.definition.run
                && runtime.judge(model.as_deref()).is_none()
            {
                let what = format!("llm hook '{name}' is unavailable: {}", judge::NONE);
                findings.warning(declared.type_line, what);
            }
            let declaration = Declaration {
                name: name.into(),
                layer: folder.layer,
                origin: Some(findings.origin(declared.line)),
                folder: Some(folder.path.clone()),
                // Hooks of a project without trust are listed and never started (JC-5).
                standby: trust.standby(),
                definition: Arc::new(declared.definition),
            };
            loaded.hooks.extend(declaration.hooks(&declared.events, runtime, chain));
        }
    }
    loaded.diagnostics.extend(findings.into_diagnostics());
}

/// A hook apart from the events that it is bound to.
struct Declaration {
    name: Arc<str>,
    layer: Layer,
    origin: Option<Origin>,
    folder: Option<PathBuf>,
    standby: Standby,
    definition: Arc<Definition>,
}

impl Declaration {
    /// One hook for each point of the events, in their order: two events of one point are one hook there (JC-14).
    fn hooks(
        &self,
        events: &[&'static Event],
        runtime: &Arc<Runtime>,
        chain: &Arc<Chain>,
    ) -> Vec<ForeignHook> {
        let mut points: Vec<Vec<&'static Event>> = Vec::new();
        for event in events {
            match points.iter_mut().find(|others| others.iter().any(|other| other.point == event.point)) {
                Some(others) => others.push(event),
                None => points.push(vec![event]),
            }
        }
        points.into_iter().filter_map(|events| self.hook(events, runtime, chain)).collect()
    }

    fn hook(
        &self,
        events: Vec<&'static Event>,
        runtime: &Arc<Runtime>,
        chain: &Arc<Chain>,
    ) -> Option<ForeignHook> {
        let first = *events.first()?;
        let definition = &self.definition;
        let stops = definition.on_error == OnError::Stop && first.stop.is_some();
        // Its hooks only notify, or may change what follows (JC-15).
        let part = if first.notice_only { Part::PostDecision } else { Part::Amender };
        let hook = Hook::foreign(DIALECT, Arc::clone(&self.name), part)
            .origin(self.origin.clone())
            .layer(self.layer)
            .priority(LAST)
            .on_failure(if stops { OnFailure::Block } else { OnFailure::Continue })
            .timeout(whole_time(definition))
            .lane(Lane::Shared)
            .standby(self.standby.clone())
            .when(Filter::new(&events, &definition.filter).map(|filter| Arc::new(filter) as Arc<dyn Select>))
            .within(Some(Arc::clone(chain) as _));
        let trigger = events.iter().map(|event| event.name).collect::<Vec<_>>().join(", ");
        let can_fire = events.iter().any(|event| definition.filter.can_hold(event));
        let handler = Arc::new(handler::Hook {
            name: Arc::clone(&self.name),
            folder: self.folder.clone(),
            events,
            definition: Arc::clone(definition),
            runtime: Arc::clone(runtime),
        });
        Some(ForeignHook {
            // It is tried again at once, whatever the failure was (JC-20).
            retry: Retries { again: definition.retry, delay: Duration::ZERO, after: RetryAfter::AnyFailure },
            can_fire,
            ..ForeignHook::new(hook, trigger, vec![first.point], handler)
        })
    }
}

/// What all attempts take together at most.
fn whole_time(definition: &Definition) -> Duration {
    /// Longer than any wait, and short enough to be added to a moment.
    const LONGEST: Duration = Duration::from_secs(u32::MAX as u64);
    let attempts = definition.retry.saturating_add(1);
    definition.timeout.saturating_add(MARGIN).saturating_mul(attempts).min(LONGEST)
}

#[cfg(test)]
mod tests;
