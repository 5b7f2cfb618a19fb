//! Where hooks are declared, in the order in which they run (FL-1, FL-6).

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use lineside_core::Layer;

use crate::dialect::Places;

/// A file that may declare hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The file, absolute.
    pub(super) file: PathBuf,
    /// Whose it is.
    pub(super) level: Level,
    /// The plugin that it belongs to.
    pub(super) plugin: Option<Plugin>,
}

/// The levels of FL-1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    User,
    Project,
    Local,
    UserPlugin,
    ProjectPlugin,
}

/// A plugin: a directory with hooks (FL-6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plugin {
    /// The name of the directory.
    pub(super) name: String,
    /// The directory, absolute.
    pub(super) directory: PathBuf,
}

impl Level {
    /// FL-2
    pub(super) fn is_trusted(self) -> bool {
        matches!(self, Self::User | Self::UserPlugin)
    }

    /// The layer that keeps the order of FL-1 in a plan, where layers go before registrations: the plugins of the user
    /// run after the settings of the project, so they stand in its layer. Trust is another matter.
    pub(super) fn layer(self) -> Layer {
        match self {
            Self::User => Layer::User,
            Self::Project | Self::Local | Self::UserPlugin | Self::ProjectPlugin => Layer::Project,
        }
    }
}

/// The files in the order of FL-1, whether they exist or not, but for those of plugins, which are looked for.
pub(super) fn find(places: &Places) -> Vec<Place> {
    let home = places.home().map(|home| home.join(".flyto"));
    let project = absolute(places.work_dir()).join(".flyto");
    let settings = |level, file: PathBuf| Place { file, level, plugin: None };
    let mut found = Vec::new();
    found.extend(home.iter().map(|home| settings(Level::User, home.join("settings.json"))));
    found.push(settings(Level::Project, project.join("settings.json")));
    found.push(settings(Level::Local, project.join("settings.local.json")));
    found.extend(home.iter().flat_map(|home| plugins(Level::UserPlugin, home)));
    found.extend(plugins(Level::ProjectPlugin, &project));
    found
}

/// The path, absolute; links are not resolved.
pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// The plugins below a directory, in the byte order of their names; what is no directory is passed over.
fn plugins(level: Level, directory: &Path) -> Vec<Place> {
    let Ok(entries) = fs::read_dir(directory.join("plugins")) else { return Vec::new() };
    let mut directories: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    directories.sort_by(|a, b| bytes(a).cmp(bytes(b)));
    directories
        .into_iter()
        .map(|directory| Place {
            file: directory.join("hooks.json"),
            level,
            plugin: Some(Plugin {
                name: directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                directory,
            }),
        })
        .collect()
}

fn bytes(path: &Path) -> &[u8] {
    path.file_name().map(OsStr::as_encoded_bytes).unwrap_or_default()
}
