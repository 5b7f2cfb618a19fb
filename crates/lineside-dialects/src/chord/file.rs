//! A file to its entries, point by point (CH-4, CH-5, CH-8).

use std::collections::HashMap;

use lineside_files::Boundary;

use super::entry::{self, Declared, about, shown};
use super::places::Place;
use super::points::{self, ChordPoint, Class, POINTS};
use crate::broken::{Broken, IsGuard, ON_FAILURE};
use crate::findings::Findings;
use crate::names::{self, Named as _};
use crate::programs::Search;
use crate::text;
use crate::tree::{Content, Entry as Keyed, Node};
use crate::yaml::{self, UnknownEscapes};

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
    match lineside_files::read_if_there(&place.file, boundary, yaml::LONGEST) {
        None => Vec::new(),
        Some(Ok(bytes)) => entries(&bytes, search, counts, findings),
        Some(Err(error)) => {
            findings.error(1, format_args!("the file cannot be read: {error}"));
            findings.lose_file(names::gates(POINTS), true);
            Vec::new()
        }
    }
}

/// The entries of a text.
pub(super) fn entries(
    bytes: &[u8],
    search: &Search,
    counts: &mut Counts,
    findings: &mut Findings,
) -> Vec<Entry> {
    let mut found = Vec::new();
    let hooks = hooks(bytes, findings).unwrap_or_else(|(line, error)| {
        findings.error(line, error);
        Vec::new()
    });
    if !findings.diagnostics.is_empty() {
        let is_guard = bytes.len() > yaml::LONGEST || ON_FAILURE.are_in(bytes);
        findings.lose_file(names::gates(POINTS), is_guard);
    }
    for (key, value) in hooks.iter().filter(|(_, value)| !value.is_null()) {
        let name = key.label();
        let Some(point) = points::find(&name) else {
            let proposed = names::proposed_row(POINTS, &name);
            let what = format!("there is no point `{name}`, did you mean `{proposed}`?");
            lose(key, value, names::near_row(POINTS, &name), what, findings);
            continue;
        };
        let Some(items) = value.list() else {
            let what = format!("`{name}` is {}, not a list of hooks", shown(value));
            lose(key, value, Some(point), what, findings);
            continue;
        };
        for node in items {
            let index = counts.entry(point.name).or_default();
            let unnamed = format!("{name}-{index}");
            *index += 1;
            found.push(entry(point, unnamed, node, search, findings));
        }
    }
    found
}

/// The hooks below a key are lost; of this point, where it is known.
fn lose(key: &Node, value: &Node, point: Option<&'static ChordPoint>, what: String, findings: &mut Findings) {
    let error = findings.repair_error(key.line, what);
    for item in value.list().unwrap_or(std::slice::from_ref(value)) {
        let keys = item.mapping().unwrap_or_default();
        let name = keys.iter().find(|(key, _)| key.written() == Some("name"));
        let name = name.and_then(|(_, name)| name.written()).filter(|name| !name.is_empty());
        findings.lose(Broken {
            name: name.map_or_else(|| key.label(), str::to_owned),
            line: item.line,
            error: error.clone(),
            points: point.map_or_else(|| names::gates(POINTS), ChordPoint::named),
            is_guard: is_guard(keys, point),
            select: None,
        });
    }
}

/// Whether an entry may have been meant to block when it fails.
fn is_guard(keys: &[Keyed], point: Option<&ChordPoint>) -> bool {
    let IsGuard(says) = ON_FAILURE.are_among(keys);
    says && point.is_none_or(|point| point.class == Class::Sync)
}

fn entry(
    point: &'static ChordPoint,
    unnamed: String,
    node: &Node,
    search: &Search,
    findings: &mut Findings,
) -> Entry {
    let (since, line) = (findings.diagnostics.len(), node.line);
    let (name, declared) = if let Some(keys) = node.mapping() {
        entry::read(point, unnamed, line, keys, search, findings)
    } else {
        let what = format!("the entry is {}, not a mapping", shown(node));
        findings.hook_error(line, about(point, &unnamed), what);
        (unnamed, None)
    };
    if declared.is_none() {
        let error = findings.repair(since, about(point, &name));
        let is_guard = is_guard(node.mapping().unwrap_or_default(), Some(point));
        let (name, points) = (name.clone(), point.named());
        findings.lose(Broken { name, line, error, points, is_guard, select: None });
    }
    Entry { point, name, line, declared }
}

/// What stands below `hooks`; an error, which costs the whole file, is a line and what is wrong there. Several are added to
/// the findings.
fn hooks(bytes: &[u8], findings: &mut Findings) -> Result<Vec<Keyed>, (u32, String)> {
    let malformed = |error: yaml::ReadYamlError| (error.line, format!("malformed YAML: {error}"));
    let text = text::of_file(bytes).ok_or_else(|| (1, "the file is not valid UTF-8".to_owned()))?;
    let mut document = yaml::read_first(text, UnknownEscapes::Refuse).map_err(malformed)?;
    document.root.merge_keys().map_err(malformed)?;
    if !document.duplicates.is_empty() {
        for twice in document.duplicates {
            findings.error(twice.line, format_args!("key `{}` occurs twice in a mapping", twice.key));
        }
        return Ok(Vec::new());
    }
    let entries = match document.root.content {
        Content::Null => return Ok(Vec::new()),
        Content::Mapping(entries) => entries,
        _ => return Err((1, "the file is not a mapping".to_owned())),
    };
    let meant = entries.iter().find(|(key, value)| is_meant_as_hooks(key, value));
    let meant = meant.map(|(meant, _)| (meant.line, meant.label()));
    let hooks = entries.into_iter().find(|(key, _)| key.text() == Some("hooks"));
    let (key, mut hooks) = match (hooks, meant) {
        (Some(hooks), _) => hooks,
        (None, Some((line, key))) => {
            return Err((line, format!("unknown key `{key}`, did you mean `hooks`?")));
        }
        (None, None) => return Ok(Vec::new()),
    };
    hooks.merge_all_keys().map_err(malformed)?;
    match hooks.content {
        Content::Null => Ok(Vec::new()),
        Content::Mapping(points) => Ok(points),
        _ => Err((key.line, format!("`hooks` is {}, not a mapping", shown(&hooks)))),
    }
}

/// Whether a key was meant as `hooks`: nearly that word, above hooks of a point that there is.
fn is_meant_as_hooks(key: &Node, value: &Node) -> bool {
    let points = value.mapping().unwrap_or_default();
    names::is_nearly_hooks(&key.label())
        && points.iter().any(|(point, _)| points::find(&point.label()).is_some())
}
