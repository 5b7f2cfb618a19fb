//! The files of a host to the entries in them (HO-46 to HO-48, HO-52).

use std::collections::HashMap;

use lineside_core::Layer;

use super::closing;
use super::entry::Entry;
use super::fields::{Fields, Refused};
use super::follow_ups::FollowUps;
use super::format::{At, Format, Shape, Switches};
use super::matcher::Matcher;
use super::plan::hooks;
use super::source::Source;
use super::switched;
use crate::broken::{Broken, Owner};
use crate::dialect::{Loaded, Places};
use crate::findings::Findings;
use crate::hosts::table::Row;
use crate::tree::{Content, Node};

/// Takes the files of the project out that are files of the user as well, as in the home of the user: hooks that stood for
/// those of the user would be gone with them.
fn once(sources: &mut Vec<Source>) {
    let real = |source: &Source| source.file.canonicalize().ok();
    let of_user = sources.iter().filter(|source| source.layer != Layer::Project);
    let of_user: Vec<_> = of_user.filter_map(real).collect();
    let is_twice = |source: &Source| real(source).is_some_and(|file| of_user.contains(&file));
    sources.retain(|source| source.layer != Layer::Project || !is_twice(source));
}

/// All hooks of a host.
pub(super) fn load(format: &'static dyn Format, places: &Places) -> Loaded {
    let mut loaded = Loaded::default();
    let mut sources = format.sources(places);
    once(&mut sources);
    let mut files = Vec::new();
    for source in sources {
        let mut findings = Findings::about(&source.file);
        match source.read(places.boundary(source.layer)) {
            None => continue,
            Some(Ok(node)) => files.push((source, node)),
            Some(Err(unread)) => {
                findings.error(unread.line, unread.error);
                // Of a file that is not seen at all it cannot be known what it guarded.
                let may_guard = unread.bytes.is_none_or(|bytes| closing::may_be_in(&bytes));
                findings.lose_file(closing::points(format), may_guard);
                finish(format, places, &source, findings, &mut loaded);
            }
        }
    }
    let switches = switched::switched(format, places.trust, &files);
    let mut names = HashMap::new();
    let mut entries = Vec::new();
    for (at, (source, node)) in files.iter().enumerate() {
        let mut reading = Reading {
            format,
            places,
            source,
            file: at,
            switches: &switches,
            findings: Findings::about(&source.file),
            counts: HashMap::new(),
            entries: Vec::new(),
            names: &mut names,
            failed: false,
            is_served: false,
        };
        if let Some(warning) = format.warning(&files, at) {
            reading.findings.warning(1, warning);
        }
        reading.file(node);
        let Reading { findings, entries: read, failed, is_served, .. } = reading;
        if is_served {
            loaded.served = Some(format.profile().host.name());
        }
        if !(failed && source.is_strict) {
            entries.extend(read);
        }
        finish(format, places, source, findings, &mut loaded);
    }
    loaded.diagnostics.extend(switched::findings(format, places.trust, &files, &entries));
    format.adjust(&mut entries);
    let mut hooks = hooks(format, places, entries, &files);
    hooks.append(&mut loaded.hooks);
    Loaded { hooks, ..loaded }
}

fn finish(
    format: &dyn Format,
    places: &Places,
    source: &Source,
    mut findings: Findings,
    loaded: &mut Loaded,
) {
    let trust = places.trust.of_layer(source.layer);
    findings.stand_in(
        &Owner { dialect: format.profile().host.name(), layer: source.layer, trust, priority: 0 },
        loaded,
    );
    loaded.diagnostics.append(&mut findings.diagnostics);
}

/// Reads one file.
struct Reading<'a> {
    format: &'static dyn Format,
    places: &'a Places,
    source: &'a Source,
    file: usize,
    switches: &'a Switches,
    findings: Findings,
    /// How many handlers of an event there were so far.
    counts: HashMap<String, u32>,
    entries: Vec<Entry>,
    /// How many hooks have a name.
    names: &'a mut HashMap<String, u32>,
    /// Whether something in it is wrong.
    failed: bool,
    /// Whether our own entry stands in it.
    is_served: bool,
}

impl Reading<'_> {
    fn at<'a>(&'a self, event: &'a str) -> At<'a> {
        At { places: self.places, source: self.source, event }
    }

    fn error(&mut self, line: u32, about: &str, error: impl std::fmt::Display) {
        self.failed = true;
        self.findings.hook_error(line, about, error);
    }

    fn file(&mut self, root: &Node) {
        if root.mapping().is_none() {
            return self.error(
                root.line,
                "the file",
                format!("it must be an object, not {}", root.json_label()),
            );
        }
        if let (Some(expected), Some(version)) = (self.format.profile().version, root.entry("version")) {
            let (key, version) = version;
            if version.integer() != Some(expected.into()) {
                let label = version.json_label();
                return self.error(key.line, "`version`", format!("it must be {expected}, not {label}"));
            }
        }
        let Some((key, hooks)) = root.entry("hooks") else { return self.misspelt(root) };
        if hooks.is_null() {
            return;
        }
        match (&hooks.content, self.format.profile().shape) {
            (Content::List(items), Shape::List) => {
                for item in items {
                    self.listed(item);
                }
            }
            (Content::Mapping(events), Shape::Groups | Shape::Flat | Shape::Either) => {
                for (event, list) in events {
                    let name = event.label();
                    if !self.format.profile().no_events.contains(&name.as_str()) {
                        self.event(&name, event.line, list);
                    }
                }
            }
            _ => {
                let label = hooks.json_label();
                self.error(key.line, "`hooks`", format!("it has the wrong shape: {label}"));
            }
        }
    }

    fn rows(&self, event: &str) -> Vec<&'static Row> {
        let mut rows: Vec<&'static Row> = Vec::new();
        for row in self.format.table(self.source, event).iter().filter(|row| row.event == event) {
            // Which of several rows of one point an event is of is for the host to say, and no hook depends on it.
            if !rows.iter().any(|known| known.point == row.point) {
                rows.push(row);
            }
        }
        rows
    }

    /// The file has no `hooks`; a key that was meant as one is an error.
    fn misspelt(&mut self, root: &Node) {
        let Some((meant, value)) = closing::misspelt(self.format, root) else { return };
        self.error(meant.line, "the file", format!("unknown key `{}`, did you mean `hooks`?", meant.label()));
        self.findings.lose_file(closing::points(self.format), closing::is_in(value));
    }

    fn listed(&mut self, item: &Node) {
        let event = item.value("event").and_then(Node::text).unwrap_or_default().to_owned();
        if event.is_empty() {
            return self.error(item.line, "a hook", "the required field `event` is missing");
        }
        if self.rows(&event).is_empty() {
            let error = closing::unknown(self.format, &event);
            return self.error(item.line, "a hook", error);
        }
        self.handler(&event, item, None, false);
    }

    fn event(&mut self, event: &str, line: u32, list: &Node) {
        if self.rows(event).is_empty() {
            let unknown = closing::unknown(self.format, event);
            if !closing::is_in(list) {
                return self.findings.warning(line, unknown);
            }
            // A guard does not vanish for a typing mistake.
            let error = self.findings.repair_at(line, &unknown);
            self.error(line, &format!("`{event}`"), unknown);
            let (name, points) = (event.to_owned(), closing::points_near(self.format, event));
            return self.findings.lose(Broken { name, line, error, points, is_guard: true, select: None });
        }
        let Content::List(items) = &list.content else {
            return self.error(
                line,
                &format!("`{event}`"),
                format!("it must be a list, not {}", list.json_label()),
            );
        };
        for item in items {
            let is_group = match self.format.profile().shape {
                Shape::Groups => true,
                Shape::Either => item.entry("hooks").is_some(),
                Shape::Flat | Shape::List => false,
            };
            if !is_group {
                self.handler(event, item, None, false);
                continue;
            }
            let is_sequential = Fields(item).flag("sequential").unwrap_or_default();
            match item.value("hooks").map(|hooks| &hooks.content) {
                Some(Content::List(handlers)) => {
                    for handler in handlers {
                        self.handler(event, handler, Some(item), is_sequential);
                    }
                }
                _ => self.error(item.line, &format!("`{event}`"), "a group needs the list `hooks`"),
            }
        }
    }

    fn handler(&mut self, event: &str, node: &Node, group: Option<&Node>, is_sequential: bool) {
        let number = self.counts.entry(event.to_owned()).or_default();
        *number += 1;
        let mut name = format!("{}.{event}.{number}", self.source.label);
        let rows = self.rows(event);
        let Some(first) = rows.first() else { return };
        let since = self.findings.diagnostics.len();
        let read = if node.mapping().is_some() {
            self.format.handler(Fields(node), &self.at(event))
        } else {
            Err(Refused::Error(format!("it must be an object, not {}", node.json_label())))
        };
        let handler = match read {
            Ok(handler) => handler,
            Err(Refused::Ours) => {
                self.is_served = true;
                return;
            }
            Err(Refused::Type(what)) => {
                return self.findings.hook_warning(
                    node.line,
                    &name,
                    format!("handlers of type `{what}` are not run here"),
                );
            }
            Err(Refused::Error(error)) => {
                self.error(node.line, &name, error);
                return self.lose(name, node, &rows, since);
            }
        };
        let matcher = [Some(node), group].into_iter().flatten().find_map(|node| node.entry("matcher"));
        let matcher = match matcher.map(|(key, value)| (key.line, value.text(), value)) {
            None | Some((_, Some(""), _)) => Matcher::All,
            Some((line, None, value)) if !value.is_null() => {
                self.error(line, &name, format!("`matcher` must be a text, not {}", value.json_label()));
                return self.lose(name, node, &rows, since);
            }
            Some((_, None, _)) => Matcher::All,
            Some((line, Some(text), _)) => {
                match (self.format.matcher(&self.at(event), text), self.format.instead(text)) {
                    (Ok(matcher), _) => matcher,
                    (Err(error), Some(instead)) => {
                        self.findings.hook_warning(
                            line,
                            &name,
                            format!("the matcher `{text}` does not compile: {error}"),
                        );
                        instead
                    }
                    (Err(error), None) => {
                        self.error(line, &name, format!("the matcher `{text}` does not compile: {error}"));
                        return self.lose(name, node, &rows, since);
                    }
                }
            }
        };
        if let Some(warning) = &handler.warning {
            self.findings.hook_warning(node.line, &name, warning);
        }
        let is_disabled =
            switched::is_off(self.switches, self.file, handler.given_name.as_deref(), &handler.run);
        if let Some(given) = handler.given_name.clone().filter(|given| !given.trim().is_empty()) {
            let before = self.names.entry(given.clone()).or_default();
            *before += 1;
            name = if *before > 1 { format!("{given}#{before}") } else { given };
        }
        self.entries.push(Entry {
            name: name.into(),
            event: first.event,
            column: self.format.column(&self.at(event)),
            rows,
            file: self.file,
            origin: self.findings.origin(node.line),
            layer: self.source.layer,
            matcher,
            is_sequential,
            is_disabled,
            handler,
            follow_ups: FollowUps::default(),
        });
    }

    /// A handler that was meant to close its gate stands closed.
    fn lose(&mut self, name: String, node: &Node, rows: &[&'static Row], since: usize) {
        let is_guard = closing::is_in(node);
        let points = rows.iter().copied().filter_map(closing::named).collect();
        let error = self.findings.repair(since, &name);
        self.findings.lose(Broken { name, line: node.line, error, points, is_guard, select: None });
    }
}

#[cfg(test)]
mod tests;
