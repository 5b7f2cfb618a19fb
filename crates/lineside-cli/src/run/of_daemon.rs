//! `--daemon`: the events of the input, decided by the running daemon with the hooks that are in force there.
//!
//! Order, bounds and output are those of a run of its own. Background work is the daemon's: the run does not wait for it,
//! and reports what comes of it while it runs. Sessions stay open in the daemon until their `after_session`.

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use lineside::Client;
use lineside::client::{Delivery, Session};
use lineside::core::{Acknowledgement, Point as _, Strength};
use lineside::dialects::DIALECTS;
use lineside::json::{Map, Value, json};
use lineside::points::AfterSession;
use lineside::wire::EventDraft;
use tokio::sync::Semaphore;

use super::ending::Ending;
use super::intake::{Decider, Intake};
use super::lanes::Pending;
use super::lines::Lines;
use super::output::Printer;
use super::{RunArgs, background, waiting};
use crate::control::{ask, tell_findings};
use crate::interrupt::Interrupt;
use crate::lineage::named;
use crate::painter::{json_line, one_line};
use crate::progress::Progress;
use crate::style::{Styles, tell};

use remote::RemoteSessions;
use remote_background::RemoteBackground;

mod remote;
mod remote_background;

/// Everything between the input and the output.
struct Flow {
    intake: Intake,
    client: Client,
    /// Where events go.
    path: &'static str,
    places: Semaphore,
    /// Absent where nothing is printed.
    printer: Option<Printer>,
    sessions: RemoteSessions,
    background: RemoteBackground,
}

/// An event that is decided, and the messages that the agent takes into its context at it.
struct Decided {
    decision: Map,
    deliveries: Vec<Delivery>,
}

/// Runs the command.
///
/// # Errors
/// There is no daemon, the input cannot be read, or the output not written.
pub(super) async fn run(args: &RunArgs, styles: Styles) -> Result<ExitCode> {
    let goes_nowhere = args.warn_of_no_reader(styles);
    let mut interrupt = Interrupt::watch()?;
    let paths = args.daemon.paths()?;
    let ground = args.places.ground()?;
    let status: Map = ask(&paths, async |client| client.get("/v1/status").await).await?;
    tell_findings(&status, styles.err);
    let hooks = status.get("hooks").and_then(Value::as_u64).unwrap_or_default();
    // A pipe with a name opens when its writer does.
    let lines = match interrupt.before(Lines::open(args.events.as_deref())).await {
        Ok(lines) => lines?,
        Err(signal) => return Ok(ExitCode::from(signal.exit_status())),
    };
    let client = Client::new(&paths.socket);
    let hooks = usize::try_from(hooks).unwrap_or(usize::MAX);
    let background = ask(&paths, async |client| client.signals().await).await?;
    let flow = Flow {
        intake: args.intake(DIALECTS, hooks, goes_nowhere, Progress::on_stderr(false), styles),
        path: if args.receipts { "/v1/events?receipt=true" } else { "/v1/events" },
        places: Semaphore::new(usize::from(args.at_once)),
        printer: (!args.quiet).then(Printer::on_stdout),
        sessions: RemoteSessions::new(client.clone(), &ground.project),
        client,
        background: RemoteBackground::of(background),
    };
    let all_settled = async {
        if let Some(printer) = &flow.printer {
            printer.all_settled().await;
        }
    };
    let ending = Ending::of(flow.intake.run(lines, &flow), all_settled, &mut interrupt).await;
    flow.intake.progress.borrow_mut().clear();
    let mut tally = flow.intake.tally.into_inner();
    tally.ended();
    for line in flow.background.last_words() {
        tell(&one_line(&line));
    }
    tell(&tally.summary(ending.note(), styles.err));
    ending.exit_status(tally.is_clean())
}

impl Decider for Flow {
    type Kept = Map;
    type Decided = Decided;

    /// The fields as they were written, which the daemon reads as the run has read them.
    fn keep(&self, text: &[u8], line: &EventDraft) -> Result<Map> {
        let mut fields: Map = lineside::json::from_slice(text)?;
        fields.insert("session".to_owned(), json!(named(line)));
        Ok(fields)
    }

    async fn publish(&self, line: EventDraft, fields: Map) -> Result<Decided> {
        self.background.concerns(named(&line));
        let session = self.sessions.of(&line).await?;
        let Ok(place) = self.places.acquire().await else { bail!("the run is over") };
        let mut decision: Map = self.client.post(self.path, &fields).await?;
        drop((place, fields));
        let deliveries = self.hand_over(&session, &line, &mut decision).await?;
        if line.point == AfterSession::INFO {
            self.sessions.closed(&session);
        }
        let verdict = decision.get("verdict").and_then(Value::as_str).and_then(Strength::named);
        let list = |name: &str| decision.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let accepted = list("accepted").iter().filter_map(Value::as_object);
        let accepted: Vec<_> = accepted.filter_map(Acknowledgement::from_json).collect();
        self.intake.tally.borrow_mut().failed_more(list("failed").len());
        self.intake.decided(verdict.context("the decision has no known verdict")?, &accepted);
        Ok(Decided { decision, deliveries })
    }

    async fn print(&self, decided: Decided, printed: Pending) -> Result<()> {
        let Decided { mut decision, deliveries } = decided;
        let background = self.background.take();
        if !background.is_empty() {
            decision.insert("background".to_owned(), Value::Array(background));
        }
        if let Some(printer) = &self.printer {
            self.intake.progress.borrow_mut().clear();
            printer.print(&json_line(&decision)?).await?;
        }
        self.intake.tally.borrow_mut().printed();
        // Not before: what a reader has not seen yet is not accepted.
        for delivery in deliveries {
            if let Err(error) = delivery.accept().await {
                self.intake.warn(&error.to_string());
            }
        }
        drop(printed);
        Ok(())
    }

    fn waits(&self, open: usize) -> String {
        waiting::for_decisions(open)
    }
}

impl Flow {
    /// Takes the messages out of the mailbox, as a run of its own does: those that the decision has not itself stand
    /// beside it, under `delivered`.
    async fn hand_over(
        &self,
        session: &Session,
        line: &EventDraft,
        decision: &mut Map,
    ) -> Result<Vec<Delivery>> {
        // An event after which the session is closed has taken them with it.
        if line.point == AfterSession::INFO {
            return Ok(Vec::new());
        }
        let event = decision.get("id").and_then(Value::as_str).map(str::to_owned);
        let (mut deliveries, mut beside) = (Vec::new(), Vec::new());
        loop {
            let collect = session.collect();
            let delivery = match line.point.name {
                "before_model" if deliveries.is_empty() => collect.before_next_model().await?,
                _ => collect.ready().await?,
            };
            let messages = delivery.messages().iter();
            let others = messages.filter(|message| event.as_deref() != Some(&*message.event.to_string()));
            beside.extend(others.map(background::delivered));
            let is_last = delivery.remaining() == 0;
            deliveries.push(delivery);
            if is_last {
                break;
            }
        }
        if !beside.is_empty() {
            decision.insert("delivered".to_owned(), Value::Array(beside));
        }
        Ok(deliveries)
    }
}
