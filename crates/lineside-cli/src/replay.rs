//! `lineside replay`: publishes recorded events to other hooks, and shows what would be decided differently.

use std::collections::{BTreeSet, HashMap};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use lineside::core::context::ContextMessage;
use lineside::core::{Point as _, Receipt, SessionId, Verdict};
use lineside::dialects::DIALECTS;
use lineside::points::{AfterSession, AfterSubagent, BeforeStop};
use lineside::wire::{EventDraft, Vocabulary, publication};
use lineside::{Assembly, Bus, NOT_RUN, Session};

use crate::loading::{load_into, tell_findings};
use crate::log::StoreArgs;
use crate::sessions::Sessions;
use crate::style::Styles;

mod against;
mod difference;
mod offline;
pub(crate) mod recording;

use against::Against;
use difference::{Difference, Now, Report};
use recording::{Recording, Source};

/// Publish recorded events once more, to other hooks, and print the decisions that differ.
///
/// Nothing happens by it: hooks that are verdicts, and those that say `pure: true`, run; all others do not, and are counted.
/// With --live they run, in a copy of the project.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    store: StoreArgs,

    /// The events: a query of the decision log, or a file with JSON lines, as `lineside log --json` prints and
    /// `lineside run` reads. Everything that is in the log when nothing is said.
    #[arg(value_name = "QUERY|FILE")]
    what: Vec<String>,

    /// The hooks: those of this project and of the user, or those of one `hooks.yaml` alone. Without it, those that are in
    /// force here.
    #[arg(long, value_name = "PROJECT|FILE")]
    against: Option<std::path::PathBuf>,

    /// Run what hooks run, in a copy of the project and without a network.
    #[arg(long)]
    live: bool,

    /// Print one JSON object a line: each difference, and at the end what they come to.
    #[arg(long)]
    json: bool,

    /// It runs without a network already.
    #[arg(long, hide = true, requires = "live")]
    offline: bool,
}

const EXIT_STATUS: &str = "\
Examples:
  lineside replay since:1w --against stricter/hooks.yaml
  lineside replay tool:Shell --live --json

Exit status:
  0    nothing would be decided differently
  1    something would
  2    nothing could be done";

/// Runs the command.
///
/// # Errors
/// There are no such events or hooks, or the output cannot be written.
pub(crate) async fn run(args: &ReplayArgs, styles: Styles) -> Result<ExitCode> {
    if args.live && !args.offline {
        offline::again()?;
    }
    let source = Source::open(&args.what, &args.store)?;
    let against = Against::of(args.against.as_deref(), args.live)?;
    let assembly = Assembly::new(Bus::new());
    let assembly = if args.live { assembly } else { assembly.without_effects() };
    let assembly = assembly.environment(against.ground.places.environment.clone());
    let (assembly, mut loaded) = load_into(assembly, &against.ground).await?;
    against.judge(&mut loaded.diagnostics, styles.err)?;
    tell_findings(&loaded, styles.err);
    let mut replay = Replay {
        sessions: Sessions::new(assembly.bus(), &against.root()),
        vocabulary: Vocabulary::new(DIALECTS),
        assembly,
        against,
        pending: HashMap::new(),
    };
    let mut report = Report::new(args.json, styles.out, &replay.against)?;
    for recording in source {
        let recording = recording?;
        match replay.again(&recording).await {
            Ok(now) => report.take(&Difference { then: recording, now })?,
            Err(why) => report.left_out(&why),
        }
    }
    drop(replay.assembly.drain(std::time::Duration::ZERO).await);
    report.finish()
}

/// Events on their way to other hooks.
struct Replay {
    assembly: Assembly,
    sessions: Sessions,
    vocabulary: Vocabulary,
    against: Against,
    /// The automations that were not run, of sessions whose agent has not stopped since.
    pending: HashMap<SessionId, BTreeSet<String>>,
}

impl Replay {
    /// Publishes an event once more.
    ///
    /// # Errors
    /// Why it cannot be, in few words that are the same for all events of which it is so.
    async fn again(&mut self, recording: &Recording) -> Result<Now, String> {
        let event = recording.event()?;
        let event = self.against.moved(event).ok_or("of another project than the one that was copied")?;
        let draft = EventDraft::read(event, &self.vocabulary).map_err(|error| error.to_string())?;
        let ends = draft.point == AfterSession::INFO;
        let session = self.sessions.of(&draft).map_err(|_| "their session was closed".to_owned())?;
        let receipt = publication(&session, draft).publish_any().await.map_err(|error| error.to_string())?;
        let stopping = self.stopping(&session, &receipt);
        // What is for the agent goes nowhere.
        let mut messages = session.collect().ready().accept();
        if let Some(child) = stopping.as_ref().filter(|stopping| stopping.id() != session.id()) {
            messages.extend(child.collect().ready().accept());
        }
        if ends {
            self.sessions.closed(&session);
            session.close().await;
        }
        let not_run = receipt.remarks.iter().filter(|by| by.what == NOT_RUN);
        let mut not_run: Vec<String> = not_run.map(|by| receipt.name(by.hook).to_owned()).collect();
        let withheld = withheld(&receipt, &messages);
        let (verdict, author) = match withheld.is_empty() {
            true => (&receipt.verdict, receipt.author),
            false => without_author(&receipt),
        };
        // What has come before the stop might have been in order, or have come later.
        for message in messages.iter().filter(|message| was_not_run(message)) {
            self.pending.entry(message.session.clone()).or_default().insert(message.hook.to_string());
        }
        if let Some(stopping) = &stopping {
            not_run.extend(self.pending.remove(stopping.id()).unwrap_or_default());
        }
        // A block ends everything, whatever the others would have said.
        let is_certain = not_run.is_empty() || verdict.strength().is_final();
        Ok(Now {
            verdict: verdict.strength(),
            by: author.map(|place| receipt.name(place).to_owned()),
            reason: verdict.reason().map(|reason| reason.as_str().to_owned()),
            payload: receipt.event.payload().to_json(),
            not_run,
            is_certain,
        })
    }

    /// The session of the agent that stops by an event.
    fn stopping(&self, session: &Session, receipt: &Receipt) -> Option<Session> {
        let point = receipt.event.point();
        if point == BeforeStop::INFO {
            return Some(session.clone());
        }
        let child = receipt.event.payload().text("child_session").filter(|_| point == AfterSubagent::INFO)?;
        self.assembly.bus().find(child)
    }
}

/// Whether a message says nothing but that its automation was not run.
fn was_not_run(message: &ContextMessage) -> bool {
    message.text.ends_with(NOT_RUN)
}

/// The automations that have kept the agent working by nothing but that they were not run. None where one of those that have
/// kept it working has run.
fn withheld(receipt: &Receipt, messages: &[ContextMessage]) -> BTreeSet<String> {
    let is_result = |message: &&ContextMessage| receipt.results.contains(&message.id);
    let results: Vec<&ContextMessage> = messages.iter().filter(is_result).collect();
    if !results.iter().all(|result| was_not_run(result)) {
        return BTreeSet::new();
    }
    results.iter().map(|message| message.hook.to_string()).collect()
}

/// The verdict without what its author has said, and who has given that.
fn without_author(receipt: &Receipt) -> (&Verdict, Option<u32>) {
    let others = receipt.runs.iter().filter(|run| Some(run.hook) != receipt.author);
    let said = others.filter_map(|run| Some((run.outcome.verdict()?, run.hook)));
    let mut greatest = (&Verdict::Continue, None);
    for (verdict, hook) in said {
        if verdict.strength() > greatest.0.strength() {
            greatest = (verdict, Some(hook));
        }
    }
    greatest
}
