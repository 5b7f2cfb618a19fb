//! What a `HOOK.md` says of its pack.

use std::path::Path;

use lineside_core::json::{Map, Value};
use lineside_files::Boundary;

use super::super::json5;
use super::selection::Selection;
use super::{DOCUMENT, named_after};
use crate::dialect::Places;
use crate::frontmatter;
use crate::programs::Search;
use crate::yaml::{self, Content, Node, UnknownEscapes};

/// The largest `HOOK.md`, in bytes.
const LARGEST: usize = 1 << 20;
/// The key of the manifest in `metadata`, and the one before it.
const MANIFEST: [&str; 2] = ["openclaw", "clawdbot"];
/// What is on unless the configuration says otherwise.
const ON: [&str; 3] = ["workspace.dir", "browser.enabled", "browser.evaluateEnabled"];

/// A `HOOK.md`.
#[derive(Debug, Clone)]
pub(super) struct Document {
    pub(super) name: String,
    pub(super) description: Option<String>,
    /// The name under which the configuration speaks of it.
    pub(super) key: String,
    pub(super) events: Vec<String>,
    pub(super) export: String,
    /// What it needs.
    pub(super) requires: Option<Requires>,
}

/// What a pack needs to be loaded.
#[derive(Debug, Clone)]
pub(super) struct Requires {
    systems: Vec<String>,
    /// Whether nothing but the system counts.
    is_always: bool,
    programs: Vec<String>,
    any_programs: Vec<String>,
    variables: Vec<String>,
    config: Vec<String>,
}

impl Document {
    /// Reads the one of a folder.
    ///
    /// # Errors
    /// Why it is none, in words.
    pub(super) fn read(directory: &Path, boundary: Boundary<'_>) -> Result<Self, String> {
        let text =
            json5::text(&directory.join(DOCUMENT), boundary, LARGEST).map_err(|error| error.to_string())?;
        let text = text.ok_or_else(|| "there is no HOOK.md".to_owned())?;
        let (text, line) = frontmatter::split(&text).map_err(|error| error.to_string())?;
        let document = yaml::read(text, line, UnknownEscapes::Keep)
            .map_err(|error| format!("line {}: {error}", error.line))?;
        let Value::Object(fields) = value(&document.root) else {
            return Err("the front matter of HOOK.md must be a mapping".to_owned());
        };
        let metadata = match fields.get("metadata") {
            Some(Value::String(text)) => json5::parse(text).map_err(|error| format!("metadata: {error}"))?,
            other => other.cloned().unwrap_or_default(),
        };
        let manifest = MANIFEST.iter().find_map(|key| metadata.get(key)?.as_object());
        let manifest = manifest.cloned().unwrap_or_default();
        let name = text_of(&fields, "name").unwrap_or_else(|| named_after(directory));
        Ok(Self {
            key: text_of(&manifest, "hookKey").unwrap_or_else(|| name.clone()),
            name,
            description: text_of(&fields, "description"),
            events: list(manifest.get("events")),
            export: text_of(&manifest, "export").unwrap_or_else(|| "default".to_owned()),
            requires: Requires::read(&manifest),
        })
    }
}

fn text_of(map: &Map, key: &str) -> Option<String> {
    let text = map.get(key)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// A list of texts, or one text with commas.
fn list(value: Option<&Value>) -> Vec<String> {
    let texts: Vec<&str> = match value {
        Some(Value::String(text)) => text.split(',').collect(),
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    texts.into_iter().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

/// A node as JSON; of equal keys the last one counts.
fn value(node: &Node) -> Value {
    match &node.content {
        Content::Null => Value::Null,
        Content::Boolean(flag) => (*flag).into(),
        Content::Integer(number) => i64::try_from(*number).map_or(Value::Null, Value::from),
        Content::Float(_) => Value::Null,
        Content::Text(text) => text.as_str().into(),
        Content::List(items) => items.iter().map(value).collect::<Vec<_>>().into(),
        Content::Mapping(entries) => {
            let mut map = Map::new();
            for (key, item) in entries {
                map.insert(key.label(), value(item));
            }
            map.into()
        }
    }
}

impl Requires {
    fn read(manifest: &Map) -> Option<Self> {
        let requires = manifest.get("requires");
        let of = |name: &str| list(requires.and_then(|requires| requires.get(name)));
        let systems = list(manifest.get("os"));
        (requires.is_some() || !systems.is_empty()).then(|| Self {
            systems,
            is_always: manifest.get("always") == Some(&Value::Bool(true)),
            programs: of("bins"),
            any_programs: of("anyBins"),
            variables: of("env"),
            config: of("config"),
        })
    }

    /// What of it is not there.
    pub(super) fn missing(
        &self,
        selection: &Selection,
        key: &str,
        upstream: &Map,
        places: &Places,
        search: &Search,
    ) -> Option<String> {
        let system = match std::env::consts::OS {
            "macos" => "darwin",
            "windows" => "win32",
            other => other,
        };
        if !self.systems.is_empty() && !self.systems.iter().any(|one| one == system) {
            return Some(format!("the system {}", self.systems.join(" or ")));
        }
        if self.is_always {
            return None;
        }
        let has = |program: &&String| search.finds(program, None, "");
        let is_set = |name: &&String| {
            let given = places.variable(name).or_else(|| selection.variable(key, name));
            given.is_some_and(|value| !value.trim().is_empty())
        };
        if let Some(program) = self.programs.iter().find(|program| !has(program)) {
            return Some(format!("the program {program}"));
        }
        if !self.any_programs.is_empty() && !self.any_programs.iter().any(|program| has(&program)) {
            return Some(format!("one of the programs {}", self.any_programs.join(", ")));
        }
        if let Some(name) = self.variables.iter().find(|name| !is_set(name)) {
            return Some(format!("the variable {name}"));
        }
        let is_on = |path: &&String| is_truthy(upstream, path);
        let path = self.config.iter().find(|path| !is_on(path))?;
        Some(format!("{path} in openclaw.json"))
    }
}

/// Whether the configuration has something at a path with dots.
fn is_truthy(upstream: &Map, path: &str) -> bool {
    let mut parts = path.split('.');
    let first = parts.next().and_then(|part| upstream.get(part));
    match parts.try_fold(first, |value, part| value.map(|value| value.get(part))).flatten() {
        None => ON.contains(&path),
        Some(Value::Null) => false,
        Some(Value::Bool(flag)) => *flag,
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(Value::Array(_) | Value::Object(_)) => true,
    }
}
