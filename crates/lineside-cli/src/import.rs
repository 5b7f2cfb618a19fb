//! `lineside import`: the hooks of a plugin of an agent program, for all agents of the user.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;
use lineside::core::Severity;
use lineside::dialects::find;
use lineside::hosts::name_plugin;
use lineside::json::json;

use crate::loading::finding;
use crate::painter::one_line;
use crate::places::{granted_places, shown};
use crate::style::{Styles, count, print, print_json, tell};

/// Have the hooks of a plugin run for all of your agents.
///
/// The hooks in an agent program's own settings are read as they stand; those of a plugin only when it is named. A daemon
/// that runs reads them at once.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The agent program that the plugin is for.
    #[arg(value_name = "HOST", value_parser = ["claude"])]
    host: String,

    /// The folder of the plugin, with its file hooks/hooks.json.
    #[arg(long, value_name = "DIR")]
    plugin: PathBuf,

    /// No longer run them.
    #[arg(long)]
    remove: bool,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// The folder is no plugin with hooks, or the list of plugins cannot be read or written.
pub(crate) fn run(args: &ImportArgs, styles: Styles) -> Result<ExitCode> {
    let places = granted_places(None)?;
    // One that is gone is named by the path that it had.
    let folder = match args.plugin.canonicalize() {
        Ok(folder) => folder,
        Err(_) if args.remove => std::path::absolute(&args.plugin)?,
        Err(error) => return Err(error).with_context(|| format!("cannot open {}", args.plugin.display())),
    };
    let is_news = name_plugin(&places, &folder, !args.remove)?;
    let dialect = find(&args.host).context("this program was built without the hooks of agent programs")?;
    let loaded = dialect.load(&places);
    let is_of_plugin = |file: &std::path::Path| file.starts_with(&folder);
    let of_plugin =
        |origin: &Option<lineside::core::Origin>| origin.as_ref().is_some_and(|at| is_of_plugin(&at.file));
    let mut names: Vec<String> = loaded
        .hooks
        .iter()
        .filter(|hook| of_plugin(&hook.hook.origin))
        .map(|hook| hook.hook.name.to_string())
        .collect();
    names.dedup();
    let found: Vec<_> = loaded.diagnostics.iter().filter(|found| of_plugin(&found.origin)).collect();
    for found in &found {
        tell(&finding(found, styles.err));
    }
    let at = shown(&folder, &places);
    if args.json {
        let object = json!({"plugin": folder, "imported": !args.remove, "changed": is_news, "hooks": names});
        print_json(&object)?;
    } else {
        let state = match (args.remove, is_news) {
            (false, true) => {
                let runs = if names.len() == 1 { "runs" } else { "run" };
                format!("{} of {at} {runs} for all of your agents", count(names.len(), "hook"))
            }
            (false, false) => format!("{} of {at} ran already", count(names.len(), "hook")),
            (true, true) => format!("the hooks of {at} no longer run"),
            (true, false) => format!("the hooks of {at} did not run"),
        };
        print([one_line(&state)])?;
        print(names.iter().map(|name| format!("  {}", one_line(name))))?;
    }
    let is_sound = !found.iter().any(|found| found.severity == Severity::Error);
    Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
