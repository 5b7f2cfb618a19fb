//! What decides about agents, as far as it is known where it lies: hook files, settings, the state folder, and the settings
//! of agent programs that start us. Agents are kept from changing it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use lineside_core::hook::NATIVE;
use lineside_core::{Layer, Origin};
#[cfg(feature = "hosts")]
use lineside_dialects::hosts::install::recorded;
use lineside_dialects::native::{DaemonSettings, PROTECT_POLICY, protection as hooks};
use lineside_dialects::{DIALECTS, Managed, Places, Watched};

use crate::assembly::HookFiles;
use crate::project::programs as programs_of;
use crate::project::{places_of, places_of_no_project};

/// The protection of the policy, as the machine and the user have set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protection {
    /// Whether it is on; that is for whether anything is installed to say, when absent.
    is_on: Option<bool>,
    layer: Layer,
    origin: Option<Origin>,
    state: PathBuf,
    socket: PathBuf,
    managed: Managed,
}

impl Protection {
    /// What the settings say of it, for the daemon with this state folder and this socket.
    #[must_use]
    pub fn of(settings: &DaemonSettings, state: &Path, socket: &Path) -> Self {
        let set = settings.setting(PROTECT_POLICY);
        Self {
            is_on: settings.protect_policy,
            layer: set.map_or(Layer::User, |set| set.layer),
            origin: set.map(|set| set.origin.clone()),
            state: state.to_path_buf(),
            socket: socket.to_path_buf(),
            managed: Managed::default(),
        }
    }

    /// Whether it is on: as it is set, else where anything is installed in an agent program.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.is_on.unwrap_or_else(|| !self.entries().is_empty())
    }

    /// What says whether it is on, apart from settings: the folder of what is installed.
    #[must_use]
    pub fn watched(&self) -> Watched {
        Watched { path: self.state.join("installed"), levels: 1, ends: &[".json"] }
    }

    /// The files of agent programs in which our entries stand.
    fn entries(&self) -> Vec<PathBuf> {
        #[cfg(feature = "hosts")]
        return recorded(&self.state);
        #[cfg(not(feature = "hosts"))]
        Vec::new()
    }

    /// What decides about every session.
    fn of_user(&self, places: &Places) -> BTreeSet<PathBuf> {
        let settings = places.configuration().map(|folder| folder.join("lineside"));
        let own = [self.managed.folder.clone(), self.state.clone(), self.socket.clone()];
        let off = self.socket.parent().map(|folder| folder.join("off"));
        // Those of a project are other ones for another project.
        let of_all: BTreeSet<_> = watched(&places_of_no_project(places)).collect();
        let hooks = watched(places).filter(|path| of_all.contains(path));
        own.into_iter()
            .chain(settings)
            .chain(off)
            .chain(self.entries())
            .chain(programs())
            .chain(hooks)
            .collect()
    }
}

/// The programs that the entries start, where this process is one of them.
fn programs() -> Vec<PathBuf> {
    const NAMES: [&str; 2] = ["lineside", "lineside-full"];
    let own = std::env::current_exe().unwrap_or_default();
    let is_one = own.file_name().is_some_and(|name| NAMES.iter().any(|one| name == *one));
    let folder = own.parent().filter(|_| is_one);
    folder.map_or_else(Vec::new, |folder| NAMES.map(|name| folder.join(name)).to_vec())
}

/// Where the hooks of all formats are looked for. A folder in which the home lies, or what is worked at, is none of hooks.
fn watched(places: &Places) -> impl Iterator<Item = PathBuf> + use<> {
    let all: Vec<_> = DIALECTS.iter().flat_map(|dialect| dialect.watched(places)).collect();
    let of_work = [places.home().map(Path::to_path_buf), places.project_root.clone()];
    let is_above = move |path: &Path| of_work.iter().flatten().any(|work| work.starts_with(path));
    all.into_iter().map(|watched| watched.path).filter(move |path| !is_above(path))
}

/// The files that words start first, as far as they name them by whole paths: the program, or where that is an interpreter or a
/// shell its script or the first word of its line.
fn files(words: &[OsString], home: &Path) -> Vec<PathBuf> {
    const INTERPRETERS: [&str; 9] = ["bun", "deno", "node", "perl", "php", "python", "ruby", "sh", "env"];
    let mut words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if let [_, flags, line, ..] = &words[..]
        && flags.starts_with('-')
        && flags.ends_with('c')
    {
        words = line
            .split_whitespace()
            .map(|word| word.trim_matches(['"', '\'', ';']))
            .map(str::to_owned)
            .collect();
    }
    let whole = |word: &str| {
        let below = ["~/", "$HOME/", "${HOME}/", "$HOME\"/", "${HOME}\"/"]
            .iter()
            .find_map(|name| word.strip_prefix(name));
        let path = below.map_or_else(|| PathBuf::from(word), |below| home.join(below));
        Some(path).filter(|path| path.is_absolute())
    };
    let is_interpreter = |word: &str| {
        let name = word.rsplit('/').next().unwrap_or(word);
        let name = name.trim_end_matches(|sign: char| sign.is_ascii_digit() || sign == '.');
        INTERPRETERS.contains(&name) || name.ends_with("sh") && name.len() < 5
    };
    let mut found = Vec::new();
    for word in &words {
        let is_one = is_interpreter(word);
        found.extend(whole(word));
        if !is_one && !word.starts_with('-') && !word.contains('=') {
            break;
        }
    }
    found
}

impl HookFiles {
    /// The same with the hook that keeps agents from changing what decides about all of them, where that is on.
    #[must_use]
    pub fn protected(self, protection: &Protection) -> Self {
        let mut paths = protection.of_user(&self.places);
        paths.extend(self.started());
        self.with(protection, &paths, protection.layer)
    }

    /// The files below the home that its hooks start: programs, and the scripts of interpreters.
    fn started(&self) -> BTreeSet<PathBuf> {
        let (work, home) = (self.places.work_dir(), self.places.home());
        let hooks = self.loaded.iter().flat_map(|(_, loaded)| &loaded.hooks);
        let programs = hooks.flat_map(|found| programs_of(work, found));
        let words: BTreeSet<Vec<OsString>> = programs.map(|(program, ..)| program.argv).collect();
        let files = words.iter().flat_map(|words| home.map(|home| files(words, home)).unwrap_or_default());
        files.filter(|file| home.is_some_and(|home| file.starts_with(home)) && file.is_file()).collect()
    }

    /// The same for the hook files of a project that was trusted, whatever of it is known or in force.
    #[must_use]
    pub fn protected_within(self, root: &Path, protection: &Protection) -> Self {
        let own =
            watched(&places_of(&self.places, root, self.places.trust)).filter(|path| path.starts_with(root));
        let paths = own.chain([root.join(".lineside")]).collect();
        self.with(protection, &paths, Layer::Project)
    }

    fn with(mut self, protection: &Protection, paths: &BTreeSet<PathBuf>, layer: Layer) -> Self {
        let native = self.loaded.iter_mut().find(|(dialect, _)| dialect.name() == NATIVE);
        if let Some((_, loaded)) = native.filter(|_| protection.is_on()) {
            let origin = protection.origin.as_ref();
            loaded.hooks.splice(0..0, hooks(&self.places, paths, layer, origin));
        }
        self
    }
}
