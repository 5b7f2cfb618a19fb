//! Whether a program would be found, and may be run, when hooks are loaded. Nothing is started.

use std::path::{Path, PathBuf};

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
