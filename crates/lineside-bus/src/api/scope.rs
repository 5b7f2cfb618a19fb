//! Hooks that hold for a part of the sessions: those that are put into the scope, and everything below them.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use lineside_core::hook::{Hook, Tighter};

use crate::api::register::{Installed, RegisterHookError};
use crate::hook::state::{Place, ScopeHooks, Shared};

/// A place for hooks between the bus and its sessions. Cloning it costs a reference count; all clones are the same.
///
/// A session is put into a scope when it is opened, and is under its hooks with everything below it; no other session
/// is. What is installed anew holds for the further events of all of them. A scope lasts as long as it has clones or
/// sessions. Two are equal that are clones of one.
///
/// ```
/// use lineside_bus::Bus;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bus = Bus::new();
/// let project = bus.scope();
/// let inside = bus.session("s1").scope(&project).open().await?;
/// let outside = bus.session("s2").open().await?;
/// assert!(inside.is_in(&project) && !outside.is_in(&project));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Scope {
    shared: Arc<Shared>,
    hooks: Arc<ScopeHooks>,
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

impl PartialEq for Scope {
    fn eq(&self, other: &Self) -> bool {
        self.is(&other.hooks)
    }
}

impl Eq for Scope {}

impl Hash for Scope {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.hooks).hash(state);
    }
}

impl Scope {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, hooks: Arc::default() }
    }

    /// Puts hooks in the place of all that were installed in it under the same names before, at once, as
    /// [`Bus::install_all`](crate::Bus::install_all) does for all sessions.
    ///
    /// # Errors
    /// An interceptor at a fact; nothing is changed then.
    pub fn install_all<'a>(
        &self,
        hooks: impl IntoIterator<Item = (&'a str, Vec<Installed>)>,
    ) -> Result<(), RegisterHookError> {
        self.shared.install_all(&Place::Scope(Arc::clone(&self.hooks)), hooks, None)
    }

    /// The same; for the sessions of the scope hooks of the bus are stricter, as far as this says so. Those that were
    /// tightened before and no longer are, are as they were. It counts for the hooks that the bus has now: one that is
    /// installed there later runs as it is.
    ///
    /// ```
    /// use std::time::Duration;
    /// use lineside_bus::Bus;
    /// use lineside_core::hook::Tighter;
    ///
    /// let project = Bus::new().scope();
    /// let sooner = Tighter { timeout: Some(Duration::from_secs(5)), on_failure: None };
    /// project.install_and_tighten([], |hook| (&*hook.name == "guard").then_some(sooner))?;
    /// # Ok::<_, lineside_bus::register::RegisterHookError>(())
    /// ```
    ///
    /// # Errors
    /// An interceptor at a fact; nothing is changed then.
    pub fn install_and_tighten<'a>(
        &self,
        hooks: impl IntoIterator<Item = (&'a str, Vec<Installed>)>,
        tighter: impl Fn(&Hook) -> Option<Tighter>,
    ) -> Result<(), RegisterHookError> {
        self.shared.install_all(&Place::Scope(Arc::clone(&self.hooks)), hooks, Some(&tighter))
    }

    pub(crate) fn of(shared: &Arc<Shared>, hooks: &Arc<ScopeHooks>) -> Self {
        Self { shared: Arc::clone(shared), hooks: Arc::clone(hooks) }
    }

    pub(crate) fn is(&self, hooks: &Arc<ScopeHooks>) -> bool {
        Arc::ptr_eq(&self.hooks, hooks)
    }

    pub(crate) fn into_place(self) -> Arc<ScopeHooks> {
        self.hooks
    }
}
