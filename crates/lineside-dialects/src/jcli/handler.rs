//! One hook at one point: what it runs for an event and what its end amounts to.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lineside_core::invocation::{Ending, Environment, Invocation, Limits, Program};
use lineside_core::{Answer, AnyEvent, Failure, FailureKind};

use super::definition::{Definition, OnError, Run};
use super::effects;
use super::events::Event;
use super::input::{self, Reader};
use super::judge::{self, Judge};
use crate::dialect::Places;
use crate::ending::cannot_start;
use crate::handler::{Call, Handler, Returned, Start};
use crate::near_keys::AnswerKeys;
use crate::programs::{directory_of, limits};

/// A hook at one point.
#[derive(Debug, Clone)]
pub(super) struct Hook {
    /// Its name.
    pub(super) name: Arc<str>,
    /// Its folder, absolute, links not resolved; absent for a hook that the host has registered.
    pub(super) folder: Option<PathBuf>,
    /// The events of the hook that stand for the point.
    pub(super) events: Vec<&'static Event>,
    /// What it does.
    pub(super) definition: Arc<Definition>,
    /// The runtime that it is run by.
    pub(super) runtime: Arc<Runtime>,
}

/// What a hook takes from the runtime.
#[derive(Debug)]
pub(super) struct Runtime {
    /// Its working directory.
    pub(super) cwd: PathBuf,
    /// Its `PATH`.
    pub(super) path: Option<OsString>,
    /// The judge of `llm` hooks.
    pub(super) judge: Option<Judge>,
}

impl Runtime {
    /// The runtime with these places.
    pub(super) fn of(places: &Places) -> Self {
        Self {
            cwd: super::places::absolute(&places.cwd),
            path: places.variable("PATH").map(OsString::from),
            judge: Judge::of(places),
        }
    }

    /// The judge that can be asked by a hook with this model.
    pub(super) fn judge(&self, model: Option<&str>) -> Option<&Judge> {
        self.judge.as_ref().filter(|judge| judge.answers(model))
    }
}

impl Hook {
    /// Which of its events this one is (JC-14).
    fn own(&self, event: &AnyEvent) -> Option<&'static Event> {
        self.events.iter().copied().find(|own| own.is_about(event)).or(self.events.first().copied())
    }

    /// The variables by which a command knows its hook and its event (JC-24).
    fn environment(&self, event: &'static Event, cwd: &Path) -> Environment {
        let folder = self.folder.as_ref().map(|folder| folder.clone().into_os_string());
        let mut set: Vec<(OsString, OsString)> = vec![
            ("JCLI_HOOK_EVENT".into(), event.name.into()),
            ("JCLI_CWD".into(), cwd.as_os_str().to_owned()),
            ("JCLI_HOOK_DIR".into(), folder.clone().unwrap_or_default()),
        ];
        if let Some(mut path) = folder {
            if let Some(inherited) = self.runtime.path.as_ref().filter(|inherited| !inherited.is_empty()) {
                path.push(if cfg!(windows) { ";" } else { ":" });
                path.push(inherited);
            }
            set.push(("PATH".into(), path));
        }
        Environment { set, ..Environment::default() }
    }

    /// How long an attempt may take, and how it is ended (JC-26, JC-27).
    fn limits(&self) -> Limits {
        limits(self.definition.timeout, Ending::Terminate { grace: Duration::from_millis(500) })
    }
}

impl Handler for Hook {
    fn prepare(&self, event: &AnyEvent) -> Result<Call, Failure> {
        let Some(own) = self.own(event) else { return Ok(Call::Nothing) };
        // It runs where the agent works (JC-23).
        let cwd = directory_of(event, &self.runtime.cwd);
        let reader = Reader { name: &self.name, folder: self.folder.as_deref(), event: own, cwd: &cwd };
        match &self.definition.run {
            Run::Command(command) => Ok(Call::Command(Invocation {
                program: Program::shell("sh", command),
                stdin: input::line(&reader, event).into_bytes(),
                environment: self.environment(own, &cwd),
                files: Vec::new(),
                limits: self.limits(),
                working_directory: Some(cwd),
            })),
            Run::Prompt { prompt, model } => {
                let model = model.as_deref();
                // Without a judge an `llm` hook cannot run (JC-42).
                let judge = self.runtime.judge(model);
                let judge = judge.ok_or_else(|| cannot_start(judge::NONE))?;
                let prompt = prompt.render(&input::fields(&reader, event));
                Ok(Call::Post(judge.request(model, &prompt, self.definition.timeout)))
            }
        }
    }

    fn read(&self, event: &AnyEvent, returned: &Returned) -> Result<Answer, Failure> {
        let Some(own) = self.own(event) else { return Ok(Answer::default()) };
        match returned {
            Returned::Command(ended) => effects::of_command(own, ended),
            Returned::Post(posted) => judge::read(own, posted),
            Returned::Worker(_) | Returned::Nothing => {
                Err(Failure::not_started(FailureKind::Error, "something else was run than was to be"))
            }
        }
    }

    fn answer_keys(&self) -> AnswerKeys {
        if self.events.iter().all(|event| event.notice_only) {
            return AnswerKeys::default();
        }
        AnswerKeys {
            names: &[
                "action", "abort", "user_input", "assistant_output", "system_prompt", "tool_result",
                "tool_error", "tool_arguments", "messages", "inject_messages", "additional_context",
                "retry_feedback", "system_message",
            ],
            decides: "action",
            ..AnswerKeys::default()
        }
    }

    fn start(&self, work_dir: &Path) -> Option<Start> {
        let Run::Command(command) = &self.definition.run else { return None };
        let working_directory = self.runtime.cwd.join(work_dir);
        let environment = self.environment(self.events.first().copied()?, &working_directory);
        Some(Start::Program { program: Program::shell("sh", command), environment, working_directory })
    }

    /// Ends the chain for a failure (JC-21); at events that only notify there is nothing to end (JC-15).
    fn refuse(&self, event: &AnyEvent, failure: &Failure) -> Option<Answer> {
        let own = self.own(event)?;
        let ends = self.definition.on_error == OnError::Stop && !own.notice_only;
        ends.then(|| effects::refusal(own, &self.name, failure))
    }
}

#[cfg(test)]
mod tests;
