//! `lineside hosts`: which agent programs are on this machine, what is installed in them, and what is wrong there.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use lineside::json::{Value, json};
use lineside_account::Named;

use crate::daemon_paths::DaemonArgs;
use crate::painter::one_line;
use crate::places::{granted_places, shown};
use crate::style::{Style, Styles, Tone, columns, print, print_json};
use crate::table::{Cell, Table};

pub(crate) mod machine;
mod codex;
pub(crate) mod finding;

use finding::Finding;
use machine::Machine;

/// List the agent programs here, and where lineside is in them.
///
/// A program is looked for on PATH and in the usual places, and asked for its version.
#[derive(Debug, Args)]
pub(crate) struct HostsArgs {
    #[command(flatten)]
    look: LookArgs,
}

/// Where to look, and how to say what is there.
#[derive(Debug, Args)]
pub(crate) struct LookArgs {
    /// The project whose files count too, the current directory if none is named.
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,

    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) daemon: DaemonArgs,
}

/// Runs the command.
///
/// # Errors
/// The project cannot be opened, or the output cannot be written.
pub(crate) async fn run(args: &HostsArgs, styles: Styles) -> Result<ExitCode> {
    let args = &args.look;
    let places = granted_places(args.project.as_deref())?;
    let machines = machine::look(&places, &args.daemon.places(Named::default())?).await;
    if args.json {
        let hosts: Vec<Value> = machines.iter().map(Machine::object).collect();
        print_json(&json!({"hosts": hosts}))?;
        return Ok(ExitCode::SUCCESS);
    }
    let style = styles.out;
    let (here, gone): (Vec<&Machine>, Vec<&Machine>) = machines.iter().partition(|machine| machine.is_here());
    if !here.is_empty() {
        let rows = here.iter().map(|machine| row(machine, &places)).collect();
        let heading = ["host", "program", "version", "installed", "where"];
        let table = Table { heading: &heading, rows, stacked: &[4, 1] };
        print(table.lines(columns(), style))?;
    }
    let findings: Vec<Finding> = here.iter().flat_map(|machine| machine.findings.clone()).collect();
    if !findings.is_empty() {
        print([""])?;
        print(Finding::lines(&findings, style))?;
    }
    if !gone.is_empty() {
        let names: Vec<_> = gone.iter().map(|machine| machine.host.title()).collect();
        print([String::new(), dim(style, &format!("not on this machine: {}", names.join(", ")))])?;
        print([dim(style, &format!("looked for on PATH and in {}", machine::places()))])?;
    }
    Ok(ExitCode::SUCCESS)
}

fn row(machine: &Machine, places: &lineside::dialects::Places) -> Vec<Cell> {
    let mut installed: Vec<_> = machine.installed.iter().map(|(level, _)| level.name()).collect();
    // Of two files of one level it is said once.
    installed.dedup();
    let (installed, tone) = match &installed[..] {
        [] => ("no".to_owned(), Tone::Dim),
        levels => (levels.join(", "), Tone::Good),
    };
    let version = match (&machine.program, &machine.version) {
        (None, _) => "not found",
        (Some(_), Some(version)) => version,
        (Some(_), None) => "unknown",
    };
    let program = machine.program.as_ref().map(|program| shown(program, places)).unwrap_or_default();
    vec![
        Cell::toned(machine.host.name(), Tone::Bold),
        Cell::new(machine.host.title()),
        Cell::new(version),
        Cell::toned(installed, tone),
        Cell::new(program),
    ]
}

fn dim(style: Style, text: &str) -> String {
    style.paint(Tone::Dim, &one_line(text))
}
