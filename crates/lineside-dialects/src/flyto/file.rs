//! One file to its entries (FL-3, FL-5).

use std::collections::BTreeMap;

use lineside_core::PointInfo;
use lineside_core::json::Error;
use lineside_files::{Boundary, OpenFileError};

use super::catalogue::HookType;
use super::entry::{self, Entry};
use super::findings::{Findings, LoadError};
use super::places::Place;
use crate::broken::{Broken, ON_FAILURE, Repair};
use crate::dialect::CONFIGURATION as LONGEST;
use crate::lined_json::{self, Content, Node};
use crate::names;

/// How many entries of each type the files so far have (FL-4).
pub(super) type Counts = BTreeMap<&'static str, usize>;

/// The entries of a file, in its order; none if there is no such file.
pub(super) fn read(
    place: &Place,
    boundary: Boundary<'_>,
    counts: &mut Counts,
    findings: &mut Findings,
) -> Vec<Entry> {
    let bytes = match lineside_files::read_if_there(&place.file, boundary, LONGEST) {
        None => return Vec::new(),
        Some(Ok(bytes)) if bytes.len() <= LONGEST => bytes,
        Some(read) => {
            let too_long = |_| format!("it is larger than {LONGEST} bytes");
            let why = read.map_or_else(|error| error.to_string(), too_long);
            findings.error(1, LoadError::Unreadable(why));
            findings.lose_file(all(), true);
            return Vec::new();
        }
    };
    let Types { types, earlier } = types(&bytes, findings);
    // Nothing else has been looked at yet.
    if !findings.diagnostics.is_empty() {
        findings.lose_file(all(), ON_FAILURE.are_in(&bytes));
    }
    for hooks in earlier {
        let twice = LoadError::DuplicateHooks;
        let error = findings.repair_at(hooks.line, &twice);
        findings.error(hooks.line, twice);
        for list in hooks.value.entries().unwrap_or_default() {
            lose(&list.key, &list.value, HookType::find(&list.key), &error, findings);
        }
    }
    let mut found = Vec::new();
    for (number, list) in types.iter().enumerate() {
        if types.iter().skip(number + 1).any(|later| later.key == list.key) {
            let error = LoadError::DuplicateType(list.key.clone());
            lose_with(&list.key, list.line, &list.value, HookType::find(&list.key), error, findings);
        } else if !list.value.is_null() {
            found.extend(read_type(&list.key, list.line, &list.value, place, counts, findings));
        }
    }
    found
}

/// The plugins in a place cannot be found.
pub(super) fn lose_plugins(error: &OpenFileError, findings: &mut Findings) {
    findings.error(1, LoadError::Plugins(error.to_string()));
    findings.lose_file(all(), true);
}

/// What stands below `hooks`.
#[derive(Default)]
struct Types {
    types: Vec<lined_json::Entry>,
    /// Other occurrences of `hooks`, which do not count.
    earlier: Vec<lined_json::Entry>,
}

/// What stands below `hooks`; nothing, when an error costs the whole file.
fn types(bytes: &[u8], findings: &mut Findings) -> Types {
    let text = str::from_utf8(bytes).map_err(|_| (1, "it is not UTF-8".to_owned()));
    let place = |error: Error| (lined_json::line_of(&error), error.detail().to_owned());
    let read = text.and_then(|text| lined_json::read(text).map_err(place));
    let root = match read {
        Ok(document) => document.root,
        Err((line, detail)) => {
            findings.error(line, LoadError::NotJson(detail));
            return Types::default();
        }
    };
    let Some(entries) = root.entries() else {
        findings.error(root.line, LoadError::NotAnObject(root.label()));
        return Types::default();
    };
    let mut named: Vec<_> = entries.iter().filter(|entry| entry.key == "hooks").cloned().collect();
    let Some(hooks) = named.pop() else {
        if let Some(meant) = entries.iter().find(|entry| is_meant_as_hooks(entry)) {
            findings.error(meant.line, LoadError::Misspelt(meant.key.clone()));
        }
        return Types::default();
    };
    let earlier = named;
    let types = match &hooks.value.content {
        Content::Null => Vec::new(),
        Content::Object(types) => types.clone(),
        _ => {
            findings.error(hooks.line, LoadError::Hooks(hooks.value.label()));
            Vec::new()
        }
    };
    Types { types, earlier }
}

/// Whether a key was meant as `hooks`: nearly that word, above hooks of a type that there is.
fn is_meant_as_hooks(entry: &lined_json::Entry) -> bool {
    let types = entry.value.entries().unwrap_or_default();
    names::is_nearly_hooks(&entry.key) && types.iter().any(|list| HookType::find(&list.key).is_some())
}

fn read_type(
    name: &str,
    line: u32,
    list: &Node,
    place: &Place,
    counts: &mut Counts,
    findings: &mut Findings,
) -> Vec<Entry> {
    let Some(hook_type) = HookType::find(name) else {
        let nearest = HookType::nearest(name);
        let near = HookType::find(nearest).filter(|_| names::is_near(name, nearest));
        let error = LoadError::UnknownType { wrong: name.to_owned(), nearest };
        lose_with(name, line, list, near, error, findings);
        return Vec::new();
    };
    let Content::List(items) = &list.content else {
        let error = LoadError::List { hook_type: hook_type.name(), value: list.label() };
        lose_with(name, line, list, Some(hook_type), error, findings);
        return Vec::new();
    };
    let count = counts.entry(hook_type.name()).or_default();
    let entries = items.iter().map(|item| {
        let default_name = format!("{}-{count}", hook_type.name());
        *count += 1;
        let since = findings.diagnostics.len();
        let entry = entry::read(hook_type, default_name, item, place, findings);
        if entry.definition.is_none() {
            let (name, line, points) = (entry.name.clone(), entry.line, named(hook_type));
            let error = findings.repair(since, format_args!("hook \"{name}\""));
            let is_guard = is_guard(item, Some(hook_type));
            findings.lose(Broken { name, line, error, points, is_guard, select: None });
        }
        entry
    });
    entries.collect()
}

/// The entries below a key are lost with this error.
fn lose_with(
    key: &str,
    line: u32,
    list: &Node,
    hook_type: Option<&'static HookType>,
    error: LoadError,
    findings: &mut Findings,
) {
    let repair = findings.repair_at(line, &error);
    findings.error(line, error);
    lose(key, list, hook_type, &repair, findings);
}

/// The entries below a key are lost; of this type, where it is known.
fn lose(
    key: &str,
    list: &Node,
    hook_type: Option<&'static HookType>,
    error: &Repair,
    findings: &mut Findings,
) {
    let items = match &list.content {
        Content::List(items) => items.as_slice(),
        _ => std::slice::from_ref(list),
    };
    for item in items {
        let name = item.entry("name").and_then(|entry| entry.value.text()).filter(|name| !name.is_empty());
        findings.lose(Broken {
            name: name.unwrap_or(key).to_owned(),
            line: item.line,
            error: error.clone(),
            points: hook_type.map_or_else(all, named),
            is_guard: is_guard(item, hook_type),
            select: None,
        });
    }
}

/// Whether an entry may have been meant to block when it fails.
fn is_guard(item: &Node, hook_type: Option<&'static HookType>) -> bool {
    let entries = item.entries().unwrap_or_default();
    let says = entries.iter().any(|entry| ON_FAILURE.are_meant_by(&entry.key, entry.value.text()));
    says && hook_type.is_none_or(|hook_type| hook_type.authority().blocks())
}

/// All points at which a hook may block.
fn all() -> Vec<(&'static PointInfo, String)> {
    HookType::all().filter(|hook_type| hook_type.authority().blocks()).flat_map(named).collect()
}

fn named(hook_type: &'static HookType) -> Vec<(&'static PointInfo, String)> {
    vec![(hook_type.point(), hook_type.name().to_owned())]
}
