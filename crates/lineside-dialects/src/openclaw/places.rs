//! Where plugins are (OC-4, OC-5).

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

use lineside_core::Layer;
use lineside_core::json::{Map, Value};
use lineside_files::Boundary;

use super::config::Config;
use super::findings::{About, Findings};
use super::{json5, package};
pub(super) use crate::dialect::absolute;
use crate::dialect::{CONFIGURATION, Places};

/// Directories of these names hold no plugin.
const IGNORED: [&str; 10] =
    [".git", ".hg", ".svn", ".turbo", ".yarn", ".yarn-cache", "build", "coverage", "dist", "node_modules"];

/// The folders of plugins in `.openclaw`.
const PLACES: [&str; 2] = ["plugins", "extensions"];

/// Something that may be a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) layer: Layer,
    /// Absolute; links are not resolved.
    pub(super) path: PathBuf,
    pub(super) kind: CandidateKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CandidateKind {
    /// A directory with a manifest.
    Directory,
    /// A file that is a plugin by itself.
    Standalone,
}

/// Where plugins are looked for, whether it exists or not.
pub(super) fn all(places: &Places, config: &Config) -> impl Iterator<Item = PathBuf> {
    let named = [Layer::Managed, Layer::User, Layer::Project];
    let named: Vec<PathBuf> =
        named.iter().flat_map(|layer| config.paths(*layer)).map(|path| tidy(path)).collect();
    let roots = places.home().map(Path::to_path_buf).into_iter().chain([absolute(places.work_dir())]);
    named.into_iter().chain(roots.flat_map(|root| PLACES.map(|place| root.join(".openclaw").join(place))))
}

/// What is in the places.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// In load order.
    pub(super) candidates: Vec<Candidate>,
    /// Paths of the configuration at which there is no plugin.
    pub(super) lost: Vec<(Layer, PathBuf)>,
}

/// Looks for plugins in the places.
pub(super) fn find(places: &Places, config: &Config, findings: &mut Findings) -> Found {
    let home = places.home();
    let project = absolute(places.work_dir());
    let mut found = Search::default();
    found.paths(config.paths(Layer::Managed), Layer::Managed, Boundary::Own, findings);
    found.paths(config.paths(Layer::User), Layer::User, Boundary::Own, findings);
    for (layer, root) in [(Layer::User, home), (Layer::Project, Some(project.as_path()))] {
        if layer == Layer::Project {
            found.paths(config.paths(layer), layer, places.boundary(layer), findings);
        }
        for place in PLACES {
            if let Some(root) = root {
                found.directories(&root.join(".openclaw").join(place), layer);
            }
        }
        if let Some(home) = root.filter(|_| layer == Layer::User) {
            found.installed(&home.join(".openclaw/npm/projects"));
        }
    }
    found.found
}

#[derive(Default)]
struct Search {
    found: Found,
    /// A place that is named and looked into anyway holds its plugins once.
    seen: HashSet<PathBuf>,
}

impl Search {
    fn add(&mut self, layer: Layer, path: PathBuf, kind: CandidateKind) {
        let real = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if self.seen.insert(real) {
            self.found.candidates.push(Candidate { layer, path, kind });
        }
    }

    fn directories(&mut self, place: &Path, layer: Layer) {
        for path in sorted(place) {
            if path.is_dir() && !is_ignored(&path) {
                self.add(layer, path, CandidateKind::Directory);
            }
        }
    }

    /// What OpenClaw has installed from npm: a project for each plugin, which depends on it alone.
    fn installed(&mut self, projects: &Path) {
        for project in sorted(projects) {
            let depends = json5::read(&project.join("package.json"), Boundary::Open, CONFIGURATION);
            let Ok(Some(Value::Object(package))) = depends else {
                continue;
            };
            for name in package.get("dependencies").and_then(Value::as_object).into_iter().flat_map(Map::keys)
            {
                let directory = project.join("node_modules").join(name);
                if is_name(name) && directory.is_dir() {
                    self.add(Layer::User, directory, CandidateKind::Directory);
                }
            }
        }
    }

    fn paths(&mut self, paths: &[PathBuf], layer: Layer, boundary: Boundary<'_>, findings: &mut Findings) {
        for path in paths {
            let path = tidy(path);
            if path.is_dir() {
                if package::is_plugin(&path, boundary) {
                    self.add(layer, path, CandidateKind::Directory);
                    continue;
                }
                for inside in sorted(&path) {
                    if inside.is_dir() && !is_ignored(&inside) {
                        self.add(layer, inside, CandidateKind::Directory);
                    } else if inside.is_file() && is_script(&inside) {
                        self.add(layer, inside, CandidateKind::Standalone);
                    }
                }
            } else if path.is_file() && is_script(&path) {
                self.add(layer, path, CandidateKind::Standalone);
            } else {
                let fault = if path.exists() {
                    "plugin path is not a supported file"
                } else {
                    "plugin path not found"
                };
                let about = About::Directory(path.clone());
                findings.error(&about, format!("{fault}: {}", path.display()));
                self.found.lost.push((layer, path));
            }
        }
    }
}

/// Where packages of Node are installed for all users, as far as their programs are on the `PATH`.
pub(super) fn installed(places: &Places) -> Vec<PathBuf> {
    let folders = std::env::split_paths(places.variable("PATH").unwrap_or_default());
    let mut roots: Vec<PathBuf> = folders
        .filter(|folder| folder.is_absolute())
        .filter_map(|folder| Some(folder.parent()?.join("lib/node_modules")))
        .filter(|root| root.is_dir())
        .collect();
    roots.dedup();
    roots
}

/// What lies in a directory, in the byte order of the names; nothing if it cannot be read.
pub(super) fn sorted(place: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(place) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort_by(|a, b| bytes(a).cmp(bytes(b)));
    paths
}

/// Whether it is a package's name, and not a way out of `node_modules`.
fn is_name(name: &str) -> bool {
    let normal = |part: Component<'_>| matches!(part, Component::Normal(_));
    Path::new(name).components().all(normal) && name.split('/').count() <= 2
}

fn bytes(path: &Path) -> &[u8] {
    path.file_name().map_or(&[], OsStr::as_encoded_bytes)
}

fn is_ignored(directory: &Path) -> bool {
    let name = name_of(directory).to_lowercase();
    IGNORED.contains(&name.as_str())
        || name.ends_with(".bak")
        || name.contains(".backup-")
        || name.contains(".disabled")
}

fn is_script(file: &Path) -> bool {
    let name = name_of(file);
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    ends(&[".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"])
        && !ends(&[".d.ts", ".d.mts", ".d.cts"])
        && !name.contains(".test.")
}

pub(super) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The path without `.`; a `..` stays, because what is before it may be a link.
pub(super) fn tidy(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

#[cfg(test)]
mod tests;
