//! Installing and uninstalling on the disk: what is to be done with each file, and doing it.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lineside_files::{Boundary, OpenFileError, ReplaceFileError, read_if_there, remove, replace};

use super::super::import::Syntax;
use super::super::opencode;
use super::super::program::Host;
use super::entry::{self, Program, UnknownEvent, usual, wanted};
use super::piece::{self, EditError};
use super::plan::{self, Edit, Form};
use super::record::{self, Record, digest};
use super::strictness;
use super::target::{Level, NoPlaceError, Target, targets};
use crate::dialect::{CONFIGURATION as LONGEST, Places};

/// What is to be done with one settings file, and is done by [`Act::perform`].
#[derive(Debug, Clone)]
pub struct Act {
    /// The host.
    pub host: Host,
    /// The file, as the host names it.
    pub file: PathBuf,
    /// Where it really is, without links.
    real: PathBuf,
    /// Its text now; `None` if it is not there.
    pub before: Option<String>,
    /// Its text afterwards; `None` if it is removed.
    pub after: Option<String>,
    /// The events at which it has an entry of ours afterwards.
    pub events: Vec<String>,
    form: Form,
    record: Option<Record>,
    old_record: Option<Record>,
}

/// Why nothing was installed or uninstalled. No file was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The host has no such file.
    #[error(transparent)]
    NoPlace(#[from] NoPlaceError),
    /// The host has no such event.
    #[error(transparent)]
    Event(#[from] UnknownEvent),
    /// The file cannot be read, or is not the user's own.
    #[error("{} was left alone", file.display())]
    Open {
        /// The file.
        file: PathBuf,
        /// Why.
        source: OpenFileError,
    },
    /// The file is too long to be a settings file.
    #[error("{} was left alone: it is larger than {LONGEST} bytes", file.display())]
    Long {
        /// The file.
        file: PathBuf,
    },
    /// The file cannot be edited.
    #[error("{} was left alone", file.display())]
    Edit {
        /// The file.
        file: PathBuf,
        /// Why.
        source: EditError,
    },
    /// The file cannot be written, or has changed meanwhile.
    #[error("{} was left alone", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// Why.
        source: ReplaceFileError,
    },
    /// What was done cannot be recorded.
    #[error("cannot record in {} what is done, so nothing was done", state.display())]
    Record {
        /// The state folder.
        state: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What installing does: the entries that the page of the host names, and those at `more` events. Reads, and changes
/// nothing.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use lineside_dialects::hosts::Host;
/// use lineside_dialects::hosts::install::{Level, Program, install};
/// use lineside_dialects::{Places, Trust};
///
/// let home = tempfile::tempdir()?;
/// let places = Places {
///     environment: BTreeMap::from([("HOME".to_owned(), home.path().display().to_string())]),
///     project_root: None,
///     cwd: home.path().to_owned(),
///     trust: Trust::Withheld,
/// };
/// let state = home.path().join("state");
/// let acts = install(Host::Claude, Level::User, &places, &state, &Program::new("lineside").unwrap(), &[])?;
/// assert_eq!(acts.len(), 1);
/// assert!(!home.path().join(".claude").exists(), "nothing is written until an act is done");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The host has no file at this level or no such event, or a file of it cannot be read or edited.
pub fn install(
    host: Host,
    level: Level,
    places: &Places,
    state: &Path,
    program: &Program,
    more: &[String],
) -> Result<Vec<Act>, InstallError> {
    let mut acts = Vec::new();
    for target in targets(host, level, places)? {
        let found = Found::look(host, level, target, places, state)?;
        acts.push(found.install(program, more)?.permitted()?);
    }
    Ok(acts)
}

/// What uninstalling does. Reads, and changes nothing.
///
/// # Errors
/// The host has no file at this level, or one of them cannot be read or edited.
pub fn uninstall(host: Host, level: Level, places: &Places, state: &Path) -> Result<Vec<Act>, InstallError> {
    let mut acts = Vec::new();
    for target in targets(host, level, places)? {
        acts.push(Found::look(host, level, target, places, state)?.uninstall()?.permitted()?);
    }
    Ok(acts)
}

/// A file of a host that has entries of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledFile {
    /// The file, as the host names it.
    pub file: PathBuf,
    /// The events that have an entry.
    pub events: Vec<String>,
    /// Those that should have one and have none.
    pub missing: Vec<&'static str>,
    /// The programs that the entries start.
    pub programs: Vec<String>,
    /// The arguments by which the entries name the places of their daemon, each kind once.
    pub places: Vec<Vec<String>>,
    /// For how long each entry lets its command run, by its event; nothing of a plugin.
    pub times: Vec<(String, Duration)>,
}

/// The files of a host that have an entry of ours. Reads, and changes nothing.
///
/// # Errors
/// As [`uninstall`].
pub fn installed(host: Host, level: Level, places: &Places) -> Result<Vec<InstalledFile>, InstallError> {
    let mut files = Vec::new();
    for Target { file, kind, form, plugin, .. } in targets(host, level, places)? {
        let Some(text) = text(&file, level, places)?.filter(|text| !text.trim().is_empty()) else { continue };
        if plugin.is_some() {
            let events = usual(host, kind).into_iter().map(str::to_owned).collect();
            let (places, start) = opencode::written(&text);
            let programs: Vec<_> = start.into_iter().take(1).collect();
            let missing = if programs.is_empty() { vec!["the start of a daemon"] } else { Vec::new() };
            let times = Vec::new();
            files.push(InstalledFile { file, events, missing, programs, places: vec![places], times });
            continue;
        }
        let entries = plan::entries(&text, form.syntax)
            .map_err(|source| InstallError::Edit { file: file.clone(), source })?;
        let time = |(event, words, limit): &plan::Entry| (event.clone(), entry::allowed(host, words, *limit));
        let times = entries.iter().map(time).collect();
        let (mut events, commands): (Vec<String>, Vec<Vec<String>>) =
            entries.into_iter().map(|(event, words, _)| (event, words)).unzip();
        let mut programs: Vec<String> = commands.iter().filter_map(|words| words.first().cloned()).collect();
        // Behind the program stand `hook` and the host.
        let mut places: Vec<Vec<String>> = commands.into_iter().map(|words| options(&words)).collect();
        programs.sort_unstable();
        programs.dedup();
        places.sort_unstable();
        places.dedup();
        events.dedup();
        if events.is_empty() {
            continue;
        }
        let missing =
            usual(host, kind).into_iter().filter(|event| !events.iter().any(|known| known == event));
        files.push(InstalledFile { missing: missing.collect(), file, events, programs, places, times });
    }
    Ok(files)
}

/// The options of a command that name places, each with its value.
fn options(words: &[String]) -> Vec<String> {
    let is_place = |pair: &&[String]| matches!(&*pair[0], "--home" | "--config" | "--state" | "--socket");
    words.windows(2).filter(is_place).flatten().cloned().collect()
}

/// A file as it is, and what is remembered of it.
struct Found {
    host: Host,
    target: Target,
    real: PathBuf,
    text: Option<String>,
    record: Option<Record>,
}

impl Found {
    fn look(
        host: Host,
        level: Level,
        target: Target,
        places: &Places,
        state: &Path,
    ) -> Result<Self, InstallError> {
        let text = text(&target.file, level, places)?;
        let real = match &text {
            Some(_) => fs::canonicalize(&target.file).map_err(OpenFileError::from),
            None => real_of_absent(&target.file, level, places),
        };
        let real = real.map_err(|source| InstallError::Open { file: target.file.clone(), source })?;
        let record = record::read(state, host, &target.file);
        Ok(Self { host, target, real, text, record })
    }

    fn edit_error(&self, source: EditError) -> InstallError {
        InstallError::Edit { file: self.target.file.clone(), source }
    }

    /// The text before the installation, if the file is as the installation has left it; `None` in it for no file.
    fn original(&self) -> Option<Option<String>> {
        let (record, text) = (self.record.as_ref()?, self.text.as_deref()?);
        if digest(text.as_bytes()) != record.after {
            return None;
        }
        let Some(before) = &record.before else {
            // What the user added between two installations is in the file as the last one has left it.
            let rest = plan::remove(text, self.target.form.syntax, &record.made).ok()?;
            return plan::is_nothing(&rest, self.target.form).then_some(None);
        };
        let original = plan::reverted(text, &record.inserted)?;
        (digest(original.as_bytes()) == *before).then_some(Some(original))
    }

    /// Whether a plugin is as this version or another one has written it.
    fn is_own_plugin(&self, plugin: &str) -> bool {
        self.text.as_deref().is_none_or(|text| {
            let after = self.record.as_ref().map(|record| record.after.as_str());
            opencode::with_places(text, "", "", &[]) == plugin
                || after == Some(digest(text.as_bytes()).as_str())
        })
    }

    fn install_plugin(self, plugin: &str, program: &Program) -> Result<Act, InstallError> {
        if !self.is_own_plugin(plugin) {
            return Err(self.edit_error(EditError::Foreign));
        }
        let plugin = opencode::with_places(plugin, &program.socket, &program.state, &program.start);
        let file = self.target.file.clone();
        let old = self.record.as_ref();
        let record = Record {
            folders: old.map_or_else(|| missing_folders(&file), |old| old.folders.clone()),
            before: None,
            after: digest(plugin.as_bytes()),
            length: plugin.len(),
            inserted: Vec::new(),
            made: Vec::new(),
            file,
        };
        let events = usual(self.host, self.target.kind).into_iter().map(str::to_owned).collect();
        Ok(self.act(Some(plugin), events, Some(record)))
    }

    fn install(self, program: &Program, more: &[String]) -> Result<Act, InstallError> {
        if let Some(plugin) = self.target.plugin {
            return self.install_plugin(plugin, program);
        }
        let syntax = self.target.form.syntax;
        let present = match &self.text {
            Some(text) if !text.trim().is_empty() => {
                let root = piece::read(text, syntax).map_err(|error| self.edit_error(error))?;
                strictness::check(self.host, text, syntax, &root).map_err(|error| self.edit_error(error))?;
                plan::events(text, syntax).map_err(|e| self.edit_error(e))?
            }
            _ => Vec::new(),
        };
        // Entries that were asked for by name stay, and so do those of events that this version does not know.
        let known =
            |event: &&String| wanted(self.host, self.target.kind, program, &[(*event).clone()]).is_ok();
        let more: Vec<String> = more.iter().chain(present.iter().filter(known)).cloned().collect();
        let wanted = wanted(self.host, self.target.kind, program, &more)?;
        let original = self.original();
        let base = original.clone().unwrap_or_else(|| self.text.clone());
        let edit =
            plan::add(base.as_deref(), self.target.form, &wanted).map_err(|error| self.edit_error(error))?;
        let Edit { text: after, mut inserted, mut made, .. } = edit;
        let events = plan::events(&after, syntax).map_err(|error| self.edit_error(error))?;
        let is_changed = self.text.as_ref() != Some(&after);
        let old = self.record.clone();
        let record = match (&old, is_changed) {
            (old, false) => old.clone(),
            (old, true) => {
                let mut before = base.as_ref().map(|text| digest(text.as_bytes()));
                let mut folders = missing_folders(&self.target.file);
                if original.is_none() && !present.is_empty() {
                    // Entries of an earlier installation are among what was there before.
                    inserted.clear();
                }
                if let Some(old) = old {
                    made.extend(old.made.iter().cloned());
                    folders.extend(old.folders.iter().cloned());
                    if original.is_none() {
                        before.clone_from(&old.before);
                        inserted.clear();
                    }
                }
                made.sort_unstable();
                made.dedup();
                let (file, length) = (self.target.file.clone(), after.len());
                Some(Record {
                    file,
                    before,
                    after: digest(after.as_bytes()),
                    length,
                    inserted,
                    made,
                    folders,
                })
            }
        };
        Ok(self.act(Some(after), events, record))
    }

    fn uninstall(self) -> Result<Act, InstallError> {
        let Some(text) = self.text.clone() else { return Ok(self.act(None, Vec::new(), None)) };
        if let Some(plugin) = self.target.plugin {
            let is_own = self.is_own_plugin(plugin);
            return if is_own {
                Ok(self.act(None, Vec::new(), None))
            } else {
                Err(self.edit_error(EditError::Foreign))
            };
        }
        if let Some(original) = self.original() {
            return Ok(self.act(original, Vec::new(), None));
        }
        let syntax = self.target.form.syntax;
        if let Some(Record { before: Some(_), inserted, length, .. }) = &self.record
            && let Some(rest) = plan::reverted_elsewhere(&text, syntax, inserted, *length)
        {
            return Ok(self.act(Some(rest), Vec::new(), None));
        }
        let is_created = match &self.record {
            Some(record) => record.before.is_none(),
            None => self.target.is_ours,
        };
        let made = match &self.record {
            Some(record) => record.made.clone(),
            None if self.target.is_ours => {
                let events = plan::events(&text, syntax).map_err(|error| self.edit_error(error))?;
                events.into_iter().chain(["hooks".to_owned()]).collect()
            }
            None => Vec::new(),
        };
        let rest = plan::remove(&text, syntax, &made).map_err(|error| self.edit_error(error))?;
        let is_gone = is_created && plan::is_nothing(&rest, self.target.form);
        Ok(self.act((!is_gone).then_some(rest), Vec::new(), None))
    }

    fn act(self, after: Option<String>, events: Vec<String>, record: Option<Record>) -> Act {
        let Self { host, target, real, text, record: old_record } = self;
        let (file, form) = (target.file, target.form);
        Act { host, file, real, before: text, after, events, form, record, old_record }
    }
}

impl Act {
    /// Whether the file changes.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.before != self.after
    }

    pub(super) fn syntax(&self) -> Syntax {
        self.form.syntax
    }

    /// Where the file really is, if a link leads there.
    #[must_use]
    pub fn leads_to(&self) -> Option<&Path> {
        let is_link = fs::symlink_metadata(&self.file).is_ok_and(|found| found.is_symlink());
        is_link.then_some(self.real.as_path())
    }

    /// Does it: the record first, then the file, which is exchanged in one step and keeps its mode.
    ///
    /// # Errors
    /// The file has changed since it was read, or something cannot be written. Nothing is changed then.
    pub fn perform(&self, state: &Path) -> Result<(), InstallError> {
        if self.record != self.old_record
            && let Err(error) = self.remember(state, self.record.as_ref())
            // To take entries out needs no record, and what stays of it fits no file: a state folder that cannot be
            // written keeps them in no settings.
            && self.record.is_some()
        {
            return Err(error);
        }
        if !self.is_change() {
            return Ok(());
        }
        let before = self.before.as_deref().map(str::as_bytes);
        let done = match (&self.after, before) {
            (Some(after), _) => {
                make_folders(&self.real).and_then(|()| replace(&self.real, before, after.as_bytes()))
            }
            (None, Some(before)) => remove(&self.real, before),
            (None, None) => Ok(()),
        };
        if let Err(source) = done {
            self.remember(state, self.old_record.as_ref())?;
            return Err(InstallError::Write { file: self.file.clone(), source });
        }
        if self.after.is_none() {
            for folder in self.old_record.iter().flat_map(|record| &record.folders) {
                // One with something in it stays.
                fs::remove_dir(folder).ok();
            }
        }
        Ok(())
    }

    /// Refuses to change a file that its owner has made read-only.
    fn permitted(self) -> Result<Self, InstallError> {
        use std::os::unix::fs::PermissionsExt as _;
        let is_read_only = |found: fs::Metadata| found.permissions().mode() & 0o200 == 0;
        if self.is_change() && self.before.is_some() && fs::metadata(&self.real).is_ok_and(is_read_only) {
            let source = EditError::ReadOnly { file: self.real };
            return Err(InstallError::Edit { file: self.file, source });
        }
        Ok(self)
    }

    fn remember(&self, state: &Path, record: Option<&Record>) -> Result<(), InstallError> {
        record::write(state, self.host, &self.file, record)
            .map_err(|source| InstallError::Record { state: state.to_owned(), source })
    }
}

/// The text of a file; `None` if it is not there.
fn text(file: &Path, level: Level, places: &Places) -> Result<Option<String>, InstallError> {
    let boundary = match level {
        Level::User => Boundary::Own,
        Level::Project => Boundary::Within(places.work_dir()),
    };
    let Some(bytes) = read_if_there(file, boundary, LONGEST) else { return Ok(None) };
    let bytes = bytes.map_err(|source| InstallError::Open { file: file.to_owned(), source })?;
    if bytes.len() > LONGEST {
        return Err(InstallError::Long { file: file.to_owned() });
    }
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|_| InstallError::Edit { file: file.to_owned(), source: EditError::NotText })
}

/// Where a file that is not there will be: its folder may be reached by a link, which in a project leads nowhere else.
fn real_of_absent(file: &Path, level: Level, places: &Places) -> Result<PathBuf, OpenFileError> {
    let there = file.ancestors().skip(1).find(|folder| fs::symlink_metadata(folder).is_ok());
    let Some(there) = there else { return Ok(file.to_owned()) };
    let real = fs::canonicalize(there)?;
    if level == Level::Project && !real.starts_with(fs::canonicalize(places.work_dir())?) {
        return Err(OpenFileError::Outside(real));
    }
    Ok(match file.strip_prefix(there) {
        Ok(below) => real.join(below),
        Err(_) => file.to_owned(),
    })
}

/// The folders that are not there yet, the innermost first.
fn missing_folders(file: &Path) -> Vec<PathBuf> {
    let folders = file.ancestors().skip(1);
    folders
        .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        .map(Path::to_owned)
        .collect()
}

fn make_folders(file: &Path) -> Result<(), ReplaceFileError> {
    match file.parent().map(fs::create_dir_all) {
        Some(Err(error)) if error.kind() != ErrorKind::AlreadyExists => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(all(test, unix))]
mod tests;
