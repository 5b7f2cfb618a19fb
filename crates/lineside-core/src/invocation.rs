//! A command to be run for a hook, and how it ended: plain values.
//!
//! A dialect makes an [`Invocation`] and reads an [`Ended`]; the runner between them is another crate's business.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::time::Duration;

mod script;
mod shell_line;

/// What to run for one hook and one event.
///
/// ```
/// use std::time::Duration;
///
/// use lineside_core::invocation::{Environment, Invocation, Limits, Program};
///
/// let invocation = Invocation {
///     program: Program::argv(["python3", "guard.py"]),
///     stdin: br#"{"point":"before_tool"}"#.to_vec(),
///     environment: Environment::default(),
///     files: Vec::new(),
///     working_directory: None,
///     limits: Limits { timeout: Duration::from_secs(5), ..Limits::default() },
/// };
/// assert_eq!(invocation.program.script().and_then(|path| path.to_str()), Some("guard.py"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The program, in the order in which ways of starting it are tried.
    pub program: Program,
    /// Written to standard input, then the input is closed.
    pub stdin: Vec<u8>,
    /// The environment of the process.
    pub environment: Environment,
    /// What does not fit into the environment, and is there in files for the time of the run.
    pub files: Vec<EventFile>,
    /// The working directory; the runtime's own when absent.
    pub working_directory: Option<PathBuf>,
    /// Time and size bounds.
    pub limits: Limits,
}

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Program {
    /// The argument vector; the first element is the program. Looked up in the `PATH` of the *hook's* environment
    /// when it has no `/`.
    pub argv: Vec<OsString>,
    /// An argument vector to use instead when the kernel refuses the first with `ENOEXEC` (a script without `#!`).
    pub without_interpreter: Option<Vec<OsString>>,
}

impl Program {
    /// A program with its arguments.
    pub fn argv<I, S>(argv: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<OsString>,
    {
        Self { argv: argv.into_iter().map(Into::into).collect(), without_interpreter: None }
    }

    /// The names of the programs that a start of it certainly runs: the program and, of a line for a shell, its first
    /// word, where no other reading is possible.
    ///
    /// ```
    /// use lineside_core::invocation::Program;
    ///
    /// let line = Program::shell("/bin/sh", "./guard.sh --strict | cat");
    /// assert_eq!(line.names().collect::<Vec<_>>(), ["/bin/sh", "./guard.sh"]);
    /// ```
    pub fn names(&self) -> impl Iterator<Item = &OsStr> {
        let first = self.argv.first().map(OsString::as_os_str);
        first.into_iter().chain(shell_line::first_word(self).map(OsStr::new))
    }

    /// What of it means a file below the working directory: a relative path among [`Program::names`], or the script that
    /// an interpreter among them is given.
    ///
    /// ```
    /// use lineside_core::invocation::Program;
    ///
    /// let script = Program::argv(["python3", "-u", "policy.py"]);
    /// assert_eq!(script.below_working_directory(), Some("policy.py".as_ref()));
    /// ```
    #[must_use]
    pub fn below_working_directory(&self) -> Option<&OsStr> {
        let is_relative = |name: &&OsStr| {
            let path = Path::new(name);
            path.is_relative() && (path.components().count() > 1 || path.starts_with("."))
        };
        let of_words = || script::relative(self.argv.iter().map_while(|word| word.to_str()));
        let of_line = || script::relative(shell_line::words(self));
        self.names().find(is_relative).or_else(|| of_words().or_else(of_line).map(OsStr::new))
    }

    /// The script that an interpreter is given, where no other reading of the words is possible: without it the interpreter
    /// fails.
    #[must_use]
    pub fn script(&self) -> Option<&OsStr> {
        let of_words = || script::opened(self.argv.iter().map_while(|word| word.to_str()));
        let of_line = || script::opened(shell_line::words(self));
        // A shell that is handed a line is no interpreter of the words in it.
        shell_line::first_word(self).map_or_else(of_words, |_| of_line()).map(OsStr::new)
    }

    /// A shell line, run as `<shell> -c <line>`. Data of an event never belongs into the line.
    pub fn shell(shell: &str, line: impl Into<OsString>) -> Self {
        Self { argv: vec![shell.into(), "-c".into(), line.into()], without_interpreter: None }
    }
}

/// The environment of a process: what it inherits, then what is taken away, then what is set.
///
/// Its `Debug` has the names of what is set and not the values.
///
/// ```
/// use lineside_core::invocation::{Environment, Inherit};
///
/// let environment = Environment {
///     inherit: Inherit::minimal_and(["CI"]),
///     set: vec![("TOKEN".into(), "secret".into())],
///     ..Environment::default()
/// };
/// // Its values are no matter for a log.
/// assert!(!format!("{environment:?}").contains("secret"));
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Environment {
    /// What is inherited from the runtime.
    pub inherit: Inherit,
    /// Names taken out of what was inherited.
    pub remove: Vec<OsString>,
    /// Names and values set last, in order; a later entry replaces an earlier one.
    pub set: Vec<(OsString, OsString)>,
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set: Vec<_> = self.set.iter().map(|(name, _)| name).collect();
        f.debug_struct("Environment")
            .field("inherit", &self.inherit)
            .field("remove", &self.remove)
            .field("set", &set)
            .finish()
    }
}

/// A file that is there for one run.
///
/// It is written before the start, into a place that only the user can read, and is removed when the run ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFile {
    /// The variable whose value is the path of the file, set after all of [`Environment::set`].
    pub variable: OsString,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// What a process inherits of an environment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum Inherit {
    /// Everything.
    #[default]
    All,
    /// These names, where they are set.
    Only(Vec<OsString>),
}

impl Inherit {
    /// What a program needs to find other programs, its user, its language and a place for temporary files. None of
    /// these variables is known to hold a secret.
    pub const MINIMAL: [&str; 19] = [
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE",
        "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME", "TERM", "COLORTERM", "NO_COLOR", "TZ",
        "TMPDIR",
    ];

    /// The variables of [`Inherit::MINIMAL`] and these.
    ///
    /// ```
    /// use lineside_core::invocation::Inherit;
    ///
    /// let Inherit::Only(names) = Inherit::minimal_and(["BUILD_ID"]) else { unreachable!() };
    /// assert_eq!(names.len(), Inherit::MINIMAL.len() + 1);
    /// ```
    #[must_use]
    pub fn minimal_and<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self::Only(Self::MINIMAL.into_iter().chain(names).map(OsString::from).collect())
    }
}

/// Time and size bounds of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From before the start to the last byte.
    pub timeout: Duration,
    /// How the process group ends at the timeout.
    pub ending: Ending,
    /// How long output is still taken after the process itself has exited.
    pub leak_grace: Duration,
    /// What becomes of processes that a run left behind although it ended in time.
    pub leftovers: Leftovers,
    /// Bytes kept of standard output; the rest is read and dropped, and counted.
    pub stdout_bytes: usize,
    /// Bytes kept of standard error.
    pub stderr_bytes: usize,
    /// How long a start is tried again while the program is open for writing elsewhere (`ETXTBSY`).
    pub busy_retry: Duration,
    /// What the hook may use up.
    pub resources: Resources,
}

impl Default for Limits {
    /// The bounds of a native hook: 30 s, terminate with 500 ms of grace, 100 ms for leaked pipes, leftovers killed,
    /// 1 MiB of each output, no core dump.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            ending: Ending::Terminate { grace: Duration::from_millis(500) },
            leak_grace: Duration::from_millis(100),
            leftovers: Leftovers::Kill,
            stdout_bytes: 1 << 20,
            stderr_bytes: 1 << 20,
            busy_retry: Duration::from_secs(1),
            resources: Resources::default(),
        }
    }
}

/// What a hook may use up; nothing means what we may use up ourselves.
///
/// The bounds are set right after the start: what the process does in its first microseconds, before they are set, is
/// not under them, and everything that it starts later is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resources {
    /// Bytes of memory: of address space for each process, and together where a cgroup can bound that.
    pub memory: Option<NonZeroU64>,
    /// Processes and threads: of the same user altogether, which does not bind the administrator, and of the hook where
    /// a cgroup can bound that.
    pub processes: Option<NonZeroU32>,
    /// Open files of each process.
    pub files: Option<NonZeroU32>,
    /// Whether it leaves a core dump when it crashes.
    pub core_dumps: CoreDumps,
}

/// Whether a process that crashes leaves a core dump.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CoreDumps {
    /// It does not: a dump would hold the hook's input.
    #[default]
    Never,
    /// As we would ourselves.
    Inherited,
}

/// How a process group is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// `SIGTERM`, then `SIGKILL` for what is left after the grace.
    Terminate {
        /// Time between the two.
        grace: Duration,
    },
    /// `SIGKILL` at once.
    Kill,
}

/// What becomes of processes that outlive the hook's own process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftovers {
    /// They are killed after the leak grace.
    Kill,
    /// They stay; only their pipes are closed. Some foreign formats promise this.
    Leave,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The end itself.
    pub exit: Exit,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// From before the start to the end.
    pub took: Duration,
    /// Processes of the hook that were still there when its own process had exited.
    pub leaked: Leaked,
}

/// The end of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// It exited with a code.
    Code(i32),
    /// A signal that we did not send ended it.
    Signal(i32),
    /// It was ended at its deadline.
    TimedOut {
        /// The time it had.
        after: Duration,
    },
    /// It was never started.
    NotStarted {
        /// The system's reason, e.g. `No such file or directory`, with the program's name.
        why: String,
    },
    /// It was started and has ended, and its exit status is lost: another part of this program took it.
    Lost,
}

/// Whether something of a hook outlived the hook's own process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaked {
    /// Nothing did.
    Nothing,
    /// Something did and was killed.
    Killed,
    /// Something did and was left alone.
    Left,
    /// Something did and could not be ended: it runs on, or does not die.
    Escaped,
}

/// The kept part of an output stream.
///
/// ```
/// use lineside_core::invocation::Captured;
///
/// let output = Captured { bytes: b"exit: no such file\n".to_vec(), dropped: 0 };
/// assert_eq!(output.trimmed_text(), "exit: no such file");
/// assert!(!output.is_cut());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes, up to the limit.
    pub bytes: Vec<u8>,
    /// How many bytes beyond them were read and dropped.
    pub dropped: u64,
}

impl Captured {
    /// Whether the stream was longer than its limit.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.dropped > 0
    }

    /// The text, each invalid UTF-8 sequence as U+FFFD, white space around it trimmed.
    #[must_use]
    pub fn trimmed_text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_of_what_is_needed_has_the_named_variables_and_no_others() {
        for named in [&[][..], &["BUILD_ID", "CI"]] {
            let names = Inherit::MINIMAL.iter().chain(named).map(OsString::from).collect();
            assert_eq!(Inherit::minimal_and(named.iter().copied()), Inherit::Only(names));
        }
    }
}
