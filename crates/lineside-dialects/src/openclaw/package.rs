//! What a plugin directory says of itself: its manifest and its `package.json` (OC-6, OC-7, OC-9).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use lineside_core::json::read_strict;
use lineside_core::json::{Map, Value};
use lineside_files::{Boundary, OpenFileError};

use super::api_range::{self, HOST_VERSION};
use super::json5::{self, ReadFileError};
use super::places::tidy;
use super::safety::Blocked;

/// The name of the manifest.
const MANIFEST: &str = "openclaw.plugin.json";
/// The largest manifest and the largest `package.json`.
const LARGEST: usize = 1 << 20;
/// In the order in which they are looked for.
const INDEX: [&str; 4] = ["index.ts", "index.js", "index.mjs", "index.cjs"];

/// The manifest.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Manifest {
    pub(super) name: Option<String>,
    pub(super) version: Option<String>,
    pub(super) description: Option<String>,
    /// What it is, where only one of a kind is in force.
    pub(super) kinds: Vec<String>,
    /// Ids of other plugins.
    pub(super) requires: Vec<String>,
    /// The schema of its configuration; a standalone plugin has none.
    pub(super) schema: Option<Value>,
}

/// A plugin directory.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Package {
    /// Known once the manifest has one.
    pub(super) id: Option<String>,
    /// The manifest's path.
    pub(super) manifest_file: PathBuf,
    pub(super) contents: Result<Contents, Vec<String>>,
}

/// What it holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Contents {
    pub(super) manifest: Manifest,
    /// Never empty.
    pub(super) entries: Vec<Entry>,
}

/// One entry: a plugin of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) file: PathBuf,
    /// Why it is none.
    pub(super) fault: Option<String>,
}

/// Whether a directory that is named is a plugin, and not a place for plugins (OC-5).
pub(super) fn is_plugin(directory: &Path, boundary: Boundary<'_>) -> bool {
    directory.join(MANIFEST).exists()
        || index(directory).is_some()
        || matches!(package_json(directory, boundary), Ok(package) if package.contains_key("openclaw"))
}

fn index(directory: &Path) -> Option<PathBuf> {
    INDEX.into_iter().map(|name| directory.join(name)).find(|file| file.exists())
}

/// The object in `package.json`; an empty one when there is none.
fn package_json(directory: &Path, boundary: Boundary<'_>) -> Result<Map, String> {
    let failed = |why: String| format!("failed to parse package.json: {why}");
    let Some(text) =
        json5::text(&directory.join("package.json"), boundary, LARGEST).map_err(|e| failed(e.to_string()))?
    else {
        return Ok(Map::new());
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    match read_strict(text.as_bytes()) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(failed("it is not an object".to_owned())),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Reads a plugin directory; nothing when it has neither manifest nor entry.
pub(super) fn read(directory: &Path, boundary: Boundary<'_>) -> Option<Package> {
    let manifest_file = directory.join(MANIFEST);
    let refused = |id, message| {
        Some(Package { id, manifest_file: manifest_file.clone(), contents: Err(vec![message]) })
    };
    let written = match json5::read(&manifest_file, boundary, LARGEST) {
        Ok(Some(Value::Object(written))) => written,
        Ok(Some(_)) => return refused(None, "plugin manifest must be an object".to_owned()),
        Ok(None) if is_plugin(directory, boundary) => {
            return refused(None, format!("plugin manifest not found: {}", manifest_file.display()));
        }
        Ok(None) => return None,
        Err(ReadFileError::Open(OpenFileError::Outside(place))) => {
            let blocked = Blocked::OutOfProject(place.display().to_string());
            return refused(None, blocked.to_string());
        }
        Err(error) => return refused(None, format!("failed to parse plugin manifest: {error}")),
    };
    let Some(id) = text(&written, "id") else {
        return refused(None, "plugin manifest requires id".to_owned());
    };
    let Some(schema @ Value::Object(_)) = written.get("configSchema") else {
        return refused(Some(id), "plugin manifest requires configSchema".to_owned());
    };
    let contents = package_json(directory, boundary).map_err(|fault| vec![fault]).and_then(|package| {
        let manifest = Manifest {
            name: text(&written, "name"),
            version: text(&written, "version").or_else(|| text(&package, "version")),
            description: text(&written, "description").or_else(|| text(&package, "description")),
            kinds: text(&written, "kind").map_or_else(|| texts(written.get("kind")), |kind| vec![kind]),
            requires: texts(written.get("requiresPlugins")),
            schema: Some(schema.clone()),
        };
        let entries = entries(directory, &id, &package)?;
        Ok(Contents { manifest, entries })
    });
    Some(Package { id: Some(id), manifest_file, contents })
}

fn text(map: &Map, key: &str) -> Option<String> {
    let text = map.get(key)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The entries (OC-7), each with the id of its plugin (OC-9).
fn entries(directory: &Path, id: &str, package: &Map) -> Result<Vec<Entry>, Vec<String>> {
    let fault = |message: &str| vec![message.to_owned()];
    let empty = Map::new();
    let openclaw = match package.get("openclaw") {
        Some(Value::Object(openclaw)) => openclaw,
        Some(Value::Null) | None => &empty,
        Some(_) => return Err(fault("package.json openclaw must be an object")),
    };
    if let Some(compat) = openclaw.get("compat").and_then(|compat| compat.get("pluginApi")) {
        check_range(compat, &directory.join("package.json")).map_err(|message| vec![message])?;
    }
    let Some(sources) = list(openclaw, "extensions")? else {
        let Some(file) = index(directory) else {
            return Err(vec![format!("plugin entry not found: {}", directory.display())]);
        };
        return Ok(vec![Entry { id: id.to_owned(), file, fault: None }]);
    };
    if sources.is_empty() {
        return Err(fault("package.json openclaw.extensions is empty"));
    }
    let built = list(openclaw, "runtimeExtensions")?;
    if built.as_ref().is_some_and(|built| built.len() != sources.len()) {
        let message = "package.json openclaw.runtimeExtensions must match openclaw.extensions in length";
        return Err(fault(message));
    }
    let kind = if built.is_some() { "runtime extension entry" } else { "extension entry" };
    let several = sources.len() > 1;
    let entries: Vec<Entry> = sources
        .iter()
        .zip(built.as_ref().unwrap_or(&sources))
        .map(|(source, taken)| {
            let file = tidy(&directory.join(taken));
            let stem = Path::new(source).file_stem().unwrap_or_default().to_string_lossy();
            let missing = || format!("{kind} not found: {}", file.display());
            Entry {
                id: if several { format!("{id}/{stem}") } else { id.to_owned() },
                fault: (!file.is_file()).then(missing),
                file,
            }
        })
        .collect();
    Ok(without_collisions(entries))
}

/// Refuses the entries that would have the same id (OC-9).
fn without_collisions(mut entries: Vec<Entry>) -> Vec<Entry> {
    let mut count: HashMap<String, usize> = HashMap::new();
    for entry in &entries {
        *count.entry(entry.id.clone()).or_default() += 1;
    }
    for entry in entries.iter_mut().filter(|entry| count.get(&entry.id).is_some_and(|count| *count > 1)) {
        entry.fault = Some(format!("plugin package entries collide on derived id \"{}\"", entry.id));
    }
    entries
}

/// A list of files; nothing when the key is absent.
fn list(openclaw: &Map, key: &str) -> Result<Option<Vec<String>>, Vec<String>> {
    let items = match openclaw.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(items)) => items,
        Some(_) => return Err(vec![format!("package.json openclaw.{key} must be an array")]),
    };
    let mut faults = Vec::new();
    let mut files = Vec::new();
    for (i, item) in items.iter().enumerate() {
        match item.as_str().map(str::trim) {
            Some(file) if !file.is_empty() => files.push(file.to_owned()),
            _ => faults.push(format!("package.json openclaw.{key}[{i}] must be a non-empty string")),
        }
    }
    if faults.is_empty() { Ok(Some(files)) } else { Err(faults) }
}

/// `openclaw.compat.pluginApi` has this host.
fn check_range(range: &Value, file: &Path) -> Result<(), String> {
    let place = format!("openclaw.compat.pluginApi of {}", file.display());
    let written = range.as_str().map(str::trim);
    let Some((written, holds)) = written.and_then(|written| Some((written, api_range::has_host(written)?)))
    else {
        return Err(format!(
            "invalid package plugin API metadata: {place} is {range}, which is no range of versions"
        ));
    };
    if holds {
        return Ok(());
    }
    let [year, month, number] = HOST_VERSION;
    Err(format!("plugin requires plugin API {written}, but this host is {year}.{month}.{number} ({place})"))
}

#[cfg(test)]
mod tests;
