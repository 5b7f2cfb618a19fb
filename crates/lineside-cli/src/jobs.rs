//! `lineside jobs`: what automations have accepted and what has become of it, from the journal that keeps it. That of the
//! running daemon is changed by the daemon.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use lineside::automation::unix_micros::UnixMicros;
use lineside::durable::{JournalView, OpenDurableError};
use lineside::journal::{Holder, OpenJournalError};
use lineside::json::{Map, Value};
use lineside::{Bus, Durable};

use crate::control::{NO_DAEMON, ask, is_no_daemon};
use crate::daemon_paths::AskArgs;
use crate::painter::one_line;
use crate::style::{COLUMNS, Style, Styles, Tone, columns, count, print, print_json, tell};

mod change;
mod job;
mod page;
mod select;
mod span;

use job::{Job, State};
use select::{Filter, Named};

/// Show background jobs; take one up again, or drop it.
///
/// They are those of the running daemon, or of the journal that is named.
/// `list` and `show` only look, also while a process has the journal open, and also when it is damaged; what is wrong
/// with it goes to standard error. `retry` and `drop` change it and need it for themselves; that of the running daemon is
/// changed by the daemon.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct JobsArgs {
    /// What to do.
    #[arg(value_enum, default_value = "list", value_name = "WHAT")]
    what: What,

    /// The job: its number, or so much of the beginning or the end of the id of one of its events that it is the only
    /// one.
    #[arg(
        value_name = "ID",
        required_if_eq_any = [("what", "show"), ("what", "retry"), ("what", "drop")],
    )]
    id: Option<String>,

    /// The folder that was given to `Durable::open`; without it the jobs are those of the running daemon.
    #[arg(long, value_name = "PATH", conflicts_with = "daemon")]
    journal: Option<PathBuf>,

    #[command(flatten)]
    ask: AskArgs,

    /// Only jobs in this state; may be given several times.
    #[arg(long = "state", value_enum, value_name = "STATE")]
    states: Vec<State>,

    /// Only jobs of this automation.
    #[arg(long, value_name = "NAME")]
    automation: Option<String>,

    /// Only jobs of this session.
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// List the runs of hooks in the background that ended well too, which are counted otherwise.
    #[arg(long)]
    all: bool,

    /// List at most so many, the latest; without it 50, and with --json all.
    #[arg(long, value_name = "NUMBER")]
    most: Option<usize>,

    /// Print one JSON object a line, one for each job.
    #[arg(long)]
    json: bool,
}

impl JobsArgs {
    /// Whether a job is dropped, which the agent may be waiting for.
    pub(crate) fn drops(&self) -> bool {
        self.what == What::Drop
    }
}

/// How many jobs a person is shown unless another number is named: about two screens.
const MOST: usize = 50;

const EXIT_STATUS: &str = "\
Exit status:
  0  it was done
  1  there is no such job, or several, or it cannot be changed
  2  nothing could be done
  3  there is no daemon";

/// What to do with jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// One line for each job.
    List,
    /// Everything that is known of one job, with its attempts.
    Show,
    /// Take a dead job up again, with all its attempts before it.
    Retry,
    /// Drop a job: one that is under way is cancelled, a dead one is forgotten.
    Drop,
}

/// Runs the command.
///
/// # Errors
/// There is no journal, it cannot be read, or the output cannot be written.
pub(crate) async fn run(args: &JobsArgs, styles: Styles) -> Result<ExitCode> {
    let daemon = if args.journal.is_some() { None } else { Some(args.ask.of_daemon()?) };
    let journal = match (&daemon, &args.journal) {
        (None, None) => bail!("name a journal with --journal"),
        (None, Some(journal)) => journal.clone(),
        (Some(paths), _) => {
            let status = ask(paths, async |client| client.get::<Map>("/v1/status").await).await;
            let status = match status {
                Err(error) if is_no_daemon(&error) => {
                    tell(&format!(
                        "lineside: {error:#}; --journal PATH shows the jobs of one that has ended"
                    ));
                    return Ok(ExitCode::from(NO_DAEMON));
                }
                status => status?,
            };
            let journal = status.get("journal").and_then(Value::as_str);
            journal.context("the daemon does not say where its journal is; it is of another version")?.into()
        }
    };
    let look = match Durable::look(&journal) {
        Ok(look) => look,
        Err(OpenDurableError { path, source: OpenJournalError::Io(error) })
            if error.kind() == ErrorKind::NotFound =>
        {
            bail!("there is no journal of jobs: {} does not exist", path.display());
        }
        Err(error) => return Err(error).context("failed to look at the jobs"),
    };
    for finding in &look.findings {
        let word = styles.err.paint(Tone::Warning, "warning");
        tell(&format!("{word}: {}", one_line(finding)));
    }
    let holder = look.holder;
    let jobs = jobs(look);
    let Some(id) = &args.id else { return list(args, &jobs, holder, styles.out) };
    let job = match select::named(&jobs, id) {
        Named::One(job) => job,
        Named::None(why) | Named::Several(why) => {
            tell(&format!("lineside: {}", one_line(&why)));
            return Ok(ExitCode::FAILURE);
        }
    };
    match args.what {
        What::List => {
            tell("lineside: `list` takes no job; `show` tells of one");
            Ok(ExitCode::FAILURE)
        }
        What::Show => show(args, job, holder, styles.out),
        What::Retry => change::retry(&change::At::of(&journal, daemon.as_ref()), job).await,
        What::Drop => change::drop(&change::At::of(&journal, daemon.as_ref()), job).await,
    }
}

fn jobs(look: JournalView) -> Vec<Job> {
    let is_held = look.holder.is_some();
    look.jobs.into_iter().map(|looked| Job::new(looked, is_held)).collect()
}

fn now() -> UnixMicros {
    // The bus reads the clock for all crates.
    UnixMicros(u64::try_from(Bus::new().wall_clock().as_microsecond()).unwrap_or_default())
}

fn list(args: &JobsArgs, jobs: &[Job], holder: Option<Holder>, style: Style) -> Result<ExitCode> {
    let filter = Filter {
        states: &args.states,
        automation: args.automation.as_deref(),
        session: args.session.as_deref(),
    };
    let mut wanted: Vec<&Job> = jobs.iter().filter(|job| filter.lets_through(job)).collect();
    let before = wanted.len();
    if !args.all && !args.json && filter.is_open() {
        wanted.retain(|job| !job.is_uneventful());
    }
    let uneventful = before - wanted.len();
    let most = args.most.unwrap_or(if args.json { usize::MAX } else { MOST });
    let earlier = wanted.len().saturating_sub(most);
    wanted.drain(..earlier);
    if args.json {
        for job in wanted {
            print_json(&job.to_json())?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let columns = columns().unwrap_or(COLUMNS);
    print(page::list(&wanted, (jobs.len(), uneventful), holder, now(), columns, style))?;
    if earlier > 0 {
        print([format!("{} before these; --most NUMBER lists more", count(earlier, "job"))])?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(args: &JobsArgs, job: &Job, holder: Option<Holder>, style: Style) -> Result<ExitCode> {
    if args.json {
        print_json(&job.to_json())?;
        return Ok(ExitCode::SUCCESS);
    }
    print(page::show(job, holder, now(), style))?;
    Ok(ExitCode::SUCCESS)
}
