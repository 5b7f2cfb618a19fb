//! From lines to decisions: sessions at the same time, each in the order of its input, with bounds for everything.
//!
//! Reading pauses while too much is under way or waits. An event goes through these stages: it waits for those that
//! come before it, takes a place among the events that are judged at the same time, is published, waits until what its
//! decision claims is kept, is written, and then what it hands over is accepted.

use std::cell::RefCell;
use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use lineside::claims::{Claim, Claims};
use lineside::wire::{EventDraft, UnknownKey, Vocabulary, publication};
use lineside::{Bus, Session};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use super::background::{self, Background};
use super::decision::Later;
use super::lanes::{Ended, Lanes, Pending, Place, pending};
use super::lines::{self, Line, Lines};
use super::output::{Output, Written};
use super::tally::Tally;
use super::waiting;
use crate::lineage::named;
use crate::painter::one_line;
use crate::progress::Progress;
use crate::sessions::{HandOver, Sessions, hand_over};
use crate::style::{Style, Tone, tell};

/// How many events may be under way or wait for others. Reading pauses when there are more.
pub(super) const MOST_EVENTS: usize = 1024;

/// How many bytes of input these may have together, beyond the last one: one line of the longest.
pub(super) const MOST_BYTES: usize = lines::LONGEST;

/// How long the bus may take to come to its end once the person has asked for it.
pub(super) const HURRIED: Duration = Duration::from_secs(2);

/// How many unknown keys are reported; a stream with more is of another format.
pub(super) const MOST_UNKNOWN: usize = 64;

/// In which order decisions are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// As they fall; those of one session in the order of its events.
    OfDecisions,
    /// As their events were read.
    OfInput,
}

/// Everything between the input and the output.
pub(super) struct Flow {
    pub(super) name: String,
    pub(super) bus: Bus,
    pub(super) vocabulary: Vocabulary,
    pub(super) claims: Claims,
    pub(super) order: Order,
    pub(super) places: Semaphore,
    pub(super) output: Output,
    pub(super) style: Style,
    pub(super) sessions: RefCell<Sessions>,
    pub(super) background: Background,
    pub(super) tally: RefCell<Tally>,
    pub(super) progress: RefCell<Progress>,
    /// Sessions that have ended with their last event, until their background hooks have.
    pub(super) closing: RefCell<Vec<Session>>,
    pub(super) unknown: RefCell<HashSet<UnknownKey>>,
}

/// An event on its way.
struct Event {
    line: EventDraft,
    number: u64,
    bytes: usize,
    /// What it waits for, and what waits for it.
    after: Vec<Ended>,
    pending: Pending,
    /// The decision that is printed before its own, where that is so.
    turn: Option<Ended>,
    printed: Pending,
}

impl Flow {
    /// Handles line after line until the input ends and every event is decided.
    ///
    /// Dropping the future gives up the events that are under way.
    ///
    /// # Errors
    /// The input cannot be read, or the output not written.
    pub(super) async fn run(&self, mut lines: Lines) -> Result<()> {
        let mut lanes = Lanes::default();
        let mut last_printed = None;
        let mut under_way = FuturesUnordered::new();
        let mut bytes = 0;
        let mut reads = true;
        let mut is_told = false;
        loop {
            let may_read = reads && under_way.len() < MOST_EVENTS && bytes < MOST_BYTES;
            tokio::select! {
                biased;
                Some(ended) = under_way.next() => {
                    let ended: Result<usize> = ended;
                    bytes -= ended?;
                }
                line = lines.next(), if may_read => {
                    match line.with_context(|| format!("failed to read {}", self.name))? {
                        None => reads = false,
                        Some(line) => if let Some(mut event) = self.take(line, lines.number(), &mut lanes) {
                            if self.order == Order::OfInput {
                                let (printed, ended) = pending();
                                event.turn = last_printed.replace(ended);
                                event.printed = printed;
                            }
                            bytes += event.bytes;
                            under_way.push(self.decide(event));
                        }
                    }
                }
                () = sleep(waiting::PATIENCE), if !reads && !under_way.is_empty() && !is_told => {
                    is_told = true;
                    let closing: Vec<String> =
                        self.closing.borrow().iter().map(|session| session.id().to_string()).collect();
                    let open = self.tally.borrow().open();
                    self.progress.borrow_mut().clear();
                    tell(&one_line(&waiting::for_events(open, &closing, &self.background)));
                }
                else => return Ok(()),
            }
            let tally = &self.tally;
            self.progress.borrow_mut().show(|| tally.borrow().progress());
        }
    }

    /// Reads an event from its line; one that is none is reported.
    fn take(&self, line: Line, number: u64, lanes: &mut Lanes) -> Option<Event> {
        let (read, bytes) = match line {
            Line::TooLong => (Err(anyhow::anyhow!("longer than {} bytes", lines::LONGEST)), 0),
            Line::Text(text) if text.trim_ascii().is_empty() => return None,
            Line::Text(text) => (EventDraft::parse(&text, &self.vocabulary).map_err(Into::into), text.len()),
        };
        let line = match read {
            Ok(line) => line,
            Err(error) => {
                self.refuse(number, &error);
                return None;
            }
        };
        self.tell_unknown(number, &line.unknown);
        self.tally.borrow_mut().under_way();
        let child = line.payload.text("child_session");
        let place =
            Place { point: line.point.name, session: named(&line), parent: line.parent.as_deref(), child };
        let (after, pending) = lanes.enter(&place);
        let (printed, _) = self::pending();
        Some(Event { line, number, bytes, after, pending, turn: None, printed })
    }

    /// One event from its line to its printed decision. Gives how long the line was.
    async fn decide(&self, event: Event) -> Result<usize> {
        let Event { line, number, bytes, after, pending, turn, printed } = event;
        for earlier in after {
            earlier.wait().await;
        }
        let decided = match self.publish(line).await {
            Ok(decided) => decided,
            Err(error) => {
                if let Some(turn) = turn {
                    turn.wait().await;
                }
                self.tally.borrow_mut().given_up();
                self.refuse(number, &error);
                return Ok(bytes);
            }
        };
        let ends = decided.receipt.event.point().name == "after_session";
        // With the order of the input, a decision may wait long for its turn; its session goes on.
        let pending = match turn {
            Some(turn) => {
                let kept = ends.then_some(pending);
                turn.wait().await;
                kept
            }
            None => Some(pending),
        };
        self.print(&decided).await?;
        let Decided { session, handed_over, .. } = decided;
        // Not before: what a reader has not seen yet is not accepted.
        if let Err(error) = handed_over.accept().await {
            self.warn(&format!("{error:#}"));
        }
        drop(printed);
        if ends {
            self.close(&session).await;
        }
        drop(pending);
        Ok(bytes)
    }

    /// Publishes an event, and waits until what its decision claims is kept.
    async fn publish(&self, line: EventDraft) -> Result<Decided> {
        let session = self.sessions.borrow_mut().of(&line)?;
        let publication = publication(&session, line);
        let receipt = {
            let Ok(_place) = self.places.acquire().await else { bail!("the run is over") };
            publication.publish_any().await?
        };
        let accepted = self.claims.of(&receipt, Duration::MAX).await;
        let handed_over = hand_over(&self.bus, &session, &receipt).await;
        let new = self.tally.borrow_mut().decided(&receipt, &accepted, self.bus.failures());
        if let Some(why) = new {
            self.progress.borrow_mut().clear();
            let label = self.style.paint(Tone::Bad, "error");
            tell(&format!("{label}: background work is not kept any more: {}", one_line(&why)));
        }
        self.background.started(&receipt, &accepted);
        Ok(Decided { session, receipt, accepted, handed_over })
    }

    async fn print(&self, decided: &Decided) -> Result<()> {
        let delivered: Vec<_> = decided.handed_over.beside_the_decision().collect();
        let later = Later {
            delivered: delivered.iter().map(|message| background::delivered(message)).collect(),
            background: self.background.take(),
        };
        self.progress.borrow_mut().clear();
        let Decided { receipt, accepted, .. } = decided;
        self.output.write(Written { receipt, accepted, later, delivered }).await?;
        self.tally.borrow_mut().printed();
        Ok(())
    }

    /// Ends the session whose last event was printed; waits for its background hooks, each within its own timeout.
    async fn close(&self, session: &Session) {
        self.sessions.borrow_mut().closed(session);
        self.closing.borrow_mut().push(session.clone());
        session.close().await;
        self.closing.borrow_mut().retain(|closing| closing.id() != session.id());
    }

    fn refuse(&self, number: u64, error: &anyhow::Error) {
        self.tally.borrow_mut().refused();
        self.progress.borrow_mut().clear();
        let label = self.style.paint(Tone::Bad, "error");
        tell(&format!("{label}: {}:{number}: {}", self.name, one_line(&format!("{error:#}"))));
    }

    fn warn(&self, text: &str) {
        self.progress.borrow_mut().clear();
        tell(&format!("{}: {}", self.style.paint(Tone::Warning, "warning"), one_line(text)));
    }

    /// Tells of each unknown key once.
    fn tell_unknown(&self, number: u64, keys: &[UnknownKey]) {
        for key in keys {
            let mut told = self.unknown.borrow_mut();
            if told.len() < MOST_UNKNOWN && told.insert(key.clone()) {
                self.warn(&format!("{}:{number}: {key}", self.name));
            }
        }
    }
}

/// An event that is decided.
struct Decided {
    session: Session,
    receipt: std::sync::Arc<lineside::core::Receipt>,
    accepted: Vec<Claim>,
    handed_over: HandOver,
}
