//! Programs of hooks: whether one would be found, and may be run, when hooks are loaded, and within which limits most
//! formats have it run. Nothing is started.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lineside_core::AnyEvent;
use lineside_core::invocation::{Ending, Leftovers, Limits};

/// What a hook may print that is read, in bytes of each stream.
const OUTPUT: usize = 10 << 20;

/// The limits of a hook that ends in this way when its time is over.
pub(crate) fn limits(timeout: Duration, ending: Ending) -> Limits {
    Limits {
        timeout,
        ending,
        leak_grace: Duration::from_millis(500),
        leftovers: Leftovers::Leave,
        stdout_bytes: OUTPUT,
        stderr_bytes: OUTPUT,
        busy_retry: Duration::from_millis(200),
        ..Limits::default()
    }
}

/// Where a hook runs that belongs to the project of an event: in its root, else in the working directory that the
/// event names, else in `own`, from which relative ones start.
pub(crate) fn project_of(event: &AnyEvent, own: &Path) -> PathBuf {
    let source = &event.envelope().source;
    let named = source.project_root.as_deref().or(source.cwd.as_deref());
    named.map_or_else(|| own.to_path_buf(), |named| own.join(named))
}

/// Where a hook runs that follows the agent: in the working directory that an event names, else in the root of its
/// project, else in `own`, from which relative ones start.
pub(crate) fn directory_of(event: &AnyEvent, own: &Path) -> PathBuf {
    let source = &event.envelope().source;
    let named = source.cwd.as_deref().or(source.project_root.as_deref());
    named.map_or_else(|| own.to_path_buf(), |named| own.join(named))
}

/// Where programs are looked for.
#[derive(Debug, Clone)]
pub(crate) struct Search {
    /// `PATH` of the runtime.
    pub(crate) path: Option<String>,
    /// The directory that relative entries start from.
    pub(crate) work_dir: PathBuf,
}

impl Search {
    /// Whether there is such a program in this `PATH`, else in that of the runtime, else in these folders.
    pub(crate) fn finds(&self, program: &str, path: Option<&str>, otherwise: &str) -> bool {
        let path = path.or(self.path.as_deref()).unwrap_or(otherwise);
        std::env::split_paths(path).any(|folder| {
            let file = self.work_dir.join(folder).join(program);
            file.is_file() && is_executable(&file)
        })
    }
}

/// Whether the user may run a file.
#[cfg(unix)]
pub(crate) fn is_executable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Whether the user may run a file.
#[cfg(not(unix))]
pub(crate) fn is_executable(_path: &Path) -> bool {
    true
}
