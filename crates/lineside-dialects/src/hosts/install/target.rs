//! The files in which our entries stand (HO-63, QW-9).

use std::path::PathBuf;

use super::super::program::Host;
use super::super::quirks::{FileKind, OurFile, Place};
use super::super::{format, quirks};
use super::act::installed;
use super::plan::Form;
use crate::dialect::Places;
pub use crate::hosts::quirks::Level;

/// A file of a host.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) file: PathBuf,
    pub(super) kind: FileKind,
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
    for variable in
        quirks(host).settings.variables.iter().filter(|variable| places.variable(variable).is_some())
    {
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
    let settings = &quirks(host).settings;
    if let Some(variable) =
        settings.variables.iter().copied().find(is_relative).filter(|_| level == Level::User)
    {
        return Err(NoPlaceError::Relative { host, variable });
    }
    let files: Vec<&OurFile> = settings.ours.iter().filter(|file| file.level == level).collect();
    if files.is_empty() {
        return Err(NoPlaceError::NoProject(host));
    }
    let sources = format(host).map(|format| format.sources(places)).unwrap_or_default();
    let named = sources.into_iter().find(|source| source.label == level.name()).map(|source| source.file);
    let is_at_home = places.home() == Some(places.work_dir());
    let target = |ours: &&OurFile| {
        let file = match ours.place {
            Place::Imported => named.clone(),
            place => place.file(places),
        };
        Ok(Target {
            file: file.ok_or(NoPlaceError::NoHome(host))?,
            // In the home it is that of the user.
            kind: if ours.kind == FileKind::Shared && is_at_home { FileKind::Usual } else { ours.kind },
            form: Form { syntax: ours.syntax, version: ours.version },
            plugin: settings.plugin,
            is_ours: ours.is_ours,
        })
    };
    let targets: Vec<Target> = files.iter().map(target).collect::<Result<_, _>>()?;
    // Of several programs that one which was never started has no settings to speak of.
    let is_there = |target: &Target| target.file.parent().is_some_and(std::path::Path::is_dir);
    let one_is_there = targets.len() > 1 && targets.iter().any(is_there);
    Ok(targets.into_iter().filter(|target| !one_is_there || is_there(target)).collect())
}
