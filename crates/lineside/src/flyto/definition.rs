//! What a hook that is registered at run time runs, and how (FL-4, FL-35).

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lineside_bus::interceptor::BoxFuture;
use lineside_core::OnFailure;
use lineside_core::exchange::Addresses;
use lineside_dialects::flyto::{self as dialect, DEFAULT_TIMEOUT, HookResult, HookType, Run};

use super::{RegisterFlytoHookError, check};

/// The variables of an event, uncut.
pub type Variables = BTreeMap<&'static str, String>;

/// A function that is a hook: it is given the type and the variables and returns a result or nothing, which is a
/// success without output.
pub type Function = Arc<dyn Fn(&'static HookType, Variables) -> BoxFuture<Option<HookResult>> + Send + Sync>;

/// A hook about to be registered. With several things to run, a function goes before a command and that before a URL.
///
/// ```
/// use lineside::flyto::{Definition, Manager};
/// use lineside::prelude::*;
///
/// let lint = Definition::command("cargo clippy").name("lint").timeout(secs(60)).asynchronous();
/// let bus = Bus::new();
/// Manager::of_bus(&bus).register("post_tool_use", lint)?;
/// assert_eq!(&*Manager::of_bus(&bus).list("post_tool_use")[0].name, "lint");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Definition {
    function: Option<Function>,
    command: Option<String>,
    webhook_url: Option<String>,
    name: Option<String>,
    timeout: Option<Duration>,
    is_async: bool,
    source: Arc<str>,
    plugin_dir: Option<PathBuf>,
    guard: bool,
}

impl Definition {
    /// A hook that is a function of this programme. Its panic is a failure, and it is dropped at its timeout; one that
    /// blocks its thread cannot be.
    pub fn function<F, Fut>(run: F) -> Self
    where
        F: Fn(&'static HookType, Variables) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<HookResult>> + Send + 'static,
    {
        let function: Function = Arc::new(move |hook_type, variables| Box::pin(run(hook_type, variables)));
        Self { function: Some(function), ..Self::default() }
    }

    /// A hook that is a line for the shell.
    pub fn command(line: impl Into<String>) -> Self {
        Self { command: Some(line.into()), ..Self::default() }
    }

    /// A hook that is a request to this URL.
    pub fn webhook(url: impl Into<String>) -> Self {
        Self { webhook_url: Some(url.into()), ..Self::default() }
    }

    /// Its command, if it has no function.
    #[must_use]
    pub fn or_command(mut self, line: impl Into<String>) -> Self {
        self.command = Some(line.into());
        self
    }

    /// Its URL, if it has neither function nor command.
    #[must_use]
    pub fn or_webhook(mut self, url: impl Into<String>) -> Self {
        self.webhook_url = Some(url.into());
        self
    }

    /// Its name; `<type>-<index>` by default.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Its timeout; 30 s by default or is given 0.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout).filter(|timeout| !timeout.is_zero());
        self
    }

    /// It runs in the background and decides nothing.
    #[must_use]
    pub fn asynchronous(mut self) -> Self {
        self.is_async = true;
        self
    }

    /// Who registers it; global by default.
    #[must_use]
    pub fn source(mut self, source: impl Into<Arc<str>>) -> Self {
        self.source = source.into();
        self
    }

    /// The absolute path of its plugin's directory. A command then inherits little of the environment (FL-13).
    #[must_use]
    pub fn plugin_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.plugin_dir = Some(directory.into());
        self
    }

    /// Its failure blocks, where it has the authority to (FL-31).
    #[must_use]
    pub fn block_on_failure(mut self) -> Self {
        self.guard = true;
        self
    }

    /// The name, the function, and the rest as the dialect has it.
    pub(super) fn resolve(
        self,
    ) -> Result<(Option<String>, Option<Function>, dialect::Definition), RegisterFlytoHookError> {
        let plugin_dir = self.plugin_dir.filter(|directory| !directory.as_os_str().is_empty());
        check(self.webhook_url.as_deref(), plugin_dir.as_deref())?;
        let command = self.command.filter(|line| !line.trim().is_empty());
        let run = match (&self.function, command, self.webhook_url) {
            (Some(_), _, _) => Run::Function,
            (None, Some(line), _) => Run::Command(line),
            (None, None, Some(url)) => Run::Webhook { url, addresses: Addresses::Any },
            (None, None, None) => return Err(RegisterFlytoHookError::NothingToRun),
        };
        let definition = dialect::Definition {
            run,
            timeout: self.timeout.unwrap_or(DEFAULT_TIMEOUT),
            is_async: self.is_async,
            source: self.source,
            plugin_dir,
            on_failure: if self.guard { OnFailure::Block } else { OnFailure::Continue },
        };
        Ok((self.name.filter(|name| !name.trim().is_empty()), self.function, definition))
    }
}
