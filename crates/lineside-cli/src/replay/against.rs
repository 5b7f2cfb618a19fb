//! The hooks that recorded events are published to.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use lineside::core::hook::NATIVE;
use lineside::core::{Diagnostic, Origin};
use lineside::dialects::{Places, Trust};
use lineside::json::{Map, Value};
use tempfile::TempDir;

use crate::folder_copy::copy;
use crate::loading::{errors, tell_all};
use crate::painter::one_line;
use crate::places::{Ground, PlaceArgs, directory, environment};
use crate::project::Found;
use crate::style::{Style, count};

/// Hooks, and where they stand.
pub(super) struct Against {
    pub(super) ground: Ground,
    /// The project that was copied, and where to.
    copied: Option<(PathBuf, PathBuf)>,
    /// Whose hooks they are, in words.
    pub(super) whose: String,
    /// The project whose hooks they are; none where those of one file judge the events of every project alike.
    pub(super) project: Option<PathBuf>,
    /// The file that was named, and its copy that is read.
    read: Option<(PathBuf, PathBuf)>,
    /// Holds what is there for the replay alone.
    _scratch: Option<TempDir>,
}

/// What is said of the hooks of the user and of a project; without a standing there is none here.
fn of_project(root: &Path, standing: Option<&str>) -> String {
    match standing {
        Some(standing) => {
            format!("of the user and of {} ({standing})", one_line(&root.display().to_string()))
        }
        None => "of the user; no project with hooks is here".to_owned(),
    }
}

/// The file of hooks of a project.
const FILE: &str = ".lineside/hooks.yaml";

impl Against {
    /// The hooks of a project and of the user, or those of a file alone; without either, those that are in force here. To be
    /// run, they stand in a copy of their project.
    ///
    /// # Errors
    /// There are none, or the project cannot be copied.
    pub(super) fn of(named: Option<&Path>, live: bool) -> Result<Self> {
        let file = named.filter(|path| path.is_file());
        if file.is_none() && !live {
            let ground = PlaceArgs::of(named.map(Path::to_path_buf)).ground()?;
            let project = PathBuf::from(&*ground.project);
            let standing = ground.found.as_ref().map(Found::word);
            let whose = of_project(&project, standing.or(named.map(|_| "named")));
            return Ok(Self {
                ground,
                copied: None,
                whose,
                project: Some(project),
                read: None,
                _scratch: None,
            });
        }
        let scratch = tempfile::Builder::new().prefix("lineside-replay-").tempdir();
        let scratch = scratch.context("failed to make a folder for the replay")?;
        let path = scratch.path().canonicalize()?;
        let (project, home) = (path.join("project"), path.join("home"));
        fs::create_dir(&home)?;
        // A project that is not named is trusted in its copy as far as it is where it lies.
        let (root, trust) = match (file, named) {
            (Some(file), _) => (of_file(file)?, Trust::Granted),
            (None, Some(named)) => (directory(named)?, Trust::Granted),
            (None, None) => {
                let Places { project_root, cwd, trust, .. } = PlaceArgs::of(None).ground()?.places;
                (project_root.unwrap_or(cwd), trust)
            }
        };
        if live {
            if path.starts_with(&root) {
                bail!("{} cannot be copied into itself; TMPDIR names another folder", root.display());
            }
            copy(&root, &project)?;
        }
        let mut environment = environment();
        let declared = project.join(FILE);
        if let Some(file) = file {
            fs::create_dir_all(declared.parent().unwrap_or(&project))?;
            fs::copy(file, &declared).with_context(|| format!("cannot read {}", file.display()))?;
            // The file alone: the hooks of the user are not there.
            for name in ["HOME", "XDG_CONFIG_HOME"] {
                environment.insert(name.to_owned(), home.display().to_string());
            }
        }
        let mut ground = PlaceArgs::of(Some(project.clone())).ground()?;
        ground.places.environment = environment;
        ground.places.trust = trust;
        if file.is_some() {
            ground.dialects.retain(|dialect| dialect.name() == NATIVE);
        }
        let (whose, of) = match file {
            Some(file) => (format!("of {} alone", one_line(&file.display().to_string())), None),
            None => (of_project(&root, Some("in a copy")), Some(root.clone())),
        };
        let copied = live.then_some((root, project));
        let read = file.map(|file| (file.to_path_buf(), declared));
        Ok(Self { ground, copied, whose, project: of, read, _scratch: Some(scratch) })
    }

    /// Names the file that was named where findings name its copy.
    ///
    /// # Errors
    /// What was named has an error: a guard that stands closed says nothing about the events.
    pub(super) fn judge(&self, diagnostics: &mut [Diagnostic], style: Style) -> Result<()> {
        let Some((named, copy)) = &self.read else { return Ok(()) };
        for origin in diagnostics.iter_mut().filter_map(|diagnostic| diagnostic.origin.as_mut()) {
            if *origin.file == *copy {
                *origin = Origin::new(named.clone(), origin.line);
            }
        }
        match errors(diagnostics) {
            0 => Ok(()),
            errors => {
                tell_all(diagnostics, None, style);
                bail!("nothing was replayed: {} has {}", named.display(), count(errors, "error"))
            }
        }
    }

    /// The root of the project as sessions name it that say nothing else.
    pub(super) fn root(&self) -> Arc<str> {
        Arc::clone(&self.ground.project)
    }

    /// An event where the hooks stand: one of the project that was copied happens in the copy. `None` for one of another
    /// project, which is not there.
    pub(super) fn moved(&self, mut event: Map) -> Option<Map> {
        let Some((from, to)) = &self.copied else { return Some(event) };
        for field in ["project_root", "cwd"] {
            let Some(path) = event.get(field).and_then(Value::as_str) else { continue };
            let below = Path::new(path).strip_prefix(from).ok();
            if below.is_none() && field == "project_root" {
                return None;
            }
            let moved = below.map_or_else(|| to.clone(), |below| to.join(below));
            event.insert(field.to_owned(), moved.display().to_string().into());
        }
        Some(event)
    }
}

/// The project of a file of hooks: where it would be read from, else the folder that it lies in.
fn of_file(file: &Path) -> Result<PathBuf> {
    let file = file.canonicalize()?;
    let folder = file.parent().unwrap_or(Path::new("/"));
    let of_project = file.ends_with(FILE).then(|| folder.parent()).flatten();
    Ok(of_project.unwrap_or(folder).to_path_buf())
}
