//! One hook at work: what it starts for an event and what its end amounts to.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lineside_core::invocation::{Ending, Environment, Invocation, Limits, Program};
use lineside_core::worker::{HookCall, HookWorker, HookWorkerBounds, WorkerReach};
use lineside_core::{Answer, AnyEvent, Failure, OnFailure, Propagation};

use super::entry::{self, Entry};
use super::fields::Mode;
use super::fields::warm::Warm;
use super::identity::Identity;
use super::{effects, input, log};
use crate::broken::refusal;
use crate::ending::cannot_start;
use crate::handler::{Call, Handler, LogStage, Returned, Start};
use crate::near_keys::AnswerKeys;
use crate::programs::{Search, limits, project_of};

/// A hook that can run, or a closed guard.
#[derive(Debug, Clone)]
pub(super) struct Hook {
    /// Who it is.
    pub(super) identity: Identity,
    /// How long it may run.
    pub(super) timeout: Duration,
    /// What its failure means.
    pub(super) on_failure: OnFailure,
    /// The worker that it runs in, if it is not a process for each event.
    pub(super) worker: Option<Warm>,
    /// The error for which it never runs (AH-16).
    pub(super) closed: Option<String>,
    /// The runtime that it is run by.
    pub(super) runtime: Arc<Runtime>,
}

/// What a hook takes from the runtime.
#[derive(Debug)]
pub(super) struct Runtime {
    /// Its working directory.
    pub(super) cwd: PathBuf,
    /// Its `PATH`.
    pub(super) path: Option<String>,
}

impl Hook {
    /// The variables by which a script knows its hook and its event (AH-39).
    fn environment(&self, event: &AnyEvent, work_dir: &Path) -> Environment {
        let identity = &self.identity;
        let session = OsString::from(event.envelope().source.session.as_str());
        let work_dir = work_dir.as_os_str();
        let set = [
            ("AGENT_HOOK_NAME", OsString::from(&*identity.name)),
            ("AGENT_HOOK_DIR", identity.folder.clone().into_os_string()),
            ("AGENT_HOOK_EVENT", OsString::from(&identity.trigger_as_written)),
            ("AGENT_HOOK_SESSION_ID", session.clone()),
            ("KIMI_SESSION_ID", session),
            ("AGENT_HOOK_WORK_DIR", work_dir.to_owned()),
            ("KIMI_WORK_DIR", work_dir.to_owned()),
            ("KIMI_PROJECT_DIR", work_dir.to_owned()),
        ];
        Environment {
            set: set.into_iter().map(|(name, value)| (name.into(), value)).collect(),
            ..Environment::default()
        }
    }

    /// The worker with this program. What is of one hook or one session alone is not in its environment, so that hooks
    /// whose entry points are the same file share it.
    fn kept(&self, warm: Warm, program: Program, content: String, work_dir: &Path) -> HookWorker {
        let variables = ["AGENT_HOOK_WORK_DIR", "KIMI_WORK_DIR", "KIMI_PROJECT_DIR"];
        let set = variables.map(|name| (name.into(), work_dir.as_os_str().to_owned())).into();
        let bounds = HookWorkerBounds::default();
        HookWorker {
            reach: WorkerReach::Program {
                program,
                environment: Environment { set, ..Environment::default() },
                working_directory: Some(work_dir.to_owned()),
            },
            content,
            start: warm.start,
            bounds: HookWorkerBounds { idle: warm.idle.or(bounds.idle), ..bounds },
        }
    }

    /// The entry point as it stands, and what it takes to run it.
    fn entry(&self, work_dir: &Path) -> Result<(Entry, Search), Failure> {
        // Looked up again at every start (AH-6).
        let entry = entry::find(&self.identity.folder).ok_or_else(|| cannot_start(entry::NONE))?;
        Ok((entry, Search { path: self.runtime.path.clone(), work_dir: work_dir.to_owned() }))
    }

    /// How long an attempt may take, and how it is ended (AH-37, AH-40, AH-41).
    fn limits(&self) -> Limits {
        limits(self.timeout, Ending::Terminate { grace: Duration::from_millis(500) })
    }
}

impl Handler for Hook {
    fn prepare(&self, event: &AnyEvent) -> Result<Call, Failure> {
        if let Some(error) = &self.closed {
            // A guard that cannot load refuses (AH-16).
            let refusal = refusal(&self.identity.name, error);
            return Err(Failure { refusal: Some(refusal.into()), ..cannot_start(error) });
        }
        let work_dir = project_of(event, &self.runtime.cwd);
        if !work_dir.is_dir() {
            let missing = format!("the working directory {} is missing", work_dir.display());
            return Err(cannot_start(missing));
        }
        let (entry, search) = self.entry(&work_dir)?;
        let stdin = input::text(&self.identity, event, &work_dir.to_string_lossy());
        if let Some(warm) = self.worker {
            let program = entry.resolved().program(&search).map_err(cannot_start)?;
            let worker = self.kept(warm, program, entry.stamp(), &work_dir);
            let hook = self.identity.name.to_string();
            let tree = Some(event.envelope().source.root_session.clone());
            return Ok(Call::Warm(
                Box::new(worker),
                HookCall {
                    environment: Propagation::none(),
                    hook,
                    event: stdin,
                    timeout: self.timeout,
                    tree,
                },
            ));
        }
        let program = entry.program(&search).map_err(cannot_start)?;
        Ok(Call::Command(Invocation {
            program,
            stdin: stdin.into_bytes(),
            environment: self.environment(event, &work_dir),
            files: Vec::new(),
            // It runs where the agent works (AH-38).
            working_directory: Some(work_dir),
            limits: self.limits(),
        }))
    }

    fn read(&self, event: &AnyEvent, returned: &Returned) -> Result<Answer, Failure> {
        match returned {
            Returned::Worker(_) => effects::of_worker(&self.identity, event, returned),
            _ => {
                let ended = returned.command()?;
                if self.on_failure == OnFailure::Block {
                    effects::heard_whole(ended)?;
                }
                effects::answer(&self.identity, event, ended)
            }
        }
    }

    fn worker(&self, work_dir: &Path) -> Option<HookWorker> {
        let warm = self.worker.filter(|_| self.closed.is_none())?;
        let (entry, search) = self.entry(work_dir).ok()?;
        let program = entry.resolved().program(&search).ok()?;
        Some(self.kept(warm, program, entry.stamp(), work_dir))
    }

    fn answer_keys(&self) -> AnswerKeys {
        if self.identity.mode == Mode::Async {
            return AnswerKeys::default();
        }
        AnswerKeys {
            names: &["decision", "reason", "modified_input", "additional_context", "log"],
            decides: "decision",
            ..AnswerKeys::default()
        }
    }

    fn starts_its_own(&self) -> bool {
        true
    }

    fn start(&self, work_dir: &Path) -> Option<Start> {
        if self.closed.is_some() {
            return None;
        }
        let program = |(entry, search): (Entry, Search)| entry.program(&search).ok();
        let Some(program) = self.entry(work_dir).ok().and_then(program) else { return Some(Start::Missing) };
        let environment = Environment::default();
        Some(Start::Program { program, environment, working_directory: work_dir.to_owned() })
    }

    /// What a guard that failed refuses (AH-66), with the message of AH-56 and the exception of AH-58.
    fn refuse(&self, event: &AnyEvent, failure: &Failure) -> Option<Answer> {
        let verdict = self.on_failure.verdict(&self.identity.name, failure);
        let reason = verdict.reason()?.to_string();
        Some(effects::block(&self.identity, event, reason))
    }

    fn log(&self, stage: &LogStage<'_>) -> Vec<String> {
        log::lines(self, stage)
    }
}

#[cfg(test)]
mod tests;
