//! The arguments of the command, and which file does what was asked.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

use crate::check::CheckArgs;
use crate::demo::{Pace, Screen};
use crate::explain::ExplainArgs;
use crate::jobs::JobsArgs;
use crate::kit::KitArgs;
use crate::list::ListArgs;
use crate::run::RunArgs;
use crate::style::{COLUMNS, Styles, When, columns};
use crate::test::TestArgs;
use crate::{check, demo, explain, jobs, kit, list, run, test};

/// A hook bus for AI agents: reads the events of an agent's life, runs the hooks that wait for them, and says what each
/// of them decided.
#[derive(Debug, Parser)]
#[command(name = "lineside", version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// Colours: on a terminal, always, or never. NO_COLOR counts as never, unless `always` is said.
    #[arg(
        long = "color",
        visible_alias = "colour",
        global = true,
        value_enum,
        default_value = "auto",
        value_name = "WHEN"
    )]
    colour: When,

    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  lineside demo                                   three agents, their hooks, and every decision
  lineside check --project .                      whether every hook loads; 1 if not
  lineside list --project .                       the hooks of this project and of the user
  lineside run --project . events.jsonl           events in, decisions out
  lineside explain --project . event.json         which hooks would run, and why not the others
  lineside jobs --journal DIR --state dead        what automations could not do
  lineside test tests/hooks                       every *.cases.json below a directory";

#[derive(Debug, Subcommand)]
enum Command {
    Run(RunArgs),
    Explain(ExplainArgs),
    List(ListArgs),
    Check(CheckArgs),
    Jobs(JobsArgs),
    Test(TestArgs),
    Demo(DemoArgs),
    Kit(KitArgs),
}

/// Play a recorded session of three agents over a real bus.
///
/// Needs no set-up, no network and no agent, and leaves nothing behind.
#[derive(Debug, Args)]
struct DemoArgs {
    /// Do not rest between events.
    #[arg(long)]
    fast: bool,
}

impl Cli {
    /// Does what was asked.
    ///
    /// # Errors
    /// Something kept it from being done at all; what was done and went badly is in the exit status.
    pub(crate) async fn run(&self) -> Result<ExitCode> {
        let styles = Styles::new(self.colour);
        match &self.command {
            Command::Run(args) => run::run(args, styles).await,
            Command::Explain(args) => explain::run(args, styles).await,
            Command::List(args) => list::run(args, styles).await,
            Command::Check(args) => check::run(args, styles).await,
            Command::Jobs(args) => jobs::run(args, styles).await,
            Command::Test(args) => test::run(args, styles).await,
            Command::Kit(args) => kit::run(args),
            Command::Demo(args) => {
                let pace = if args.fast { Pace::AtOnce } else { Pace::Played };
                let columns = columns().unwrap_or(COLUMNS);
                let colour = styles.out.colour();
                demo::run(Screen::stdout(columns, colour, pace), &mut std::io::stdout()).await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Cli;

    #[test]
    fn the_arguments_are_well_formed() {
        Cli::command().debug_assert();
    }
}
