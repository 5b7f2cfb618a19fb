//! From lines to events on their way: sessions at the same time, each in the order of its input, with bounds for
//! everything.
//!
//! Reading pauses while too much is under way or waits. An event waits for those that come before it, is published, and
//! is printed in its turn. Where it is published, and what is printed, is left to a [`Decider`].

use std::cell::RefCell;
use std::collections::HashSet;

use anyhow::{Context as _, Result, anyhow};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use lineside::core::{Acknowledgement, Point as _, Strength};
use lineside::points::AfterSession;
use lineside::wire::{EventDraft, UnknownKey, Vocabulary};
use tokio::time::sleep;

use super::lanes::{Ended, Lanes, Pending, Place, pending};
use super::lines::{self, Line, Lines};
use super::tally::Tally;
use super::waiting;
use crate::lineage::named;
use crate::painter::one_line;
use crate::progress::Progress;
use crate::style::{Style, Tone, tell};

/// How many events may be under way or wait for others. Reading pauses when there are more.
const MOST_EVENTS: usize = 1024;

/// How many bytes of input these may have together, beyond the last one: one line of the longest.
const MOST_BYTES: usize = lines::LONGEST;

/// How many unknown keys are reported; a stream with more is of another format.
const MOST_UNKNOWN: usize = 64;

/// In which order decisions are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// As they fall; those of one session in the order of its events.
    OfDecisions,
    /// As their events were read.
    OfInput,
}

/// Where events are decided, and what becomes of the decisions.
pub(super) trait Decider {
    /// What is kept of a line beside its event.
    type Kept;
    /// A decision that is not printed yet.
    type Decided;

    /// What is kept of a line.
    ///
    /// # Errors
    /// The line is refused.
    fn keep(&self, text: &[u8], line: &EventDraft) -> Result<Self::Kept>;

    /// Has an event decided.
    ///
    /// # Errors
    /// The line is refused.
    async fn publish(&self, line: EventDraft, kept: Self::Kept) -> Result<Self::Decided>;

    /// Prints a decision, and drops the other value once the next one may be printed. Does then what comes after it.
    ///
    /// # Errors
    /// Standard output cannot be written.
    async fn print(&self, decided: Self::Decided, printed: Pending) -> Result<()>;

    /// What is still waited for when the input has ended, in a line for people.
    fn waits(&self, open: usize) -> String;
}

/// What stands between the lines and the decisions: where they are from, in which order they go on, and what has come of
/// them.
pub(super) struct Intake {
    /// What the input is called.
    pub(super) name: String,
    pub(super) vocabulary: Vocabulary,
    pub(super) order: Order,
    pub(super) style: Style,
    pub(super) tally: RefCell<Tally>,
    pub(super) progress: RefCell<Progress>,
    /// The unknown keys that were reported.
    pub(super) unknown: RefCell<HashSet<UnknownKey>>,
}

/// An event on its way.
struct Event<K> {
    line: EventDraft,
    kept: K,
    number: u64,
    bytes: usize,
    /// What it waits for, and what waits for it.
    after: Vec<Ended>,
    pending: Pending,
    /// The decision that is printed before its own, where that is so.
    turn: Option<Ended>,
    printed: Pending,
}

impl Intake {
    /// Handles line after line until the input ends and every event is decided.
    ///
    /// Dropping the future gives up the events that are under way.
    ///
    /// # Errors
    /// The input cannot be read, or the output not written.
    pub(super) async fn run<D: Decider>(&self, mut lines: Lines, decider: &D) -> Result<()> {
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
                        Some(line) => {
                            if let Some(mut event) = self.take(line, lines.number(), &mut lanes, decider) {
                                if self.order == Order::OfInput {
                                    let (printed, ended) = pending();
                                    event.turn = last_printed.replace(ended);
                                    event.printed = printed;
                                }
                                bytes += event.bytes;
                                under_way.push(self.decide(event, decider));
                            }
                        }
                    }
                }
                () = sleep(waiting::PATIENCE), if !reads && !under_way.is_empty() && !is_told => {
                    is_told = true;
                    let open = self.tally.borrow().open();
                    self.progress.borrow_mut().clear();
                    tell(&one_line(&decider.waits(open)));
                }
                else => return Ok(()),
            }
            self.progress.borrow_mut().show(|| self.tally.borrow().progress());
        }
    }

    /// Reads an event from its line; one that is none is reported.
    fn take<D: Decider>(
        &self,
        line: Line,
        number: u64,
        lanes: &mut Lanes,
        decider: &D,
    ) -> Option<Event<D::Kept>> {
        let (read, bytes) = match line {
            Line::TooLong => (Err(anyhow!("longer than {} bytes", lines::LONGEST)), 0),
            Line::Text(text) if text.trim_ascii().is_empty() => return None,
            Line::Text(text) => (self.read(&text, decider), text.len()),
        };
        let (line, kept) = match read {
            Ok(read) => read,
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
        Some(Event { line, kept, number, bytes, after, pending, turn: None, printed })
    }

    fn read<D: Decider>(&self, text: &[u8], decider: &D) -> Result<(EventDraft, D::Kept)> {
        let line = EventDraft::parse(text, &self.vocabulary)?;
        let kept = decider.keep(text, &line)?;
        Ok((line, kept))
    }

    /// One event from its line to its printed decision. Gives how long the line was.
    async fn decide<D: Decider>(&self, event: Event<D::Kept>, decider: &D) -> Result<usize> {
        let Event { line, kept, number, bytes, after, pending, turn, printed } = event;
        for earlier in after {
            earlier.wait().await;
        }
        let ends = line.point == AfterSession::INFO;
        let decided = decider.publish(line, kept).await;
        let mut pending = Some(pending);
        if let Some(turn) = turn {
            // A decision may wait long for its turn; its session goes on.
            pending.take_if(|_| !ends);
            turn.wait().await;
        }
        match decided {
            Ok(decided) => decider.print(decided, printed).await?,
            Err(error) => {
                self.tally.borrow_mut().given_up();
                self.refuse(number, &error);
            }
        }
        drop(pending);
        Ok(bytes)
    }

    /// Counts a decision. Reports the first time that background work is not kept.
    pub(super) fn decided<'a>(
        &self,
        strength: Strength,
        accepted: impl IntoIterator<Item = &'a Acknowledgement>,
    ) {
        if let Some(why) = self.tally.borrow_mut().decided(strength, accepted) {
            self.progress.borrow_mut().clear();
            let label = self.style.paint(Tone::Bad, "error");
            tell(&format!("{label}: background work is not kept any more: {}", one_line(&why)));
        }
    }

    fn refuse(&self, number: u64, error: &anyhow::Error) {
        self.tally.borrow_mut().refused();
        self.progress.borrow_mut().clear();
        let label = self.style.paint(Tone::Bad, "error");
        tell(&format!("{label}: {}:{number}: {}", self.name, one_line(&format!("{error:#}"))));
    }

    pub(super) fn warn(&self, text: &str) {
        self.progress.borrow_mut().clear();
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
