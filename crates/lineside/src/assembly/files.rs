//! What hook files said when they were read, before any of it is installed.

use std::collections::HashSet;
use std::sync::Arc;

use lineside_core::hook::Standby;
use lineside_core::invocation::Inherit;
use lineside_core::{Diagnostic, Origin, Severity};
use lineside_dialects::{Dialect, Loaded, Places};

use super::LoadReport;
use crate::last_good::file_of;
use crate::seal::Seal;

/// What the hook files of each dialect said when they were read.
pub struct HookFiles {
    pub(crate) places: Places,
    pub(crate) loaded: Vec<(&'static dyn Dialect, Loaded)>,
    /// What the user says that hooks inherit which do not say it themselves.
    pub(super) inherit: Inherit,
    /// What they are run by, as long as it is as it was when it was trusted.
    pub(crate) seal: Option<Arc<Seal>>,
    /// What their patterns have compiled to, in bytes.
    pub(super) compiled: usize,
}

impl std::fmt::Debug for HookFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HookFiles").field("places", &self.places).finish_non_exhaustive()
    }
}

impl HookFiles {
    /// What their patterns have compiled to, in bytes.
    #[must_use]
    pub fn compiled(&self) -> usize {
        self.compiled
    }

    /// Where the hooks of each format stand.
    #[must_use]
    pub fn origins(&self) -> Vec<(&'static str, Vec<Option<Origin>>)> {
        let of = |loaded: &Loaded| loaded.hooks.iter().map(|found| found.hook.origin.clone()).collect();
        self.loaded.iter().map(|(dialect, loaded)| (dialect.name(), of(loaded))).collect()
    }

    /// The names of the hooks, each once.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let hooks = self.loaded.iter().flat_map(|(_, loaded)| &loaded.hooks);
        let mut names: Vec<_> = hooks.map(|found| found.hook.name.to_string()).collect();
        names.dedup();
        names
    }

    /// Whether a hook that runs by an earlier load is not among those of these files that can run.
    #[must_use]
    pub fn lacks_of(&self, before: &LoadReport) -> bool {
        let hooks = self.loaded.iter().flat_map(|(_, loaded)| &loaded.hooks);
        let running = hooks.filter(|found| found.can_fire && found.hook.standby == Standby::Ready);
        let now: HashSet<_> = running.map(|found| (&found.hook.name, file_of(&found.hook.origin))).collect();
        let mut before = before.hooks.iter().filter(|found| found.state.may_run());
        before.any(|found| !now.contains(&(&found.hook.name, file_of(&found.hook.origin))))
    }

    /// What was wrong.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        self.loaded.iter().flat_map(|(_, loaded)| &loaded.diagnostics)
    }

    /// How many findings are errors.
    ///
    /// ```
    /// use lineside::dialects::{Places, Trust};
    /// use lineside::{Assembly, Bus};
    ///
    /// let nothing = tempfile::tempdir()?;
    /// let places = Places {
    ///     environment: Default::default(),
    ///     project_root: None,
    ///     cwd: nothing.path().to_owned(),
    ///     trust: Trust::Withheld,
    /// };
    /// let files = Assembly::new(Bus::new()).read(&places);
    /// assert_eq!((files.errors(), files.names()), (0, vec![]));
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[must_use]
    pub fn errors(&self) -> usize {
        self.diagnostics().filter(|finding| finding.severity == Severity::Error).count()
    }

    /// The same without the plugins of formats whose hooks are functions, which no second assembly can load from them.
    #[must_use]
    pub fn without_plugins(&self) -> Self {
        let Self { places, loaded, inherit, seal, compiled } = self;
        Self {
            places: places.clone(),
            loaded: loaded.iter().map(|(dialect, loaded)| (*dialect, loaded.without_plugins())).collect(),
            inherit: inherit.clone(),
            seal: seal.clone(),
            compiled: *compiled,
        }
    }

    /// Leaves out what was found in other dialects than these.
    #[must_use]
    pub fn only(mut self, dialects: &[&'static dyn Dialect]) -> Self {
        let is_meant = |name| dialects.iter().any(|dialect| dialect.name() == name);
        for (dialect, loaded) in &mut self.loaded {
            if !is_meant(dialect.name()) {
                *loaded = Loaded::default();
            }
        }
        self
    }
}
