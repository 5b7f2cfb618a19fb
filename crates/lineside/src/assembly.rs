//! A bus with the hooks that people have written for other programs: found, installed, listed, reloaded.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lineside_automation::{Adopted, Automations, Keys};
use lineside_bus::register::RegisterHookError;
use lineside_bus::{Bus, DrainReport, Installed};
use lineside_core::control::Control;
use lineside_core::hook::{Hook, Standby};
use lineside_core::worker::{HookWorker, WorkerStart};
use lineside_core::{Diagnostic, Layer, Severity, SkipReason};
use lineside_dialects::hosts::import::supersede;
use lineside_dialects::hosts::never_reported;
use lineside_dialects::{
    DIALECTS, Dialect, ForeignHook, Inert, Loaded, Places, Start, Watched, exposed, outrun,
    refuse_programs_of_projects,
};
#[cfg(feature = "http")]
use lineside_exec::Proxy;
use lineside_exec::{Containment, HttpClient, Runner, look_for};

use crate::automated::{Automated, DeclaredHook};
use crate::content::Contents;
use crate::debug_log::DebugLog;
use crate::foreign::Foreign;
use crate::last_good::LastGood;
use crate::missing::missing;
use crate::outside::Outside;
use crate::patience::Patience;
use crate::workers::{HookWorkers, PluginLine, Replaced, Workers};

/// A bus, and the foreign hooks installed on it.
pub struct Assembly {
    bus: Bus,
    pub(crate) outside: Outside,
    pub(crate) keys: Keys,
    workers: Workers,
    patience: Patience,
    dialects: Vec<&'static dyn Dialect>,
    last_good: Mutex<LastGood>,
}

/// What the hook files of each dialect said when they were read.
pub struct HookFiles {
    places: Places,
    loaded: Vec<(&'static dyn Dialect, Loaded)>,
}

impl std::fmt::Debug for HookFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HookFiles").field("places", &self.places).finish_non_exhaustive()
    }
}

/// One hook that was found, at one of its points.
#[derive(Debug, Clone)]
pub struct Found {
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
}

/// Whether a hook that was found can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It can.
    Ready,
    /// It is listed and never started.
    Off(SkipReason),
    /// There is no event for which its own condition holds.
    NeverFires,
    /// It is a guard that cannot load, and refuses every event that it may have judged until it is repaired.
    Closed,
    /// What it starts is not there; each run fails until it is.
    ProgramMissing,
}

impl State {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Off(why) => why.as_str(),
            Self::NeverFires => "never fires here",
            Self::Closed => "closed",
            Self::ProgramMissing => "program missing",
        }
    }
}

/// What a load found.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The hooks of each dialect, in the order in which they would run for their point.
    pub hooks: Vec<Found>,
    /// What was wrong.
    pub diagnostics: Vec<Diagnostic>,
    /// What was found and is no hook that runs, with the name of its dialect.
    pub inert: Vec<(&'static str, Inert)>,
}

/// What a load gathers over all dialects.
#[derive(Default)]
struct Load {
    report: Report,
    /// The workers that hooks name.
    warm: Vec<HookWorker>,
    /// How many hooks there were.
    number: usize,
}

/// The hooks of one dialect, not in force yet.
struct Prepared {
    dialect: &'static str,
    installed: Vec<Installed>,
    automated: Automated,
    kept: Vec<Adopted>,
    replaced: Replaced,
}

impl Assembly {
    /// A bus without foreign hooks, for all dialects.
    #[must_use]
    pub fn new(bus: Bus) -> Self {
        let outside = Outside {
            runner: Runner::new(),
            http: HttpClient::new(),
            environment: None,
            worker: None,
            warm: Arc::new(HookWorkers::new(&bus)),
            exported: Arc::default(),
        };
        Self {
            bus,
            outside,
            keys: Keys::default(),
            workers: Workers::default(),
            patience: Patience::default(),
            dialects: DIALECTS.to_vec(),
            last_good: Mutex::default(),
        }
    }

    /// Only these dialects.
    #[must_use]
    pub fn only(mut self, dialects: impl IntoIterator<Item = &'static dyn Dialect>) -> Self {
        self.dialects = dialects.into_iter().collect();
        self
    }

    /// Hooks inherit this environment instead of that of the process.
    #[must_use]
    pub fn environment(mut self, environment: BTreeMap<String, String>) -> Self {
        self.outside.environment = Some(Arc::new(environment));
        self
    }

    /// Keeps the processes of hooks together in this way; by default, that of [`Containment::new`].
    #[must_use]
    pub fn contained(mut self, containment: Containment) -> Self {
        self.outside.runner = Runner::contained(containment);
        self
    }

    /// This function is told what plugins log and print, for those of formats whose hooks are functions. It is called
    /// in the task of their worker and must not block; `tracing` hears the same.
    #[must_use]
    pub fn plugin_log(mut self, told: impl Fn(&PluginLine) + Send + Sync + 'static) -> Self {
        self.workers.log = Some(Arc::new(told));
        self
    }

    /// Posts of hooks go through this proxy. It is for the user to name: nothing that a project says may choose it.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn proxied(mut self, proxy: Proxy) -> Self {
        self.outside.http = HttpClient::new().through(proxy);
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
        self.dialects.iter().flat_map(|dialect| dialect.watched(places)).collect()
    }

    /// Reads the hook files of every dialect. Nothing is put in force.
    #[must_use]
    pub fn read(&self, places: &Places) -> HookFiles {
        let loaded = self.dialects.iter().map(|dialect| (*dialect, dialect.load(places)));
        let loaded: Vec<_> = loaded.collect();
        supersede(loaded.iter().map(|(_, loaded)| loaded));
        HookFiles { loaded, places: places.clone() }
    }

    /// Reads the hook files of every dialect and [installs](Self::install) what they say.
    ///
    /// Not cancel safe, as [`install`](Self::install).
    ///
    /// # Errors
    /// More hooks at one point than can be numbered.
    pub async fn load(&self, places: &Places) -> Result<Report, RegisterHookError> {
        self.install(self.read(places)).await
    }

    /// Puts hooks in the place of those that were installed before, all dialects at once. Events under way end with the
    /// hooks that they began with. Starts the workers of formats whose hooks are functions.
    ///
    /// A file that is broken, and was not when it was last read, keeps the hooks that it had then; the report has a
    /// finding about it. Plugins that share a worker are kept as one.
    ///
    /// If the bus has automations with a journal by now, what the hooks run without being waited for are jobs of theirs:
    /// accepted on record, and taken up again in another life of the process, when its session is open and has the hook
    /// from the same line of the same file, and nothing in that file has changed.
    ///
    /// One call at a time. Not cancel safe: a dropped call may have started workers that no hook names.
    ///
    /// # Errors
    /// More hooks at one point than can be numbered.
    pub async fn install(&self, files: HookFiles) -> Result<Report, RegisterHookError> {
        let HookFiles { places, loaded } = files;
        let mut load = Load::default();
        let mut dialects = Vec::new();
        let served: Vec<&str> = loaded.iter().filter_map(|(_, loaded)| loaded.served).collect();
        for (dialect, loaded) in loaded {
            dialects.push(self.prepare(dialect, loaded, &places, &mut load).await);
        }
        let installed =
            dialects.iter_mut().map(|prepared| (prepared.dialect, std::mem::take(&mut prepared.installed)));
        self.bus.install_all(installed.collect::<Vec<_>>())?;
        let adoptions = Automations::adoptions(&self.bus);
        for Prepared { dialect, automated, kept, replaced, .. } in dialects {
            automated.declared(&self.bus, dialect);
            if let Some(adoptions) = &adoptions {
                adoptions.replaced(&self.bus, dialect, &kept);
            }
            replaced.end().await;
        }
        let Load { mut report, warm, .. } = load;
        let origins = report.hooks.iter().filter(|found| found.hook.layer == Layer::Project);
        let files = origins.filter(|found| found.state != State::Off(SkipReason::Untrusted));
        let files = files.filter_map(|found| Some(found.hook.origin.as_ref()?.file.as_path()));
        report.diagnostics.extend(exposed(files));
        let hooks = || report.hooks.iter().map(|found| (&found.hook, found.point));
        let further = outrun(hooks()).into_iter().chain(never_reported(&served, hooks()));
        let further: Vec<Diagnostic> = further.collect();
        report.diagnostics.extend(further);
        self.outside.warm.keep_only(&warm);
        for worker in warm.into_iter().filter(|worker| worker.start == WorkerStart::Ahead) {
            drop(self.outside.warm.of(worker, self.outside.runner.containment()));
        }
        Ok(report)
    }

    /// Makes hooks that can be installed of what a dialect has found.
    async fn prepare(
        &self,
        dialect: &'static dyn Dialect,
        mut loaded: Loaded,
        places: &Places,
        load: &mut Load,
    ) -> Prepared {
        let adoptions = Automations::adoptions(&self.bus);
        let Load { report, warm, number } = load;
        let mut outside = self.outside.clone();
        let (worker, replaced) = self.workers.load(dialect.name(), &mut loaded, &outside, &self.bus).await;
        outside.worker = worker.or(outside.worker);
        if outside.worker.is_none() {
            self.last_good.lock().unwrap_or_else(PoisonError::into_inner).keep(dialect.name(), &mut loaded);
        }
        refuse_programs_of_projects(places.trust, &mut loaded);
        let log = loaded.log.map(|target| Arc::new(DebugLog::to(target)));
        let mut installed = Vec::new();
        let (mut last, mut missing_program) = (None, false);
        let (mut contents, mut kept) = (Contents::default(), Vec::new());
        let mut automated = Automated::default();
        for mut found in loaded.hooks {
            found.hook.select = found.hook.select.map(|select| self.patience.over(select));
            // A format may bind one hook to several events, each binding by itself.
            let declared = (Arc::clone(&found.hook.name), found.hook.origin.clone());
            if last.as_ref() != Some(&declared) {
                *number += 1;
                last = Some(declared);
                missing_program = self.misses_program(&found, places, &mut report.diagnostics);
            }
            if found.hook.standby == Standby::Ready
                && let Some(mut worker) = found.handler.worker(places.work_dir())
            {
                outside.rebase_worker(&mut worker);
                warm.push(worker);
            }
            let state = match &found.hook.standby {
                Standby::Ready if found.closed => State::Closed,
                Standby::Ready if !found.can_fire => State::NeverFires,
                Standby::Ready if missing_program => State::ProgramMissing,
                Standby::Ready => State::Ready,
                Standby::Off(why) => State::Off(*why),
                Standby::NotLoaded(_) => State::Off(SkipReason::NotLoaded),
            };
            if let Some(automation) = found.automation.take() {
                match automated.declare(&self.bus, &found, &automation, &outside) {
                    Ok(hooks) => {
                        for DeclaredHook { installed: one, trigger, control } in hooks {
                            let (hook, point) = (one.hook.clone(), one.point.name);
                            let kept = adoptions.is_some();
                            report.hooks.push(Found {
                                number: *number,
                                hook,
                                point,
                                trigger,
                                state,
                                kept,
                                control,
                            });
                            installed.push(one);
                        }
                    }
                    Err(error) => report.diagnostics.push(Diagnostic {
                        severity: Severity::Error,
                        origin: found.hook.origin.clone(),
                        text: format!("hook \"{}\": {error}", found.hook.name),
                    }),
                }
                continue;
            }
            let mut run = Foreign::new(&found, outside.clone(), self.keys.clone(), log.clone());
            // What a plugin remembers ends with its process, and its functions are called in the order of their
            // format: a record of a call would help nobody and hold up the next one.
            if let Some(adoptions) = adoptions.as_ref().filter(|_| outside.worker.is_none())
                && let Some(id) = contents.id_of(&found)
            {
                run = run.kept(&found, adoptions, id);
            }
            kept.extend(run.adopted().cloned());
            let is_kept = run.adopted().is_some();
            let run = Arc::new(run);
            let apart = found.apart.then(|| found.listed_apart());
            for point in found.points {
                if let Some(row) = &apart {
                    report.inert.push((dialect.name(), Inert { point: Some(point), ..row.clone() }));
                    installed.push(Installed { point, hook: found.hook.clone(), run: Arc::clone(&run) as _ });
                    continue;
                }
                let (hook, trigger) = (found.hook.clone(), found.trigger.clone());
                let found = Found {
                    number: *number,
                    hook: hook.clone(),
                    point: point.name,
                    trigger,
                    state,
                    kept: is_kept,
                    control: None,
                };
                report.hooks.push(found);
                installed.push(Installed { point, hook, run: Arc::clone(&run) as _ });
            }
        }
        installed.extend(loaded.inert.iter().flat_map(|inert| missing(dialect.name(), inert)));
        report.diagnostics.extend(loaded.diagnostics);
        report.inert.extend(loaded.inert.into_iter().map(|inert| (dialect.name(), inert)));
        Prepared { dialect: dialect.name(), installed, automated, kept, replaced }
    }

    /// Whether what the hook starts is not there, with a finding where its format has none.
    fn misses_program(&self, found: &ForeignHook, places: &Places, findings: &mut Vec<Diagnostic>) -> bool {
        if found.hook.standby != Standby::Ready || found.closed {
            return false;
        }
        match found.handler.start(places.work_dir()) {
            None => false,
            Some(Start::Missing) => true,
            Some(Start::Program { program, mut environment, working_directory }) => {
                self.outside.rebase(&mut environment);
                let Err(error) = look_for(&program, &environment, &working_directory) else { return false };
                findings.push(Diagnostic {
                    severity: Severity::Warning,
                    origin: found.hook.origin.clone(),
                    text: format!("hook \"{}\": {error}; install it or correct the hook", found.hook.name),
                });
                true
            }
        }
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
            // What cannot be kept was told of when it could not.
            automations.kept().await.ok();
        }
        report
    }
}
