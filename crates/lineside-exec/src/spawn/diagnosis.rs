//! Why the system refused a start, found out after the fact.
//!
//! The system gives one number for a missing program, a missing working directory and a missing interpreter.
//! Looking is done only here, so that a start that succeeds pays nothing for it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use lineside_core::invocation::Invocation;
use rustix::fs::Access;
use rustix::io::Errno;

use super::{Refusal, StartHookError, is};
use crate::program::{FindProgramError, from_directory};

/// What the kernel reads of a script to find its interpreter.
const SHEBANG_BYTES: usize = 256;

/// Turns the system's refusal into the reason that a person can act on.
pub(super) fn explain(refusal: Refusal, argv: &[OsString], invocation: &Invocation) -> StartHookError {
    let Refusal { program, error } = refusal;
    if error.kind() == io::ErrorKind::InvalidInput
        && let Some(place) = nul(argv, invocation)
    {
        return StartHookError::Nul { place };
    }
    let directory = invocation.working_directory.as_deref();
    if let Some(path) = directory
        && let Err(source) = enter(path)
    {
        return StartHookError::Directory { path: path.to_owned(), source };
    }
    if is(&error, Errno::NOENT) || is(&error, Errno::NOEXEC) {
        match Beginning::of(&from_directory(directory, &program)) {
            Ok(Beginning::Script(interpreter)) if is(&error, Errno::NOENT) => {
                return StartHookError::Interpreter { program, interpreter };
            }
            Ok(Beginning::Text) if is(&error, Errno::NOEXEC) => {
                return FindProgramError::NoFirstLine { path: program }.into();
            }
            _ => {}
        }
    }
    StartHookError::Refused { program, source: error }
}

fn nul(argv: &[OsString], invocation: &Invocation) -> Option<String> {
    let holds = |text: &OsStr| text.as_bytes().contains(&0);
    if let Some(position) = argv.iter().position(|argument| holds(argument)) {
        return Some(format!("argument {position}"));
    }
    let mut set = invocation.environment.set.iter();
    if let Some((name, _)) = set.find(|(name, value)| holds(name) || holds(value)) {
        return Some(format!("the environment variable {name:?}"));
    }
    let directory = invocation.working_directory.as_deref();
    let bad = directory.is_some_and(|directory| holds(directory.as_os_str()));
    bad.then(|| "the working directory".to_owned())
}

fn enter(directory: &Path) -> io::Result<()> {
    if !directory.metadata()?.is_dir() {
        return Err(Errno::NOTDIR.into());
    }
    Ok(rustix::fs::access(directory, Access::EXEC_OK)?)
}

/// What the first bytes of a program say.
pub(crate) enum Beginning {
    /// A `#!` line, with the interpreter that it names.
    Script(String),
    /// A text without one.
    Text,
    /// Anything else.
    Binary,
}

impl Beginning {
    pub(crate) fn of(program: &Path) -> io::Result<Self> {
        let mut start = Vec::with_capacity(SHEBANG_BYTES);
        File::open(program)?.take(SHEBANG_BYTES as u64).read_to_end(&mut start)?;
        let Some(rest) = start.strip_prefix(b"#!") else {
            return Ok(if start.contains(&0) { Self::Binary } else { Self::Text });
        };
        let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let mut words = line.split(|byte| matches!(byte, b' ' | b'\t'));
        let path = words.find(|word| !word.is_empty()).unwrap_or_default();
        Ok(Self::Script(String::from_utf8_lossy(path).into_owned()))
    }
}
