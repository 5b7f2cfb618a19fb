//! Starting the process of a hook, and saying exactly why it could not be started.
//!
//! Nothing here makes the standard library fork: no `pre_exec`, no user change, and always a program with a `/`, so
//! that it uses `posix_spawn`, whose cost does not grow with our memory.
//! What happens to the process afterwards is the business of [`crate::tree`] and [`crate::pipes`].

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use lineside_core::invocation::Invocation;
use rustix::io::Errno;
use thiserror::Error;
use tokio::time::Instant;

use crate::program::FindProgramError;
use crate::run_tag::RunTag;
use crate::{environment, program};

pub(crate) mod diagnosis;

/// Why a process could not be started.
#[derive(Debug, Error)]
pub(crate) enum StartHookError {
    /// Its time was over before it was its turn.
    #[error("overloaded: waited {tried:?} for a turn to start, of which there are {starting}")]
    Overloaded {
        /// How many may start at once.
        starting: usize,
        /// How long it waited.
        tried: Duration,
    },
    /// The argument vector has no first element.
    #[error("cannot run an empty argument vector")]
    NoProgram,
    /// The program's name means no file.
    #[error(transparent)]
    Find(#[from] FindProgramError),
    /// A name to be set in the environment cannot be one.
    #[error("cannot set the environment variable {name:?}: the name is empty or holds `=`")]
    Name {
        /// The name.
        name: OsString,
    },
    /// Text for the process holds a NUL byte, which ends text for the kernel.
    #[error("cannot pass {place}: it holds a NUL byte")]
    Nul {
        /// Where it is.
        place: String,
    },
    /// A file for the run cannot be written.
    #[error("cannot write a file for the run")]
    Files {
        /// The system's reason.
        source: io::Error,
    },
    /// The working directory cannot be entered.
    #[error("cannot enter the working directory `{}`", .path.display())]
    Directory {
        /// The working directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file is there; what its `#!` line names is not.
    #[error("cannot run `{}`: its interpreter {interpreter:?} does not exist", .program.display())]
    Interpreter {
        /// The script.
        program: PathBuf,
        /// The interpreter, as the `#!` line names it.
        interpreter: String,
    },
    /// The program was open for writing as long as we tried.
    #[error("cannot run `{}`: open for writing elsewhere, tried for {tried:?}", .program.display())]
    Busy {
        /// The program.
        program: PathBuf,
        /// How long it was tried.
        tried: Duration,
    },
    /// The system refused.
    #[error("cannot run `{}`", .program.display())]
    Refused {
        /// The program.
        program: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The process was started, but what it may use up could not be bounded; it was killed at once.
    #[error("cannot bound what the process may use up")]
    Bound {
        /// The system's reason.
        source: io::Error,
    },
    /// The process was started, but its pipes could not be watched; it was killed at once.
    #[error("cannot watch the pipes of the process")]
    Watch {
        /// The system's reason.
        source: io::Error,
    },
}

/// What a process gets beside its invocation.
#[derive(Clone, Copy)]
pub(crate) struct Beside<'a> {
    /// Variables and the paths of files that they name.
    pub(crate) files: &'a [(OsString, PathBuf)],
    /// By what it and its descendants are known.
    pub(crate) tag: &'a RunTag,
}

/// Starts the process, in a process group of its own, with the tag and with pipes for what is to be moved; the paths
/// of its files are set last.
///
/// A start that is refused because the program is open for writing is tried again, at most until `deadline`.
/// Cancel safe: nothing runs while this waits.
pub(crate) async fn start(
    invocation: &Invocation,
    beside: Beside<'_>,
    deadline: Instant,
) -> Result<Child, StartHookError> {
    if let Some(name) = environment::impossible_name(&invocation.environment) {
        return Err(StartHookError::Name { name: name.to_owned() });
    }
    let refused = match attempt(&invocation.program.argv, invocation, beside, deadline).await? {
        Ok(child) => return Ok(child),
        Err(refused) => refused,
    };
    let other = invocation.program.without_interpreter.as_ref();
    if let Some(argv) = other.filter(|_| is(&refused.error, Errno::NOEXEC)) {
        return match attempt(argv, invocation, beside, deadline).await? {
            Ok(child) => Ok(child),
            Err(refused) => Err(diagnosis::explain(refused, argv, invocation)),
        };
    }
    Err(diagnosis::explain(refused, &invocation.program.argv, invocation))
}

/// A start that the system refused.
struct Refusal {
    program: PathBuf,
    error: io::Error,
}

async fn attempt(
    argv: &[OsString],
    invocation: &Invocation,
    beside: Beside<'_>,
    deadline: Instant,
) -> Result<Result<Child, Refusal>, StartHookError> {
    let (name, arguments) = argv.split_first().ok_or(StartHookError::NoProgram)?;
    let directory = invocation.working_directory.as_deref();
    let program = program::find(name, &invocation.environment, directory)?;
    let mut command = Command::new(&program);
    command
        .arg0(name)
        .args(arguments)
        .process_group(0)
        .stdin(if invocation.stdin.is_empty() { Stdio::null() } else { Stdio::piped() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(directory) = directory {
        command.current_dir(directory);
    }
    environment::apply(&invocation.environment, beside.tag, &mut command);
    command.envs(beside.files.iter().map(|(variable, path)| (variable, path)));

    let begun = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        let error = match command.spawn() {
            Ok(child) => return Ok(Ok(child)),
            Err(error) => error,
        };
        let tried = begun.elapsed();
        if !is(&error, Errno::TXTBSY) {
            return Ok(Err(Refusal { program, error }));
        }
        if tried >= invocation.limits.busy_retry || Instant::now() >= deadline {
            return Err(StartHookError::Busy { program, tried });
        }
        let pause_end = Instant::now() + pause.min(invocation.limits.busy_retry - tried);
        tokio::time::sleep_until(pause_end.min(deadline)).await;
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}
