//! What a dialect is: a name, its places, and the hooks that it finds there.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lineside_core::control::{Control, Rules};
use lineside_core::flow::{Debounce, Retries};
use lineside_core::hook::{Select, Standby};
use lineside_core::json::Map;
use lineside_core::worker::{StartWorkerError, WorkerReady, WorkerScript, WorkerSpec};
use lineside_core::{Diagnostic, Hook, Layer, Origin, PointInfo, SkipReason};
use lineside_files::{Boundary, OpenFileError};

use crate::handler::{Handler, Work};
use crate::layers::{Managed, Tightening};

/// The longest configuration in JSON, in bytes: programs write into theirs as well.
pub(crate) const CONFIGURATION: usize = 16 << 20;

/// A foreign hook format.
pub trait Dialect: Send + Sync {
    /// Its name, as `--dialect` takes it.
    fn name(&self) -> &'static str;

    /// All its own names for points, so that the nearest one can be proposed for a wrong one.
    fn names(&self) -> Vec<&'static str>;

    /// The hooks found in the dialect's places, in the order in which they would run, and what was wrong there.
    ///
    /// Reads files; a hook that is broken is reported and costs no other hook.
    fn load(&self, places: &Places) -> Loaded;

    /// The same of the project alone. What the user has is read, as far as it says something of the project's.
    fn load_of_project(&self, places: &Places) -> Loaded {
        of_project(self.load(places), places)
    }

    /// The hooks that the administrator of the machine has written. Reads files.
    fn load_managed(&self, _managed: &Managed, _places: &Places) -> Loaded {
        Loaded::default()
    }

    /// What a load of the administrator's hooks reads.
    fn watched_of(&self, _managed: &Managed) -> Vec<Watched> {
        Vec::new()
    }

    /// Whether the authors of its hooks name them, so that two of one name are likely meant as one.
    fn has_given_names(&self) -> bool {
        false
    }

    /// Whether by the page of the format a hook of a trusted project takes the place of the user's hook of its name.
    fn replaces_by_name(&self) -> bool {
        false
    }

    /// What a load of these places reads, whether it is there or not: when something of it changes, appears or goes, a
    /// load may find other hooks.
    fn watched(&self, places: &Places) -> Vec<Watched>;

    /// The priority of its hooks that give none, if its hooks can give one; else they stand in an order of the format.
    fn usual_priority(&self) -> Option<i32> {
        Some(0)
    }

    /// The point that the dialect's own name stands for. Where one name stands for several points the payload decides.
    fn point(&self, name: &str, payload: &Map) -> Option<&'static PointInfo>;

    /// A field of the payload that the dialect's own name says, with its value: the kind of a compaction, for example.
    fn said_by(&self, _name: &str) -> Option<(&'static str, &'static str)> {
        None
    }
}

/// A file or a folder that a load reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// Its absolute path; links are not resolved.
    pub path: PathBuf,
    /// How many levels below it are read too: 0 for a file, 1 for the entries of a folder, 2 for what lies in these.
    pub levels: u8,
    /// How the names of the files end that are read below it, in any capitals: what else lies there is not.
    pub ends: &'static [&'static str],
}

impl Watched {
    /// A file.
    pub(crate) fn file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), levels: 0, ends: &[] }
    }

    /// A folder of folders, each with files of these names.
    pub(crate) fn folders(path: impl Into<PathBuf>, names: &'static [&'static str]) -> Self {
        Self { path: path.into(), levels: 2, ends: names }
    }
}

/// Where hooks are looked for, and whom to trust.
///
/// Its `Debug` has the names of the environment and not the values.
#[derive(Clone)]
pub struct Places {
    /// The runtime's environment. Dialects read it from here and nowhere else.
    pub environment: BTreeMap<String, String>,
    /// The root of the project.
    pub project_root: Option<PathBuf>,
    /// The working directory of the agent.
    pub cwd: PathBuf,
    /// Whether hooks of the project may run.
    pub trust: Trust,
}

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Places")
            .field("environment", &self.environment.keys())
            .field("project_root", &self.project_root)
            .field("cwd", &self.cwd)
            .field("trust", &self.trust)
            .finish()
    }
}

impl Places {
    /// A variable of the runtime's environment.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str)
    }

    /// The user's home directory, if it is an absolute path.
    #[must_use]
    pub fn home(&self) -> Option<&Path> {
        self.variable("HOME").map(Path::new).filter(|home| home.is_absolute())
    }

    /// The folder in which programs of the user keep their settings. A relative `XDG_CONFIG_HOME` counts as none, as
    /// its specification says: it would make a folder of the project one of the user.
    #[must_use]
    pub fn configuration(&self) -> Option<PathBuf> {
        self.folder("XDG_CONFIG_HOME", ".config")
    }

    /// The folder that a variable names by an absolute path, else this one in the home of the user.
    pub(crate) fn folder(&self, variable: &str, in_home: &str) -> Option<PathBuf> {
        let named = self.variable(variable).map(PathBuf::from).filter(|folder| folder.is_absolute());
        named.or_else(|| self.home().map(|home| home.join(in_home)))
    }

    /// The directory whose project hooks count: the project's root, else the working directory.
    #[must_use]
    pub fn work_dir(&self) -> &Path {
        self.project_root.as_deref().unwrap_or(&self.cwd)
    }

    /// Where the files of a layer may lie. Those of a project are as foreign as the project, and a link of it may lead
    /// to anything that the user can read; those of the user are read only if no other user may have written them.
    pub(crate) fn boundary(&self, layer: Layer) -> Boundary<'_> {
        if layer == Layer::Project { Boundary::Within(self.work_dir()) } else { Boundary::Own }
    }
}

/// What is of a project itself among all that was found.
pub(crate) fn of_project(mut loaded: Loaded, places: &Places) -> Loaded {
    let root = absolute(places.work_dir());
    let is_own = |layer, origin: &Option<Origin>| {
        layer == Layer::Project && origin.as_ref().is_none_or(|origin| origin.file.starts_with(&root))
    };
    loaded.hooks.retain(|found| is_own(found.hook.layer, &found.hook.origin));
    loaded.inert.retain(|inert| is_own(inert.layer, &inert.origin));
    loaded.tightenings.retain(|asked| asked.layer == Layer::Project);
    loaded
        .diagnostics
        .retain(|finding| finding.origin.as_ref().is_some_and(|origin| origin.file.starts_with(&root)));
    loaded
}

/// A place in which hooks cannot be looked for.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) layer: Layer,
    pub(crate) path: PathBuf,
    pub(crate) error: OpenFileError,
}

/// A path from the root of the file system; links are not resolved.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// A path that begins with `~/`, below the home of the user.
pub(crate) fn at_home(path: &str, home: Option<&Path>) -> Option<PathBuf> {
    Some(home?.join(path.strip_prefix("~/")?))
}

/// Whether hooks of the project may run. Hooks of the user always may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The person who started the program has named the project and answers for it.
    Granted,
    /// The user has not agreed: its hooks are listed and never started.
    Withheld,
}

impl Trust {
    /// What this trust in a project means for hooks of a layer: all others are the user's own.
    pub(crate) fn of_layer(self, layer: Layer) -> Self {
        if layer == Layer::Project { self } else { Self::Granted }
    }

    /// Whether hooks with this trust run.
    pub(crate) fn standby(self) -> Standby {
        match self {
            Self::Granted => Standby::Ready,
            Self::Withheld => Standby::Off(SkipReason::Untrusted),
        }
    }
}

/// What was found.
#[derive(Default)]
pub struct Loaded {
    /// The hooks, in the order in which they would run.
    pub hooks: Vec<ForeignHook>,
    /// What was wrong, in the order in which it was found.
    pub diagnostics: Vec<Diagnostic>,
    /// Where the dialect's own debug log goes; off by default.
    pub log: Option<LogTarget>,
    /// Hooks that are known only once a worker has loaded them.
    pub plugins: Option<Plugins>,
    /// What was found and is no hook that could be installed, for the list.
    pub inert: Vec<Inert>,
    /// The agent program in whose files our own entry stands.
    pub served: Option<&'static str>,
    /// What is asked of hooks of the layers above.
    pub tightenings: Vec<Tightening>,
    /// Files and globs, from the root of the project, that what its hooks start loads by itself.
    pub trusts: Vec<String>,
}

impl Loaded {
    /// Puts what else was found behind it.
    pub fn append(&mut self, mut other: Self) {
        self.hooks.append(&mut other.hooks);
        self.diagnostics.append(&mut other.diagnostics);
        self.inert.append(&mut other.inert);
        self.tightenings.append(&mut other.tightenings);
        self.trusts.append(&mut other.trusts);
        self.log = self.log.take().or(other.log);
        self.plugins = self.plugins.take().or(other.plugins);
        self.served = self.served.or(other.served);
    }

    /// The same, but for hooks that are known only once a worker has loaded them.
    #[must_use]
    pub fn without_plugins(&self) -> Self {
        let Self { hooks, diagnostics, log, plugins: _, inert, served, tightenings, trusts } = self;
        Self {
            hooks: hooks.clone(),
            diagnostics: diagnostics.clone(),
            log: log.clone(),
            plugins: None,
            inert: inert.clone(),
            served: *served,
            tightenings: tightenings.clone(),
            trusts: trusts.clone(),
        }
    }
}

/// Something that was meant to be a hook and is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inert {
    /// Its name, or where it stands in its file.
    pub name: String,
    /// What it waits for, as its file says; empty when it does not.
    pub trigger: String,
    /// The point, where there is one and no other.
    pub point: Option<&'static PointInfo>,
    /// Where it comes from.
    pub layer: Layer,
    /// The file and line that declare it.
    pub origin: Option<Origin>,
    /// Why it is none.
    pub why: Why,
    /// Where it is missed; nowhere, when nothing of it might have run.
    pub missed: Option<Missed>,
}

impl Inert {
    /// What a file declares from its first line on, at no point and with no trigger of its own.
    pub(crate) fn of_file(name: String, layer: Layer, file: PathBuf, why: Why) -> Self {
        let (origin, trigger) = (Some(Origin::new(file, 1)), String::new());
        Self { name, trigger, point: None, layer, origin, why, missed: None }
    }
}

/// Where something broken is missed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missed {
    /// The points at which it may have run.
    pub points: Vec<&'static PointInfo>,
    /// What the receipts there tell of it.
    pub remark: Arc<str>,
}

/// Why something is no hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It is broken; a diagnostic says how.
    Error,
    /// It waits for something that never happens here.
    NeverFires,
    /// It waits for something that only programs of its own format publish.
    Apart,
    /// It is switched off.
    Disabled,
}

/// From what became of a worker to its hooks and what was wrong with them.
pub type Registered = Box<dyn FnOnce(Result<WorkerReady, StartWorkerError>) -> Loaded + Send>;

/// Hooks that are known only once a worker has loaded them.
pub struct Plugins {
    /// The worker. A reload with an equal one keeps the process and its state.
    pub worker: WorkerSpec,
    /// What it runs.
    pub script: WorkerScript,
    /// What they may register that refuses, as long as it is not known what they do register: no worker has these.
    pub may_refuse: Vec<ForeignHook>,
    /// Says what was loaded, from what became of the worker. What it gives has no further plugins.
    pub registered: Registered,
}

/// Where a debug log goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogTarget {
    /// Standard error of the runtime.
    Stderr,
    /// Appended to this file.
    File(PathBuf),
}

/// One hook of a foreign format.
#[derive(Clone)]
pub struct ForeignHook {
    /// What is known of it apart from how it is run. Its registration number is given when it is registered.
    pub hook: Hook,
    /// The dialect's own name of what it waits for.
    pub trigger: String,
    /// The points at which it is registered.
    pub points: Vec<&'static PointInfo>,
    /// What it runs and how its output is read.
    pub handler: Arc<dyn Handler>,
    /// How often it is tried again.
    pub retry: Retries,
    /// Runs with the same key never overlap, over all hooks and sessions; they go in the order in which they were due.
    pub key: Option<Arc<str>>,
    /// Events are held until it is quiet. Only for hooks in the background.
    pub debounce: Option<Debounce>,
    /// Whether there is an event for which its own condition holds.
    pub can_fire: bool,
    /// Whether its file says that it does nothing but answer, from its input alone, so that it may run for what has been.
    pub is_pure: bool,
    /// Whether it waits for moments that only programs of its own format have, and is listed apart for it.
    pub apart: bool,
    /// Whether it is a guard that cannot load and therefore refuses every event that it may have judged.
    pub closed: bool,
    /// What it is as an automation: its events reach it by this and not by `handler`, and retries, key and
    /// debounce are those of its rules.
    pub automation: Option<Automation>,
    /// What the format of an agent program knows of it beside the hooks that are the same as it.
    pub imported: Option<Arc<dyn std::any::Any + Send + Sync>>,
}

/// What a hook is as an automation at one point.
#[derive(Clone)]
pub struct Automation {
    /// How it is paced, as it was declared.
    pub control: Arc<Control>,
    /// The same, checked.
    pub rules: Arc<Rules>,
    /// The events that cancel its held and waiting work; all of a point, where there is no condition.
    pub cancelled_by: Vec<(&'static PointInfo, Option<Arc<dyn Select>>)>,
    /// What it runs and how its output is read.
    pub work: Arc<dyn Work>,
}

impl ForeignHook {
    /// A hook without retries, key and debounce, which is no automation.
    #[must_use]
    pub fn new(
        hook: Hook,
        trigger: impl Into<String>,
        points: Vec<&'static PointInfo>,
        handler: Arc<dyn Handler>,
    ) -> Self {
        Self {
            hook,
            trigger: trigger.into(),
            points,
            handler,
            retry: Retries::default(),
            key: None,
            debounce: None,
            can_fire: true,
            is_pure: false,
            apart: false,
            automation: None,
            closed: false,
            imported: None,
        }
    }

    /// How it is listed when it is listed apart.
    #[must_use]
    pub fn listed_apart(&self) -> Inert {
        Inert {
            name: self.hook.name.to_string(),
            trigger: self.trigger.clone(),
            point: None,
            layer: self.hook.layer,
            origin: self.hook.origin.clone(),
            why: Why::Apart,
            missed: None,
        }
    }
}
