//! `lineside kit`: the file that turns a function into a hook of a worker, on standard output.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use clap::builder::PossibleValuesParser;
use lineside::KITS;

/// Print the file that turns functions of a language into hooks.
///
/// For example: lineside kit python > lineside_hook.py
#[derive(Debug, Args)]
pub(crate) struct KitArgs {
    /// The language.
    #[arg(value_name = "LANGUAGE", value_parser = PossibleValuesParser::new(KITS.map(|kit| kit.language)))]
    language: String,
}

/// Does what was asked.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn run(args: &KitArgs) -> Result<ExitCode> {
    for kit in KITS.iter().filter(|kit| kit.language == args.language) {
        std::io::stdout().write_all(kit.text.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}
