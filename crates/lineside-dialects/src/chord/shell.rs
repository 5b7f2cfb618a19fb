//! What a command or a shell line is started as (CH-9, CH-10).

use std::path::{Path, PathBuf};

use lineside_core::invocation::Program;

/// What an entry runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Run {
    /// An argument vector; nothing in it is expanded.
    Arguments(Vec<String>),
    /// A line for `sh`.
    Sh(String),
    /// A line that needs `bash`.
    Bash(String),
}

impl Run {
    /// A shell line. `<<<` needs bash, where there is one (CH-10).
    pub(super) fn line(line: String, has_bash: bool) -> Self {
        if has_bash && needs_bash(&line) { Self::Bash(line) } else { Self::Sh(line) }
    }

    /// The program.
    pub(super) fn program(&self) -> Program {
        match self {
            Self::Arguments(arguments) => Program::argv(arguments),
            Self::Sh(line) => Program::shell("sh", line),
            Self::Bash(line) => Program::shell("bash", line),
        }
    }
}

/// Whether a shell line has a here-string.
pub(super) fn needs_bash(line: &str) -> bool {
    line.contains("<<<")
}

/// Where programs are looked for when hooks are loaded.
#[derive(Debug, Clone)]
pub(super) struct Search {
    /// `PATH` of the runtime.
    pub(super) path: Option<String>,
    /// The directory that relative entries start from.
    pub(super) work_dir: PathBuf,
}

impl Search {
    /// Whether there is a bash in this `PATH`, or in that of the runtime.
    pub(super) fn has_bash(&self, path: Option<&str>) -> bool {
        let path = path.or(self.path.as_deref()).unwrap_or("/bin:/usr/bin");
        std::env::split_paths(path).any(|folder| {
            let file = self.work_dir.join(folder).join(if cfg!(windows) { "bash.exe" } else { "bash" });
            file.is_file() && is_executable(&file)
        })
    }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn is_executable(_path: &Path) -> bool {
    true
}
