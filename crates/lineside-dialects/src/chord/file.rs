//! A file to its entries, point by point (CH-4, CH-5, CH-8).

use std::collections::HashMap;

use lineside_core::nearest::nearest;

use super::entry::{self, Declared};
use super::findings::{About, Findings, LoadError};
use super::places::Place;
use super::points::{self, ChordPoint};
use super::shell::Search;
use crate::bounded;
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
    search: &Search,
    counts: &mut Counts,
    findings: &mut Findings,
) -> Vec<Entry> {
    let bytes = match bounded::bytes_if_there(&place.file, yaml::LONGEST) {
        None => return Vec::new(),
        Some(Err(error)) => {
            findings.error(1, LoadError::Unreadable(error.to_string()));
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
    for (key, value) in hooks(bytes, findings) {
        if value.is_null() {
            continue;
        }
        let name = key.label();
        let Some(point) = points::find(&name) else {
            let near = nearest(&name, points::names()).unwrap_or_default();
            findings.error(key.line, LoadError::Point(name, near));
            continue;
        };
        let Content::List(items) = &value.content else {
            findings.error(key.line, LoadError::PointType(point.name, entry::shown(&value)));
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

fn entry(
    point: &'static ChordPoint,
    unnamed: String,
    node: &Node,
    search: &Search,
    findings: &mut Findings,
) -> Entry {
    let Content::Mapping(keys) = &node.content else {
        let about = About { point, name: &unnamed };
        findings.hook_error(node.line, about, LoadError::EntryType(entry::shown(node)));
        return Entry { point, name: unnamed, line: node.line, declared: None };
    };
    let (name, declared) = entry::read(point, unnamed, node.line, keys, search, findings);
    Entry { point, name, line: node.line, declared }
}

/// What stands below `hooks`; nothing, when an error costs the whole file.
fn hooks(bytes: &[u8], findings: &mut Findings) -> Vec<(Node, Node)> {
    match root(bytes, findings).map(|root| root.content) {
        None | Some(Content::Null) => Vec::new(),
        Some(Content::Mapping(entries)) => {
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

fn root(bytes: &[u8], findings: &mut Findings) -> Option<Node> {
    let Ok(text) = str::from_utf8(bytes) else {
        findings.error(1, &LoadError::NotUtf8);
        return None;
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
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
