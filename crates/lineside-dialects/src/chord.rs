//! Chord: the hooks of `config.yaml`.
//!
//! The rooms, in the order in which a hook passes them: `places` finds its file, `file` and `entry` read it, `glob` and
//! `filter` select its events by their `data`, `input`, `environment` and `shell` say what is started with what,
//! `ending` and `output` read what came of it, `effects` and `report` say what that does, `log` tells of it. `handler`
//! joins all but the first behind the trait, `points` is the table of points. Numbers such as CH-28 are
//! those of `docs/rules/chord.md`.

mod data;
mod effects;
mod entry;
mod environment;
mod file;
mod filter;
mod glob;
mod handler;
mod input;
mod log;
mod output;
mod places;
mod points;
mod report;
mod shell;

#[cfg(test)]
mod samples;

use std::sync::Arc;
use std::time::Duration;

use lineside_core::flow::Retries;
use lineside_core::hook::{Lane, Select};
use lineside_core::json::Map;
use lineside_core::{Hook, Part, PointInfo};

use self::entry::Declared;
use self::file::Entry;
use self::handler::Runtime;
use self::places::Place;
use self::points::Class;
use crate::broken::Owner;
use crate::dialect::{Dialect, ForeignHook, Loaded, LogTarget, Places, Trust, Watched};
use crate::findings::Findings;
use crate::listed::Counts;
use crate::programs::Search;
use crate::tree::Node;

/// The name of the dialect.
const DIALECT: &str = "chord";

/// What the process of a hook may take beyond its own timeout until its end is known (CH-33: one second), and a
/// little. The exact deadline is that of the invocation.
const MARGIN: Duration = Duration::from_millis(1500);

/// How long a hook may wait for its key (CH-55): what holds it is bounded by itself.
const KEY: Duration = Duration::from_secs(86_400);

/// The dialect `chord`.
#[derive(Debug, Clone, Copy)]
pub struct Chord;

impl Dialect for Chord {
    fn name(&self) -> &'static str {
        DIALECT
    }

    fn names(&self) -> Vec<&'static str> {
        points::names().collect()
    }

    fn load(&self, places: &Places) -> Loaded {
        let cwd = places::absolute(&places.cwd);
        let search = Search { path: places.variable("PATH").map(str::to_owned), work_dir: cwd.clone() };
        let runtime = Arc::new(Runtime { cwd, not_inherited: environment::not_inherited(places) });
        let mut loaded = Loaded { log: log_target(places), ..Loaded::default() };
        let mut counts = Counts::default();
        // In this order, and in that of each file (CH-2).
        for place in places::all(places) {
            let mut findings = Findings::about(&place.file);
            let read = |point, unnamed, item: &Node, findings: &mut Findings| {
                entry::read(point, unnamed, item, &search, findings)
            };
            let boundary = places.boundary(place.layer);
            for entry in file::CONFIG.read(&place.file, boundary, &mut counts, &mut findings, read) {
                take(entry, &place, places.trust, &runtime, &findings, &mut loaded);
            }
            let trust = places.trust.of_layer(place.layer);
            findings
                .stand_in(&Owner { dialect: DIALECT, layer: place.layer, trust, priority: 0 }, &mut loaded);
            loaded.diagnostics.append(&mut findings.diagnostics);
        }
        loaded
    }

    fn watched(&self, places: &Places) -> Vec<Watched> {
        places::all(places).into_iter().map(|place| Watched::file(place.file)).collect()
    }

    /// The point of a name; one name stands for two points, which the payload tells apart (CH-12).
    fn point(&self, name: &str, payload: &Map) -> Option<&'static PointInfo> {
        let point = points::find(name)?;
        let has_error = payload.get("error").is_some_and(|error| !error.is_null());
        let chosen = if has_error { point.points.last() } else { point.points.first() };
        chosen.copied()
    }
}

/// Puts an entry behind those that are loaded.
fn take(
    entry: Entry,
    place: &Place,
    trust: Trust,
    runtime: &Arc<Runtime>,
    findings: &Findings,
    loaded: &mut Loaded,
) {
    let Entry { row: point, name, line, declared } = entry;
    let origin = Some(findings.origin(line));
    let Some(declared) = declared else { return };
    let name: Arc<str> = name.into();
    let filter = Arc::new(declared.filter.clone());
    let part = match point.class {
        // One after another (CH-41).
        Class::Sync => Part::Amender,
        Class::Observer | Class::Automation => Part::PostDecision,
    };
    let hook = Hook::foreign(DIALECT, Arc::clone(&name), part)
        .origin(origin)
        .layer(place.layer)
        .on_failure(declared.on_failure)
        .timeout(whole_time(&declared))
        // Observers share a lane and automations have their own (CH-48, CH-49); what is held is started on its own.
        .lane(match point.class {
            Class::Observer if declared.debounce.is_none() => Lane::Shared,
            _ => Lane::Own,
        })
        .join(declared.join)
        // Hooks of a project without trust are listed and never started (CH-3).
        .standby(trust.of_layer(place.layer).standby())
        .when(Some(Arc::clone(&filter) as Arc<dyn Select>));
    let handler = Arc::new(handler::Hook {
        name,
        point,
        run: declared.run,
        timeout: declared.timeout,
        environment: declared.environment,
        on_failure: declared.on_failure,
        filter: Arc::clone(&filter),
        report: declared.report,
        runtime: Arc::clone(runtime),
    });
    loaded.hooks.push(ForeignHook {
        retry: declared.retry,
        // No other dialect's key is the same.
        key: declared.concurrency.map(|key| format!("{DIALECT}:{key}").into()),
        debounce: declared.debounce,
        can_fire: filter.can_pass(),
        ..ForeignHook::new(hook, point.name, point.points.to_vec(), handler)
    });
}

/// All attempts, what lies between them, and the wait for a key (CH-50, CH-55).
fn whole_time(declared: &Declared) -> Duration {
    let Retries { again, delay, .. } = declared.retry;
    let attempts = (declared.timeout + MARGIN).saturating_mul(again.saturating_add(1));
    let key = if declared.concurrency.is_some() { KEY } else { Duration::ZERO };
    attempts.saturating_add(delay.saturating_mul(again)).saturating_add(key)
}

/// `CHORD_HOOK_DEBUG` turns the log on (CH-63).
fn log_target(places: &Places) -> Option<LogTarget> {
    (places.variable(environment::DEBUG) == Some("1")).then_some(LogTarget::Stderr)
}

#[cfg(test)]
mod tests;
