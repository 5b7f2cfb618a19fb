//! `lineside test`: runs case files, which lay out hooks as a user would, publish events, and state what must come of
//! it. The suites in `tests/conformance/` are such files.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, bail};
use clap::Args;
use lineside::dialects::{self, Dialect};
use lineside::hosts::Host;

use crate::interrupt::Interrupt;
use crate::log::StoreArgs;
use crate::painter::one_line;
use crate::places::{environment, unknown_dialect};
use crate::progress::Progress;
use crate::style::{Styles, print};

use case_run::Keeping;
use crew::{Crew, Job};
use outcome::{CaseOutcome, Outcome, SuiteOutcome};
use suite::{Case, Suite};

mod crew;
mod files;
mod excerpt;
mod outcome;
mod report;

mod suite;
mod fields;
mod long_text;
mod step;
mod expect;
mod text_match;

mod gaps;
mod layout;
mod case_run;
mod observed;
mod judge;

mod yaml_text;
mod record;

/// Test hooks with case files.
///
/// A case lays out hooks in an empty directory of its own, publishes events, and states what must come of it. Cases
/// run at the same time, each with a home, a project and a bus of its own.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct TestArgs {
    /// Case files, or directories that are searched for `*.cases.yaml` and `*.cases.json`: what a case starts is its writer's,
    /// and naming it is consent. Without one, those below the current directory are listed, and none is run.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Only cases whose id or title contains this.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    /// Only the cases with these ids.
    #[arg(long = "case", value_name = "ID", conflicts_with = "filter")]
    cases: Vec<String>,

    /// How many cases run at the same time; as many as there are cores by default. One that bounds its time runs alone.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,

    /// Keep what hooks run in the background in a journal, as `lineside run --journal` does. Each case has one of its
    /// own, which is gone when it ends; nothing that a case can see may be different.
    #[arg(long)]
    journal: bool,

    /// Write logged decisions into a case file, the one that PATH names, instead of testing: those that this query finds, as
    /// far as the hooks of their projects decide the same today.
    #[arg(long, value_name = "QUERY", conflicts_with_all = ["filter", "cases", "journal", "json", "jobs"])]
    record: Option<String>,

    #[command(flatten)]
    store: StoreArgs,

    /// Print one JSON object: every suite and case with its status, failures and duration.
    #[arg(long)]
    json: bool,
}

const EXIT_STATUS: &str = "\
A suite for a format that this build does not know is skipped, with the reason.

Exit status:
  0    no case failed
  1    a case failed, or a case file has an error
  2    nothing could be done, or there was no case to run, or each was skipped
  130  interrupted (143: terminated, 129: hung up, 131: quit)";

/// Runs the command.
///
/// # Errors
/// There is no case file or no case, or the output cannot be written.
pub(crate) async fn run(args: &TestArgs, styles: Styles) -> Result<ExitCode> {
    if let Some(query) = &args.record {
        let [file] = &args.paths[..] else {
            bail!("--record writes one file, and {} are named", args.paths.len())
        };
        return record::record(query, file, &args.store).await;
    }
    if args.paths.is_empty() {
        let found = files::find(&[PathBuf::from(".")])?;
        if !args.json {
            print(found.iter().map(|file| one_line(&file.display().to_string())))?;
        }
        bail!(
            "nothing has run, for a case file starts what its writer has put there; name the files that are to run, or their \
             folder, as `lineside test .`"
        );
    }
    let mut interrupt = Interrupt::watch()?;
    let mut suites: Vec<Planned> = files::find(&args.paths)?.into_iter().map(Planned::read).collect();
    if let Some(filter) = &args.filter {
        keep(&mut suites, |case| case.id.contains(filter) || case.title.contains(filter));
        if suites.is_empty() {
            bail!("no case has `{filter}` in its id or title");
        }
    }
    if let Some(unknown) = args.cases.iter().find(|id| !suites.iter().any(|suite| suite.has(id))) {
        bail!("no case has the id `{unknown}`");
    }
    if !args.cases.is_empty() {
        keep(&mut suites, |case| args.cases.contains(&case.id));
    }
    if suites.iter().all(Planned::is_empty) {
        bail!("there is no case in these files");
    }
    let jobs =
        args.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let environment = Arc::new(case_run::inherited(environment()));
    let printer = report::Printer::new(args.json, styles);
    let mut outcomes = Vec::new();
    let mut progress = Progress::on_stderr(false).also_in_logs();
    let keeping = if args.journal { Keeping::Journal } else { Keeping::Nothing };
    let mut crew = Crew::new(jobs, keeping, environment);
    for suite in suites {
        let ended = tokio::select! {
            biased;
            signal = interrupt.next() => Err(signal),
            outcome = suite.run(&mut crew, &mut progress) => Ok(outcome),
        };
        let outcome = match ended {
            Ok(outcome) => outcome,
            Err(signal) => {
                progress.clear();
                crew.dismiss().await;
                return Ok(ExitCode::from(signal.exit_status()));
            }
        };
        printer.suite(&outcome)?;
        outcomes.push(outcome);
    }
    let total = printer.finish(&outcomes)?;
    if total.passed + total.failed == 0 {
        bail!("no case ran: this build knows the format of none of these suites");
    }
    Ok(if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Takes the other cases out, and the suites that have none left.
fn keep(suites: &mut Vec<Planned>, is_wanted: impl Fn(&Case) -> bool) {
    for planned in suites.iter_mut() {
        if let Plan::Run { suite, .. } | Plan::Skip { suite, .. } = &mut planned.plan {
            suite.cases.retain(&is_wanted);
        }
    }
    suites.retain(|suite| !suite.is_empty());
}

/// A case file, and what is to be done with it.
struct Planned {
    file: PathBuf,
    plan: Plan,
}

enum Plan {
    /// Run its cases.
    Run { suite: Suite, dialect: Option<&'static dyn Dialect> },
    /// Its format is unknown to this build.
    Skip { suite: Suite, why: String },
    /// It is no case file.
    Broken(Vec<String>),
}

impl Planned {
    fn read(file: PathBuf) -> Self {
        let plan = match Suite::read(&file) {
            Err(errors) => Plan::Broken(errors),
            Ok(suite) => match dialects::find(&suite.dialect) {
                Some(dialect) => Plan::Run { suite, dialect: Some(dialect) },
                // A host need not have a format of files that hooks are loaded from.
                None if Host::named(&suite.dialect).is_some() => Plan::Run { suite, dialect: None },
                None => Plan::Skip { why: unknown_dialect(&suite.dialect), suite },
            },
        };
        Self { file, plan }
    }

    fn has(&self, id: &str) -> bool {
        self.suite().is_some_and(|suite| suite.cases.iter().any(|case| case.id == id))
    }

    /// Whether there is nothing to report.
    fn is_empty(&self) -> bool {
        self.suite().is_some_and(|suite| suite.cases.is_empty())
    }

    fn suite(&self) -> Option<&Suite> {
        match &self.plan {
            Plan::Run { suite, .. } | Plan::Skip { suite, .. } => Some(suite),
            Plan::Broken(_) => None,
        }
    }

    async fn run(self, crew: &mut Crew, progress: &mut Progress) -> SuiteOutcome {
        let Self { file, plan } = self;
        match plan {
            Plan::Broken(errors) => SuiteOutcome::broken(file, errors),
            Plan::Skip { suite, why } => SuiteOutcome::skipped(file, suite, why),
            Plan::Run { suite, dialect } => {
                let Suite { dialect: name, cases } = suite;
                let started = std::time::Instant::now();
                let shown = one_line(&file.file_name().unwrap_or_default().to_string_lossy());
                let jobs = cases.into_iter().map(|case| Job { case: Arc::new(case), dialect }).collect();
                let cases: Vec<CaseOutcome> = crew.run(&shown, jobs, progress).await;
                SuiteOutcome { file, dialect: name, outcome: Outcome::Ran(cases), took: started.elapsed() }
            }
        }
    }
}
