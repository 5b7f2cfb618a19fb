//! A file to its entries.

use lineside_core::nearest::suggestion;

use super::entry::{self, Entry};
use super::findings::{About, Findings, LoadError, LoadWarning};
use super::places::Place;
use super::values::shown;
use crate::bounded;
use crate::dialect::Places;
use crate::yaml::{self, Content, Document, DuplicateKey, Node, UnknownEscapes};

/// Reads a file; an entry that is broken is there without a definition.
pub(super) fn read(place: &Place, places: &Places, findings: &mut Findings) -> Vec<Entry> {
    let bytes = match bounded::bytes_if_there(&place.file, yaml::LONGEST) {
        None => return Vec::new(),
        Some(Err(error)) => {
            findings.error(1, LoadError::Unreadable(error.to_string()));
            return Vec::new();
        }
        Some(Ok(bytes)) => bytes,
    };
    entries(&bytes, place, places, findings)
}

/// The entries of a text.
pub(super) fn entries(bytes: &[u8], place: &Place, places: &Places, findings: &mut Findings) -> Vec<Entry> {
    let Some((items, duplicates)) = items(bytes, findings) else { return Vec::new() };
    let mut found: Vec<Entry> = Vec::with_capacity(items.len());
    for (number, item) in items.iter().enumerate() {
        let unnamed = format!("hooks[{number}]");
        let twice: Vec<&DuplicateKey> =
            duplicates.iter().filter(|twice| owns(&items, item, twice.line)).collect();
        let mut entry = entry::read(unnamed, item, place, places, findings);
        for twice in twice {
            findings.hook_error(twice.line, About(&entry.name), LoadError::Duplicate(twice.key.clone()));
            entry.definition = None;
        }
        if let Some(before) = found.iter().find(|before| before.name == entry.name) {
            findings.hook_error(entry.line, About(&entry.name), LoadError::SameName(before.line));
            entry.definition = None;
        }
        found.push(entry);
    }
    found
}

/// Whether a line is of this item: of the last one that has begun by then, or of any on its line.
fn owns(items: &[Node], item: &Node, line: u32) -> bool {
    items.iter().rev().find(|other| other.line <= line).is_some_and(|last| last.line == item.line)
}

/// What stands below `hooks`, and the keys that occur twice there; nothing, when an error costs the whole file.
fn items(bytes: &[u8], findings: &mut Findings) -> Option<(Vec<Node>, Vec<DuplicateKey>)> {
    let Document { root, duplicates, .. } = document(bytes, findings)?;
    let keys = match root.content {
        Content::Null => return None,
        Content::Mapping(keys) => keys,
        _ => {
            findings.error(root.line, &LoadError::RootType);
            return None;
        }
    };
    let at_top: Vec<u32> = keys.iter().map(|(key, _)| key.line).collect();
    let (of_file, of_hooks): (Vec<_>, Vec<_>) =
        duplicates.into_iter().partition(|twice| at_top.contains(&twice.line) && named(&keys, &twice.key));
    if let Some(twice) = of_file.into_iter().find(|twice| twice.key == "hooks") {
        findings.error(twice.line, LoadError::Duplicate(twice.key));
        return None;
    }
    let mut hooks = None;
    for (key, value) in keys {
        let name = key.label();
        if name == "hooks" {
            hooks = Some((key, value));
        } else {
            let nearest = suggestion(&name, ["hooks"]).map(|_| "hooks");
            findings.warning(key.line, &LoadWarning::UnknownKey { key: name, nearest });
        }
    }
    let (key, value) = hooks?;
    match value.content {
        Content::Null => None,
        Content::List(items) => Some((items, of_hooks)),
        _ => {
            findings.error(key.line, LoadError::HooksType(shown(&value)));
            None
        }
    }
}

fn named(keys: &[(Node, Node)], name: &str) -> bool {
    keys.iter().any(|(key, _)| key.label() == name)
}

fn document(bytes: &[u8], findings: &mut Findings) -> Option<Document> {
    let Ok(text) = str::from_utf8(bytes) else {
        findings.error(1, &LoadError::NotUtf8);
        return None;
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let read = yaml::read(text, 1, UnknownEscapes::Refuse).and_then(|mut document| {
        document.root.merge_all_keys()?;
        Ok(document)
    });
    read.map_err(|error| findings.error(error.line, LoadError::Yaml(error))).ok()
}
