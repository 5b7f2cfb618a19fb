//! A bus with the hooks that people have written for other programs: found, installed, listed, reloaded.

mod files;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lineside_automation::Automations;
use lineside_bus::register::RegisterHookError;
use lineside_bus::{Bus, DrainReport, Scope};
use lineside_core::control::Control;
use lineside_core::hook::{Hook, NATIVE};
use lineside_core::invocation::Inherit;
use lineside_core::worker::HookWorker;
use lineside_core::{Diagnostic, Layer, SkipReason, Strength};
use lineside_dialects::hosts::{never_reported, served_without_format};
use lineside_dialects::native::inherited;
use lineside_dialects::{
    DIALECTS, Dialect, Ground, Inert, Loaded, Managed, Places, Tightening, Watched, asked_of, exposed,
    only_once, outrun, refuse_programs_of_projects, sharing, within,
};
#[cfg(feature = "http")]
use lineside_exec::Proxy;
use lineside_exec::{Containment, Runner};
use tokio::sync::Mutex as AsyncMutex;

pub use self::files::HookFiles;
use crate::binding::{Binder, Bound};
use crate::content::Contents;
use crate::debug_log::DebugLog;
use crate::handler_runtime::{Effects, HandlerRuntime};
use crate::last_good::LastGood;
use crate::limits::Limits;
use crate::matcher_budget::MatcherBudget;
use crate::of_project::OfProject;
use crate::project::keep_keys_within;
use crate::workers::{HookWorkers, PluginLine, Workers};

/// A bus, and the hooks that its files declare: found, installed, reloaded.
///
/// ```
/// use lineside::dialects::{Places, Trust};
/// use lineside::prelude::*;
/// use lineside::{Assembly, dialects};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let home = tempfile::tempdir()?;
/// std::fs::create_dir(home.path().join(".lineside"))?;
/// std::fs::write(
///     home.path().join(".lineside/hooks.yaml"),
///     "hooks:\n- {name: no-tools, on: before_tool, verdict: block, reason: not today}\n",
/// )?;
/// let places = Places {
///     environment: Default::default(),
///     project_root: Some(home.path().to_owned()),
///     cwd: home.path().to_owned(),
///     trust: Trust::Granted,
/// };
/// let native = dialects::find("native").expect("it is lineside's own format");
/// let assembly = Assembly::new(Bus::new()).only([native]);
/// assert_eq!(assembly.load(&places).await?.in_force(), 1);
///
/// let session = assembly.bus().session("s1").open().await?;
/// let decision = session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await?;
/// assert_eq!(decision.verdict(), &Verdict::block("not today"));
/// assert!(assembly.drain(secs(5)).await.is_clean());
/// # Ok(())
/// # }
/// ```
pub struct Assembly {
    bus: Bus,
    /// The project whose hooks these are, and of whose sessions alone.
    pub(crate) project: Option<OfProject>,
    pub(crate) outside: HandlerRuntime,
    workers: Workers,
    patience: MatcherBudget,
    dialects: Vec<&'static dyn Dialect>,
    pub(crate) managed: Managed,
    last_good: Option<Mutex<LastGood>>,
    limits: Mutex<Limits>,
    /// One load at a time.
    installing: AsyncMutex<()>,
}

/// What a dialect has found, with the worker that its functions live in.
struct Prepared {
    dialect: &'static dyn Dialect,
    loaded: Loaded,
    outside: HandlerRuntime,
}

/// One hook that was found, at one of its points.
#[derive(Debug, Clone)]
pub struct LoadedHook {
    /// Which hook of the load it is, counted from 1: the same for each of its points.
    pub number: usize,
    /// What is known of it.
    pub hook: Hook,
    /// The point.
    pub point: &'static str,
    /// What its own format calls that.
    pub trigger: String,
    /// Whether it can run.
    pub state: State,
    /// Whether its unawaited runs are jobs of the bus's automations, accepted on record.
    pub kept: bool,
    /// How it is paced, if it is an automation.
    pub control: Option<Arc<Control>>,
    /// What it says of every event that its filters let through, where nothing has to run for that.
    pub says: Option<Strength>,
}

/// Whether a hook can run.
///
/// ```
/// use lineside::assembly::State;
/// use lineside::core::SkipReason;
///
/// assert!(State::Ready.may_run());
/// assert!(!State::Off(SkipReason::Untrusted).may_run());
/// assert_eq!(State::Off(SkipReason::Untrusted).as_str(), "untrusted");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It can run.
    Ready,
    /// It is listed and never started.
    Off(SkipReason),
    /// There is no event for which its own condition holds.
    NeverFires,
    /// It is a guard that cannot load, and refuses every event that it may have judged until it is repaired.
    Closed,
    /// What it starts is not there; each run fails until it is.
    ProgramMissing,
    /// It is of a trusted project, and by its words it may start what was not trusted; each run fails until it is written in
    /// another way.
    NotSealed,
}

impl State {
    /// Whether it is run for its events: not where it is switched off or not trusted, nor where there is no event for it.
    #[must_use]
    pub fn may_run(self) -> bool {
        !matches!(self, Self::Off(_) | Self::NeverFires)
    }

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Off(why) => why.as_str(),
            Self::NeverFires => "never fires here",
            Self::Closed => "closed",
            Self::ProgramMissing => "program missing",
            Self::NotSealed => "not run",
        }
    }
}

/// What a load found.
///
/// ```
/// use lineside::LoadReport;
///
/// let report = LoadReport::default();
/// for found in &report.hooks {
///     println!("{} at {}: {}", found.hook.name, found.point, found.state.as_str());
/// }
/// assert_eq!(report.in_force(), 0);
/// ```
#[derive(Debug, Clone, Default)]
pub struct LoadReport {
    /// The hooks of each dialect, in the order in which they would run for their point.
    pub hooks: Vec<LoadedHook>,
    /// What was wrong.
    pub diagnostics: Vec<Diagnostic>,
    /// What was found and is no hook that runs, with the name of its dialect.
    pub inert: Vec<(&'static str, Inert)>,
    /// What was asked of hooks of layers above, with the name of their dialect.
    pub tightenings: Vec<(&'static str, Tightening)>,
}

impl LoadReport {
    /// How many hooks may run, each counted once: not those that are switched off or not trusted, those of a trusted project
    /// that are not started, nor those for which there is no event.
    #[must_use]
    pub fn in_force(&self) -> usize {
        let holds = |found: &&LoadedHook| found.state.may_run() && found.state != State::NotSealed;
        let numbers = self.hooks.iter().filter(holds).map(|found| found.number);
        numbers.collect::<BTreeSet<_>>().len()
    }

    /// The same with what another load has found, whose hooks are numbered after those that are there.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        let Self { hooks, diagnostics, inert, tightenings } = other.clone();
        let before = self.hooks.last().map_or(0, |found| found.number);
        self.hooks
            .extend(hooks.into_iter().map(|found| LoadedHook { number: found.number + before, ..found }));
        self.diagnostics.extend(diagnostics);
        self.inert.extend(inert);
        self.tightenings.extend(tightenings);
        self
    }

    /// Adds what was found of a dialect; its hooks are numbered after those that are there.
    fn add(
        &mut self,
        dialect: &'static str,
        found: Vec<LoadedHook>,
        diagnostics: Vec<Diagnostic>,
        inert: Vec<Inert>,
    ) {
        let before = self.hooks.last().map_or(0, |found| found.number);
        self.hooks
            .extend(found.into_iter().map(|found| LoadedHook { number: found.number + before, ..found }));
        self.diagnostics.extend(diagnostics);
        self.inert.extend(inert.into_iter().map(|inert| (dialect, inert)));
    }

    /// Adds findings about all hooks together: what a trusted project can do to the hooks of the user, what others can do
    /// to those of the project, and which wait for what these hosts, which serve their own files, never report.
    fn judge(&mut self, served: &[&str]) {
        let of_project = self.hooks.iter().filter(|found| found.hook.layer == Layer::Project);
        let trusted = of_project.filter(|found| found.state != State::Off(SkipReason::Untrusted));
        let files = trusted.filter_map(|found| Some(found.hook.origin.as_ref()?.file.as_path()));
        let findings = exposed(files).into_iter();
        let hooks = || self.hooks.iter().map(|found| (&found.hook, found.point));
        // What stands closed in the place of something broken waits for nothing.
        let sound = self.hooks.iter().filter(|found| found.state != State::Closed);
        // Nor does what counts calls, whose end it hears whatever its filter is.
        let filtered = self.hooks.iter().filter(|found| found.hook.select.is_some());
        let filtered: HashSet<_> = filtered.map(|found| found.number).collect();
        let sound = sound.filter(|found| found.hook.select.is_some() || !filtered.contains(&found.number));
        let sound = sound.map(|found| (&found.hook, found.point));
        let findings: Vec<_> = findings.chain(outrun(hooks())).chain(never_reported(served, sound)).collect();
        self.diagnostics.extend(findings);
    }
}

impl Assembly {
    /// A bus without foreign hooks, for all dialects.
    #[must_use]
    pub fn new(bus: Bus) -> Self {
        let outside = HandlerRuntime::new(Arc::new(HookWorkers::new(&bus)));
        Self {
            bus,
            project: None,
            outside,
            workers: Workers::default(),
            patience: MatcherBudget::default(),
            dialects: DIALECTS.to_vec(),
            managed: Managed::default(),
            last_good: None,
            limits: Mutex::default(),
            installing: AsyncMutex::default(),
        }
    }

    /// An assembly on the same bus for the hooks of one project alone, in all dialects: they hold for the sessions of its
    /// [scope](Self::scope), and share no worker, no handed-on variable, no job and no key with hooks of another place.
    ///
    /// ```
    /// use std::path::Path;
    ///
    /// use lineside::{Assembly, Bus};
    ///
    /// let of_user = Assembly::new(Bus::new());
    /// let of_project = of_user.of_project(Path::new("/home/me/project"));
    /// assert!(of_user.scope().is_none() && of_project.scope().is_some());
    /// ```
    #[must_use]
    pub fn of_project(&self, root: &Path) -> Self {
        let outside = HandlerRuntime {
            warm: Arc::new(HookWorkers::new(&self.bus)),
            exported: Arc::default(),
            ..self.outside.clone()
        };
        Self {
            bus: self.bus.clone(),
            project: Some(OfProject::new(root, self.bus.scope())),
            outside,
            workers: Workers::of(root, self.workers.log.clone()),
            patience: MatcherBudget::default(),
            dialects: DIALECTS.to_vec(),
            managed: self.managed.clone(),
            last_good: None,
            limits: Mutex::default(),
            installing: AsyncMutex::default(),
        }
    }

    /// The scope of the hooks of one project; `None` where the hooks hold for every session.
    #[must_use]
    pub fn scope(&self) -> Option<&Scope> {
        self.project.as_ref().map(|project| &project.scope)
    }

    /// Ends the workers of a project's hooks, of which none is in force any more. Not cancel safe: dropping it leaves
    /// workers to be killed with the process.
    pub async fn shut_down_workers(&self) {
        self.workers.end().await;
        self.outside.warm.end().await;
    }

    /// Loads hooks of these dialects only.
    ///
    /// ```
    /// use lineside::{Assembly, Bus, dialects};
    ///
    /// let native = dialects::find("native").expect("it is lineside's own format");
    /// let assembly = Assembly::new(Bus::new()).only([native]);
    /// assert!(assembly.bus().sessions().is_empty());
    /// ```
    #[must_use]
    pub fn only(mut self, dialects: impl IntoIterator<Item = &'static dyn Dialect>) -> Self {
        self.dialects = dialects.into_iter().collect();
        self
    }

    /// Sets where the hooks of the machine's administrator are; by default, in `/etc/lineside`.
    #[must_use]
    pub fn managed(mut self, managed: Managed) -> Self {
        self.managed = managed;
        self
    }

    /// Keeps the hooks that a file had when it was last read and was sound, while it is broken: for a process that reads
    /// files while people write them. Otherwise a load takes what is there, as the formats say (AH-6, CH-1, FL-47), and a
    /// guard that is broken stands closed.
    #[must_use]
    pub fn keeping_last_good(mut self) -> Self {
        self.last_good = Some(Mutex::default());
        self.workers.keep_sound = true;
        self
    }

    /// Hooks inherit this environment instead of that of the process.
    #[must_use]
    pub fn environment(mut self, environment: BTreeMap<String, String>) -> Self {
        self.outside.environment = Some(Arc::new(environment));
        self
    }

    /// Starts nothing outside this process, except hooks that declare that they only answer: the others answer
    /// `continue`, with [`NOT_RUN`](crate::NOT_RUN) as a remark, and no plugin is loaded.
    ///
    /// ```
    /// use lineside::dialects::{Places, Trust};
    /// use lineside::prelude::*;
    /// use lineside::{Assembly, NOT_RUN, dialects};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let home = tempfile::tempdir()?;
    /// std::fs::create_dir(home.path().join(".lineside"))?;
    /// std::fs::write(
    ///     home.path().join(".lineside/hooks.yaml"),
    ///     "hooks:\n- {name: guard, on: before_tool, command: exit 2}\n",
    /// )?;
    /// let places = Places {
    ///     environment: Default::default(),
    ///     project_root: Some(home.path().to_owned()),
    ///     cwd: home.path().to_owned(),
    ///     trust: Trust::Granted,
    /// };
    /// let native = dialects::find("native").expect("it is lineside's own format");
    /// let assembly = Assembly::new(Bus::new()).only([native]).without_effects();
    /// assembly.load(&places).await?;
    ///
    /// let session = assembly.bus().session("s1").open().await?;
    /// let decision = session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await?;
    /// let receipt = decision.receipt().expect("the guard was asked");
    /// assert!(!decision.is_refused() && receipt.remarks.iter().any(|by| by.what == NOT_RUN));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn without_effects(mut self) -> Self {
        self.outside.effects = Effects::Withheld;
        self
    }

    /// Keeps the processes of hooks together in this way; by default, that of [`Containment::new`].
    #[must_use]
    pub fn containment(mut self, containment: Containment) -> Self {
        self.outside.runner = Runner::contained(containment);
        self
    }

    /// Sets the function that receives what plugins log and print, for those of formats whose hooks are functions. It is called
    /// in the task of their worker and must not block; `tracing` hears the same.
    #[must_use]
    pub fn plugin_log(mut self, told: impl Fn(&PluginLine) + Send + Sync + 'static) -> Self {
        self.workers.log = Some(Arc::new(told));
        self
    }

    /// Sends the posts of hooks through this proxy. Only the user names it: no file of a project may choose it.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn proxy(mut self, proxy: Proxy) -> Self {
        self.outside.http = lineside_exec::HttpClient::new().through(proxy);
        self
    }

    /// The bus.
    #[must_use]
    pub fn bus(&self) -> &Bus {
        &self.bus
    }

    /// Everything that a load of these places reads, whether it is there or not.
    #[must_use]
    pub fn watched(&self, places: &Places) -> Vec<Watched> {
        let of = |dialect: &&dyn Dialect| {
            dialect.watched_of(&self.managed).into_iter().chain(dialect.watched(places)).collect::<Vec<_>>()
        };
        self.dialects.iter().flat_map(of).collect()
    }

    /// Reads the hook files of every dialect. Nothing is put in force.
    ///
    /// ```
    /// use std::path::PathBuf;
    ///
    /// use lineside::dialects::{Places, Trust};
    /// use lineside::{Assembly, Bus};
    ///
    /// let home = tempfile::tempdir()?;
    /// std::fs::create_dir(home.path().join(".lineside"))?;
    /// std::fs::write(home.path().join(".lineside/hooks.yaml"), "hooks:\n- {name: guard, on: befor_tool}\n")?;
    /// let places = Places {
    ///     environment: Default::default(),
    ///     project_root: Some(home.path().to_owned()),
    ///     cwd: PathBuf::from("/"),
    ///     trust: Trust::Granted,
    /// };
    /// let files = Assembly::new(Bus::new()).read(&places);
    /// let findings: Vec<String> = files.diagnostics().map(ToString::to_string).collect();
    /// assert!(findings.iter().any(|finding| finding.contains("before_tool")));
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[must_use]
    pub fn read(&self, places: &Places) -> HookFiles {
        let load = |dialect: &'static dyn Dialect| {
            let mut loaded = match &self.project {
                Some(_) => self.of_one_project(dialect, places),
                None => self.of_all_layers(dialect, places),
            };
            only_once(&mut loaded);
            (dialect, loaded)
        };
        let load_all = || self.dialects.iter().map(|dialect| load(*dialect)).collect::<Vec<_>>();
        let (loaded, compiled) = within(self.most_compiled(places), || sharing(load_all));
        #[cfg(feature = "hosts")]
        lineside_dialects::hosts::import::supersede(loaded.iter().map(|(_, loaded)| loaded));
        let inherit = inherited(places).unwrap_or_default();
        HookFiles { loaded, places: places.clone(), inherit, seal: None, compiled }
    }

    /// Reads the hook files of every dialect and [installs](Self::install) what they say.
    ///
    /// Cancel safe, as [`install`](Self::install).
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use std::time::Duration;
    /// use lineside::dialects::{Places, Trust};
    /// use lineside::{Assembly, Bus};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let project = tempfile::tempdir()?;
    /// std::fs::create_dir_all(project.path().join(".agents/hooks/guard"))?;
    /// std::fs::write(
    ///     project.path().join(".agents/hooks/guard/HOOK.md"),
    ///     "---\nname: guard\ndescription: Refuses all.\ntrigger: before_tool\n---\n",
    /// )?;
    /// let places = Places {
    ///     environment: BTreeMap::new(),
    ///     project_root: Some(project.path().to_owned()),
    ///     cwd: project.path().to_owned(),
    ///     trust: Trust::Granted,
    /// };
    /// let assembly = Assembly::new(Bus::new());
    /// let report = assembly.load(&places).await?;
    /// for diagnostic in &report.diagnostics {
    ///     println!("{diagnostic}");
    /// }
    /// assembly.drain(Duration::from_secs(5)).await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`install`](Self::install).
    pub async fn load(&self, places: &Places) -> Result<LoadReport, RegisterHookError> {
        self.install(self.read(places)).await
    }

    /// Puts hooks in the place of those that were installed before, all dialects at once. Events under way end with the
    /// hooks that they began with, and workers that no hook uses end after these. Starts the workers of formats whose hooks are functions.
    ///
    /// With [`keeping_last_good`](Self::keeping_last_good), a file that is broken, and was not when it was last read, keeps
    /// the hooks that it had then; the report has a finding about it. Plugins that share a worker are kept as one.
    ///
    /// What the hooks run without being waited for are jobs of the bus's automations. If these have a journal by now, the
    /// jobs are accepted on record, and taken up again in another life of the process, when its session is open and has
    /// the hook from the same line of the same file, and nothing in that file has changed. Without one they end with
    /// their session.
    ///
    /// Calls wait for one another. Cancel safe: when the future is dropped, all hooks of the files are in force or those
    /// before are. Workers that were started for nothing end with the next load.
    ///
    /// # Errors
    /// An interceptor at a fact, which no dialect gives.
    pub async fn install(&self, files: HookFiles) -> Result<LoadReport, RegisterHookError> {
        let HookFiles { places, mut loaded, inherit, seal, .. } = files;
        if let Some(project) = &self.project {
            loaded.iter_mut().for_each(|(_, loaded)| keep_keys_within(&project.root, loaded));
        }
        let _one_at_a_time = self.installing.lock().await;
        // What has to be waited for comes first: no caller leaves between the first registration and the last.
        let (mut prepared, ground) = (Vec::with_capacity(loaded.len()), Arc::new(Ground::of(&places)));
        for (dialect, mut loaded) in loaded {
            // Hooks of lineside's own file have it already, unless they say otherwise.
            let inherit = if dialect.name() == NATIVE { Inherit::All } else { inherit.clone() };
            let ground = Some(Arc::clone(&ground));
            let seal = seal.clone();
            if self.outside.effects == Effects::Withheld && loaded.plugins.take().is_some() {
                let text =
                    format!("the plugins of {} are not loaded, because that runs them", dialect.name());
                loaded.diagnostics.push(Diagnostic::warning(None, text));
            }
            let mut outside = HandlerRuntime { inherit, ground, seal, ..self.outside.clone() };
            let worker = self.workers.load(dialect.name(), &mut loaded, &outside, &self.bus).await;
            outside.worker = worker.or(outside.worker);
            prepared.push(Prepared { dialect, loaded, outside });
        }
        self.put_in_force(&places, prepared)
    }

    /// Binds what a dialect has found to what runs it. Nothing of it is in force yet.
    fn bind(&self, prepared: Prepared, places: &Places, automations: &mut Option<Automations>) -> Bound {
        let Prepared { dialect, mut loaded, outside } = prepared;
        if let Some(last_good) = self.last_good.as_ref().filter(|_| outside.worker.is_none()) {
            last_good.lock().unwrap_or_else(PoisonError::into_inner).keep(dialect.name(), &mut loaded);
        }
        self.limits.lock().unwrap_or_else(PoisonError::into_inner).go_on(dialect.name(), &loaded);
        if let Some(ground) = &outside.ground {
            refuse_programs_of_projects(ground, &mut loaded);
        }
        let log = loaded.log.take().map(|target| Arc::new(DebugLog::to(target)));
        let binder = Binder {
            bus: &self.bus,
            places,
            outside,
            patience: &self.patience,
            automations,
            log,
            contents: Contents::default(),
        };
        binder.bind(dialect.name(), loaded)
    }

    /// Puts the hooks of all dialects in force in one step.
    fn put_in_force(
        &self,
        places: &Places,
        prepared: Vec<Prepared>,
    ) -> Result<LoadReport, RegisterHookError> {
        let tightenings: Vec<(&'static str, Tightening)> = prepared
            .iter()
            .flat_map(|prepared| {
                let asked = prepared.loaded.tightenings.iter().cloned();
                asked.map(|asked| (prepared.dialect.name(), asked))
            })
            .collect();
        let served = prepared.iter().filter_map(|prepared| prepared.loaded.served);
        let served: Vec<&str> = served.chain(served_without_format(places)).collect();
        let mut automations =
            self.bus.kept_extension::<Automations>().map(|automations| (*automations).clone());
        let bound = prepared.into_iter().map(|prepared| self.bind(prepared, places, &mut automations));
        let mut bound: Vec<Bound> = bound.collect();
        let workers: Vec<HookWorker> =
            bound.iter_mut().flat_map(|bound| std::mem::take(&mut bound.workers)).collect();
        let ahead = if self.outside.effects == Effects::Run { &*workers } else { &[] };
        self.outside.warm.stand_by(ahead, self.outside.runner.containment());
        let installed = bound.iter_mut().map(|bound| (bound.dialect, std::mem::take(&mut bound.installed)));
        let installed = installed.collect::<Vec<_>>();
        match &self.project {
            Some(project) => project.scope.install_and_tighten(installed, asked_of(&tightenings))?,
            None => self.bus.install_all(installed)?,
        }
        self.outside.warm.keep_only(&workers);
        let mut report = LoadReport { tightenings, ..LoadReport::default() };
        for Bound { dialect, automated, adopted, found, diagnostics, inert, .. } in bound {
            if let Some(automations) = &automations {
                let source = self.project.as_ref().map(|project| project.source(dialect));
                let source = source.as_deref().unwrap_or(dialect);
                automated.declared(automations, source);
                automations.hook_jobs().replaced(&self.bus, source, &adopted);
            }
            report.add(dialect, found, diagnostics, inert);
        }
        report.judge(&served);
        Ok(report)
    }

    /// Shuts the bus down, then waits until every process that was started has ended and everything is on record that
    /// has become of jobs.
    ///
    /// Cancel safe, as [`Bus::drain`].
    pub async fn drain(&self, limit: Duration) -> DrainReport {
        let report = self.bus.drain(limit).await;
        self.workers.end().await;
        self.outside.warm.end().await;
        self.outside.runner.drain().await;
        self.outside.http.drain();
        if let Some(automations) = self.bus.kept_extension::<Automations>() {
            // What cannot be kept was reported when that failed.
            automations.kept().await.ok();
        }
        report
    }
}

#[cfg(test)]
mod tests;
