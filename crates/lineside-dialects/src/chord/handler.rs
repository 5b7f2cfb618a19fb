//! One hook at work: what it starts for an event and what its end amounts to.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lineside_core::invocation::{Ending, Environment, Invocation};
use lineside_core::{Answer, AnyEvent, Failure, OnFailure, SkipReason};

use super::filter::Filter;
use super::output::Reply;
use super::points::{ChordPoint, Class};
use super::report::Report;
use super::shell::Run;
use super::{data, effects, environment, input, log};
use crate::ending;
use crate::handler::{Call, Handler, LogStage, Returned, Start};
use crate::near_keys::AnswerKeys;
use crate::programs::{limits, project_of};

/// A hook that can run.
#[derive(Debug, Clone)]
pub(super) struct Hook {
    /// Its name.
    pub(super) name: Arc<str>,
    /// Its point.
    pub(super) point: &'static ChordPoint,
    /// What it runs.
    pub(super) run: Run,
    /// How long one attempt may take.
    pub(super) timeout: Duration,
    /// Its own variables.
    pub(super) environment: Vec<(String, String)>,
    /// What its failure means.
    pub(super) on_failure: OnFailure,
    /// When it runs.
    pub(super) filter: Arc<Filter>,
    /// What becomes of its result, if it is an automation.
    pub(super) report: Report,
    /// The runtime that it is run by.
    pub(super) runtime: Arc<Runtime>,
}

/// What a hook takes from the runtime.
#[derive(Debug)]
pub(super) struct Runtime {
    /// Its working directory, absolute.
    pub(super) cwd: PathBuf,
    /// The variables that hooks do not inherit.
    pub(super) not_inherited: Vec<OsString>,
}

impl Hook {
    /// What the record says of variables that could not be handed over (CH-29).
    fn refused_variables(&self, event: &AnyEvent) -> Option<String> {
        let data = data::of(self.point.kind, event);
        let envelope = input::envelope(self.point, event);
        let (_, refused) = environment::of(&envelope, &data, &self.environment, &[]);
        (!refused.is_empty())
            .then(|| format!("not set because of NUL or more than 131000 bytes: {}", refused.join(", ")))
    }
}

impl Handler for Hook {
    fn prepare(&self, event: &AnyEvent) -> Result<Call, Failure> {
        let data = data::of(self.point.kind, event);
        let envelope = input::envelope(self.point, event);
        let (environment, _) =
            environment::of(&envelope, &data, &self.environment, &self.runtime.not_inherited);
        Ok(Call::Command(Invocation {
            program: self.run.program(),
            stdin: input::text(envelope, data),
            environment,
            files: Vec::new(),
            // It runs in the root of the project (CH-31).
            working_directory: Some(project_of(event, &self.runtime.cwd)),
            // At its deadline it is killed (CH-32 to CH-35).
            limits: limits(self.timeout, Ending::Kill),
        }))
    }

    fn read(&self, event: &AnyEvent, returned: &Returned) -> Result<Answer, Failure> {
        let ended = returned.command()?;
        // A start that the system refuses is a run all the same, which is tried again (CH-32, CH-52).
        let status = ending::status(ended).map_err(|failure| Failure { started: true, ..failure })?;
        if status != 0 {
            return Err(ending::bad_status(status, ended));
        }
        let read = match self.point.class {
            // What an observer prints is not read (CH-40).
            Class::Observer => Ok(Answer::default()),
            Class::Sync => {
                Reply::read(&ended.stdout).and_then(|reply| effects::answer(self.point, event, &reply))
            }
            Class::Automation => {
                Reply::read(&ended.stdout).and_then(|reply| self.report.answer(&self.name, &reply))
            }
        };
        let mut answer = read.map_err(|error| ending::unreadable(error, ended))?;
        answer.remarks.extend(self.refused_variables(event).map(Into::into));
        Ok(answer)
    }

    /// What a guard that failed refuses (CH-62).
    fn refuse(&self, _event: &AnyEvent, failure: &Failure) -> Option<Answer> {
        let verdict = self.on_failure.verdict(&self.name, failure);
        Some(effects::block(verdict.reason()?.to_string()))
    }

    fn answer_keys(&self) -> AnswerKeys {
        let (names, decides): (&[_], _) = match self.point.class {
            Class::Observer => (&[], ""),
            Class::Sync => (&["action", "message", "data"], "action"),
            Class::Automation => (
                &["status", "severity", "summary", "body", "append_context", "notify", "format", "items"],
                "",
            ),
        };
        AnswerKeys { names, decides, any_case: true, ..AnswerKeys::default() }
    }

    fn start(&self, work_dir: &Path) -> Option<Start> {
        let set = self.environment.iter().map(|(name, value)| (name.into(), value.into()));
        Some(Start::Program {
            program: self.run.program(),
            environment: Environment { set: set.collect(), ..Environment::default() },
            working_directory: self.runtime.cwd.join(work_dir),
        })
    }

    /// The conditions that are about a whole burst are looked at when it is due (CH-26, CH-54).
    fn skips_burst(&self, event: &AnyEvent) -> Option<SkipReason> {
        (!self.filter.passes_burst(event)).then_some(SkipReason::Filter)
    }

    fn log(&self, stage: &LogStage<'_>) -> Vec<String> {
        log::lines(self, stage)
    }
}

#[cfg(test)]
mod tests;
