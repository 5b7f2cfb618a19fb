//! A file to its entries, point by point (CH-4, CH-5, CH-8).

use std::collections::HashMap;

use lineside_core::PointInfo;
use lineside_files::Boundary;

use super::entry::{self, Declared};
use super::findings::{About, Findings, LoadError};
use super::places::Place;
use super::points::{self, ChordPoint, Class};
use crate::broken::{Broken, ON_FAILURE};
use crate::names;
use crate::programs::Search;
use crate::text;
use crate::yaml::{self, Content, Node, UnknownEscapes};

/// How many entries each point has had so far, over both files.
pub(super) type Counts = HashMap<&'static str, usize>;

/// An entry of a file.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its point.
    pub(super) point: &'static ChordPoint,
    /// Its name.
    pub(super) name: String,
    /// The line on which it begins.
    pub(super) line: u32,
    /// What it declares; absent when an error disables it.
    pub(super) declared: Option<Declared>,
}

/// Reads a file; none of its entries are left out.
pub(super) fn read(
    place: &Place,
    boundary: Boundary<'_>,
    search: &Search,
    counts: &mut Counts,
    findings: &mut Findings,
) -> Vec<Entry> {
    let bytes = match lineside_files::read_if_there(&place.file, boundary, yaml::LONGEST) {
        None => return Vec::new(),
        Some(Err(error)) => {
            findings.error(1, LoadError::Unreadable(error.to_string()));
            findings.lose_file(all(), true);
            return Vec::new();
        }
        Some(Ok(bytes)) => bytes,
    };
    entries(&bytes, search, counts, findings)
}

/// The entries of a text.
pub(super) fn entries(
    bytes: &[u8],
    search: &Search,
    counts: &mut Counts,
    findings: &mut Findings,
) -> Vec<Entry> {
    let mut found = Vec::new();
    let since = findings.diagnostics.len();
    let hooks = hooks(bytes, findings);
    if findings.diagnostics.len() > since {
        findings.lose_file(all(), bytes.len() > yaml::LONGEST || ON_FAILURE.are_in(bytes));
    }
    for (key, value) in hooks {
        if value.is_null() {
            continue;
        }
        let name = key.label();
        let Some(point) = points::find(&name) else {
            let near = names::proposed(&name, points::names(), only_point);
            let point = near_point(&name, near);
            lose(&key, &value, point, LoadError::Point(name.clone(), near), findings);
            continue;
        };
        let Content::List(items) = &value.content else {
            let error = LoadError::PointType(point.name, entry::shown(&value));
            lose(&key, &value, Some(point), error, findings);
            continue;
        };
        for node in items {
            let index = counts.entry(point.name).or_default();
            let unnamed = format!("{}-{index}", point.name);
            *index += 1;
            found.push(entry(point, unnamed, node, search, findings));
        }
    }
    found
}

/// All points at which anything can be refused.
fn all() -> Vec<(&'static PointInfo, String)> {
    points::POINTS.iter().filter(|point| point.class == Class::Sync).flat_map(named).collect()
}

fn named(point: &'static ChordPoint) -> Vec<(&'static PointInfo, String)> {
    point.points.iter().map(|canonical| (*canonical, point.name.to_owned())).collect()
}

fn only_point(name: &str) -> Option<&'static PointInfo> {
    points::find(name)?.points.first().copied()
}

/// The point that a wrong name may stand for, if the one that is proposed is near.
fn near_point(name: &str, proposed: &str) -> Option<&'static ChordPoint> {
    points::find(proposed).filter(|_| names::is_near(name, proposed))
}

/// The hooks below a key are lost; of this point, where it is known.
fn lose(
    key: &Node,
    value: &Node,
    point: Option<&'static ChordPoint>,
    error: LoadError,
    findings: &mut Findings,
) {
    let since = findings.diagnostics.len();
    findings.error(key.line, error);
    let error = findings.repair(since, "");
    let items = match &value.content {
        Content::List(items) => items.as_slice(),
        _ => std::slice::from_ref(value),
    };
    for item in items {
        let keys = match &item.content {
            Content::Mapping(keys) => keys.as_slice(),
            _ => &[],
        };
        let name = keys.iter().find(|(key, _)| key.written() == Some("name"));
        let name = name.and_then(|(_, name)| name.written()).filter(|name| !name.is_empty());
        findings.lose(Broken {
            name: name.map_or_else(|| key.label(), str::to_owned),
            line: item.line,
            error: error.clone(),
            points: point.map_or_else(all, named),
            is_guard: is_guard(keys) && point.is_none_or(|point| point.class == Class::Sync),
            select: None,
        });
    }
}

/// Whether an entry may have been meant to block when it fails.
fn is_guard(keys: &[(Node, Node)]) -> bool {
    keys.iter().any(|(key, value)| ON_FAILURE.are_meant_by(&key.label(), value.written()))
}

fn entry(
    point: &'static ChordPoint,
    unnamed: String,
    node: &Node,
    search: &Search,
    findings: &mut Findings,
) -> Entry {
    let since = findings.diagnostics.len();
    let (line, keys) =
        (node.line, if let Content::Mapping(keys) = &node.content { keys.as_slice() } else { &[] });
    let (name, declared) = if matches!(node.content, Content::Mapping(_)) {
        entry::read(point, unnamed, line, keys, search, findings)
    } else {
        let about = About { point, name: &unnamed };
        findings.hook_error(line, about, LoadError::EntryType(entry::shown(node)));
        (unnamed, None)
    };
    if declared.is_none() {
        let error = findings.repair(since, About { point, name: &name });
        let (points, is_guard) = (named(point), is_guard(keys) && point.class == Class::Sync);
        findings.lose(Broken { name: name.clone(), line, error, points, is_guard, select: None });
    }
    Entry { point, name, line, declared }
}

/// What stands below `hooks`; nothing, when an error costs the whole file.
fn hooks(bytes: &[u8], findings: &mut Findings) -> Vec<(Node, Node)> {
    match root(bytes, findings).map(|root| root.content) {
        None | Some(Content::Null) => Vec::new(),
        Some(Content::Mapping(entries)) => {
            if !entries.iter().any(|(key, _)| key.text() == Some("hooks"))
                && let Some((meant, _)) = entries.iter().find(|(key, value)| is_meant_as_hooks(key, value))
            {
                findings.error(meant.line, LoadError::Misspelt(meant.label()));
            }
            let Some((key, mut hooks)) = entries.into_iter().find(|(key, _)| key.text() == Some("hooks"))
            else {
                return Vec::new();
            };
            if let Err(error) = hooks.merge_all_keys() {
                findings.error(error.line, LoadError::Yaml(error));
                return Vec::new();
            }
            match hooks.content {
                Content::Null => Vec::new(),
                Content::Mapping(points) => points,
                _ => {
                    findings.error(key.line, LoadError::HooksType(entry::shown(&hooks)));
                    Vec::new()
                }
            }
        }
        Some(_) => {
            findings.error(1, &LoadError::RootType);
            Vec::new()
        }
    }
}

/// Whether a key was meant as `hooks`: nearly that word, above hooks of a point that there is.
fn is_meant_as_hooks(key: &Node, value: &Node) -> bool {
    let Content::Mapping(points) = &value.content else { return false };
    names::is_nearly_hooks(&key.label())
        && points.iter().any(|(point, _)| points::find(&point.label()).is_some())
}

fn root(bytes: &[u8], findings: &mut Findings) -> Option<Node> {
    let Some(text) = text::of_file(bytes) else {
        findings.error(1, LoadError::NotUtf8);
        return None;
    };
    let read = yaml::read_first(text, UnknownEscapes::Refuse).and_then(|mut document| {
        document.root.merge_keys()?;
        Ok(document)
    });
    match read {
        Err(error) => {
            findings.error(error.line, LoadError::Yaml(error));
            None
        }
        Ok(document) if document.duplicates.is_empty() => Some(document.root),
        Ok(document) => {
            for duplicate in document.duplicates {
                findings.error(duplicate.line, LoadError::Duplicate(duplicate.key));
            }
            None
        }
    }
}
