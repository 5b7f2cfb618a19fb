//! From what became of a worker to the hooks of its plugins, and what was wrong with them (OC-17, OC-20 to OC-36).

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use lineside_core::hook::{Lane, Select};
use lineside_core::json::{Map, Value, json};
use lineside_core::worker::{CallClass, HandlerKey, PluginLoaded, StartWorkerError, WorkerReady};
use lineside_core::{Hook, OnFailure, Origin, Part};

use super::catalogue::{self, Kind, Row};
use super::config::{Config, Entry};
use super::ensembles::Ensembles;
use super::findings::{About, Findings};
use super::guard;
use super::handler::PluginHandler;
use super::identity::{DIALECT, LOG, MARGIN};
use super::matcher::{Eligible, Tools};
use super::pack_events::Subscription;
use super::set::Plugin;
use crate::dialect::{ForeignHook, Inert, Loaded, Trust, Why};
use crate::names;

/// The oldest Node that will do.
const OLDEST_NODE: u64 = 20;

/// The hooks of the plugins of a set.
pub(super) fn read(
    plugins: &[Plugin],
    config: &Config,
    became: Result<WorkerReady, StartWorkerError>,
) -> Loaded {
    let mut reading = Reading {
        config,
        findings: Findings::default(),
        hooks: Vec::new(),
        inert: Vec::new(),
        ensembles: Ensembles::default(),
    };
    match became {
        Ok(ready) => match too_old(&ready.hello) {
            Some(version) => reading.refuse_all(plugins, |plugin| old(plugin, &version)),
            None => {
                for (plugin, loaded) in plugins.iter().zip(ready.plugins) {
                    reading.plugin(plugin, loaded);
                }
            }
        },
        Err(StartWorkerError::NotFound { .. }) => reading.refuse_all(plugins, |plugin| {
            let (id, node) = (&plugin.id, config.node());
            format!("node not found: plugin \"{id}\" needs Node {OLDEST_NODE} or newer (looked for {node})")
        }),
        Err(StartWorkerError::Failed { why, hello }) => {
            let version = hello.as_ref().and_then(too_old);
            reading.refuse_all(plugins, |plugin| match &version {
                Some(version) => old(plugin, version),
                None => format!("plugin failed during load: the worker did not start: {why}"),
            });
        }
    }
    reading.finish()
}

/// The hooks that plugins may register and that may refuse: each of them once.
pub(super) fn possible(plugins: &[Plugin], config: &Config) -> Vec<ForeignHook> {
    let rows = catalogue::rows().filter(|row| row.can_close());
    let registrations: Value = rows.map(|row| json!({"hook": row.name, "handler": 0})).collect();
    let all = PluginLoaded::Answered(Map::from_iter([("registrations".to_owned(), registrations)]));
    let none = PluginLoaded::Answered(Map::new());
    // What a hook pack hears is known.
    let of = |plugin: &Plugin| if plugin.is_pack() { none.clone() } else { all.clone() };
    let ready = WorkerReady { hello: Map::new(), plugins: plugins.iter().map(of).collect() };
    read(plugins, config, Ok(ready)).hooks
}

fn version(hello: &Map) -> Option<String> {
    hello.get("node")?.as_str().map(str::to_owned)
}

/// The version of a Node that is too old (OC-17).
fn too_old(hello: &Map) -> Option<String> {
    let version = version(hello)?;
    let major: u64 = version.trim_start_matches('v').split('.').next()?.parse().ok()?;
    (major < OLDEST_NODE).then_some(version)
}

fn old(plugin: &Plugin, version: &str) -> String {
    format!("node too old: plugin \"{}\" needs Node {OLDEST_NODE} or newer, found {version}", plugin.id)
}

struct Reading<'a> {
    config: &'a Config,
    findings: Findings,
    /// With their exact priorities.
    hooks: Vec<(f64, ForeignHook, &'static Row)>,
    inert: Vec<Inert>,
    ensembles: Ensembles,
}

impl Reading<'_> {
    fn refuse_all(&mut self, plugins: &[Plugin], message: impl Fn(&Plugin) -> String) {
        for plugin in plugins {
            self.refuse(plugin, message(plugin));
        }
    }

    fn refuse(&mut self, plugin: &Plugin, message: impl std::fmt::Display) {
        self.findings.error(&plugin.about(), message);
        self.inert.push(Inert::of_file(plugin.id.clone(), plugin.layer, plugin.file.clone(), Why::Error));
    }

    fn plugin(&mut self, plugin: &Plugin, loaded: PluginLoaded) {
        match loaded {
            PluginLoaded::Answered(frame) => self.answered(plugin, &frame),
            // OC-22
            PluginLoaded::TimedOut => {
                let time = self.config.bounds().load.as_millis();
                self.refuse(plugin, format!("plugin failed during load: timed out after {time}ms"));
            }
            PluginLoaded::Died { why } => self.refuse(plugin, format!("plugin failed during load: {why}")),
        }
    }

    /// A `loaded` frame (OC-74).
    fn answered(&mut self, plugin: &Plugin, frame: &Map) {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        // OC-9: a standalone plugin may have called itself something else.
        let id = text(frame.get("plugin").and_then(|plugin| plugin.get("id"))).unwrap_or(plugin.id.clone());
        let about = About::plugin(&id, &plugin.file);
        for finding in frame.get("diagnostics").and_then(Value::as_array).into_iter().flatten() {
            let mut message = text(finding.get("message")).unwrap_or_default();
            if finding.get("code").is_some_and(|code| code == "unknown-hook") {
                let hook = text(finding.get("hook")).unwrap_or_default();
                message.push_str(&meant(&hook).map_or_else(String::new, |near| format!("; nearest: {near}")));
            }
            match finding.get("severity").and_then(Value::as_str) {
                Some("warning") => self.findings.warning(&about, message),
                _ => self.findings.error(&about, message),
            }
        }
        if let Some(error) = frame.get("error") {
            return self.refuse(plugin, text(error.get("message")).unwrap_or_default());
        }
        let mut said = self.config.entry(&id, plugin.layer);
        if id != plugin.id {
            // It was loaded before its id was known.
            if !self.config.enables(&id, plugin.layer) {
                return;
            }
            said = said.over(self.config.entry(&plugin.id, plugin.layer));
        }
        let mut nth: HashMap<&str, u32> = HashMap::new();
        for registration in frame.get("registrations").and_then(Value::as_array).into_iter().flatten() {
            let Some(hook) = registration.get("hook").and_then(Value::as_str) else {
                continue;
            };
            let row = catalogue::find(hook);
            match (row, registration.get("handler")) {
                (Some(row), Some(_)) => {
                    let nth = nth.entry(row.name).and_modify(|nth| *nth += 1).or_insert(1);
                    let key = HandlerKey { plugin: id.clone(), hook: row.name.to_owned(), nth: *nth };
                    self.hook(plugin, row, key, registration, &said);
                }
                _ => {
                    let (name, file) = (format!("{id}:{hook}"), plugin.file.clone());
                    let inert = Inert::of_file(name, plugin.layer, file, Why::NeverFires);
                    self.inert.push(Inert { trigger: hook.to_owned(), ..inert });
                }
            }
        }
    }

    fn hook(&mut self, plugin: &Plugin, row: &'static Row, key: HandlerKey, given: &Value, said: &Entry) {
        // OC-29
        let name: Arc<str> = match key.nth {
            1 => format!("{}:{}", key.plugin, row.name),
            nth => format!("{}:{}#{nth}", key.plugin, row.name),
        }
        .into();
        let priority = given.get("priority").and_then(Value::as_f64).unwrap_or_default();
        let timeout = said.time(row, given.get("timeoutMs").and_then(Value::as_u64));
        let closes = row.fails_closed || self.config.closes(row);
        // OC-42 to OC-44
        let part = if row.is_told() { Part::PostDecision } else { Part::Amender };
        let hook = Hook::foreign(DIALECT, Arc::clone(&name), part)
            .origin(Some(Origin::new(plugin.file.clone(), 1)))
            .layer(plugin.layer)
            .priority(whole(priority))
            .on_failure(if closes { OnFailure::Block } else { OnFailure::Continue })
            .timeout(timeout + MARGIN)
            // OC-43: all of them at once; those of hook packs one after the other.
            .lane(if row.kind == Kind::PackEvent { Lane::Shared } else { Lane::Own })
            .drain(Some(self.config.drain()))
            .when(select(row, given))
            .within(self.ensembles.of(row.kind));
        let handler = PluginHandler {
            row,
            name,
            key,
            layer: plugin.layer,
            timeout,
            closes,
            tells_failures: row.class == CallClass::Void && !self.config.catches_errors(),
            messages: (row.kind == Kind::ToolResultPersist).then(|| self.ensembles.messages()),
        };
        // What `api.registerHook` registers for a command waits for a program that has commands.
        let own_alone = given.get("own") == Some(&Value::Bool(true));
        let points = row.points.iter().copied().filter(|point| !own_alone || catalogue::is_own(point));
        let foreign = ForeignHook::new(hook, row.name, points.collect(), Arc::new(handler));
        let apart = own_alone || row.is_own();
        self.hooks.push((priority, ForeignHook { apart, ..foreign }, row));
    }

    fn finish(mut self) -> Loaded {
        // OC-29, OC-41: within a layer in the order of registration, which the sort keeps.
        self.hooks.sort_by(|(one, a, row), (other, b, of)| {
            let greater = Reverse(whole(*one)).cmp(&Reverse(whole(*other)));
            let exactly = a.hook.layer.cmp(&b.hook.layer).then(other.total_cmp(one));
            row.place().cmp(&of.place()).then(greater).then(exactly)
        });
        let diagnostics = self.findings.diagnostics;
        let hooks = self.hooks.into_iter().map(|(_, hook, _)| hook).collect();
        let mut loaded = Loaded { hooks, log: Some(LOG), ..Loaded::default() };
        // A plugin that is not trusted is not loaded.
        guard::stand_in(self.inert, self.config, Trust::Granted, &diagnostics, &mut loaded);
        Loaded { diagnostics, ..loaded }
    }
}

/// The hook that may have been meant by a name that none has.
fn meant(name: &str) -> Option<&'static str> {
    let point = |name: &str| catalogue::find(name)?.points.first().copied();
    let near = names::proposed(name, catalogue::names(), point);
    names::is_near(name, near).then_some(near)
}

/// For which events of its points a handler is called (OC-28, OC-30).
fn select(row: &'static Row, given: &Value) -> Option<Arc<dyn Select>> {
    if let Kind::PackEvent | Kind::Bootstrap = row.kind {
        return Some(Arc::new(Subscription(row.name)));
    }
    if let Some(eligible) = Eligible::read(row.name, given) {
        return Some(Arc::new(eligible));
    }
    Tools::read(given.get("matcher")).map(|tools| Arc::new(tools) as Arc<dyn Select>)
}

/// A priority on the scale of all hooks (OC-41). What lies between two whole numbers counts as the lower one there,
/// and in its full precision among the hooks of one layer.
fn whole(priority: f64) -> i32 {
    #[allow(clippy::cast_possible_truncation, reason = "it saturates")]
    let whole = priority.floor() as i32;
    whole
}

#[cfg(test)]
mod tests;
