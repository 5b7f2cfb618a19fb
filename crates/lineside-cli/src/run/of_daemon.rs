//! `--daemon`: the events of the input, decided by the running daemon with the hooks that are in force there.
//!
//! Order, bounds and output are those of a run of its own. Background work is the daemon's: the run does not wait for it
//! and does not report what came of it. Sessions stay open in the daemon until their `after_session`.

use std::cell::RefCell;
use std::collections::HashSet;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use lineside::Client;
use lineside::client::{Delivery, Session};
use lineside::core::Strength;
use lineside::dialects::DIALECTS;
use lineside::json::{Map, Value, json};
use lineside::wire::{EventDraft, UnknownKey, Vocabulary};
use tokio::io::{AsyncWriteExt as _, Stdout};
use tokio::sync::{Mutex, Semaphore};

use super::background;
use super::flow::{MOST_BYTES, MOST_EVENTS, MOST_UNKNOWN, Order};
use super::lanes::{Ended, Lanes, Pending, Place, pending};
use super::lines::{self, Line, Lines};
use super::tally::Tally;
use super::{RunArgs, name_of};
use crate::control::{ask, tell_findings};
use crate::interrupt::Interrupt;
use crate::is_broken_pipe;
use crate::lineage::named;
use crate::painter::{json_line, one_line};
use crate::style::{Style, Styles, Tone, tell};

use remote::RemoteSessions;

mod remote;

/// Everything between the input and the output.
struct Flow {
    name: String,
    client: Client,
    /// Where events go.
    path: &'static str,
    vocabulary: Vocabulary,
    order: Order,
    places: Semaphore,
    /// Standard output; none where nothing is printed.
    out: Option<Mutex<Stdout>>,
    style: Style,
    sessions: RemoteSessions,
    tally: RefCell<Tally>,
    unknown: RefCell<HashSet<UnknownKey>>,
}

/// An event on its way.
struct Event {
    line: EventDraft,
    fields: Map,
    number: u64,
    bytes: usize,
    /// What it waits for, and what waits for it.
    after: Vec<Ended>,
    pending: Pending,
    /// The decision that is printed before its own, where that is so.
    turn: Option<Ended>,
    printed: Pending,
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
    let mut interrupt = Interrupt::watch()?;
    let paths = args.daemon.paths()?;
    let ground = args.places.ground()?;
    let status: Map = ask(&paths, async |client| client.get("/v1/status").await).await?;
    tell_findings(&status, styles.err);
    let hooks = status.get("hooks").and_then(Value::as_u64).unwrap_or_default();
    let lines = Lines::open(args.events.as_deref()).await?;
    if lines.are_typed() {
        tell("reading events from this terminal, one JSON object a line; Ctrl-D ends the input");
    }
    let client = Client::new(&paths.socket);
    let flow = Flow {
        name: name_of(args.events.as_deref()),
        path: if args.receipts { "/v1/events?receipt=true" } else { "/v1/events" },
        vocabulary: Vocabulary::new(DIALECTS),
        order: if args.ordered { Order::OfInput } else { Order::OfDecisions },
        places: Semaphore::new(usize::from(args.at_once)),
        out: (!args.quiet).then(|| Mutex::new(tokio::io::stdout())),
        style: styles.err,
        sessions: RemoteSessions::new(client.clone(), &ground.project),
        client,
        tally: RefCell::new(Tally::start(usize::try_from(hooks).unwrap_or(usize::MAX), false)),
        unknown: RefCell::default(),
    };
    let ended = tokio::select! {
        biased;
        signal = interrupt.next() => Err(signal),
        result = flow.run(lines) => Ok(result),
    };
    let mut tally = flow.tally.into_inner();
    tally.undecided();
    let note = match &ended {
        Ok(Ok(())) => None,
        Ok(Err(error)) if is_broken_pipe(error) => Some("the reader of standard output has gone"),
        Ok(Err(_)) => Some("ended early"),
        Err(_) => Some("interrupted"),
    };
    tell(&tally.summary(note, styles.err));
    match ended {
        Err(signal) => Ok(ExitCode::from(signal.exit_status())),
        Ok(Err(error)) => Err(error),
        Ok(Ok(())) if tally.is_clean() => Ok(ExitCode::SUCCESS),
        Ok(Ok(())) => Ok(ExitCode::FAILURE),
    }
}

impl Flow {
    /// Handles line after line until the input ends and every event is decided. Dropping the future gives up the events
    /// that are under way: the daemon cancels their hooks.
    async fn run(&self, mut lines: Lines) -> Result<()> {
        let mut lanes = Lanes::default();
        let mut last_printed = None;
        let mut under_way = FuturesUnordered::new();
        let (mut bytes, mut reads) = (0, true);
        loop {
            let may_read = reads && under_way.len() < MOST_EVENTS && bytes < MOST_BYTES;
            tokio::select! {
                biased;
                Some(ended) = under_way.next() => {
                    let ended: Result<usize> = ended;
                    bytes -= ended?;
                }
                line = lines.next(), if may_read => {
                    let Some(line) = line.with_context(|| format!("failed to read {}", self.name))? else {
                        reads = false;
                        continue;
                    };
                    let Some(mut event) = self.take(line, lines.number(), &mut lanes) else { continue };
                    if self.order == Order::OfInput {
                        let (printed, ended) = pending();
                        event.turn = last_printed.replace(ended);
                        event.printed = printed;
                    }
                    bytes += event.bytes;
                    under_way.push(self.decide(event));
                }
                else => return Ok(()),
            }
        }
    }

    /// Reads an event from its line; one that is none is reported.
    fn take(&self, line: Line, number: u64, lanes: &mut Lanes) -> Option<Event> {
        let text = match line {
            Line::Text(text) if text.trim_ascii().is_empty() => return None,
            Line::Text(text) => text,
            Line::TooLong => {
                self.refuse(number, &anyhow::anyhow!("longer than {} bytes", lines::LONGEST));
                return None;
            }
        };
        // What is no event is reported in the same words as without a daemon.
        let read = EventDraft::parse(&text, &self.vocabulary).map_err(anyhow::Error::from);
        let read = read.and_then(|line| Ok((line, lineside::json::from_slice::<Map>(&text)?)));
        let (line, mut fields) = match read {
            Ok(read) => read,
            Err(error) => {
                self.refuse(number, &error);
                return None;
            }
        };
        self.tell_unknown(number, &line.unknown);
        fields.insert("session".to_owned(), json!(named(&line)));
        self.tally.borrow_mut().under_way();
        let child = line.payload.text("child_session");
        let place =
            Place { point: line.point.name, session: named(&line), parent: line.parent.as_deref(), child };
        let (after, pending) = lanes.enter(&place);
        let (printed, _) = self::pending();
        Some(Event { line, fields, number, bytes: text.len(), after, pending, turn: None, printed })
    }

    /// One event from its line to its printed decision. Gives how long the line was.
    async fn decide(&self, event: Event) -> Result<usize> {
        let Event { line, fields, number, bytes, after, pending, turn, printed } = event;
        for earlier in after {
            earlier.wait().await;
        }
        let decided = self.publish(&line, &fields).await;
        drop(fields);
        let mut pending = Some(pending);
        if let Some(turn) = turn {
            // A decision may wait long for its turn; its session goes on.
            pending.take_if(|_| line.point.name != "after_session");
            turn.wait().await;
        }
        match decided {
            Ok(Decided { decision, deliveries }) => {
                self.print(&decision).await?;
                // Not before: what a reader has not seen yet is not accepted.
                for delivery in deliveries {
                    if let Err(error) = delivery.accept().await {
                        self.warn(&error.to_string());
                    }
                }
            }
            Err(error) => {
                self.tally.borrow_mut().given_up();
                self.refuse(number, &error);
            }
        }
        drop((printed, pending));
        Ok(bytes)
    }

    async fn publish(&self, line: &EventDraft, fields: &Map) -> Result<Decided> {
        let session = self.sessions.of(line).await?;
        let Ok(place) = self.places.acquire().await else { bail!("the run is over") };
        let mut decision: Map = self.client.post(self.path, fields).await?;
        drop(place);
        let deliveries = self.hand_over(&session, line, &mut decision).await?;
        if line.point.name == "after_session" {
            self.sessions.closed(&session);
        }
        let failed = decision.get("failed").and_then(Value::as_array).map_or(0, Vec::len);
        let verdict = decision.get("verdict").and_then(Value::as_str).unwrap_or_default();
        let strength = Strength::named(verdict);
        let accepted = decision.get("accepted").and_then(Value::as_array).into_iter().flatten();
        let unkept =
            accepted.filter(|one| one.get("as").and_then(Value::as_str) == Some("unavailable")).count();
        let mut tally = self.tally.borrow_mut();
        tally.decided_elsewhere(strength.context("the decision has no known verdict")?, failed, unkept);
        Ok(Decided { decision, deliveries })
    }

    /// Takes the messages out of the mailbox, as a run of its own does: those that the decision has not itself stand
    /// beside it, under `delivered`.
    async fn hand_over(
        &self,
        session: &Session,
        line: &EventDraft,
        decision: &mut Map,
    ) -> Result<Vec<Delivery>> {
        // An event after which the session is closed has taken them with it.
        if line.point.name == "after_session" {
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

    async fn print(&self, decision: &Map) -> Result<()> {
        self.tally.borrow_mut().printed();
        let Some(out) = &self.out else { return Ok(()) };
        let text = json_line(decision)?;
        let mut out = out.lock().await;
        out.write_all(text.as_bytes()).await.context(NOT_WRITTEN)?;
        out.flush().await.context(NOT_WRITTEN)
    }

    fn refuse(&self, number: u64, error: &anyhow::Error) {
        self.tally.borrow_mut().refused();
        let label = self.style.paint(Tone::Bad, "error");
        tell(&format!("{label}: {}:{number}: {}", self.name, one_line(&format!("{error:#}"))));
    }

    fn warn(&self, text: &str) {
        tell(&format!("{}: {}", self.style.paint(Tone::Warning, "warning"), one_line(text)));
    }

    /// Reports each unknown key once.
    fn tell_unknown(&self, number: u64, keys: &[UnknownKey]) {
        for key in keys {
            let mut told = self.unknown.borrow_mut();
            if told.len() < MOST_UNKNOWN && told.insert(key.clone()) {
                self.warn(&format!("{}:{number}: {key}", self.name));
            }
        }
    }
}

const NOT_WRITTEN: &str = "failed to write a decision to standard output";
