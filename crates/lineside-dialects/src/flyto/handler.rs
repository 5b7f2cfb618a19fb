//! One hook at work: what it runs for an event, and what came of that.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lineside_core::exchange::{Addresses, Post};
use lineside_core::hook::{AfterBlock, Lane};
use lineside_core::invocation::{Ending, Invocation, Program};
use lineside_core::{Answer, AnyEvent, Failure, Hook, Layer, OnFailure, Part};

use super::catalogue::{Authority, HookType};
use super::definition::{Definition, Run};
use super::output::{HookResult, LONGEST_BODY, Output};
use super::variables::{self, Previews, Variable};
use super::{DIALECT, decision, environment};
use crate::dialect::ForeignHook;
use crate::ending::cannot_start;
use crate::handler::{Call, Handler, Returned, Start};
use crate::near_keys::AnswerKeys;
use crate::programs::{directory_of, limits};

/// What a run may take beyond its own timeout until its end is known (FL-16: one second), and a little. The exact
/// deadline is that of the invocation.
const MARGIN: Duration = Duration::from_millis(1500);

/// Who a hook is, as far as its results are concerned.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    /// Its type.
    pub(super) hook_type: &'static HookType,
    /// Its name.
    pub(super) name: Arc<str>,
    /// Whether the hook is not waited for.
    pub(super) background: bool,
    /// What its failure means.
    pub(super) on_failure: OnFailure,
}

impl Identity {
    /// What it may decide (FL-9, FL-32).
    pub(super) fn authority(&self) -> Authority {
        if self.background { Authority::Nothing } else { self.hook_type.authority() }
    }
}

/// A hook that can run.
#[derive(Debug, Clone)]
pub struct FlytoHook {
    identity: Identity,
    definition: Definition,
    /// The runtime's own working directory, absolute.
    cwd: PathBuf,
}

impl FlytoHook {
    /// A hook of that type and name. `cwd` is the runtime's own working directory.
    #[must_use]
    pub fn new(
        hook_type: &'static HookType,
        name: impl Into<Arc<str>>,
        definition: Definition,
        cwd: PathBuf,
    ) -> Self {
        let background = definition.is_async || !hook_type.waits();
        // It needs the authority to block (FL-31).
        let may_block = !background && hook_type.authority().blocks();
        let on_failure = if may_block { definition.on_failure } else { OnFailure::Continue };
        Self { identity: Identity { hook_type, name: name.into(), background, on_failure }, definition, cwd }
    }

    /// What is known of it apart from how it is run; a trusted hook of the user, from no file.
    #[must_use]
    pub fn hook(&self) -> Hook {
        let part = match self.identity.authority() {
            _ if self.identity.background => Part::Detached,
            Authority::Summary => Part::Amender,
            _ => Part::LoneGate,
        };
        Hook::foreign(DIALECT, Arc::clone(&self.identity.name), part)
            .source(Arc::clone(&self.definition.source))
            .layer(Layer::User)
            .on_failure(self.identity.on_failure)
            .timeout(self.definition.timeout.saturating_add(MARGIN))
            // Every one of them runs (FL-29).
            .after_block(AfterBlock::RunWithinDialect)
            // Those in the background share a lane (FL-32).
            .lane(Lane::Shared)
    }

    /// The hook to be installed.
    #[must_use]
    pub fn into_foreign(self, hook: Hook) -> ForeignHook {
        let hook_type = self.identity.hook_type;
        ForeignHook::new(hook, hook_type.name(), vec![hook_type.point()], Arc::new(self))
    }

    /// Its type.
    #[must_use]
    pub fn hook_type(&self) -> &'static HookType {
        self.identity.hook_type
    }

    /// Its own timeout.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.definition.timeout
    }

    /// The variables as a function gets them: uncut, and previews whole (FL-35).
    #[must_use]
    pub fn variables(&self, event: &AnyEvent) -> BTreeMap<&'static str, String> {
        let cwd = directory_of(event, &self.cwd);
        let all = variables::of(self.identity.hook_type, event, &cwd, Previews::Whole);
        let text =
            |variable: Variable<'_>| (variable.name, String::from_utf8_lossy(&variable.value).into_owned());
        all.into_iter().map(text).collect()
    }

    /// What a function returned to what it decides (FL-35); nothing is a success without output.
    ///
    /// # Errors
    /// It stands for a failure.
    pub fn returned(&self, event: &AnyEvent, result: Option<HookResult>) -> Result<Answer, Failure> {
        decision::read(&self.identity, event, Output::of_function(result))
    }

    /// A failure of a function, with what it is taken as (FL-25, FL-31).
    #[must_use]
    pub fn failed(&self, failure: Failure) -> Failure {
        decision::without_run(&self.identity, failure)
    }

    fn invocation(&self, command: &str, event: &AnyEvent) -> Invocation {
        let hook_type = self.identity.hook_type;
        // It runs where the agent works (FL-15).
        let working_directory = directory_of(event, &self.cwd);
        let variables = variables::of(hook_type, event, &working_directory, Previews::Cut);
        let plugin_dir = self.definition.plugin_dir.as_deref();
        let (environment, files) = environment::of(hook_type, variables, plugin_dir);
        Invocation {
            program: shell(command),
            // All that it gets is in its environment (FL-10).
            stdin: Vec::new(),
            environment,
            files,
            working_directory: Some(working_directory),
            // At its deadline it is killed (FL-16).
            limits: limits(self.definition.timeout, Ending::Kill),
        }
    }

    /// The request that carries the event (FL-33).
    fn post(&self, url: &str, addresses: Addresses, event: &AnyEvent) -> Result<Post, Failure> {
        let body = lineside_core::json::to_vec(&event.to_json()).map_err(cannot_start)?;
        let hook_type = self.identity.hook_type.name().to_owned();
        Ok(Post {
            url: url.to_owned(),
            addresses,
            headers: vec![
                ("X-Lineside-Hook-Type".to_owned(), hook_type),
                ("X-Lineside-Event".to_owned(), event.envelope().id.to_string()),
            ],
            body,
            timeout: self.definition.timeout,
            body_bytes: LONGEST_BODY,
        })
    }

    /// What the record says of NUL (FL-11).
    fn nul(&self, event: &AnyEvent) -> Option<String> {
        let cwd = directory_of(event, &self.cwd);
        let variables = variables::of(self.identity.hook_type, event, &cwd, Previews::Cut);
        let names = environment::with_nul(&variables);
        (!names.is_empty()).then(|| format!("NUL was replaced by U+FFFD in {}", names.join(", ")))
    }
}

impl Handler for FlytoHook {
    fn prepare(&self, event: &AnyEvent) -> Result<Call, Failure> {
        match &self.definition.run {
            Run::Command(command) => Ok(Call::Command(self.invocation(command, event))),
            Run::Webhook { url, addresses } => match self.post(url, *addresses, event) {
                Ok(post) => Ok(Call::Post(post)),
                Err(failure) => Err(self.failed(failure)),
            },
            Run::Function => Ok(Call::Nothing),
        }
    }

    fn read(&self, event: &AnyEvent, returned: &Returned) -> Result<Answer, Failure> {
        let output = match returned {
            Returned::Post(posted) => Output::of_post(posted),
            // The caller that runs functions reads them.
            Returned::Nothing if matches!(self.definition.run, Run::Function) => Output::default(),
            other => {
                let mut output = Output::of_command(other.command()?);
                output.remarks.extend(self.nul(event).map(Into::into));
                output
            }
        };
        decision::read(&self.identity, event, output)
    }

    fn answer_keys(&self) -> AnswerKeys {
        if matches!(self.identity.authority(), Authority::Nothing | Authority::Summary) {
            return AnswerKeys::default();
        }
        AnswerKeys { names: &["decision", "reason"], decides: "decision", ..AnswerKeys::default() }
    }

    fn start(&self, work_dir: &Path) -> Option<Start> {
        let Run::Command(command) = &self.definition.run else { return None };
        let plugin_dir = self.definition.plugin_dir.as_deref();
        let (environment, _) = environment::of(self.identity.hook_type, Vec::new(), plugin_dir);
        let working_directory = self.cwd.join(work_dir);
        Some(Start::Program { program: shell(command), environment, working_directory })
    }

    /// What a failure amounts to was found when it was read.
    fn refuse(&self, _event: &AnyEvent, failure: &Failure) -> Option<Answer> {
        failure.taken_as.as_deref().cloned()
    }
}

/// Runs a command line in the shell (FL-14).
fn shell(command: &str) -> Program {
    if cfg!(windows) { Program::argv(["cmd", "/C", command]) } else { Program::shell("/bin/sh", command) }
}

#[cfg(test)]
mod tests;
