//! The project of a folder, as the person who stands there has trusted it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use lineside::assembly::HookFiles;
use lineside::dialects::{Places, Trust};
use lineside::hosts::Host;
use lineside::project::{self, Project};
use lineside::trust::{Item, Record, Standing, Store};
use lineside::{Assembly, Bus};

use crate::daemon_paths::DaemonPaths;

/// A project that was found, and how it stands.
pub(crate) struct Found {
    pub(crate) read: Project,
    pub(crate) standing: Standing,
}

/// Places without a project: those of the user alone.
pub(crate) fn of_user(environment: BTreeMap<String, String>) -> Places {
    Places { environment, project_root: None, cwd: PathBuf::from("/"), trust: Trust::Withheld }
}

/// The project of a folder, judged by the store of this user; `None` where no folder up to the root of the working tree has
/// hooks.
pub(crate) fn find(folder: &Path, places: &Places, paths: &DaemonPaths) -> Option<Found> {
    let root = project::find(folder, places, &Store::of(&paths.state))?;
    Some(at(&root, places, paths))
}

/// The nearest project of a folder, also where it stays under the hooks of one above it: what a person trusts.
pub(crate) fn find_own(folder: &Path, places: &Places, paths: &DaemonPaths) -> Option<Found> {
    let root = project::find_own(folder, places, &Store::of(&paths.state))?;
    Some(at(&root, places, paths))
}

/// The project with this root.
pub(crate) fn at(root: &Path, places: &Places, paths: &DaemonPaths) -> Found {
    let store = Store::of(&paths.state);
    let record = store.record(root).ok().flatten();
    let read = read(root, places, record.as_ref().map(|record| &*record.items));
    let standing = store.judge(root, &read.content);
    Found { read, standing }
}

fn read(root: &Path, places: &Places, before: Option<&[Item]>) -> Project {
    Assembly::new(Bus::new()).of_project(root).read_project(root, places, before)
}

impl Found {
    /// The same with everything that a person is to look at who trusts it anew.
    pub(crate) fn anew(self, places: &Places) -> Self {
        let read = if self.is_trusted() { self.read } else { read(&self.read.root, places, None) };
        Self { read, standing: self.standing }
    }

    /// Its hooks with those of the user, as far as they hold.
    ///
    /// # Errors
    /// The state folder is not known.
    pub(crate) fn files(
        &self,
        assembly: &Assembly,
        environment: &BTreeMap<String, String>,
    ) -> Result<HookFiles> {
        let (places, store) = (of_user(environment.clone()), Store::of(&DaemonPaths::usual()?.state));
        let read = read(self.root(), &places, self.record().map(|record| &*record.items));
        Ok(assembly.read_with_project(&places, read, &self.standing, &store))
    }

    pub(crate) fn root(&self) -> &Path {
        &self.read.root
    }

    /// What was trusted of it last.
    pub(crate) fn record(&self) -> Option<&Record> {
        match &self.standing {
            Standing::Trusted(record) | Standing::Changed { record, .. } => Some(record),
            Standing::Never | Standing::Lost { .. } => None,
        }
    }

    pub(crate) fn is_trusted(&self) -> bool {
        matches!(self.standing, Standing::Trusted(_))
    }

    /// The word for how it stands.
    pub(crate) fn word(&self) -> &'static str {
        match &self.standing {
            Standing::Trusted(_) => "trusted",
            Standing::Never => "not trusted",
            Standing::Changed { .. } | Standing::Lost { .. } => "closed",
        }
    }

    /// Whether all of its hooks are in the files of agent programs, which run those themselves.
    pub(crate) fn is_of_programs_alone(&self) -> bool {
        self.read.dialects().iter().all(|dialect| Host::named(dialect).is_some())
    }

    /// Why its hooks do not hold, and what to do; `None` where they do.
    pub(crate) fn wrong(&self) -> Option<(String, String)> {
        let root = self.root().display();
        let what = match &self.standing {
            Standing::Trusted(_) => return None,
            Standing::Never => format!("the hooks of {root} do not run: they were never trusted"),
            Standing::Changed { changes, unreadable: None, .. } => {
                format!(
                    "the guards of {root} stand closed: it is not what was trusted: {}",
                    project::told(changes, None)
                )
            }
            Standing::Changed { unreadable: Some(why), .. } => {
                format!("the guards of {root} stand closed: its content cannot be read: {why}")
            }
            Standing::Lost { why, .. } => format!("the guards of {root} stand closed: {why}"),
        };
        Some((what, lineside::trust::command(self.root())))
    }
}

/// Takes the naming of a project by the person who starts a daemon for their consent, where they were never asked.
///
/// # Errors
/// The content cannot be trusted, or the consent not be recorded.
pub(crate) fn consent(root: &Path, places: &Places, paths: &DaemonPaths) -> Result<Option<String>> {
    let found = at(root, places, paths);
    let wrong = found.wrong();
    let Found { read, standing } = found;
    if !read.has_hooks() && matches!(standing, Standing::Never) {
        return Ok(None);
    }
    match (standing, read.content) {
        (Standing::Trusted(_), _) => Ok(None),
        (Standing::Never, Err(error)) => bail!("the hooks of {} cannot be trusted: {error}", root.display()),
        (Standing::Never, Ok(content)) => {
            Store::of(&paths.state).trust(&content, read.guards, lineside::trust::Reach::Project)?;
            Ok(None)
        }
        _ => Ok(wrong.map(|(what, remedy)| format!("{what}; look at it and say: {remedy}"))),
    }
}
