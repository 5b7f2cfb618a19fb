//! Hook packs: folders with a `HOOK.md` and a handler, where they are, and which of them are chosen.
//!
//! OpenClaw chooses them in `hooks.internal` of its configuration. What a pack registers is read here; which of its
//! events there are is the worker's business.

mod document;
mod selection;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lineside_core::Layer;
use lineside_core::json::Map;
use lineside_files::Boundary;

use self::document::{Document, Requires};
use self::selection::Selection;
use super::findings::{About, Findings};
use super::json5;
use super::places::{absolute, installed, name_of, sorted, tidy};
use crate::dialect::{CONFIGURATION, Inert, Places, Why, at_home};
use crate::programs::Search;

/// The file that makes a folder a pack.
const DOCUMENT: &str = "HOOK.md";
/// In the order in which they are looked for.
const HANDLERS: [&str; 4] = ["handler.ts", "handler.js", "index.ts", "index.js"];

/// A pack that is to be loaded.
#[derive(Debug, Clone)]
pub(super) struct Pack {
    name: String,
    pub(super) description: Option<String>,
    pub(super) layer: Layer,
    pub(super) directory: PathBuf,
    /// The module.
    pub(super) handler: PathBuf,
    /// The events that its function is called for.
    pub(super) events: Vec<String>,
    /// The name under which the module exports it.
    pub(super) export: String,
}

impl Pack {
    /// Its id among plugins.
    pub(super) fn id(&self) -> String {
        format!("hooks/{}", self.name)
    }
}

/// What became of a pack that was found.
pub(super) enum Found {
    /// It is to be loaded.
    Chosen(Box<Pack>),
    /// It is not.
    Left(Inert),
}

/// Who has put a pack where it is. A later one takes the place of an earlier one of the same name, but for a project's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    /// It is shipped with OpenClaw.
    Bundled,
    /// The user.
    Managed,
    /// The project, for lineside.
    Project,
    /// The project, for OpenClaw, which has to be given its name.
    Workspace,
}

impl Source {
    fn layer(self) -> Layer {
        match self {
            Self::Bundled | Self::Managed => Layer::User,
            Self::Project | Self::Workspace => Layer::Project,
        }
    }
}

/// A folder of packs, or one pack.
struct Root {
    directory: PathBuf,
    source: Source,
    /// Whether it may be a pack itself.
    is_candidate: bool,
}

fn roots(places: &Places, selection: &Selection) -> Vec<Root> {
    let home = places.home();
    let project = absolute(places.work_dir());
    let root = |directory, source| Root { directory, source, is_candidate: false };
    let bundled = installed(places).into_iter().map(|modules| modules.join("openclaw/dist/bundled"));
    let mut roots: Vec<Root> =
        bundled.filter(|_| selection.names_any()).map(|place| root(place, Source::Bundled)).collect();
    roots.truncate(1);
    let extra = selection.extra.iter().map(|named| {
        let directory = at_home(named, home).unwrap_or_else(|| home.unwrap_or(Path::new("/")).join(named));
        Root { directory: tidy(&directory), source: Source::Managed, is_candidate: true }
    });
    roots.extend(extra);
    roots.extend(home.map(|home| root(home.join(".openclaw/hooks"), Source::Managed)));
    if home.is_none_or(|home| home != project) {
        roots.push(root(project.join(".openclaw/hooks"), Source::Project));
        roots.push(root(project.join("hooks"), Source::Workspace));
    }
    roots
}

/// Where packs are looked for, whether it exists or not.
pub(super) fn all(places: &Places, upstream: &Map) -> impl Iterator<Item = PathBuf> {
    roots(places, &Selection::read(upstream)).into_iter().map(|root| root.directory)
}

/// The packs, of each name one.
pub(super) fn find(places: &Places, upstream: &Map, findings: &mut Findings) -> Vec<Found> {
    let selection = Selection::read(upstream);
    let search = Search {
        path: places.variable("PATH").map(str::to_owned),
        work_dir: places.work_dir().to_path_buf(),
    };
    let mut found: BTreeMap<String, (Source, PathBuf, Found)> = BTreeMap::new();
    for root in roots(places, &selection) {
        let boundary = places.boundary(root.source.layer());
        for directory in packs(&root, boundary, findings) {
            let about = About::File(directory.join(DOCUMENT));
            let document = match Document::read(&directory, boundary) {
                Ok(document) => document,
                Err(why) => {
                    findings.error(&about, why);
                    continue;
                }
            };
            let name = document.name.clone();
            if let Some((kept, at, _)) = found.get(&name)
                && kept.layer() < root.source.layer()
            {
                let what = format!("hook pack \"{name}\" is overridden by {}", at.display());
                findings.warning(&about, what);
                continue;
            }
            let is_missing =
                |requires: &Requires| requires.missing(&selection, &document.key, upstream, places, &search);
            let missing = document.requires.as_ref().and_then(is_missing);
            let what = if !selection.chooses(root.source, &name, &document.key) {
                Found::Left(left(&document, &directory, root.source))
            } else if let Some(missing) = missing {
                findings
                    .warning(&about, format!("hook pack \"{name}\" is not loaded: it requires {missing}"));
                Found::Left(left(&document, &directory, root.source))
            } else {
                match chosen(&document, &directory, root.source) {
                    Ok(pack) => Found::Chosen(Box::new(pack)),
                    Err(why) => {
                        findings.error(&about, why);
                        Found::Left(Inert { why: Why::Error, ..left(&document, &directory, root.source) })
                    }
                }
            };
            found.insert(name, (root.source, directory, what));
        }
    }
    let mut found: Vec<_> = found.into_values().map(|(source, _, found)| (source, found)).collect();
    found.sort_by_key(|(source, _)| *source);
    found.into_iter().map(|(_, found)| found).collect()
}

/// The folders of packs in a root.
fn packs(root: &Root, boundary: Boundary<'_>, findings: &mut Findings) -> Vec<PathBuf> {
    if root.is_candidate
        && let Some(directories) = candidate(&root.directory, boundary, findings)
    {
        return directories;
    }
    let folders = sorted(&root.directory).into_iter().filter(|path| path.is_dir());
    folders.flat_map(|folder| candidate(&folder, boundary, findings).unwrap_or_default()).collect()
}

/// The packs that a folder is or whose package it is; nothing when it is neither.
fn candidate(folder: &Path, boundary: Boundary<'_>, findings: &mut Findings) -> Option<Vec<PathBuf>> {
    let file = folder.join("package.json");
    let package = json5::read(&file, boundary, CONFIGURATION).ok().flatten();
    let hooks = package.as_ref().and_then(|package| package.get("openclaw")?.get("hooks")?.as_array());
    let hooks: Vec<&str> =
        hooks.into_iter().flatten().filter_map(|path| path.as_str()).map(str::trim).collect();
    if hooks.is_empty() {
        return folder.join(DOCUMENT).exists().then(|| vec![folder.to_owned()]);
    }
    let mut directories = Vec::new();
    for hook in hooks {
        let directory = tidy(&folder.join(hook));
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        match (real(folder), real(&directory)) {
            (Some(package), Some(inside)) if inside.starts_with(&package) => directories.push(directory),
            _ => findings.warning(
                &About::File(file.clone()),
                format!("openclaw.hooks: \"{hook}\" is not in the package"),
            ),
        }
    }
    Some(directories)
}

fn chosen(document: &Document, directory: &Path, source: Source) -> Result<Pack, String> {
    let handler = HANDLERS.into_iter().map(|name| directory.join(name)).find(|file| file.is_file());
    let Some(handler) = handler else {
        let why = format!("hook pack \"{}\" has no {}", document.name, HANDLERS.join(", "));
        return Err(why);
    };
    if document.events.is_empty() {
        let why = format!("hook pack \"{}\" names no event in metadata.openclaw.events", document.name);
        return Err(why);
    }
    Ok(Pack {
        name: document.name.clone(),
        description: document.description.clone(),
        layer: source.layer(),
        directory: directory.to_owned(),
        handler,
        events: document.events.clone(),
        export: document.export.clone(),
    })
}

fn left(document: &Document, directory: &Path, source: Source) -> Inert {
    let (name, file) = (format!("hooks/{}", document.name), directory.join(DOCUMENT));
    let inert = Inert::of_file(name, source.layer(), file, Why::Disabled);
    Inert { trigger: document.events.join(", "), ..inert }
}

/// The name of a folder, for a pack that gives none.
fn named_after(directory: &Path) -> String {
    name_of(directory)
}

#[cfg(test)]
mod tests;
