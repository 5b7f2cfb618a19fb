//! What a command or a shell line is started as (CH-9, CH-10).

use lineside_core::invocation::Program;

use crate::programs::Search;

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

/// Whether there is a bash in this `PATH`, or in that of the runtime.
pub(super) fn has_bash(search: &Search, path: Option<&str>) -> bool {
    search.finds(if cfg!(windows) { "bash.exe" } else { "bash" }, path, "/bin:/usr/bin")
}
