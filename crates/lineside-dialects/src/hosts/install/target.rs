//! The files in which our entries stand (HO-63, QW-9).

use std::fmt;
use std::path::PathBuf;

use super::super::import::Syntax;
use super::super::program::Host;
use super::super::{copilot, format, opencode};
use super::entry::Kind;
use super::plan::Form;
use crate::dialect::Places;

/// Whose agents an entry is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// All of the user.
    User,
    /// Those of a project.
    Project,
}

impl Level {
    /// Its name, as the argument of the command has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A file of a host.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) file: PathBuf,
    pub(super) kind: Kind,
    pub(super) form: Form,
    /// The text of the whole file, where it is a plugin.
    pub(super) plugin: Option<&'static str>,
    /// Whether no other program writes it.
    pub(super) is_ours: bool,
}

/// Why a host has no file at a level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoPlaceError {
    /// The home of the user is not known.
    #[error("HOME is not set to an absolute path, so the files of {0} are not known")]
    NoHome(Host),
    /// Its feature is off.
    #[error("this build does not support {0}; build it with the feature `{0}`")]
    NotSupported(Host),
    /// It reads no hooks of projects.
    #[error("{0} reads no hooks from a project; install them for the user")]
    NoProject(Host),
}

/// The files of a host in which entries are written at a level, whether they are there or not.
///
/// # Errors
/// There is none.
pub fn files(host: Host, level: Level, places: &Places) -> Result<Vec<PathBuf>, NoPlaceError> {
    Ok(targets(host, level, places)?.into_iter().map(|target| target.file).collect())
}

pub(super) fn targets(host: Host, level: Level, places: &Places) -> Result<Vec<Target>, NoPlaceError> {
    if !host.is_supported() {
        return Err(NoPlaceError::NotSupported(host));
    }
    let home = || places.home().ok_or(NoPlaceError::NoHome(host));
    let target = |file: PathBuf| Target {
        file,
        kind: Kind::Usual,
        form: Form { syntax: Syntax::Json, version: None },
        is_ours: false,
        plugin: None,
    };
    let versioned = |file| Target { form: Form { syntax: Syntax::Json, version: Some(1) }, ..target(file) };
    let sources = format(host).map(|format| format.sources(places)).unwrap_or_default();
    let named = sources.into_iter().find(|source| source.label == level.name()).map(|source| source.file);
    Ok(match (host, level) {
        (Host::Claude | Host::Codex | Host::Gemini, _) => {
            vec![target(named.ok_or(NoPlaceError::NoHome(host))?)]
        }
        (Host::Cursor, _) => vec![versioned(named.ok_or(NoPlaceError::NoHome(host))?)],
        (Host::Copilot, level) => {
            let folder = match level {
                Level::User => copilot::user_folder(places).ok_or(NoPlaceError::NoHome(host))?,
                Level::Project => places.work_dir().join(".github/hooks"),
            };
            vec![Target { is_ours: true, ..versioned(folder.join("lineside.json")) }]
        }
        (Host::Opencode, Level::User) => {
            let folder = places.configuration().ok_or(NoPlaceError::NoHome(host))?;
            let plugin = Some(opencode::PLUGIN);
            vec![Target { plugin, is_ours: true, ..target(folder.join("opencode/plugin/lineside.js")) }]
        }
        (Host::Qwen, Level::User) => vec![target(home()?.join(".qwen/settings.json"))],
        (Host::Kimi, Level::User) => {
            let of = |folder: &str, kind| {
                let folder = home()?.join(folder);
                let form = Form { syntax: Syntax::Toml, version: None };
                Ok((folder.is_dir(), Target { kind, form, ..target(folder.join("config.toml")) }))
            };
            let both = [of(".kimi", Kind::Usual)?, of(".kimi-code", Kind::KimiCode)?];
            // Of two programs that one which was never started has no settings to speak of.
            let one_is_there = both.iter().any(|(is_there, _)| *is_there);
            both.into_iter()
                .filter(|(is_there, _)| *is_there || !one_is_there)
                .map(|(_, target)| target)
                .collect()
        }
        (Host::Qwen | Host::Kimi | Host::Opencode, Level::Project) => {
            return Err(NoPlaceError::NoProject(host));
        }
    })
}
