//! `lineside run`: events in, one a line; decisions out, each as soon as it has fallen.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use lineside::LoadReport;
use lineside::automation::Automations;
use lineside::bus::DrainReport;
use lineside::claims::Claims;
use lineside::dialects::Dialect;
use lineside::wire::Vocabulary;
use lineside::{Assembly, Session, State};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::daemon_paths::DaemonArgs;
use crate::interrupt::{Interrupt, Interrupted};
use crate::loading::{Plugins, errors, load_on, tell_findings};
use crate::page::Page;
use crate::painter::one_line;
use crate::places::{Ground, PlaceArgs};
use crate::progress::Progress;
use crate::sessions::Sessions;
use crate::style::{COLUMNS, Styles, Tone, columns, count, tell};

use background::Background;
use ending::Ending;
use flow::Flow;
use intake::{Intake, Order};
use journal::{JournalArgs, Kept};
use lines::Lines;
use logged::Logged;
use output::{Output, Shape};
use tally::Tally;

mod lines;
mod lanes;
mod intake;
mod flow;
mod decision;
mod output;
mod background;
mod journal;
mod logged;
mod waiting;
mod ending;
mod standard_output;
mod tally;
mod under;
mod of_daemon;

/// Publish events and print what was decided about each.
///
/// Reads one JSON object a line: the fields of the envelope at the top level (`point`, `session`, `parent_session`,
/// `agent`, `turn`, …) and the `payload`. A point has its canonical name or the one of a dialect. Absent fields take
/// defaults: session `s1`, agent `main`, the project as `project_root` and `cwd`, the present time.
///
/// Writes each decision at once, so that it works as a filter in a pipe: one JSON object a line, or rows for people on
/// a terminal. A line that is no event is reported on standard error, and the run goes on.
///
/// Sessions run at the same time, each in the order of its events. A session begins after what came before it in the
/// sessions above.
///
/// Hooks are looked for where their formats keep them. Naming a project with --project says that you trust it, and its
/// hooks run; without, only those of the user do.
///
/// With a command after `--`, runs that command under a session of its own in the running daemon: whatever it starts can
/// open sessions below that one, under its hooks. Its exit status is passed on, and signals reach it. A project that is
/// named has to be the one whose hooks the daemon runs; otherwise the command is not started.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS, override_usage = USAGE)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    places: PlaceArgs,

    #[command(flatten)]
    journal: JournalArgs,

    /// Do not begin when a hook does not load: exit with 1 before the first event.
    #[arg(long)]
    strict: bool,

    /// Print decisions in the order of the input, not in the order in which they fall.
    #[arg(long)]
    ordered: bool,

    /// How many events are judged at the same time at most. Beyond that they wait for their turn.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..))]
    at_once: u16,

    /// Print rows for people, as `lineside demo` does. What a terminal gets.
    #[arg(long, conflicts_with_all = ["json", "receipts", "quiet"])]
    pretty: bool,

    /// Print one JSON object a line. What a pipe or a file gets.
    #[arg(long, conflicts_with = "quiet")]
    json: bool,

    /// Print the whole receipt of each event as JSON: what every hook did, how long it took, and what it changed.
    #[arg(long, conflicts_with = "quiet")]
    receipts: bool,

    /// Print no decision.
    #[arg(long)]
    quiet: bool,

    /// Write what is decided to this decision log as well, for `lineside why --log PATH`; it is made where it is not there.
    #[arg(long, value_name = "PATH")]
    log: Option<PathBuf>,

    /// Print what plugins log and print to standard error.
    #[arg(long, short)]
    verbose: bool,

    /// Have the running daemon decide, with the hooks that are in force there.
    ///
    /// Its sessions are opened, or taken over where they are open, and stay open until their `after_session`. Background
    /// work is the daemon's; the run reports what comes of it meanwhile and does not wait for it.
    #[arg(
        long = "daemon",
        conflicts_with_all = ["journal", "log", "strict", "pretty", "untrusted", "dialects", "verbose", "command"]
    )]
    of_daemon: bool,

    #[command(flatten)]
    daemon: DaemonArgs,

    /// Events, one JSON object a line; `-` or nothing for standard input.
    #[arg(value_name = "EVENTS.jsonl")]
    events: Option<PathBuf>,

    /// Run this command under a session of its own, instead of publishing events.
    #[arg(
        last = true,
        value_name = "COMMAND",
        conflicts_with_all = ["events", "log", "strict", "ordered", "pretty", "json", "receipts", "quiet", "untrusted", "dialects"]
    )]
    command: Vec<OsString>,
}

const USAGE: &str = "\
lineside run [OPTIONS] [EVENTS.jsonl]
       lineside run --daemon [OPTIONS] [EVENTS.jsonl]
       lineside run [--project <DIR>] [--socket <PATH>] -- <COMMAND>...";

const EXIT_STATUS: &str = "\
Example:
  lineside run --project . events.jsonl    the hooks of a project, and yours

Exit status:
  0    every line was an event and was decided, whatever the verdicts
  1    a line was refused, something was lost or not kept, or --strict found an error
  2    nothing could be done; with a command, it was not started
  n    with a command, that of the command; 128 and its number for a signal
  130  interrupted (143: terminated, 129: hung up, 131: quit)
  141  the reader of standard output has gone";

/// Background hooks have timeouts of their own, and those are what ends them.
const UNHURRIED: Duration = Duration::from_secs(24 * 60 * 60);

/// How long the bus may take to come to its end once the person has asked for it.
const HURRIED: Duration = Duration::from_secs(2);

impl RunArgs {
    fn shape(&self) -> Shape {
        if self.quiet {
            Shape::Nothing
        } else if self.pretty || (!self.json && !self.receipts && std::io::stdout().is_terminal()) {
            Shape::Rows
        } else {
            Shape::Json { whole: self.receipts }
        }
    }

    fn plugins(&self, styles: Styles) -> Plugins {
        if self.verbose { Plugins::Shown(styles.err) } else { Plugins::Unheard }
    }

    /// The part between the input and the output.
    fn flow(
        &self,
        ground: &Ground,
        assembly: &Assembly,
        report: &LoadReport,
        background: Background,
        goes_nowhere: bool,
        styles: Styles,
    ) -> Flow {
        let automations = assembly.bus().kept_extension::<Automations>();
        let automations = automations.filter(|_| self.journal.is_given()).map(|shared| (*shared).clone());
        let page = Page::new(columns().unwrap_or(COLUMNS), styles.out, &ground.project);
        // A hook of several points is one.
        let in_force: HashSet<usize> = report
            .hooks
            .iter()
            .filter(|found| matches!(found.state, State::Ready | State::Closed))
            .map(|found| found.number)
            .collect();
        let progress = Progress::on_stderr(self.shape() == Shape::Rows);
        Flow {
            intake: self.intake(&ground.dialects, in_force.len(), goes_nowhere, progress, styles),
            bus: assembly.bus().clone(),
            claims: Claims::new(automations, report),
            places: Semaphore::new(usize::from(self.at_once)),
            output: Output::new(self.shape(), page),
            sessions: RefCell::new(Sessions::new(assembly.bus(), &ground.project)),
            background,
            closing: RefCell::new(Vec::new()),
        }
    }

    fn intake(
        &self,
        dialects: &[&'static dyn Dialect],
        hooks: usize,
        goes_nowhere: bool,
        progress: Progress,
        styles: Styles,
    ) -> Intake {
        Intake {
            name: name_of(self.events.as_deref()),
            vocabulary: Vocabulary::new(dialects),
            order: if self.ordered { Order::OfInput } else { Order::OfDecisions },
            style: styles.err,
            tally: RefCell::new(Tally::start(hooks, goes_nowhere)),
            progress: RefCell::new(progress),
            unknown: RefCell::default(),
        }
    }

    /// Whether decisions are to be printed and standard output leads nowhere, which is reported.
    fn warn_of_no_reader(&self, styles: Styles) -> bool {
        let goes_nowhere = self.shape() != Shape::Nothing && standard_output::goes_nowhere();
        if goes_nowhere {
            let warning = styles.err.paint(Tone::Warning, "warning");
            tell(&format!(
                "{warning}: standard output was closed, or is a null device that is open for reading as well: every \
                 decision is lost; --quiet says that none is wanted"
            ));
        }
        goes_nowhere
    }
}

/// Runs the command.
///
/// # Errors
/// The project or the input cannot be opened, or the output cannot be written.
pub(crate) async fn run(args: &RunArgs, styles: Styles) -> Result<ExitCode> {
    if !args.command.is_empty() {
        return under::run(&args.command, &args.daemon, &args.places).await;
    }
    if args.of_daemon {
        return of_daemon::run(args, styles).await;
    }
    let goes_nowhere = args.warn_of_no_reader(styles);
    let mut interrupt = Interrupt::watch()?;
    let ground = args.places.ground()?;
    let (bus, kept) = args.journal.open(styles.err)?;
    let background = Background::of(&bus);
    let logged = args.log.as_deref().map(|path| Logged::start(path, &bus)).transpose()?;
    let left = |signal: Interrupted| {
        kept.iter().for_each(Kept::leave);
        Ok(ExitCode::from(signal.exit_status()))
    };
    let (assembly, report) = match interrupt.before(load_on(bus, &ground, args.plugins(styles))).await {
        Ok(loaded) => loaded?,
        Err(signal) => return left(signal),
    };
    tell_findings(&report, styles.err);
    let errors = errors(&report.diagnostics);
    if args.strict && errors > 0 {
        tell(&format!("lineside: {} while loading, and --strict begins with none", count(errors, "error")));
        if let Some(kept) = &kept {
            kept.leave();
        }
        // Nothing was published, so nothing can be lost.
        drop(assembly.drain(HURRIED).await);
        return Ok(ExitCode::FAILURE);
    }
    if let Some(kept) = &kept {
        kept.all_registered(styles.err);
    }
    // A pipe with a name opens when its writer does.
    let lines = match interrupt.before(Lines::open(args.events.as_deref())).await {
        Ok(lines) => lines?,
        Err(signal) => {
            drop(assembly.drain(HURRIED).await);
            return left(signal);
        }
    };
    let flow = args.flow(&ground, &assembly, &report, background, goes_nowhere, styles);
    let ending = Ending::of(flow.intake.run(lines, &flow), flow.output.all_settled(), &mut interrupt).await;
    let ended = end(flow, &assembly, kept.as_ref(), ending, interrupt).await?;
    let is_logged = match logged {
        Some(logged) => logged.end(styles.err).await,
        None => true,
    };
    Ok(if ended == ExitCode::SUCCESS && !is_logged { ExitCode::FAILURE } else { ended })
}

/// Brings everything to its end, and says what came of it.
async fn end(
    flow: Flow,
    assembly: &Assembly,
    kept: Option<&Kept>,
    ending: Ending,
    mut interrupt: Interrupt,
) -> Result<ExitCode> {
    flow.intake.progress.borrow_mut().clear();
    let hurry = !ending.is_whole();
    if let Some(kept) = kept.filter(|_| hurry) {
        kept.leave();
    }
    let closing = flow.closing.take();
    let cut_short = close_in_a_hurry(&flow.background, &closing).await;
    flow.intake.tally.borrow_mut().cut_short(cut_short);
    if let Some(kept) = kept.filter(|_| !hurry) {
        kept.open_sessions(&mut flow.sessions.borrow_mut());
    }
    let drained = drain(&flow, assembly, kept, hurry, &mut interrupt).await;
    let mut tally = flow.intake.tally.into_inner();
    tally.failed(assembly.bus().failures());
    for line in flow.background.last_words() {
        tell(&one_line(&line));
    }
    tally.drained(&drained);
    tell(&tally.summary(ending.note(), flow.intake.style));
    ending.exit_status(tally.is_clean())
}

/// Waits for what still runs; a signal makes it short.
async fn drain(
    flow: &Flow,
    assembly: &Assembly,
    kept: Option<&Kept>,
    hurry: bool,
    interrupt: &mut Interrupt,
) -> DrainReport {
    let all = async {
        if let Some(kept) = kept {
            kept.all_settled().await;
        }
        assembly.drain(UNHURRIED).await
    };
    let told = async {
        sleep(waiting::PATIENCE).await;
        if let Some(text) = waiting::for_the_rest(kept.map(Kept::automations), &flow.background) {
            tell(&one_line(&text));
        }
        std::future::pending::<()>().await;
    };
    if !hurry {
        tokio::select! {
            report = all => return report,
            () = told => {}
            _ = interrupt.next() => {}
        }
    }
    if let Some(kept) = kept {
        kept.leave();
    }
    assembly.drain(HURRIED).await
}

/// Ends sessions whose background hooks are no longer waited for. Gives how many were cut short.
async fn close_in_a_hurry(background: &Background, closing: &[Session]) -> usize {
    let before = background.cut_short();
    futures_util::future::join_all(closing.iter().map(|session| session.close_within(HURRIED))).await;
    background.cut_short() - before
}

fn name_of(events: Option<&Path>) -> String {
    match events {
        Some(path) if path != Path::new("-") => one_line(&path.to_string_lossy()),
        _ => "stdin".to_owned(),
    }
}
