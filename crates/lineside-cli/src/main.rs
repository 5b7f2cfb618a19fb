//! The command `lineside`: reads the arguments, starts a runtime, and turns what comes back into an exit status.
//!
//! It leaves everything else to one file for each subcommand.

mod cli;

mod run;
mod explain;
mod list;
mod log;
mod tap;
mod top;
mod why;
mod approvals;
mod stats;
mod enforce;
mod check;
mod jobs;
mod replay;
mod test;
mod tree;
mod dashboard;
mod demo;
mod kit;
mod serve;
mod control;
mod cluster;
mod import;
mod install;
mod installation;
mod update;
mod init;
mod new_hook;
mod manual;
mod mcp;
mod schema;
mod hosts;
mod doctor;
mod dump;
mod hook;
mod trust;

mod places;
mod policies;
mod project;
mod daemon_paths;
mod past_places;
mod person;
mod loading;
mod folder_copy;
mod lineage;
mod sessions;
mod automations;
mod linkage;
mod on_path;
mod child;

mod interrupt;
mod tasks;
mod page;
mod progress;
mod painter;
mod picture;
mod excerpt;
mod style;
mod table;

use std::io::ErrorKind;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser as _;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::Cli;
use crate::painter::one_line;
use crate::style::{on_this_terminal, tell};

/// What a shell gives a program that wrote into a pipe without a reader.
const NO_READER: u8 = 128 + 13;

/// Something kept the command from doing its work at all.
const NOT_DONE: u8 = 2;

fn main() -> ExitCode {
    if let Some(code) = hook::at_once() {
        return code;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return explain_arguments(&cli::with_proposal(error)),
    };
    match start(&cli) {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::from(NO_READER),
        Err(error) => {
            tell(&format!("lineside: {}", one_line(&format!("{error:#}"))));
            ExitCode::from(NOT_DONE)
        }
    }
}

/// Help and the version as they are asked for; what is wrong with the arguments, which come from anywhere.
fn explain_arguments(error: &clap::Error) -> ExitCode {
    let text = error.to_string();
    if text.lines().all(|line| one_line(line) == line && on_this_terminal(line) == line) {
        // With its colours.
        error.print().ok();
    } else {
        text.lines().for_each(|line| tell(&one_line(line)));
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::from(NOT_DONE), ExitCode::from)
}

fn start(cli: &Cli) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        // The handler takes the place of an inherited `SIG_IGN`, with which no exit status of a hook would be had.
        let _taken = signal(SignalKind::child()).context("failed to watch for the ends of processes")?;
        cli.run().await
    });
    // What was dropped ends its processes there. A read from a terminal cannot be cancelled, so the wait is short.
    runtime.shutdown_timeout(Duration::from_millis(300));
    result
}

/// Whether something was written for which there is no reader.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|error| error.kind() == ErrorKind::BrokenPipe)
}
