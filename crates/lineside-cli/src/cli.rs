//! The arguments of the command, and which file does what was asked.

use std::process::ExitCode;

use anyhow::Result;
use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory as _, Parser, Subcommand};

use crate::approvals::ApprovalsArgs;
use crate::check::CheckArgs;
use crate::cluster::ClusterArgs;
use crate::control::{OffArgs, OnArgs, ReloadArgs, StatusArgs, StopArgs};
use crate::daemon_paths::DaemonArgs;
use crate::dashboard::DashboardArgs;
use crate::demo::{Pace, Screen};
use crate::doctor::DoctorArgs;
use crate::dump::DumpArgs;
use crate::enforce::EnforceArgs;
use crate::explain::ExplainArgs;
use crate::hook::HookArgs;
use crate::hosts::HostsArgs;
use crate::import::ImportArgs;
use crate::init::InitArgs;
use crate::install::{InstallArgs, UninstallArgs};
use crate::interrupt::{Work, unless_interrupted};
use crate::jobs::JobsArgs;
use crate::kit::KitArgs;
use crate::list::ListArgs;
use crate::log::LogArgs;
use crate::manual::{CompletionsArgs, ManArgs};
use crate::mcp::McpArgs;
use crate::new_hook::NewArgs;
use crate::policies::PoliciesArgs;
use crate::replay::ReplayArgs;
use crate::run::RunArgs;
use crate::schema::SchemaArgs;
use crate::serve::ServeArgs;
use crate::stats::StatsArgs;
use crate::style::{COLUMNS, Styles, When, columns};
use crate::tap::TapArgs;
use crate::test::TestArgs;
use crate::top::TopArgs;
use crate::tree::SessionsArgs;
use crate::trust::{TrustArgs, UntrustArgs};
use crate::update::UpdateArgs;
use crate::why::WhyArgs;
use crate::{
    approvals, check, cluster, control, dashboard, demo, doctor, dump, enforce, explain, hook, hosts, import,
    init, install, jobs, kit, list, loading, log, manual, mcp, new_hook, person, policies, replay, run,
    schema, serve, stats, tap, test, top, tree, trust, update, why,
};

/// A hook bus for AI agents: events in, hooks run, decisions out.
#[derive(Debug, Parser)]
#[command(name = "lineside", version, help_template = HELP)]
pub(crate) struct Cli {
    /// Colours: auto, always or never.
    #[arg(
        long = "color",
        alias = "colour",
        global = true,
        value_enum,
        default_value = "auto",
        hide_possible_values = true,
        hide_default_value = true,
        value_name = "WHEN"
    )]
    colour: When,

    #[command(subcommand)]
    command: Command,
}

/// The error of an unknown subcommand with a proposal: the one with the same letters in another order (`rnu`), else those
/// that clap finds near.
pub(crate) fn with_proposal(mut error: clap::Error) -> clap::Error {
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    if let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidSubcommand) {
        let cli = Cli::command();
        let meant = cli.get_subcommands().find(|known| letters(known.get_name()) == letters(wrong));
        if let Some(meant) = meant {
            let proposal = ContextValue::Strings(vec![meant.get_name().to_owned()]);
            error.insert(ContextKind::SuggestedSubcommand, proposal);
        }
    }
    error
}

/// One screen, commands first.
const HELP: &str = "\
{about}
Commands:
{subcommands}
  also:    approvals, completions, dump, hook, import, init, kit, man, mcp, new,
           policies, reload, schema, sessions, tap, top, trust, untrust, update

Options:
{options}{after-help}";

#[derive(Debug, Subcommand)]
enum Command {
    #[command(hide = true)]
    Init(InitArgs),
    #[command(hide = true)]
    New(NewArgs),
    #[command(hide = true)]
    Completions(CompletionsArgs),
    #[command(hide = true)]
    Man(ManArgs),
    #[command(hide = true)]
    Cluster(ClusterArgs),
    #[command(hide = true)]
    Mcp(McpArgs),
    #[command(hide = true)]
    Schema(SchemaArgs),
    #[command(hide = true)]
    Policies(PoliciesArgs),
    Install(InstallArgs),
    #[command(hide = true)]
    Uninstall(UninstallArgs),
    #[command(hide = true)]
    Update(UpdateArgs),
    Doctor(DoctorArgs),
    #[command(hide = true)]
    Hosts(HostsArgs),
    List(ListArgs),
    Check(CheckArgs),
    #[command(hide = true)]
    Dump(DumpArgs),
    #[command(hide = true)]
    Trust(TrustArgs),
    #[command(hide = true)]
    Untrust(UntrustArgs),
    Explain(ExplainArgs),
    Why(WhyArgs),
    #[command(hide = true)]
    Approvals(ApprovalsArgs),
    #[command(hide = true)]
    Dashboard(DashboardArgs),
    #[command(hide = true)]
    Log(LogArgs),
    #[command(hide = true)]
    Tap(TapArgs),
    #[command(hide = true)]
    Top(TopArgs),
    #[command(hide = true)]
    Stats(StatsArgs),
    #[command(hide = true)]
    Enforce(EnforceArgs),
    #[command(hide = true)]
    Replay(ReplayArgs),
    Test(TestArgs),
    #[command(hide = true)]
    Kit(KitArgs),
    Run(RunArgs),
    Jobs(JobsArgs),
    Demo(DemoArgs),
    Serve(ServeArgs),
    Status(StatusArgs),
    #[command(hide = true)]
    Sessions(SessionsArgs),
    #[command(hide = true)]
    Stop(StopArgs),
    Off(OffArgs),
    #[command(hide = true)]
    On(OnArgs),
    #[command(hide = true)]
    Reload(ReloadArgs),
    #[command(hide = true)]
    Import(ImportArgs),
    #[command(hide = true)]
    Hook(HookArgs),
}

/// Play a recorded session of three agents, or of an agent program.
///
/// Needs no set-up, no network and no agent, and leaves nothing behind.
#[derive(Debug, Args)]
struct DemoArgs {
    /// The agent program: claude-code, codex, copilot, gemini-cli, kimi-cli, kimi-code, opencode or qwen-code.
    #[arg(value_name = "PROGRAM")]
    program: Option<String>,

    /// Do not rest between events.
    #[arg(long)]
    fast: bool,

    /// Have the agents live in a private daemon, and open its dashboard in a browser; Ctrl-C ends it.
    #[arg(long, conflicts_with_all = ["program", "fast"])]
    dashboard: bool,

    /// With --dashboard: print its address instead of opening a browser.
    #[arg(long, requires = "dashboard")]
    print: bool,
}

impl Cli {
    /// Does what was asked.
    ///
    /// # Errors
    /// Something kept it from being done at all; what was done and went badly is in the exit status.
    pub(crate) async fn run(&self) -> Result<ExitCode> {
        let styles = Styles::new(self.colour);
        if let Some(daemon) = self.command.takes_off_guards() {
            person::refuse_agents(&daemon).await?;
        }
        if self.command.may_run_hooks() {
            loading::end_leftovers();
        }
        // Each in a box: together they would be one function, of which every pass over it is dear.
        let work: Work<'_> = match &self.command {
            Command::Run(args) => Box::pin(run::run(args, styles)),
            Command::Explain(args) => unless_interrupted(explain::run(args, styles)),
            Command::Why(args) => Box::pin(why::run(args, styles)),
            Command::Approvals(args) => unless_interrupted(approvals::run(args, styles)),
            Command::Dashboard(args) => Box::pin(dashboard::run(args)),
            Command::Log(args) => unless_interrupted(log::run(args, styles)),
            Command::Tap(args) => unless_interrupted(tap::run(args, styles)),
            Command::Top(args) => Box::pin(top::run(args, styles)),
            Command::Stats(args) => return stats::run(args, styles),
            Command::Enforce(args) => Box::pin(enforce::run(args, styles)),
            Command::List(args) => unless_interrupted(list::run(args, styles)),
            Command::Check(args) => unless_interrupted(check::run(args, styles)),
            Command::Dump(args) => unless_interrupted(dump::run(args, styles)),
            Command::Trust(args) => unless_interrupted(trust::run(args, styles)),
            Command::Untrust(args) => Box::pin(trust::untrust(args)),
            Command::Jobs(args) => Box::pin(jobs::run(args, styles)),
            Command::Replay(args) => unless_interrupted(replay::run(args, styles)),
            Command::Test(args) => Box::pin(test::run(args, styles)),
            Command::Kit(args) => return kit::run(args),
            Command::Hook(args) => return Ok(hook::run(args)),
            Command::Serve(args) => Box::pin(serve::run(args, styles)),
            Command::Status(args) => Box::pin(control::status(args, styles)),
            Command::Sessions(args) => Box::pin(tree::run(args, styles)),
            Command::Stop(args) => Box::pin(control::stop(args)),
            Command::Reload(args) => Box::pin(control::reload(args, styles)),
            Command::Off(args) => return control::off(args).await,
            Command::On(args) => return control::on(args).await,
            Command::Init(args) => return init::run(args, styles),
            Command::New(args) => return new_hook::run(args, styles),
            Command::Completions(args) => return manual::completions(args),
            Command::Man(args) => return manual::man(args),
            Command::Cluster(args) => Box::pin(cluster::run(args, styles)),
            Command::Mcp(args) => Box::pin(mcp::run(args)),
            Command::Schema(args) => return schema::run(args),
            Command::Policies(args) => return policies::run(args, styles),
            Command::Import(args) => return import::run(args, styles),
            Command::Install(args) => unless_interrupted(install::run(args, styles)),
            Command::Uninstall(args) => Box::pin(install::run_uninstall(args, styles)),
            Command::Update(args) => unless_interrupted(update::run(args, styles)),
            Command::Hosts(args) => unless_interrupted(hosts::run(args, styles)),
            Command::Doctor(args) => unless_interrupted(doctor::run(args, styles)),
            Command::Demo(args) if args.dashboard => Box::pin(demo::on_dashboard(args.print)),
            Command::Demo(args) => {
                let pace = if args.fast { Pace::AtOnce } else { Pace::Played };
                let columns = columns().unwrap_or(COLUMNS);
                let screen = Screen::stdout(columns, styles.out, pace);
                match &args.program {
                    Some(program) => unless_interrupted(demo::of_host(program, screen)),
                    None => unless_interrupted(demo::run(screen)),
                }
            }
        };
        work.await
    }
}

impl Command {
    /// The daemon whose guards it can take off, or have run something, if it can: only a person does that, and no process
    /// below an agent.
    fn takes_off_guards(&self) -> Option<DaemonArgs> {
        let daemon = match self {
            Self::Off(OffArgs { control })
            | Self::Stop(StopArgs { control })
            | Self::Reload(ReloadArgs { control }) => Some(control.daemon()),
            Self::Trust(args) => args.records(),
            Self::Untrust(args) => Some(args.daemon()),
            Self::Enforce(args) => return Some(args.daemon()),
            Self::Approvals(args) => args.answers(),
            Self::Dashboard(args) => Some(args.daemon()),
            Self::Install(args) => args.changes(),
            Self::Uninstall(args) => args.changes(),
            Self::Import(_) => return Some(DaemonArgs::default()),
            Self::Jobs(args) => return args.drops().then(DaemonArgs::default),
            Self::Init(args) => return args.is_of_user().then(DaemonArgs::default),
            Self::New(args) => return args.is_of_user().then(DaemonArgs::default),
            // It judges by itself which of its forms a call of an agent program starts.
            Self::Serve(_)
            | Self::Run(_)
            | Self::Explain(_)
            | Self::List(_)
            | Self::Check(_)
            | Self::Replay(_)
            | Self::Dump(_)
            | Self::Test(_)
            | Self::Demo(_)
            | Self::Hook(_)
            | Self::Kit(_)
            | Self::Why(_)
            | Self::Log(_)
            | Self::Tap(_)
            | Self::Top(_)
            | Self::Stats(_)
            | Self::Status(_)
            | Self::Sessions(_)
            | Self::On(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Cluster(_)
            | Self::Mcp(_)
            | Self::Schema(_)
            | Self::Policies(_)
            | Self::Hosts(_)
            | Self::Update(_)
            | Self::Doctor(_) => None,
        };
        daemon.cloned()
    }

    /// Whether it may start programs.
    fn may_run_hooks(&self) -> bool {
        match self {
            Self::Run(_)
            | Self::Explain(_)
            | Self::List(_)
            | Self::Check(_)
            | Self::Replay(_)
            | Self::Dump(_)
            | Self::Test(_)
            | Self::Demo(_) => true,
            Self::Serve(args) => !args.is_detached(),
            Self::Hook(_)
            | Self::Jobs(_)
            | Self::Kit(_)
            | Self::Why(_)
            | Self::Approvals(_)
            | Self::Dashboard(_)
            | Self::Log(_)
            | Self::Tap(_)
            | Self::Top(_)
            | Self::Stats(_)
            | Self::Status(_)
            | Self::Sessions(_)
            | Self::Stop(_)
            | Self::Reload(_)
            | Self::Off(_)
            | Self::On(_)
            | Self::Install(_)
            | Self::Uninstall(_)
            | Self::Import(_)
            | Self::Init(_)
            | Self::New(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Cluster(_)
            | Self::Mcp(_)
            | Self::Schema(_)
            | Self::Policies(_)
            | Self::Hosts(_)
            | Self::Update(_)
            | Self::Trust(_)
            | Self::Untrust(_)
            | Self::Enforce(_)
            | Self::Doctor(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use lineside::commands::{Shell, Surroundings, analyse};
    use lineside::dialects::native::matching_policies;

    use super::Cli;

    #[test]
    fn help_is_one_screen_and_begins_with_the_commands() {
        let help = Cli::command().term_width(80).render_help().to_string();
        let long = Cli::command().term_width(80).try_get_matches_from(["lineside", "--help"]);
        assert_eq!(help, long.unwrap_err().to_string(), "-h and --help");
        // The last line of the screen is for what is typed next.
        assert!(help.trim_end().lines().count() < 24, "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        assert!(help.find("Commands:") < help.find("Options:"), "{help}");
        assert!(help.contains("\n  help "), "{help}");
        let verbs = Cli::command();
        for verb in verbs.get_subcommands().map(clap::Command::get_name) {
            let stands = help.split(['\n', ',']).any(|part| {
                let part = part.trim_start().trim_start_matches("also:");
                part.split_whitespace().next() == Some(verb)
            });
            // Or in the line of its counterpart, as code.
            let is_beside = help.contains(&format!("`{verb}`"));
            assert!(stands || is_beside, "{verb}: {help}");
        }
    }

    /// Commands that only look and start no program that a file names, which the policy `protect-guards` leaves to agents; those of one name with what they do.
    const LOOK: &[&str] = &[
        "approvals", "approvals list", "approvals watch", "check", "cluster", "cluster members",
        "cluster status", "completions", "demo", "doctor", "dump", "explain", "help", "hosts",
        "init --dry-run", "install --dry-run", "jobs", "jobs list", "jobs show", "kit", "list", "log", "man",
        "mcp", "on", "policies", "schema", "sessions", "stats", "status", "tap", "trust --list",
        "trust --show", "uninstall --dry-run", "update", "why",
    ];

    /// Commands that a person gives.
    const CHANGE: &[&str] = &[
        "approvals allow", "approvals deny", "approvals forget", "cluster drain", "dashboard",
        "demo --dashboard", "enforce", "hook", "import", "init", "install", "jobs drop", "jobs retry",
        "man FOLDER", "new", "new hook", "off", "reload", "replay", "replay --live", "run", "serve", "stop",
        "test", "test --record", "top", "trust", "uninstall", "untrust",
    ];

    #[test]
    fn each_command_only_looks_or_is_refused_to_agents() {
        let mut all = vec!["help".to_owned()];
        for command in Cli::command().get_subcommands() {
            all.push(command.get_name().to_owned());
            let what = command.get_positionals().find(|one| one.get_id() == "what");
            let what = what.map(clap::Arg::get_possible_values).unwrap_or_default();
            all.extend(what.iter().map(|what| format!("{} {}", command.get_name(), what.get_name())));
        }
        for command in &all {
            let is_in = |list: &[&str]| list.contains(&command.as_str());
            assert!(is_in(LOOK) != is_in(CHANGE), "`{command}` only looks, or a person gives it");
        }
        let state = Surroundings::new("/proj", "/home/dev");
        let refused = |text: &str| {
            let found = matching_policies(&analyse(text, Shell::Bash, &state), &state);
            found.iter().any(|(policy, _)| policy.name == "protect-guards")
        };
        for command in LOOK {
            assert!(!refused(&format!("lineside {command}")), "{command}");
            assert!(!refused(&format!("lineside --color never {command} --json")), "{command}");
        }
        for command in CHANGE {
            for text in [
                format!("lineside {command}"),
                format!("lineside --color never {command} status"),
                format!("(setsid -f ~/.cargo/bin/lineside {command} &)"),
                format!("nohup lineside-full {command}"),
                format!("env HOME=/tmp/x lineside {command}"),
                format!("timeout 5 sh -c 'lineside {command}'"),
                format!("echo {command} | xargs lineside"),
                format!("XDG_CONFIG_HOME=/tmp/x lineside {command} --socket /tmp/status"),
            ] {
                assert!(refused(&text), "{text}");
            }
            let first = command.split(' ').next().unwrap_or_default();
            assert!(!refused(&format!("lineside {first} --help")), "{command}");
        }
        assert!(
            refused("lineside what-comes-next")
                && refused("lineside $WHAT")
                && refused("lineside approvals $WHAT 1")
        );
        assert!(
            refused("lineside approvals --reason list allow 1")
                && refused("lineside jobs --session list drop 1")
        );
    }

    #[test]
    fn the_arguments_are_well_formed() {
        Cli::command().debug_assert();
    }
}
