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

    /// How long the entry lets this command run, in seconds; 60 without it. As `install` has written it.
    #[arg(long, value_name = "SECONDS")]
    within: Option<OsString>,

    /// The home of the daemon's hooks, where that is not the account's own; as `install` has written it.
    #[arg(long, value_name = "DIR")]
    home: Option<OsString>,

    /// The same for the folder in which programs keep their settings.
    #[arg(long, value_name = "DIR")]
    config: Option<OsString>,

    /// The same for the daemon's state folder.
    #[arg(long, value_name = "DIR")]
    state: Option<OsString>,

    /// The same for its socket.
    #[arg(long, value_name = "PATH")]
    socket: Option<OsString>,
}

/// Answers a call before anything else is set up, as the program is waiting; nothing for other commands.
pub(crate) fn at_once() -> Option<ExitCode> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    lineside_shim::hook_arguments(&arguments)?;
    Some(answer(&arguments))
}

/// Does what was asked, behind arguments of all commands.
pub(crate) fn run(args: &HookArgs) -> ExitCode {
    let options = [
        ("--event", &args.event),
        ("--notify", &args.notify),
        ("--within", &args.within),
        ("--home", &args.home),
        ("--config", &args.config),
        ("--state", &args.state),
        ("--socket", &args.socket),
    ];
    let options = options.into_iter().filter_map(|(name, value)| Some([name.into(), value.clone()?]));
    let arguments: Vec<OsString> =
        ["hook".into(), args.host.clone()].into_iter().chain(options.flatten()).collect();
    answer(&arguments)
}

fn answer(arguments: &[OsString]) -> ExitCode {
    lineside_shim::run(arguments, &Environment::of_process(), &FullCommand::This)
}
