//! One file to its entries (FL-3, FL-5).

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;

use crate::lined_json::{self, Content, Node};

use super::catalogue::HookType;
use super::entry::{self, Entry};
use super::findings::{Findings, LoadError, LoadWarning};
use super::places::Place;

/// How many entries of each type the files so far have (FL-4).
pub(super) type Counts = BTreeMap<&'static str, usize>;

/// The entries of a file, in its order; none if there is no such file.
pub(super) fn read(place: &Place, counts: &mut Counts, findings: &mut Findings) -> Vec<Entry> {
    let text = match text(place) {
        Ok(Some(text)) => text,
        Ok(None) => return Vec::new(),
        Err(error) => {
            findings.error(1, &error);
            return Vec::new();
        }
    };
    let document = match lined_json::read(&text) {
        Ok(document) => document,
        Err(error) => {
            findings.error(error.line, LoadError::NotJson(error.detail));
            return Vec::new();
        }
    };
    if document.root.entries().is_none() {
        findings.error(document.root.line, LoadError::NotAnObject(document.root.label()));
        return Vec::new();
    }
    let Some(hooks) = document.root.entry("hooks").filter(|hooks| !hooks.value.is_null()) else {
        return Vec::new();
    };
    let Some(types) = hooks.value.entries() else {
        findings.error(hooks.line, LoadError::Hooks(hooks.value.label()));
        return Vec::new();
    };
    let mut found = Vec::new();
    for (number, list) in types.iter().enumerate() {
        if types.iter().skip(number + 1).any(|later| later.key == list.key) {
            findings.warning(list.line, LoadWarning::DuplicateType(list.key.clone()));
        } else if !list.value.is_null() {
            found.extend(read_type(&list.key, list.line, &list.value, place, counts, findings));
        }
    }
    found
}

/// The text of the file; `None` if there is none.
fn text(place: &Place) -> Result<Option<String>, LoadError> {
    let unreadable = |why: String| LoadError::Unreadable(why);
    match fs::metadata(&place.file) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(error.to_string())),
        // Reading a pipe would wait for ever.
        Ok(metadata) if !metadata.is_file() => return Err(unreadable("it is no regular file".to_owned())),
        Ok(_) => {}
    }
    let bytes = fs::read(&place.file).map_err(|error| unreadable(error.to_string()))?;
    String::from_utf8(bytes).map(Some).map_err(|_| LoadError::NotJson("it is not UTF-8"))
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
        let error = LoadError::UnknownType { wrong: name.to_owned(), nearest: HookType::nearest(name) };
        findings.error(line, &error);
        return Vec::new();
    };
    let Content::List(items) = &list.content else {
        findings.error(line, &LoadError::List { hook_type: hook_type.name(), value: list.label() });
        return Vec::new();
    };
    let count = counts.entry(hook_type.name()).or_default();
    items
        .iter()
        .map(|item| {
            let default_name = format!("{}-{count}", hook_type.name());
            *count += 1;
            entry::read(hook_type, default_name, item, place, findings)
        })
        .collect()
}
