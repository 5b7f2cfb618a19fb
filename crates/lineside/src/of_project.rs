//! The place of the hooks of one project: its scope, and the name under which what they declare is known.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use lineside_bus::Scope;

/// The place of the hooks of one project.
pub(crate) struct OfProject {
    pub(crate) root: PathBuf,
    pub(crate) scope: Scope,
    /// Tells it from others of the same root.
    number: u64,
}

/// How many there were.
static PLACES: AtomicU64 = AtomicU64::new(0);

impl OfProject {
    pub(crate) fn new(root: &Path, scope: Scope) -> Self {
        Self { root: root.to_path_buf(), scope, number: PLACES.fetch_add(1, Ordering::Relaxed) }
    }

    /// The name of its hooks of a dialect among those of all projects. That of an assembly which is about to end is not that of
    /// the one in its place: it takes away what it has declared itself, and nothing else.
    pub(crate) fn source(&self, dialect: &str) -> String {
        format!("{dialect} {} {}", self.number, self.root.display())
    }
}
