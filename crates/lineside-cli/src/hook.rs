//! `lineside hook`: the call of an agent program, which the shim's library answers here as in the installed file.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;
use lineside_shim::{Environment, FullCommand};

/// Answer a call of an agent program, in its own words.
///
/// Its document is read from standard input, and the words are printed on standard output.
/// Asks the daemon, and starts one when there is none. What no daemon decides is refused at the gates of the program and
/// passes elsewhere. Exit status: 0, or 2 where that is the program's word for a refusal.
#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// The agent program: claude, codex, copilot, cursor, gemini, kimi or qwen.
    #[arg(value_name = "HOST")]
    host: OsString,

    /// The event, where the document does not name it.
    #[arg(long, value_name = "NAME")]
    event: Option<OsString>,

    /// The document, of a setting that hands it over as an argument: `notify` of Codex.
    #[arg(long, value_name = "DOCUMENT")]
    notify: Option<OsString>,
}

/// Answers a call before anything else is set up, as the program is waiting; nothing for other commands.
pub(crate) fn at_once() -> Option<ExitCode> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    lineside_shim::hook_arguments(&arguments)?;
    Some(answer(&arguments))
}

/// Does what was asked, behind arguments of all commands.
pub(crate) fn run(args: &HookArgs) -> ExitCode {
    let event = args.event.iter().flat_map(|event| ["--event".into(), event.clone()]);
    let notify = args.notify.iter().flat_map(|document| ["--notify".into(), document.clone()]);
    let arguments = ["hook".into(), args.host.clone()].into_iter().chain(event).chain(notify);
    let arguments: Vec<OsString> = arguments.collect();
    answer(&arguments)
}

fn answer(arguments: &[OsString]) -> ExitCode {
    lineside_shim::run(arguments, &Environment::of_process(), &FullCommand::This)
}
