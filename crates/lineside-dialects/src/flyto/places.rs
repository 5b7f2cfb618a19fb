//! Where hooks are declared, in the order in which they run (FL-1, FL-6).

use std::path::{Path, PathBuf};

use lineside_core::Layer;
use lineside_files::{Boundary, OpenFileError, folders};

pub(super) use crate::dialect::absolute;
use crate::dialect::{Places, Trust};

/// The file of a plugin.
pub(super) const FILE: &str = "hooks.json";

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
    /// Whether hooks of this level run without trust in the project (FL-2).
    pub(super) fn is_trusted(self) -> bool {
        matches!(self, Self::User | Self::UserPlugin)
    }

    /// Whether hooks of it run (FL-2).
    pub(super) fn trust(self, places: &Places) -> Trust {
        if self.is_trusted() { Trust::Granted } else { places.trust }
    }

    /// Where its files may lie.
    pub(super) fn boundary(self, places: &Places) -> Boundary<'_> {
        places.boundary(if self.is_trusted() { Layer::User } else { Layer::Project })
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

/// A place in which plugins cannot be looked for.
#[derive(Debug)]
pub(super) struct Lost {
    pub(super) directory: PathBuf,
    pub(super) level: Level,
    pub(super) error: OpenFileError,
}

/// The files in the order of FL-1, whether they exist or not, but for those of plugins, which are looked for.
pub(super) fn find(places: &Places) -> (Vec<Place>, Vec<Lost>) {
    let mut found: Vec<Place> =
        settings(places).map(|(level, file)| Place { file, level, plugin: None }).collect();
    let mut lost = Vec::new();
    for (level, directory) in plugin_folders(places) {
        match plugins(level, &directory, level.boundary(places)) {
            Ok(plugins) => found.extend(plugins),
            Err(error) => lost.push(Lost { directory, level, error }),
        }
    }
    (found, lost)
}

/// The files of settings, whether they exist or not.
pub(super) fn settings(places: &Places) -> impl Iterator<Item = (Level, PathBuf)> {
    let project = absolute(places.work_dir()).join(".flyto");
    let user = places.home().map(|home| (Level::User, home.join(".flyto/settings.json")));
    user.into_iter().chain([
        (Level::Project, project.join("settings.json")),
        (Level::Local, project.join("settings.local.json")),
    ])
}

/// The folders of plugins, whether they exist or not.
pub(super) fn plugin_folders(places: &Places) -> impl Iterator<Item = (Level, PathBuf)> {
    let user = places.home().map(|home| (Level::UserPlugin, home.join(".flyto/plugins")));
    let project = absolute(places.work_dir()).join(".flyto/plugins");
    user.into_iter().chain([(Level::ProjectPlugin, project)])
}

/// The plugins in a directory, in the byte order of their names; what is no directory is passed over.
fn plugins(level: Level, directory: &Path, boundary: Boundary<'_>) -> Result<Vec<Place>, OpenFileError> {
    let plugin = |directory: PathBuf| Place {
        file: directory.join(FILE),
        level,
        plugin: Some(Plugin {
            name: directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            directory,
        }),
    };
    Ok(folders(directory, boundary)?.into_iter().map(plugin).collect())
}
