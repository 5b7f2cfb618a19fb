//! The files in which our entries stand (HO-63, QW-9).

use std::fmt;
use std::path::PathBuf;

use super::super::import::Syntax;
use super::super::program::Host;
use super::super::{copilot, format, opencode};
use super::act::installed;
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
    /// The variable that names the folder of its settings names none that is the same everywhere.
    #[error(
        "{variable} is set to a relative path, so the folder that {host} reads is not known; set it to an absolute one"
    )]
    Relative {
        /// The host.
        host: Host,
        /// The variable.
        variable: &'static str,
    },
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

/// The variables by which a program is led to another folder of settings of the user.
fn variables(host: Host) -> &'static [&'static str] {
    match host {
        Host::Claude => &["CLAUDE_CONFIG_DIR"],
        Host::Codex => &["CODEX_HOME"],
        Host::Copilot => &["COPILOT_HOME"],
        Host::Gemini => &["GEMINI_CLI_HOME"],
        Host::Kimi => &["KIMI_SHARE_DIR", "KIMI_CODE_HOME"],
        Host::Qwen => &["QWEN_HOME"],
        Host::Cursor | Host::Opencode => &[],
    }
}

/// A file of the user with entries of ours that its program passes by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// The file.
    pub file: PathBuf,
    /// The variable that leads the program elsewhere.
    pub variable: &'static str,
    /// The file that it reads, which has no entry of ours.
    pub reads: PathBuf,
}

/// The files of the user that have entries of ours while a variable of the environment leads the program to others. Reads,
/// and changes nothing.
#[must_use]
pub fn passed(host: Host, places: &Places) -> Vec<Passed> {
    let mut found = Vec::new();
    for variable in variables(host).iter().filter(|variable| places.variable(variable).is_some()) {
        let mut usual = places.clone();
        usual.environment.remove(*variable);
        let of = |places: &Places| targets(host, Level::User, places).unwrap_or_default();
        let reads = of(places);
        let read_instead = |there: &Target| {
            reads.iter().find(|read| read.kind == there.kind && read.file != there.file).cloned()
        };
        for (there, read) in of(&usual).into_iter().filter_map(|there| {
            let read = read_instead(&there)?;
            Some((there, read))
        }) {
            let has_entries = |places: &Places, file: &PathBuf| {
                let known = installed(host, Level::User, places).unwrap_or_default();
                known.iter().any(|known| known.file == *file)
            };
            if has_entries(&usual, &there.file) && !has_entries(places, &read.file) {
                found.push(Passed { file: there.file, variable, reads: read.file });
            }
        }
    }
    found
}

pub(super) fn targets(host: Host, level: Level, places: &Places) -> Result<Vec<Target>, NoPlaceError> {
    if !host.is_supported() {
        return Err(NoPlaceError::NotSupported(host));
    }
    let is_relative = |variable: &&str| {
        places.variable(variable).is_some_and(|value| !value.is_empty() && !value.starts_with('/'))
    };
    if let Some(variable) = variables(host).iter().copied().find(is_relative).filter(|_| level == Level::User)
    {
        return Err(NoPlaceError::Relative { host, variable });
    }
    let home =
        |variable: &str, folder: &str| places.folder(variable, folder).ok_or(NoPlaceError::NoHome(host));
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
        (Host::Claude, Level::Project) => {
            vec![Target { kind: Kind::Shared, ..target(named.ok_or(NoPlaceError::NoHome(host))?) }]
        }
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
        (Host::Qwen, Level::User) => vec![target(home("QWEN_HOME", ".qwen")?.join("settings.json"))],
        (Host::Kimi, Level::User) => {
            let of = |variable: &str, folder: &str, kind| {
                let folder = home(variable, folder)?;
                let form = Form { syntax: Syntax::Toml, version: None };
                Ok((folder.is_dir(), Target { kind, form, ..target(folder.join("config.toml")) }))
            };
            let both = [
                of("KIMI_SHARE_DIR", ".kimi", Kind::Usual)?,
                of("KIMI_CODE_HOME", ".kimi-code", Kind::KimiCode)?,
            ];
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
