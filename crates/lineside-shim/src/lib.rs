//! `lineside hook HOST`: the process that an agent program starts for each of its events.
//!
//! It hands the call to the daemon over the Unix socket and prints what comes back. It starts a daemon when there is none,
//! and closes the gates of the host when none can be reached. Everything else is left to the full command, which the
//! installed file `lineside` becomes by `exec`, and what a call means is left to the daemon: known here are the names of
//! the hosts' gates and the words that close them, and no other format.
//!
//! Nothing of its environment opens anything: where the daemon is, and whether hooks are switched off, follows from the
//! account that the system knows and from the arguments of the entry.
//!
//! An agent program waits for this process at each of its steps, so it is built to start fast: little more than the
//! standard library, one thread besides the first, no parser of arguments. The modules stand in reading order.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod environment;
mod arguments;
mod document;
mod gates;
mod closed;
mod exchange;
mod full_command;
mod start;
mod progress;
mod attempt;
mod hook;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

pub use closed::{Closed, closed, silent};
pub use environment::Environment;
pub use full_command::FullCommand;
pub use start::login;

/// What the process prints, and how it exits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Standard output, whole.
    pub stdout: Vec<u8>,
    /// Standard error, whole.
    pub stderr: Vec<u8>,
    /// The exit status: 0 or 2.
    pub exit: u8,
}

/// A call of `lineside hook`. Which host it is of is said by the entry and the document, never by the environment.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The argument.
    pub host: Host,
    /// The value of `--event`.
    pub event: Option<&'a str>,
    /// The document of the host.
    pub stdin: &'a [u8],
    /// The grant of the session that the host was started under. It confines the call, and opens nothing.
    pub grant: Option<&'a OsStr>,
}

pub use gates::{HOSTS, Host};

/// Runs the command with the arguments behind the program's name: `hook` here, anything else as the full command.
///
/// Returns the exit status; of `hook` it is 0 or 2. For other arguments, and for help about `hook`, the process becomes
/// the full command, and the call returns only when that fails, with status 2 and the reason on standard error.
#[must_use]
pub fn run(arguments: &[OsString], environment: &Environment, full: &FullCommand) -> ExitCode {
    match hook_arguments(arguments) {
        Some(arguments) => hook::run(arguments, environment, full),
        None => full_command::become_it(full, arguments, environment),
    }
}

/// The arguments behind `hook`; `None` for another command and for help.
#[must_use]
pub fn hook_arguments(arguments: &[OsString]) -> Option<&[OsString]> {
    let (first, rest) = arguments.split_first()?;
    let is_help = rest.iter().any(|argument| argument == "--help" || argument == "-h");
    (first == "hook" && !is_help).then_some(rest)
}
