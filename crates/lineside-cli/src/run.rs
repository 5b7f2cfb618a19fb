//! `lineside run`: events in, one a line; decisions out, one a line, each as soon as it has fallen.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use lineside::bus::DrainReport;
use lineside::bus::signal::Watched;
use lineside::core::{FailureKind, Outcome};
use lineside::{Assembly, Session, Signal, State};
use tokio::io::{AsyncWriteExt as _, Stdout};

use crate::event_line::EventLine;
use crate::interrupt::{Interrupt, Interrupted};
use crate::loading::{load_on, tell_findings};
use crate::places::PlaceArgs;
use crate::sessions::{HandOver, Sessions, publication};
use crate::style::{Style, Styles, Tone, one_line, tell};
use crate::vocabulary::Vocabulary;

use background::Background;
use decision::Later;
use journal::{JournalArgs, Kept};
use lines::{Line, Lines};
use progress::Progress;
use tally::Tally;

mod background;
mod decision;
mod journal;
mod lines;
mod progress;
mod tally;

/// Publish events and print what was decided about each.
///
/// Reads one JSON object a line: the fields of the envelope at the top level (`point`, `session`, `parent_session`,
/// `agent`, `turn`, …) and the `payload`. A point has its canonical name or the one of a dialect. Absent fields take
/// defaults: session `s1`, agent `main`, the project as `project_root` and `cwd`, the present time.
///
/// Writes one JSON object for each decision, at once, so that it works as a filter in a pipe. A line that is no event
/// is reported on standard error, and the run goes on.
///
/// Hooks are looked for where their formats keep them. Naming a project with --project says that you trust it, and its
/// hooks run; without, only those of the user do.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    places: PlaceArgs,

    #[command(flatten)]
    journal: JournalArgs,

    /// Print the whole receipt of each event: what every hook did, how long it took, and what it changed.
    #[arg(long)]
    receipts: bool,

    /// Events, one JSON object a line; `-` or nothing for standard input.
    #[arg(value_name = "EVENTS.jsonl")]
    events: Option<PathBuf>,
}

const EXIT_STATUS: &str = "\
Exit status:
  0    every line was an event and was decided, whatever the verdicts
  1    a line was refused, or something was lost
  2    nothing could be done
  130  interrupted (143: terminated)";

/// How long the bus may take to come to its end once the person has asked for it.
const HURRIED: Duration = Duration::from_secs(2);

/// Background hooks have timeouts of their own, and those are what ends them.
const UNHURRIED: Duration = Duration::from_secs(24 * 60 * 60);

/// Runs the command.
///
/// # Errors
/// The project or the input cannot be opened, or the output cannot be written.
pub(crate) async fn run(args: &RunArgs, styles: Styles) -> Result<ExitCode> {
    let mut interrupt = Interrupt::watch()?;
    let ground = args.places.ground()?;
    let (bus, kept) = args.journal.open(styles.err)?;
    let background = Background::new(bus.signals());
    let (assembly, report) = load_on(bus, &ground).await?;
    tell_findings(&report, styles.err);
    if let Some(kept) = &kept {
        kept.all_registered();
    }
    let ready = report.hooks.iter().filter(|found| found.state == State::Ready).count();
    let mut stream = Stream {
        name: name_of(args.events.as_deref()),
        lines: Lines::open(args.events.as_deref()).await?,
        vocabulary: Vocabulary::new(&ground.dialects),
        sessions: Sessions::new(assembly.bus(), &ground.project),
        background,
        whole: args.receipts,
        out: tokio::io::stdout(),
        tally: Tally::start(ready),
        progress: Progress::on_stderr(),
        closing: None,
        style: styles.err,
    };
    let ended = tokio::select! {
        biased;
        signal = interrupt.next() => Ended::Interrupted(signal),
        result = stream.flow() => Ended::Input(result),
    };
    stream.progress.clear();
    let hurry = !matches!(ended, Ended::Input(Ok(())));
    if let Some(kept) = kept.as_ref().filter(|_| hurry) {
        kept.leave();
    }
    if let Some(session) = stream.closing.take() {
        stream.tally.cut_short(close_in_a_hurry(&assembly, &session).await);
    }
    if let Some(kept) = kept.as_ref().filter(|_| !hurry) {
        kept.open_sessions(&mut stream.sessions).await;
    }
    let drained = drain(&assembly, kept.as_ref(), hurry, &mut interrupt).await;
    stream.tally.failed(assembly.bus().failures());
    for told in stream.background.take() {
        tell(&one_line(&background::last_word(&told)));
    }
    finish(stream.tally, &drained, ended, styles.err)
}

/// How the flow of events came to its end.
enum Ended {
    Input(Result<()>),
    Interrupted(Interrupted),
}

/// Waits for what still runs; a signal makes it short.
async fn drain(
    assembly: &Assembly,
    kept: Option<&Kept>,
    hurry: bool,
    interrupt: &mut Interrupt,
) -> DrainReport {
    let all = async {
        if let Some(kept) = kept {
            kept.at_rest().await;
        }
        assembly.drain(UNHURRIED).await
    };
    if !hurry {
        tokio::select! {
            report = all => return report,
            _ = interrupt.next() => {}
        }
    }
    if let Some(kept) = kept {
        kept.leave();
    }
    assembly.drain(HURRIED).await
}

/// Ends a session whose background hooks nobody will wait for. Gives how many were cut short.
async fn close_in_a_hurry(assembly: &Assembly, session: &Session) -> usize {
    let mut signals = assembly.bus().signals();
    session.close_within(HURRIED).await;
    let mut cut_short = 0;
    while let Some(watched) = signals.try_next() {
        if let Watched::Signal(Signal::DetachedFinished {
            outcome: Outcome::Failed { failure, .. }, ..
        }) = watched
        {
            cut_short += usize::from(failure.kind == FailureKind::Closed);
        }
    }
    cut_short
}

fn finish(mut tally: Tally, drained: &DrainReport, ended: Ended, style: Style) -> Result<ExitCode> {
    tally.drained(drained);
    let note = match &ended {
        Ended::Input(Ok(())) => None,
        Ended::Input(Err(_)) => Some("ended early"),
        Ended::Interrupted(_) => Some("interrupted"),
    };
    tell(&tally.summary(note, style));
    match ended {
        Ended::Input(Err(error)) => Err(error),
        Ended::Interrupted(signal) => Ok(ExitCode::from(signal.exit_status())),
        Ended::Input(Ok(())) if tally.is_clean() => Ok(ExitCode::SUCCESS),
        Ended::Input(Ok(())) => Ok(ExitCode::FAILURE),
    }
}

fn name_of(events: Option<&Path>) -> String {
    match events {
        Some(path) if path != Path::new("-") => one_line(&path.to_string_lossy()),
        _ => "stdin".to_owned(),
    }
}

/// Everything between the input and the output.
struct Stream {
    name: String,
    lines: Lines,
    vocabulary: Vocabulary,
    sessions: Sessions,
    background: Background,
    whole: bool,
    out: Stdout,
    tally: Tally,
    progress: Progress,
    /// The session that has ended with the last event, until its background hooks have.
    closing: Option<Session>,
    style: Style,
}

impl Stream {
    /// Handles line after line until the input ends.
    async fn flow(&mut self) -> Result<()> {
        loop {
            let line = self.lines.next().await.with_context(|| format!("failed to read {}", self.name))?;
            let result = match line {
                None => return Ok(()),
                Some(Line::TooLong) => Err(anyhow::anyhow!("longer than {} bytes", lines::LONGEST)),
                Some(Line::Text(text)) if text.trim_ascii().is_empty() => continue,
                Some(Line::Text(text)) => self.decide(&text).await,
            };
            match result {
                Ok((decision, handed_over)) => {
                    self.progress.clear();
                    self.out.write_all(&decision).await.context("failed to write a decision")?;
                    self.out.flush().await.context("failed to write a decision")?;
                    self.tally.printed();
                    // Not before: what a reader has not seen yet is not accepted.
                    if let Err(error) = handed_over.accept().await {
                        let label = self.style.paint(Tone::Warning, "warning");
                        tell(&format!("{label}: {}", one_line(&format!("{error:#}"))));
                    }
                    self.close().await;
                }
                Err(error) => self.refuse(&error),
            }
            self.progress.show(|| self.tally.progress());
        }
    }

    /// Ends the session whose last event was printed.
    async fn close(&mut self) {
        if let Some(session) = &self.closing {
            self.sessions.close(session).await;
            self.closing = None;
        }
    }

    fn refuse(&mut self, error: &anyhow::Error) {
        self.tally.refused();
        self.progress.clear();
        let label = self.style.paint(Tone::Bad, "error");
        tell(&format!("{label}: {}:{}: {}", self.name, self.lines.number(), one_line(&format!("{error:#}"))));
    }

    /// One event from its text to the text of its decision.
    async fn decide(&mut self, text: &[u8]) -> Result<(Vec<u8>, HandOver)> {
        let line = EventLine::parse(text, &self.vocabulary)?;
        let session = self.sessions.of(&line).await?;
        let publication = publication(&session, line);
        self.tally.under_way();
        let receipt = publication.publish_any().await?;
        self.tally.decided(&receipt, self.sessions.failures());
        let handed_over = self.sessions.hand_over(&session, &receipt).await;
        let later = Later {
            delivered: handed_over.beside_the_decision().map(background::delivered).collect(),
            background: self.background.take(),
        };
        let mut decision = decision::line(&receipt, later, self.whole)?;
        decision.push(b'\n');
        if receipt.event.point().name == "after_session" {
            self.closing = Some(session);
        }
        Ok((decision, handed_over))
    }
}
