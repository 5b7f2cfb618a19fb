//! Whatever a hook may have run outside this process, behind one call.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lineside_core::failure::FailureKind;
use lineside_core::invocation::{Ended, Environment, Exit, Inherit, Program};
use lineside_core::propagation::TRACEPARENT;
use lineside_core::worker::{HookWorker, WorkerEnded, WorkerReach};
use lineside_core::{AnyEvent, Failure, Hook, Propagation, UntilOver};
use lineside_dialects::{Call, Ground, Returned};
use lineside_exec::{HttpClient, Runner, Worker};
use tokio::time::Instant;

use crate::exported::Exported;
use crate::safe_path;
use crate::seal::Seal;
use crate::sealed_program;
use crate::started::Inherited;
use crate::workers::HookWorkers;

/// Whether hooks start something outside this process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Effects {
    /// They do.
    #[default]
    Run,
    /// Those alone that say that they do nothing but answer. The others answer `continue`, with [`NOT_RUN`] as a remark.
    Withheld,
}

/// What the receipt remarks of a hook that was not run because its effects are withheld.
pub const NOT_RUN: &str = "not run: it may do more than answer";

/// Runs calls.
#[derive(Clone)]
pub(crate) struct HandlerRuntime {
    pub(crate) runner: Runner,
    pub(crate) http: HttpClient,
    /// What hooks inherit instead of the environment of this process.
    pub(crate) environment: Option<Arc<BTreeMap<String, String>>>,
    /// What those inherit of it that would inherit everything.
    pub(crate) inherit: Inherit,
    /// Where hooks that are functions live.
    pub(crate) worker: Option<Worker>,
    /// The workers that hooks name.
    pub(crate) warm: Arc<HookWorkers>,
    /// What hooks hand on to later hooks of their session.
    pub(crate) exported: Arc<Exported>,
    /// The project in which what hooks name by a relative path is started.
    pub(crate) ground: Option<Arc<Ground>>,
    /// What was trusted of a project, without which nothing of it is started.
    pub(crate) seal: Option<Arc<Seal>>,
    /// Whether anything is started at all.
    pub(crate) effects: Effects,
}

impl HandlerRuntime {
    /// On no project's ground, with what this process has: hooks inherit its environment, and their warm workers are these.
    pub(crate) fn new(warm: Arc<HookWorkers>) -> Self {
        Self {
            runner: Runner::new(),
            http: HttpClient::new(),
            environment: None,
            inherit: Inherit::All,
            worker: None,
            warm,
            exported: Arc::default(),
            ground: None,
            seal: None,
            effects: Effects::Run,
        }
    }

    /// The same for a hook, which stands on the ground of its file's project alone, and what was trusted of another one is
    /// nothing to it.
    pub(crate) fn of(mut self, hook: &Hook) -> Self {
        self.ground = self.ground.filter(|ground| ground.declares(hook));
        self.seal = self.seal.filter(|_| self.ground.is_some());
        self
    }

    /// The same for a hook that does nothing but answer, if it is.
    pub(crate) fn pure(mut self, is_pure: bool) -> Self {
        if is_pure {
            self.effects = Effects::Run;
        }
        self
    }

    /// Whether this is not started.
    pub(crate) fn withholds(&self, call: &Call) -> bool {
        self.effects == Effects::Withheld && *call != Call::Nothing
    }

    /// What a hook runs for an event.
    pub(crate) fn prepare(
        &self,
        event: &AnyEvent,
        prepare: impl Fn(&AnyEvent) -> Result<Call, Failure>,
    ) -> Result<Call, Failure> {
        if let Some(seal) = &self.seal {
            seal.check().map_err(|why| Failure::not_started(FailureKind::Spawn, why))?;
        }
        let mut call = match &self.ground {
            Some(ground) => ground.prepare(event, prepare),
            None => prepare(event),
        }?;
        match &mut call {
            Call::Command(invocation) => {
                self.guard_python(&invocation.program, &mut invocation.environment);
                let folder = invocation.working_directory.as_deref();
                // Names of files that are there for one run are known when they are.
                let is_whole = invocation.files.is_empty();
                self.seal(&mut invocation.program, &invocation.environment, folder, is_whole)?;
            }
            Call::Warm(worker, _) => self.seal_worker(worker)?,
            Call::Worker(_) | Call::Post(_) | Call::Nothing => {}
        }
        Ok(call)
    }

    /// Has the program of a worker that we start be the copy of what was trusted.
    ///
    /// # Errors
    /// As for a hook that is started for an event.
    pub(crate) fn seal_worker(&self, worker: &mut HookWorker) -> Result<(), Failure> {
        match &mut worker.reach {
            WorkerReach::Program { program, environment, working_directory } => {
                self.seal(program, environment, working_directory.as_deref(), true)
            }
            _ => Ok(()),
        }
    }

    /// Has a program be the copy of what was trusted.
    fn seal(
        &self,
        program: &mut Program,
        environment: &Environment,
        folder: Option<&Path>,
        is_whole: bool,
    ) -> Result<(), Failure> {
        let Some(seal) = &self.seal else { return Ok(()) };
        let inherited = |name: &str| self.inherited(environment, name);
        let inherited = is_whole.then_some(&inherited as Inherited<'_>);
        let sealed = sealed_program::seal(seal, program, (environment, inherited), folder);
        sealed.map_err(|why| Failure::not_started(FailureKind::Spawn, format!("it is not run: {why}")))
    }

    /// The value that a program with this environment inherits here by a name.
    pub(crate) fn inherited(&self, environment: &Environment, name: &str) -> Option<String> {
        let mut own = Environment { set: Vec::new(), ..environment.clone() };
        if own.inherit == Inherit::All {
            own.inherit = self.inherit.clone();
        }
        match &self.environment {
            Some(base) => base.get(name).filter(|_| inherits(&own, name)).cloned(),
            None => {
                lineside_exec::inherited(&own, OsStr::new(name)).and_then(|value| value.into_string().ok())
            }
        }
    }

    /// That what a line may have run of the project was what was trusted, also at its end.
    fn still(&self, program: &Program, ended: Ended) -> Ended {
        let Some(seal) = self.seal.as_ref().filter(|seal| sealed_program::is_partial(seal, program)) else {
            return ended;
        };
        match seal.check() {
            Ok(()) => ended,
            Err(why) => Ended { exit: Exit::NotStarted { why }, ..ended },
        }
    }

    /// Runs a call to its end, at the latest until the deadline. What it runs begins when `begins` has ended, which is
    /// awaited when it has its turn. What it starts inherits the propagation. `until_over` is dropped when all of it has
    /// ended, also where the future is dropped before; what a post has begun elsewhere is not known here.
    pub(crate) async fn run<T>(
        &self,
        call: Call,
        deadline: Instant,
        begins: impl Future<Output = T>,
        propagation: Option<Propagation>,
        until_over: Option<UntilOver>,
    ) -> Returned {
        let rest = deadline.saturating_duration_since(Instant::now());
        let shorten = |timeout: &mut Duration| *timeout = rest.min(*timeout);
        match call {
            Call::Command(mut invocation) => {
                self.rebase(&mut invocation.environment);
                propagate(&propagation.unwrap_or_default(), &mut invocation.environment);
                shorten(&mut invocation.limits.timeout);
                let ended = self.runner.run_with(&invocation, begins, until_over).await;
                Returned::Command(self.still(&invocation.program, ended))
            }
            Call::Worker(mut call) => {
                shorten(&mut call.timeout);
                match &self.worker {
                    Some(worker) => {
                        drop(begins.await);
                        Returned::Worker(worker.call_until(*call, until_over).await)
                    }
                    None => Returned::Nothing,
                }
            }
            Call::Warm(mut worker, mut call) => {
                shorten(&mut call.timeout);
                self.rebase_worker(&mut worker);
                call.environment = propagation.unwrap_or_default();
                let worker = self.warm.of(*worker, self.runner.containment());
                drop(begins.await);
                Returned::Worker(match worker {
                    Some(worker) => worker.call(call, until_over).await,
                    None => WorkerEnded::Failed {
                        kind: FailureKind::Closed,
                        message: "its worker has ended".to_owned(),
                        started: false,
                    },
                })
            }
            Call::Post(mut post) => {
                shorten(&mut post.timeout);
                let trace = propagation.as_ref().and_then(|variables| variables.get(TRACEPARENT));
                let is_set = post.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(TRACEPARENT));
                let trace =
                    trace.filter(|_| !is_set).map(|trace| ("traceparent".to_owned(), trace.to_owned()));
                post.headers.extend(trace);
                drop(begins.await);
                Returned::Post(self.http.post(&post).await)
            }
            Call::Nothing => {
                drop(begins.await);
                Returned::Nothing
            }
        }
    }

    /// What Python may take from a project, and leave in it.
    fn guard_python(&self, program: &Program, environment: &mut Environment) {
        // The project's own hooks may take modules from it.
        if self.ground.is_none() {
            safe_path::keep(program, environment);
        }
        if self.seal.is_some() {
            safe_path::keep_clean(environment);
        }
    }

    /// The same for the environment of a worker that we start.
    pub(crate) fn rebase_worker(&self, worker: &mut HookWorker) {
        if let WorkerReach::Program { program, environment, .. } = &mut worker.reach {
            self.guard_python(program, environment);
            self.rebase_shared(environment);
        }
    }

    /// The same for any process that serves several sessions: it inherits what belongs to none of them.
    pub(crate) fn rebase_shared(&self, environment: &mut Environment) {
        self.rebase(environment);
        propagate(&self.warm.environment(), environment);
    }

    /// Has an environment inherit what hooks inherit here.
    pub(crate) fn rebase(&self, environment: &mut Environment) {
        if environment.inherit == Inherit::All {
            environment.inherit = self.inherit.clone();
        }
        if let Some(base) = &self.environment {
            *environment = based_on(base, environment);
        }
    }
}

/// Has a process inherit this; a variable of the hook's own with the same name gives way.
fn propagate(propagation: &Propagation, environment: &mut Environment) {
    let variables = propagation.iter().map(|(name, value)| (name.into(), value.into()));
    environment.set.extend(variables);
}

/// Whether a process with this environment inherits a variable of the name, where there is one.
pub(crate) fn inherits(environment: &Environment, name: &str) -> bool {
    let is_it = |other: &OsString| other == OsStr::new(name);
    let is_listed = match &environment.inherit {
        Inherit::All => true,
        Inherit::Only(names) => names.iter().any(is_it),
    };
    is_listed && !environment.remove.iter().any(is_it)
}

/// The environment of a hook whose runtime has another environment than this process.
fn based_on(base: &BTreeMap<String, String>, environment: &Environment) -> Environment {
    let kept = base
        .iter()
        .filter(|(name, _)| inherits(environment, name))
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    Environment {
        inherit: Inherit::Only(Vec::new()),
        remove: Vec::new(),
        set: kept.chain(environment.set.iter().cloned()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lineside_bus::Bus;
    use lineside_core::invocation::{Environment, Program};
    use lineside_core::worker::{HookWorker, HookWorkerBounds, WorkerReach, WorkerStart};

    use super::HandlerRuntime;
    use crate::workers::HookWorkers;

    #[tokio::test]
    async fn a_worker_of_the_user_that_is_python_as_text_imports_nothing_from_the_project_it_stands_in() {
        let outside = HandlerRuntime::new(Arc::new(HookWorkers::new(&Bus::new())));
        for (script, expected) in [("-c", true), ("/opt/guard.py", false)] {
            let mut worker = HookWorker {
                reach: WorkerReach::Program {
                    program: Program::argv(&[
                        "python3".to_owned(),
                        script.to_owned(),
                        "import json".to_owned(),
                    ]),
                    environment: Environment::default(),
                    working_directory: None,
                },
                content: String::new(),
                start: WorkerStart::OnUse,
                bounds: HookWorkerBounds::default(),
            };
            outside.rebase_worker(&mut worker);
            let WorkerReach::Program { environment, .. } = &worker.reach else { unreachable!() };
            let is_set = environment.set.iter().any(|(name, _)| name == "PYTHONSAFEPATH");
            assert_eq!(is_set, expected, "{script}");
        }
    }
}
