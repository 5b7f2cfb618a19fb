//! `lineside completions` and `lineside man`: what shells complete, and the pages of the manual, from the definitions of the
//! arguments.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Args, Command, CommandFactory as _};
use clap_complete::Shell;

use crate::cli::Cli;

/// Print what a shell completes: bash, zsh or fish.
///
/// For example: lineside completions bash > ~/.local/share/bash-completion/completions/lineside
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Print the page of the manual, or write all pages into a folder.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder, such as `~/.local/share/man/man1`.
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Runs `lineside completions`.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "lineside", &mut text);
    std::io::Write::write_all(&mut std::io::stdout(), &text)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `lineside man`.
///
/// # Errors
/// A page cannot be written.
pub(crate) fn man(args: &ManArgs) -> Result<ExitCode> {
    let mut all = Cli::command();
    all.build();
    match &args.folder {
        None => clap_mangen::Man::new(all).render(&mut std::io::stdout())?,
        Some(folder) => {
            fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
            for command in all.get_subcommands().filter(|command| command.get_name() != "help") {
                page(folder, command.clone())?;
            }
            page(folder, all)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn page(folder: &Path, command: Command) -> Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let file = folder.join(format!("{name}.1"));
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    fs::write(&file, text).with_context(|| format!("failed to write {}", file.display()))
}
