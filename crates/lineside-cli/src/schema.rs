//! `lineside schema`: by what editors complete and check the files of lineside.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use lineside_config::File;

/// Print the JSON Schema of a file, by which editors complete it.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The file.
    #[arg(value_enum, value_name = "FILE", default_value = "hooks")]
    file: Described,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Described {
    /// `hooks.yaml`.
    Hooks,
    /// `config.yaml`.
    Config,
}

/// Runs the command.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn run(args: &SchemaArgs) -> Result<ExitCode> {
    let file = match args.file {
        Described::Hooks => File::Hooks,
        Described::Config => File::Config,
    };
    std::io::Write::write_all(&mut std::io::stdout(), file.schema().as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
