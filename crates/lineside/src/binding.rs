//! The binding of hooks that a dialect has found to what runs them: interceptors, jobs and automations that can be
//! installed. Nothing is in force here, and nothing is started.

use std::path::Path;
use std::sync::Arc;

use lineside_automation::engine::OpenError;
use lineside_automation::{Automations, HookJobs, Recording};
use lineside_bus::{Bus, Installed};
use lineside_core::hook::Standby;
use lineside_core::invocation::{Environment, Program};
use lineside_core::worker::HookWorker;
use lineside_core::{Diagnostic, Layer, SkipReason};
use lineside_dialects::{Automation, ForeignHook, Inert, Loaded, Places, Start};
use lineside_exec::{FindProgramError, look_for};

use crate::assembly::{LoadedHook, State};
use crate::automated::{Automated, DeclaredHook, place_of};
use crate::content::Contents;
use crate::debug_log::DebugLog;
use crate::foreign::{Foreign, is_background, runs_in_a_set};
use crate::handler_runtime::HandlerRuntime;
use crate::matcher_budget::MatcherBudget;
use crate::missing::missing;
use crate::safe_path::exposed;
use crate::sealed_program;

/// What the hooks of one dialect are bound to.
pub(crate) struct Binder<'a> {
    pub(crate) bus: &'a Bus,
    pub(crate) places: &'a Places,
    pub(crate) outside: HandlerRuntime,
    pub(crate) patience: &'a MatcherBudget,
    /// The automations of the bus, made for the first hook whose runs are jobs.
    pub(crate) automations: &'a mut Option<Automations>,
    pub(crate) log: Option<Arc<DebugLog>>,
    pub(crate) contents: Contents,
}

/// The hooks of one dialect, not in force yet.
pub(crate) struct Bound {
    pub(crate) dialect: &'static str,
    pub(crate) installed: Vec<Installed>,
    pub(crate) automated: Automated,
    /// Those whose runs are jobs.
    pub(crate) adopted: Vec<Arc<HookJobs>>,
    /// Numbered from 1.
    pub(crate) found: Vec<LoadedHook>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) inert: Vec<Inert>,
    /// The workers that hooks name.
    pub(crate) workers: Vec<HookWorker>,
}

/// What was found, as it is listed: the same for all points of a hook.
#[derive(Clone, Copy)]
struct Listed {
    number: usize,
    state: State,
}

impl Binder<'_> {
    /// Binds all hooks of a load.
    pub(crate) fn bind(mut self, dialect: &'static str, loaded: Loaded) -> Bound {
        let mut bound = Bound {
            dialect,
            installed: Vec::new(),
            automated: Automated::default(),
            adopted: Vec::new(),
            found: Vec::new(),
            diagnostics: Vec::new(),
            inert: Vec::new(),
            workers: Vec::new(),
        };
        let (mut last, mut number, mut wrong) = (None, 0, None);
        for mut found in loaded.hooks {
            found.hook.select = found.hook.select.map(|select| self.patience.over(select));
            // A format may bind one hook to several events, each binding by itself.
            let declared = (Arc::clone(&found.hook.name), found.hook.origin.clone());
            if last.as_ref() != Some(&declared) {
                number += 1;
                last = Some(declared);
                wrong = self.wrong(&found, &mut bound.diagnostics);
            }
            bound.workers.extend(self.worker(&found));
            let listed = Listed { number, state: state(&found, wrong) };
            match found.automation.take() {
                Some(automation) => self.automation(&found, &automation, listed, &mut bound),
                None => self.hook(found, listed, &mut bound),
            }
        }
        bound.installed.extend(loaded.inert.iter().flat_map(|inert| missing(dialect, inert)));
        bound.diagnostics.extend(loaded.diagnostics);
        bound.inert.extend(loaded.inert);
        bound
    }

    /// The worker that a hook names, if it can run.
    fn worker(&self, found: &ForeignHook) -> Option<HookWorker> {
        let is_ready = found.hook.standby == Standby::Ready;
        let mut worker = is_ready.then(|| found.handler.worker(self.places.work_dir())).flatten()?;
        let outside = self.outside.clone().of(&found.hook);
        // One that cannot be started here is refused when it is called.
        outside.seal_worker(&mut worker).ok()?;
        outside.rebase_worker(&mut worker);
        Some(worker)
    }

    /// Binds a hook that its file declares as an automation.
    fn automation(
        &mut self,
        found: &ForeignHook,
        automation: &Automation,
        listed: Listed,
        bound: &mut Bound,
    ) {
        let automations = match self.automations() {
            Ok(automations) => automations,
            Err(error) => return bound.diagnostics.push(unbound(found, &error)),
        };
        let kept = automations.has_journal();
        let declared =
            bound.automated.declare(&place_of(&found.hook), &automations, found, automation, &self.outside);
        let Listed { number, state } = listed;
        for DeclaredHook { installed, trigger, control } in declared {
            let (hook, point) = (installed.hook.clone(), installed.point.name);
            bound.found.push(LoadedHook { number, hook, point, trigger, state, kept, control, says: None });
            bound.installed.push(installed);
        }
    }

    /// Binds any other hook, at each of its points.
    fn hook(&mut self, found: ForeignHook, listed: Listed, bound: &mut Bound) {
        let mut run = Foreign::new(&found, self.outside.clone(), self.log.clone());
        if is_background(&found.hook) && !runs_in_a_set(&found.hook, &self.outside) {
            let known = self.contents.id_of(&found);
            match self.automations() {
                Ok(automations) => run = run.adopted(&found, &automations.hook_jobs(), known),
                Err(error) => return bound.diagnostics.push(unbound(&found, &error)),
            }
        }
        bound.adopted.extend(run.as_adopted().cloned());
        let Listed { number, state } = listed;
        let kept = run.as_adopted().is_some_and(|adopted| adopted.recording() == Recording::Journal);
        let run = Arc::new(run);
        let apart = found.apart.then(|| found.listed_apart());
        let says = found.handler.says();
        for point in found.points {
            if let Some(row) = &apart {
                bound.inert.push(Inert { point: Some(point), ..row.clone() });
                bound.installed.push(Installed {
                    point,
                    hook: found.hook.clone(),
                    run: Arc::clone(&run) as _,
                });
                continue;
            }
            let (hook, trigger) = (found.hook.clone(), found.trigger.clone());
            bound.installed.push(Installed { point, hook: hook.clone(), run: Arc::clone(&run) as _ });
            bound.found.push(LoadedHook {
                number,
                hook,
                point: point.name,
                trigger,
                state,
                kept,
                control: None,
                says,
            });
        }
    }

    /// The automations of the bus.
    fn automations(&mut self) -> Result<Automations, OpenError> {
        match &self.automations {
            Some(automations) => Ok(automations.clone()),
            None => Ok(self.automations.insert(Automations::of(self.bus)?).clone()),
        }
    }

    /// Why what the hook starts is not run, if that is known already, with a finding where its format has none.
    fn wrong(&self, found: &ForeignHook, findings: &mut Vec<Diagnostic>) -> Option<State> {
        if found.hook.standby != Standby::Ready || found.closed {
            return None;
        }
        match found.handler.start(self.places.work_dir()) {
            None | Some(Start::Post(_)) => None,
            Some(Start::Missing) => Some(State::ProgramMissing),
            Some(Start::Program { program, mut environment, working_directory }) => {
                self.outside.rebase(&mut environment);
                let is_of_project = found.hook.layer == Layer::Project;
                if let Some(interpreter) = exposed(&program).filter(|_| !is_of_project) {
                    let text = format!(
                        "hook \"{}\" hands {interpreter} its program as text, which may take modules from the project that an \
                         event is about; write it as a file outside of projects and name that by its absolute path",
                        found.hook.name
                    );
                    findings.push(Diagnostic::warning(found.hook.origin.clone(), text));
                }
                let Err(error) = look_for(&program, &environment, &working_directory) else {
                    return self.unsealed(found, program, &environment, &working_directory, findings);
                };
                let remedy = match &error {
                    FindProgramError::Denied { path } | FindProgramError::NotExecutable { path } => {
                        format!("it may have to be made executable: chmod +x {}", path.display())
                    }
                    FindProgramError::NoInterpreter { .. } => "correct the first line of the file".to_owned(),
                    FindProgramError::NoFirstLine { path } => {
                        format!("write that line, or have a shell run it: command: [sh, {}]", path.display())
                    }
                    _ => "install it or correct the hook".to_owned(),
                };
                let (name, origin) = (&found.hook.name, found.hook.origin.clone());
                findings.push(if found.hook.required {
                    let what = "is required and cannot run, so that its events are refused";
                    Diagnostic::error(origin, format!("hook \"{name}\" {what}: {error}; {remedy}"))
                } else if found.hook.part.is_gate() && !found.hook.is_shadow() {
                    // A policy that does not hold.
                    Diagnostic::error(origin, format!("hook \"{name}\": {error}; {remedy}"))
                } else {
                    Diagnostic::warning(origin, format!("hook \"{name}\": {error}; {remedy}"))
                });
                Some(State::ProgramMissing)
            }
        }
    }

    /// Whether the hook is of a trusted project and may start what was not trusted.
    fn unsealed(
        &self,
        found: &ForeignHook,
        program: Program,
        environment: &Environment,
        folder: &Path,
        findings: &mut Vec<Diagnostic>,
    ) -> Option<State> {
        let HandlerRuntime { seal, ground, .. } = &self.outside;
        let is_of_project = ground.as_ref().is_some_and(|ground| ground.declares(&found.hook));
        let seal = seal.as_ref().filter(|_| is_of_project)?;
        let inherited = |name: &str| self.outside.inherited(environment, name);
        let why = sealed_program::look(seal, program, (environment, Some(&inherited)), Some(folder)).err()?;
        let text = format!("hook \"{}\" is not run: {why}", found.hook.name);
        findings.push(Diagnostic::error(found.hook.origin.clone(), text));
        Some(State::NotSealed)
    }
}

/// Says that nothing can run a hook in the background.
fn unbound(found: &ForeignHook, error: &OpenError) -> Diagnostic {
    Diagnostic::error(found.hook.origin.clone(), format!("hook \"{}\": {error}", found.hook.name))
}

/// Whether a hook can run.
fn state(found: &ForeignHook, wrong: Option<State>) -> State {
    match &found.hook.standby {
        Standby::Ready if found.closed => State::Closed,
        Standby::Ready if !found.can_fire => State::NeverFires,
        Standby::Ready => wrong.unwrap_or(State::Ready),
        Standby::Off(why) => State::Off(*why),
        Standby::NotLoaded(_) => State::Off(SkipReason::NotLoaded),
    }
}
