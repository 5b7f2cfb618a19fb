//! Flyto's hook manager: hooks of that format registered while the programme runs.
//!
//! The runtime has one and each session may have one; both are views of the bus, so that two managers of one place
//! are the same. Hooks from files belong to the runtime's. Numbers such as FL-36 are those of `docs/rules/flyto.md`.
//!
//! For an event of a session the session's list comes first, then its parent's, and so on to the root, then the
//! runtime's (FL-44, FL-45). To that end a hook of a session has a priority of its depth plus one, and one of the
//! runtime has 0; beside hooks of other formats, therefore, those of a session run before all whose priority is 0.
//!
//! ```
//! use lineside::flyto::{Definition, HookResult, Manager};
//! use lineside::prelude::*;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let bus = Bus::new();
//! let manager = Manager::of_bus(&bus);
//! let guard = Definition::function(async |_hook_type, variables| {
//!     let refused = variables["TOOL_INPUT"].contains("rm -rf /");
//!     refused.then(|| HookResult { exit_code: 2, stderr: "refuses".to_owned(), ..HookResult::default() })
//! });
//! manager.register("pre_tool_use", guard.source("safety"))?;
//!
//! let session = bus.session("s1").open().await?;
//! let decision = session.publish(BeforeTool::new("Shell", json!({"command": "rm -rf /"}))).await?;
//! assert_eq!(decision.verdict(), &Verdict::block("refuses"));
//!
//! assert_eq!(manager.unregister_all_by_source("safety"), 1);
//! assert!(!manager.has_hooks("pre_tool_use"));
//! # Ok(())
//! # }
//! ```

mod definition;
mod function;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lineside_bus::register::RegisterHookError;
use lineside_bus::{Bus, Installed, Interceptor, OfDialect, Session};
use lineside_core::hook::{Hook, Standby};
use lineside_core::{Layer, SkipReason};
use lineside_dialects::flyto::{DIALECT, FlytoHook};
use lineside_dialects::is_web_address;
use lineside_redact::redact;

pub use definition::{Definition, Function, Variables};
pub use lineside_dialects::flyto::{HookResult, HookType};

use self::function::{Called, adopted};
use crate::assembly::Assembly;
use crate::foreign::Foreign;
use crate::handler_runtime::HandlerRuntime;

/// The hooks of one place: of the runtime, or of a session.
///
/// Cloning it is cheap. Everything may be called from any thread and from within a hook (FL-43). An event uses the
/// hooks as they were when it was published; a removal lets runs under way come to their end (FL-41).
///
/// ```
/// use lineside::flyto::{Definition, Manager};
/// use lineside::prelude::*;
///
/// let bus = Bus::new();
/// let manager = Manager::of_bus(&bus);
/// manager.register("pre_tool_use", Definition::command("exit 0").name("guard"))?;
/// assert_eq!(&*manager.list("pre_tool_use")[0].name, "guard");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Manager {
    hooks: OfDialect,
    /// The depth of the session; absent for the runtime.
    depth: Option<u32>,
    outside: HandlerRuntime,
    bus: Bus,
    cwd: PathBuf,
}

impl Manager {
    /// The runtime's. Programs that it starts are its own; use [`Assembly::flyto`] to have a drain wait for them.
    #[must_use]
    pub fn of_bus(bus: &Bus) -> Self {
        Self::new(bus.clone(), bus.of_dialect(DIALECT), None, HandlerRuntime::new(Arc::default()))
    }

    /// That of a session, which its sub-agents' sessions inherit (FL-45).
    #[must_use]
    pub fn of_session(session: &Session) -> Self {
        Self::new(
            session.bus(),
            session.of_dialect(DIALECT),
            Some(session.source().depth),
            HandlerRuntime::new(Arc::default()),
        )
    }

    fn new(bus: Bus, hooks: OfDialect, depth: Option<u32>, outside: HandlerRuntime) -> Self {
        let cwd = std::env::current_dir().unwrap_or_default();
        Self { hooks, depth, outside, bus, cwd }
    }

    /// Puts a hook at the end of the list of its type (FL-36).
    ///
    /// ```
    /// use lineside::flyto::{Definition, Manager, RegisterFlytoHookError};
    /// use lineside::prelude::*;
    ///
    /// let manager = Manager::of_bus(&Bus::new());
    /// let wrong = manager.register("pre_tool_used", Definition::command("exit 0"));
    /// assert!(matches!(wrong, Err(RegisterFlytoHookError::UnknownType { nearest: "pre_tool_use", .. })));
    /// ```
    ///
    /// # Errors
    /// There is no such type, the definition says nothing to run, or something that cannot be; nothing is changed
    /// then.
    pub fn register(&self, hook_type: &str, definition: Definition) -> Result<(), RegisterFlytoHookError> {
        let hook_type = HookType::find(hook_type).ok_or_else(|| RegisterFlytoHookError::UnknownType {
            wrong: hook_type.to_owned(),
            nearest: HookType::nearest(hook_type),
        })?;
        let (name, function, definition) = definition.resolve()?;
        let name = name.unwrap_or_else(|| format!("{}-{}", hook_type.name(), self.count(hook_type.name())));
        let hook = FlytoHook::new(hook_type, name, definition, self.cwd.clone());
        let known = self.placed(hook.hook());
        let run: Arc<dyn Interceptor> = match function {
            Some(function) => Arc::new(Called { adopted: adopted(&self.bus, &known), hook, function }),
            None => {
                let foreign = hook.into_foreign(known.clone());
                let run = Foreign::new(&foreign, self.outside.clone(), None);
                Arc::new(run.in_memory(&foreign, &self.bus))
            }
        };
        self.hooks.attach(Installed { point: hook_type.point(), hook: known, run })?;
        Ok(())
    }

    /// The hook with its place in the order.
    fn placed(&self, hook: Hook) -> Hook {
        let priority =
            self.depth.map_or(0, |depth| i32::try_from(depth).unwrap_or(i32::MAX).saturating_add(1));
        // Behind those from files, which are in the layers of the user and of the project.
        hook.layer(Layer::Session).priority(priority)
    }

    /// Removes the hooks of a type that have exactly this source; the empty one is the global one (FL-37, FL-39).
    /// Returns how many there were; an unknown source or type has none.
    ///
    /// ```
    /// use lineside::flyto::{Definition, Manager};
    /// use lineside::prelude::*;
    ///
    /// let bus = Bus::new();
    /// let manager = Manager::of_bus(&bus);
    /// manager.register("pre_tool_use", Definition::command("exit 0").source("plugin-a"))?;
    /// assert_eq!(manager.unregister_by_source("pre_tool_use", "plugin-b"), 0);
    /// assert_eq!(manager.unregister_by_source("pre_tool_use", "plugin-a"), 1);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn unregister_by_source(&self, hook_type: &str, source: &str) -> usize {
        HookType::find(hook_type)
            .map_or(0, |hook_type| self.hooks.remove(Some(hook_type.point()), Some(source)))
    }

    /// Removes the hooks of every type that have exactly this source (FL-38). Returns how many there were.
    pub fn unregister_all_by_source(&self, source: &str) -> usize {
        self.hooks.remove(None, Some(source))
    }

    /// Removes all hooks of a type (FL-38). Returns how many there were.
    pub fn unregister(&self, hook_type: &str) -> usize {
        HookType::find(hook_type).map_or(0, |hook_type| self.hooks.remove(Some(hook_type.point()), None))
    }

    /// How many hooks of a type there are (FL-40).
    #[must_use]
    pub fn count(&self, hook_type: &str) -> usize {
        self.list(hook_type).len()
    }

    /// Whether there are hooks of a type, and they are not disabled (FL-40, FL-42).
    #[must_use]
    pub fn has_hooks(&self, hook_type: &str) -> bool {
        !self.hooks.is_off() && self.count(hook_type) > 0
    }

    /// The hooks of a type, in the order in which they run.
    #[must_use]
    pub fn list(&self, hook_type: &str) -> Vec<Arc<Hook>> {
        let Some(hook_type) = HookType::find(hook_type) else { return Vec::new() };
        let all = self.hooks.list().into_iter();
        all.filter(|(point, _)| *point == hook_type.point()).map(|(_, hook)| hook).collect()
    }

    /// Has every event skip every hook, reason `disabled`; registrations stay (FL-42).
    ///
    /// ```
    /// use lineside::flyto::{Definition, Manager};
    /// use lineside::prelude::*;
    ///
    /// let bus = Bus::new();
    /// let manager = Manager::of_bus(&bus);
    /// manager.register("pre_tool_use", Definition::command("exit 0"))?;
    /// manager.disable();
    /// assert!(!manager.has_hooks("pre_tool_use") && manager.count("pre_tool_use") == 1);
    /// manager.enable();
    /// assert!(manager.has_hooks("pre_tool_use"));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn disable(&self) {
        self.hooks.switch_off();
    }

    /// Has events see the hooks again (FL-42).
    pub fn enable(&self) {
        self.hooks.switch_on();
    }
}

/// The hooks of a type that an event of this session would meet, in the order in which they run: the session's, those
/// of its ancestors, the runtime's (FL-44, FL-45). Those that are disabled are left out, so that `has_hooks` is whether
/// there is one.
///
/// ```
/// use lineside::flyto::{Definition, Manager, in_force};
/// use lineside::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bus = Bus::new();
/// let session = bus.session("s1").open().await?;
/// Manager::of_bus(&bus).register("stop", Definition::command("exit 0").name("of-all"))?;
/// Manager::of_session(&session).register("stop", Definition::command("exit 0").name("own"))?;
/// let names: Vec<String> = in_force(&session, "stop").iter().map(|hook| hook.name.to_string()).collect();
/// assert_eq!(names, ["own", "of-all"]);
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn in_force(session: &Session, hook_type: &str) -> Vec<Arc<Hook>> {
    let Some(hook_type) = HookType::find(hook_type) else { return Vec::new() };
    let all = session.hooks().into_iter().filter(|(point, hook)| {
        *point == hook_type.point().name
            && hook.dialect == DIALECT
            && hook.standby != Standby::Off(SkipReason::Disabled)
    });
    all.map(|(_, hook)| hook).collect()
}

impl Assembly {
    /// The manager of the runtime, with the hooks that were loaded; a drain waits for the programs that it starts.
    #[must_use]
    pub fn flyto(&self) -> Manager {
        Manager::new(self.bus().clone(), self.bus().of_dialect(DIALECT), None, self.outside.clone())
    }

    /// The manager of a session; a drain waits for the programs that it starts.
    #[must_use]
    pub fn flyto_of(&self, session: &Session) -> Manager {
        let hooks = session.of_dialect(DIALECT);
        Manager::new(self.bus().clone(), hooks, Some(session.source().depth), self.outside.clone())
    }
}

/// What is wrong with a definition, if anything is.
fn check(webhook_url: Option<&str>, plugin_dir: Option<&Path>) -> Result<(), RegisterFlytoHookError> {
    if let Some(url) = webhook_url.filter(|url| !is_web_address(url)) {
        return Err(RegisterFlytoHookError::WebhookUrl(redact(url).into_owned()));
    }
    match plugin_dir.filter(|directory| !directory.is_absolute()) {
        Some(directory) => Err(RegisterFlytoHookError::PluginDir(directory.to_owned())),
        None => Ok(()),
    }
}

/// Why a hook of Flyto cannot be registered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterFlytoHookError {
    /// There is no such type.
    #[error("unknown hook type '{wrong}'; did you mean '{nearest}'?")]
    UnknownType {
        /// What was asked for.
        wrong: String,
        /// The nearest type.
        nearest: &'static str,
    },
    /// There is neither a function nor a command nor a URL.
    #[error("a hook needs a function, a command or a webhook URL")]
    NothingToRun,
    /// Nothing can be posted there.
    #[error("`{0}` is not an absolute http or https URL")]
    WebhookUrl(String),
    /// The directory of a plugin is not absolute.
    #[error("the plugin directory `{}` is not absolute", .0.display())]
    PluginDir(PathBuf),
    /// The bus does not take it.
    #[error(transparent)]
    Register(#[from] RegisterHookError),
}

#[cfg(test)]
mod tests;
