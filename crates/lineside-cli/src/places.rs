//! Where hooks are looked for and whom to trust, from the arguments and the environment of the process.
//!
//! The environment is read here and nowhere else in this crate, apart from what styles the terminal.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use lineside::core::nearest::suggestion;
use lineside::dialects::{self, DIALECTS, Dialect, Places, Trust};
use lineside_account::Account;

use crate::daemon_paths::DaemonPaths;
use crate::painter::one_line;
use crate::project::{self, Found};
use crate::style::tell;

/// The arguments that say where hooks are looked for.
#[derive(Debug, Args)]
pub(crate) struct PlaceArgs {
    /// The root of the project. Naming it says that you trust its hooks as they are now, and they may run.
    ///
    /// Without it the project is the nearest folder with hooks, at or above the current one and up to the root of its
    /// working tree. Its hooks run as far as their content is trusted (`lineside trust`), and are listed in any case; those
    /// of the user run all the same.
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,

    /// Only hooks of this format; may be given several times. Without it, hooks of all formats.
    #[arg(long = "dialect", value_name = "NAME", value_parser = dialect)]
    dialects: Vec<Chosen>,

    /// Do not start the hooks of the project although it is named.
    #[arg(long)]
    untrusted: bool,
}

/// The arguments of what is asked of hooks without running any.
#[derive(Debug, Args)]
pub(crate) struct LookArgs {
    #[command(flatten)]
    pub(crate) places: PlaceArgs,

    /// Print one JSON object, with everything that is known.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A dialect that was asked for.
#[derive(Clone, Copy)]
pub(crate) struct Chosen(&'static dyn Dialect);

impl std::fmt::Debug for Chosen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

/// Where this run of the command stands.
pub(crate) struct Ground {
    /// Where hooks are looked for.
    pub(crate) places: Places,
    /// The root of the project as events name it.
    pub(crate) project: Arc<str>,
    /// The formats that hooks are looked for in.
    pub(crate) dialects: Vec<&'static dyn Dialect>,
    /// The project that was found, as a person has trusted it; none where one was named.
    pub(crate) found: Option<Found>,
}

impl PlaceArgs {
    /// Those that name a project, or none, and nothing else.
    pub(crate) fn of(project: Option<PathBuf>) -> Self {
        Self { project, dialects: Vec::new(), untrusted: false }
    }

    /// The project that is named, as it is written.
    pub(crate) fn project(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// Whether they say nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.project.is_none() && self.dialects.is_empty() && !self.untrusted
    }

    /// Whether a person has named a project, whose hooks are to hold.
    pub(crate) fn names_a_project(&self) -> bool {
        self.project.is_some() && !self.untrusted
    }

    /// The places.
    ///
    /// # Errors
    /// The project is no directory, or its path is not UTF-8.
    pub(crate) fn ground(&self) -> Result<Ground> {
        let named = self.project.as_deref();
        let here = directory(named.unwrap_or(Path::new(".")))?;
        let environment = environment();
        let found = match (named, DaemonPaths::usual()) {
            (None, Ok(paths)) => project::find(&here, &project::of_user(environment.clone()), &paths),
            _ => None,
        };
        let root = found.as_ref().map_or_else(|| here.clone(), |found| found.root().to_path_buf());
        if let Some(found) = found.as_ref().filter(|found| found.root() != here) {
            let root = one_line(&found.root().display().to_string());
            tell(&format!("project: {root}, above this folder, {}", found.word()));
        }
        let Some(project) = root.to_str().map(Arc::from) else {
            bail!("the path of the project is not UTF-8: {}", root.display());
        };
        let is_trusted = named.is_some() || found.as_ref().is_some_and(Found::is_trusted);
        let trust = if is_trusted && !self.untrusted { Trust::Granted } else { Trust::Withheld };
        let dialects = self.dialects();
        let places = Places { environment, project_root: Some(root.clone()), cwd: root, trust };
        let found = found.filter(|_| !self.untrusted);
        Ok(Ground { places, project, dialects, found })
    }
}

impl PlaceArgs {
    /// The arguments that say the same in any folder, and for every project: what was trusted of one is in the store.
    pub(crate) fn words(&self) -> Vec<String> {
        self.dialects.iter().flat_map(|chosen| ["--dialect".to_owned(), chosen.0.name().to_owned()]).collect()
    }

    /// Where a daemon finds the hooks of the user, and their formats; projects are found by their sessions.
    pub(crate) fn of_daemon(&self) -> (Places, Vec<&'static dyn Dialect>) {
        (project::of_user(environment()), self.dialects())
    }

    /// The project that a person has named, and may be taken to trust.
    ///
    /// # Errors
    /// It is no directory.
    pub(crate) fn named(&self) -> Result<Option<PathBuf>> {
        self.project.as_deref().filter(|_| !self.untrusted).map(directory).transpose()
    }

    fn dialects(&self) -> Vec<&'static dyn Dialect> {
        match &self.dialects[..] {
            [] => DIALECTS.to_vec(),
            chosen => chosen.iter().map(|chosen| chosen.0).collect(),
        }
    }
}

/// The environment of the process, with the home of the account where it names none. What is not UTF-8 is left out; hooks
/// inherit it all the same.
pub(crate) fn environment() -> BTreeMap<String, String> {
    let variables = std::env::vars_os();
    let text =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    let mut environment: BTreeMap<String, String> = variables.filter_map(text).collect();
    let is_home = |home: &String| Path::new(home).is_absolute();
    if !environment.get("HOME").is_some_and(is_home)
        && let Some(home) = Account::own().home.and_then(|home| home.into_os_string().into_string().ok())
    {
        environment.insert("HOME".to_owned(), home);
    }
    environment
}

/// The one path that a directory has without links.
pub(crate) fn directory(path: &Path) -> Result<PathBuf> {
    let root = path.canonicalize().with_context(|| format!("cannot use {} as project", path.display()))?;
    if !root.is_dir() {
        bail!("cannot use {} as project: it is no directory", path.display());
    }
    Ok(root)
}

fn dialect(name: &str) -> Result<Chosen, String> {
    dialects::find(name).map(Chosen).ok_or_else(|| unknown_dialect(name))
}

/// What is said of a dialect that this program does not speak.
pub(crate) fn unknown_dialect(name: &str) -> String {
    let names: Vec<_> = DIALECTS.iter().map(|dialect| dialect.name()).collect();
    let nearest = suggestion(name, names.iter().copied());
    let nearest = nearest.map_or_else(String::new, |nearest| format!("; the nearest is `{nearest}`"));
    match &names[..] {
        [only] => format!("unknown dialect `{name}`; the only one is `{only}`"),
        _ => format!("unknown dialect `{name}`{nearest}; all are {}", names.join(", ")),
    }
}

/// The places of this process, with a project or the current directory, whose files may be written.
///
/// # Errors
/// There is no such folder.
pub(crate) fn granted_places(project: Option<&Path>) -> Result<Places> {
    let root = project.unwrap_or(Path::new("."));
    let root = directory(root)?;
    Ok(Places {
        environment: environment(),
        project_root: Some(root.clone()),
        cwd: root,
        trust: Trust::Granted,
    })
}

/// A path as people write it, with `~` for their home.
pub(crate) fn shown(path: &Path, places: &Places) -> String {
    match places.home().and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}
