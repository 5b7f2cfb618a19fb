//! One file to its entries (FL-3, FL-5).

use std::collections::BTreeMap;

use lineside_files::{Boundary, OpenFileError};

use super::catalogue::{HookType, TYPES};
use super::entry::{self, Entry};
use super::places::Place;
use crate::broken::{Broken, IsGuard, ON_FAILURE, Repair};
use crate::dialect::CONFIGURATION as LONGEST;
use crate::findings::Findings;
use crate::lined_json;
use crate::names::{self, Named as _};
use crate::tree::{Content, Node};

/// How many entries of each type the files so far have (FL-4).
pub(super) type Counts = BTreeMap<&'static str, usize>;

/// The entries of a file, in its order; none if there is no such file.
pub(super) fn read(
    place: &Place,
    boundary: Boundary<'_>,
    counts: &mut Counts,
    findings: &mut Findings,
) -> Vec<Entry> {
    let why = match lineside_files::read_if_there(&place.file, boundary, LONGEST) {
        None => return Vec::new(),
        Some(Ok(bytes)) if bytes.len() <= LONGEST => return entries(&bytes, place, counts, findings),
        Some(Ok(_)) => format!("it is larger than {LONGEST} bytes"),
        Some(Err(error)) => error.to_string(),
    };
    findings.error(1, format_args!("the file cannot be read: {why}"));
    findings.lose_file(names::gates(&TYPES), true);
    Vec::new()
}

/// The plugins in a place cannot be found.
pub(super) fn lose_plugins(error: &OpenFileError, findings: &mut Findings) {
    findings.error(1, format_args!("no plugins can be looked for: {error}"));
    findings.lose_file(names::gates(&TYPES), true);
}

/// The entries of a text. Of keys that occur twice the last one counts, and what stands below the others is lost.
fn entries(bytes: &[u8], place: &Place, counts: &mut Counts, findings: &mut Findings) -> Vec<Entry> {
    let root = root(bytes).unwrap_or_else(|(line, error)| {
        findings.error(line, error);
        Node::new(line, Content::Mapping(Vec::new()))
    });
    let fields = root.mapping().unwrap_or_default();
    let mut named: Vec<_> = fields.iter().filter(|(key, _)| key.text() == Some("hooks")).collect();
    let types = match named.pop() {
        Some((_, hooks)) if hooks.is_null() => &[],
        Some((key, hooks)) => hooks.mapping().unwrap_or_else(|| {
            let what = format!("'hooks' must be an object, not {}", hooks.json_label());
            findings.error(key.line, what);
            &[]
        }),
        None => {
            if let Some((meant, _)) = fields.iter().find(|(key, value)| is_meant_as_hooks(key, value)) {
                findings.error(
                    meant.line,
                    format_args!("unknown key '{}', did you mean 'hooks'?", meant.label()),
                );
            }
            &[]
        }
    };
    if !findings.diagnostics.is_empty() {
        findings.lose_file(names::gates(&TYPES), ON_FAILURE.are_in(bytes));
    }
    for (key, hooks) in named {
        let error = findings.repair_error(key.line, "the key 'hooks' occurs twice, the last one counts");
        for (name, list) in hooks.mapping().unwrap_or_default() {
            lose(name, list, HookType::find(&name.label()), &error, findings);
        }
    }
    let mut found = Vec::new();
    for (number, (key, list)) in types.iter().enumerate() {
        if types.iter().skip(number + 1).any(|(later, _)| later.text() == key.text()) {
            let name = key.label();
            let what = format!("the hooks of '{name}' are declared twice, the last list counts");
            lose(key, list, HookType::find(&name), &findings.repair_error(key.line, what), findings);
        } else if !list.is_null() {
            found.extend(read_type(key, list, place, counts, findings));
        }
    }
    found
}

/// The object that a text is; an error is a line and what is wrong there.
fn root(bytes: &[u8]) -> Result<Node, (u32, String)> {
    let not_json = |line, why: &str| (line, format!("the file is not JSON: {why}"));
    let text = str::from_utf8(bytes).map_err(|_| not_json(1, "it is not UTF-8"))?;
    let read = lined_json::read(text).map_err(|error| not_json(lined_json::line_of(&error), error.detail()));
    let root = read?.root;
    match root.mapping() {
        Some(_) => Ok(root),
        None => Err((root.line, format!("the file must hold a JSON object, not {}", root.json_label()))),
    }
}

/// Whether a key was meant as `hooks`: nearly that word, above hooks of a type that there is.
fn is_meant_as_hooks(key: &Node, value: &Node) -> bool {
    let types = value.mapping().unwrap_or_default();
    names::is_nearly_hooks(&key.label())
        && types.iter().any(|(name, _)| HookType::find(&name.label()).is_some())
}

fn read_type(
    key: &Node,
    list: &Node,
    place: &Place,
    counts: &mut Counts,
    findings: &mut Findings,
) -> Vec<Entry> {
    let name = key.label();
    let Some(hook_type) = HookType::find(&name) else {
        let nearest = HookType::nearest(&name);
        let what = format!("unknown hook type '{name}', its hooks are not loaded; did you mean '{nearest}'?");
        let (error, near) = (findings.repair_error(key.line, what), names::near_row(&TYPES, &name));
        lose(key, list, near, &error, findings);
        return Vec::new();
    };
    let Some(items) = list.list() else {
        let what = format!("the hooks of '{name}' must be a list, not {}", list.json_label());
        lose(key, list, Some(hook_type), &findings.repair_error(key.line, what), findings);
        return Vec::new();
    };
    let count = counts.entry(hook_type.name()).or_default();
    let entries = items.iter().map(|item| {
        let default_name = format!("{name}-{count}");
        *count += 1;
        let since = findings.diagnostics.len();
        let entry = entry::read(hook_type, default_name, item, place, findings);
        if entry.definition.is_none() {
            let (name, line, points) = (entry.name.clone(), entry.line, hook_type.named());
            let error = findings.repair(since, format_args!("hook \"{name}\""));
            let is_guard = is_guard(item, Some(hook_type));
            findings.lose(Broken { name, line, error, points, is_guard, select: None });
        }
        entry
    });
    entries.collect()
}

/// The entries below a key are lost; of this type, where it is known.
fn lose(
    key: &Node,
    list: &Node,
    hook_type: Option<&'static HookType>,
    error: &Repair,
    findings: &mut Findings,
) {
    for item in list.list().unwrap_or(std::slice::from_ref(list)) {
        let name = item.value("name").and_then(Node::text).filter(|name| !name.is_empty());
        findings.lose(Broken {
            name: name.map_or_else(|| key.label(), str::to_owned),
            line: item.line,
            error: error.clone(),
            points: hook_type.map_or_else(|| names::gates(&TYPES), HookType::named),
            is_guard: is_guard(item, hook_type),
            select: None,
        });
    }
}

/// Whether an entry may have been meant to block when it fails.
fn is_guard(item: &Node, hook_type: Option<&'static HookType>) -> bool {
    let IsGuard(says) = ON_FAILURE.are_among(item.mapping().unwrap_or_default());
    says && hook_type.is_none_or(|hook_type| hook_type.authority().blocks())
}
