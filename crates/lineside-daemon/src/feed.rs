//! What has happened lately: signals with ids, to be read from any of them on, and the receipts among them.
//!
//! A reader that is too slow, or comes back too late, learns how many signals it lost. Nothing waits for a reader.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use lineside::bus::signal::{Signals, Watched};
use lineside::core::{EventId, Receipt, SessionId, Timestamp};
use lineside::json::{Map, json};
use lineside::log::{self, Log, Record};
use lineside::{Bus, Signal, wire};
use tokio::sync::watch;
use uuid::Uuid;

use crate::api::shapes::SignalForm;
use crate::measures::Measures;
use crate::room::SMALL;

/// What a feed holds at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Most {
    pub(crate) signals: usize,
    pub(crate) receipts: usize,
    /// What the signals take, in bytes, and what the receipts take.
    pub(crate) bytes: usize,
}

/// How many sessions have numbers at most, when the end of one may have been lost.
const MOST_SEQS: usize = 65_536;

/// What an event and its decision take, about, in bytes: as the receipt has it, and once more as the text of its decision.
pub(crate) fn size(receipt: &Receipt) -> usize {
    receipt.weight() + receipt.event.weight()
}

/// How many signals a publisher takes into the feed after its event: the one that it has caused, and one that another
/// publisher could not take.
const SHARE: usize = 2;

/// One thing that happened.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Its number, from 1, without a gap.
    pub(crate) id: u64,
    /// Its number among those of its session, from 1, without a gap.
    pub(crate) seq: Option<u64>,
    /// When the feed took it.
    pub(crate) at: Timestamp,
    pub(crate) what: What,
    size: usize,
}

#[derive(Debug, Clone)]
pub(crate) enum What {
    Signal(Signal),
    /// The bus was faster than the feed.
    Lost(u64),
}

/// The feed. All its parts are bounded.
pub(crate) struct Feed {
    /// What the bus has sent and the feed has not taken.
    sent: Mutex<Signals>,
    /// Which daemon it is: ids start again with each.
    pub(crate) epoch: String,
    kept: Mutex<Kept>,
    /// The id of the last entry, for those who wait.
    last: watch::Sender<u64>,
    /// The same for those who read some time behind, for whom the feed takes nothing earlier.
    behind: watch::Sender<u64>,
    most: Most,
    /// Whose clock says when.
    bus: Bus,
    /// Where everything is written down that the feed takes.
    log: Option<Log>,
    /// What is counted of it.
    pub(crate) measures: Measures,
}

#[derive(Default)]
struct Kept {
    entries: VecDeque<Entry>,
    bytes: usize,
    last: u64,
    lost: u64,
    /// The number of the last signal of each session that is open.
    seqs: HashMap<SessionId, u64>,
    receipts: VecDeque<(EventId, Arc<Receipt>, usize)>,
    receipt_bytes: usize,
}

/// What has given way: it is freed without the locks.
type Gone = Vec<Entry>;

impl Feed {
    /// A feed of what a bus sends from now on.
    pub(crate) fn new(bus: &Bus, most: Most) -> Self {
        let epoch = format!("{:08x}", Uuid::new_v4().as_fields().0);
        let (sent, last) = (Mutex::new(bus.signals()), watch::Sender::new(0));
        let (behind, bus) = (watch::Sender::new(0), bus.clone());
        Self {
            sent,
            epoch,
            kept: Mutex::default(),
            last,
            behind,
            most,
            bus,
            log: None,
            measures: Measures::default(),
        }
    }

    /// With a log that everything goes to which the feed takes.
    pub(crate) fn written_to(mut self, log: Option<Log>) -> Self {
        self.log = log;
        self
    }

    /// The log.
    pub(crate) fn log(&self) -> Option<&Log> {
        self.log.as_ref()
    }

    /// What is decided from now on is decided by this generation of hooks.
    pub(crate) fn note_generation(&self, generation: u64) {
        if let Some(log) = self.log() {
            log.set_generation(generation);
        }
    }

    /// Hands something over to the log, which never waits.
    fn write(&self, watched: &Watched, at: Timestamp) {
        if let Some(log) = &self.log {
            log.offer(match watched {
                Watched::Signal(signal) => log::record(signal, at),
                Watched::Lost(lost) => Record::Lost(*lost),
            });
        }
    }

    /// Takes everything that the bus has sent, and names the sessions that are closed.
    pub(crate) fn hear(&self, closed: impl FnMut(&SessionId)) {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        self.take(sent, usize::MAX, closed);
    }

    /// Takes as much of it as an event causes, unless another thread is at it.
    ///
    /// What gives way in the feed for the event is then freed by a thread that has just allocated as much. Where one thread
    /// frees what all others have allocated, they wait for one another in the allocator.
    pub(crate) fn hear_share(&self, closed: impl FnMut(&SessionId)) {
        match self.sent.try_lock() {
            Ok(sent) => self.take(sent, SHARE, closed),
            Err(TryLockError::Poisoned(sent)) => self.take(sent.into_inner(), SHARE, closed),
            Err(TryLockError::WouldBlock) => {}
        }
    }

    fn take(&self, mut sent: MutexGuard<'_, Signals>, most: usize, mut closed: impl FnMut(&SessionId)) {
        let (mut over, mut gone) = (Vec::new(), Gone::new());
        let mut kept = self.kept();
        let before = kept.last;
        for watched in std::iter::from_fn(|| sent.try_next()).take(most) {
            let at = self.bus.wall_clock();
            self.write(&watched, at);
            match watched {
                Watched::Signal(signal) => {
                    self.measures.hear(&signal);
                    if let Signal::SessionClosed { session, .. } = &signal {
                        over.push(session.clone());
                    }
                    kept.push((signal, at), self.most, &mut gone);
                }
                Watched::Lost(lost) => kept.push_lost((lost, at), self.most, &mut gone),
            }
        }
        let last = kept.last;
        drop(kept);
        if last > before {
            self.last.send_replace(last);
            self.behind.send_replace(last);
        }
        drop(sent);
        drop(gone);
        over.iter().for_each(&mut closed);
    }

    /// Whether anything waits for entries.
    pub(crate) fn has_readers(&self) -> bool {
        self.last.receiver_count() > 0
    }

    /// The entries after an id that are still there, at most so many and up to a large one, and how many between are
    /// not.
    pub(crate) fn after(&self, id: u64, most: usize) -> (u64, Vec<Entry>) {
        let kept = self.kept();
        let Some(first) = kept.entries.front().map(|entry| entry.id) else { return (0, Vec::new()) };
        let lost = first.saturating_sub(id.saturating_add(1));
        let from = usize::try_from((id + 1).saturating_sub(first)).unwrap_or(usize::MAX);
        let mut bytes = 0;
        let few = kept.entries.iter().skip(from).take(most).take_while(|entry| {
            let is_first = bytes == 0;
            bytes += entry.size.max(1);
            is_first || bytes <= SMALL
        });
        (lost, few.cloned().collect())
    }

    /// The ids of the entries by which these sessions were opened last, where they are still there.
    pub(crate) fn last_openings(&self, sessions: &mut HashMap<SessionId, u64>) {
        for entry in &self.kept().entries {
            if let What::Signal(Signal::SessionOpened { session, .. }) = &entry.what
                && let Some(from) = sessions.get_mut(session)
            {
                *from = entry.id;
            }
        }
    }

    /// The id of the last entry, and what tells of later ones.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }

    /// The same for a reader that comes some time later, for whom nothing is taken earlier than for none.
    pub(crate) fn watch_behind(&self) -> watch::Receiver<u64> {
        self.behind.subscribe()
    }

    /// The receipt of an event.
    pub(crate) fn receipt(&self, event: EventId) -> Option<Arc<Receipt>> {
        let kept = self.kept();
        kept.receipts.iter().rev().find(|(id, ..)| *id == event).map(|(_, receipt, _)| Arc::clone(receipt))
    }

    /// The latest receipts, of one session or of all, the oldest of them first.
    pub(crate) fn receipts(&self, session: Option<&str>, most: usize) -> Vec<Arc<Receipt>> {
        let kept = self.kept();
        let of = |receipt: &Receipt| {
            session.is_none_or(|session| receipt.event.envelope().source.session.as_str() == session)
        };
        let latest = kept.receipts.iter().rev().map(|(_, receipt, _)| receipt).filter(|receipt| of(receipt));
        let mut latest: Vec<_> = latest.take(most).cloned().collect();
        latest.reverse();
        latest
    }

    /// About how many bytes the signals and the receipts take that are kept.
    pub(crate) fn bytes(&self) -> (usize, usize) {
        let kept = self.kept();
        (kept.bytes, kept.receipt_bytes)
    }

    /// How many signals there were, and how many the feed itself has lost.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let kept = self.kept();
        (kept.last, kept.lost)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Adds a signal.
    fn push(&mut self, (signal, at): (Signal, Timestamp), most: Most, gone: &mut Gone) {
        let size = match &signal {
            Signal::Decided(receipt) => size(receipt),
            other => other.weight(),
        };
        // The numbers of a session begin with its opening, unless that was lost: what comes after its end has none.
        let begins =
            matches!(signal, Signal::SessionOpened { .. }) || self.lost > 0 && self.seqs.len() < MOST_SEQS;
        let seq = signal.session().and_then(|session| match self.seqs.get_mut(session) {
            Some(last) => {
                *last += 1;
                Some(*last)
            }
            None if begins => {
                self.seqs.insert(session.clone(), 1);
                Some(1)
            }
            None => None,
        });
        match &signal {
            Signal::SessionClosed { session, .. } => drop(self.seqs.remove(session)),
            Signal::Decided(receipt) => self.keep(Arc::clone(receipt), size, most),
            _ => {}
        }
        self.add((seq, at), What::Signal(signal), (size, most), gone);
    }

    /// Adds that the bus was faster.
    fn push_lost(&mut self, (lost, at): (u64, Timestamp), most: Most, gone: &mut Gone) {
        self.lost += lost;
        self.add((None, at), What::Lost(lost), (0, most), gone);
    }

    fn add(
        &mut self,
        (seq, at): (Option<u64>, Timestamp),
        what: What,
        (size, most): (usize, Most),
        gone: &mut Gone,
    ) {
        self.last += 1;
        self.bytes += size;
        self.entries.push_back(Entry { id: self.last, seq, at, what, size });
        while self.entries.len() > most.signals || (self.bytes > most.bytes && self.entries.len() > 1) {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes -= oldest.size;
            gone.push(oldest);
        }
    }

    fn keep(&mut self, receipt: Arc<Receipt>, size: usize, most: Most) {
        self.receipt_bytes += size;
        self.receipts.push_back((receipt.event.envelope().id, receipt, size));
        while self.receipts.len() > most.receipts
            || (self.receipt_bytes > most.bytes && self.receipts.len() > 1)
        {
            let Some((.., size)) = self.receipts.pop_front() else { break };
            self.receipt_bytes -= size;
        }
    }
}

impl Entry {
    /// What it takes, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// How long it is as text, about, when it is long.
    pub(crate) fn large(&self) -> Option<usize> {
        (self.size > SMALL).then_some(self.size)
    }

    /// The session that it is about.
    pub(crate) fn session(&self) -> Option<&SessionId> {
        match &self.what {
            What::Signal(signal) => signal.session(),
            What::Lost(_) => None,
        }
    }

    /// What the log keeps of it.
    pub(crate) fn record(&self) -> Record {
        match &self.what {
            What::Signal(signal) => log::record(signal, self.at),
            What::Lost(lost) => Record::Lost(*lost),
        }
    }

    /// Its kind and its fields: all that it says, or what the log keeps of it.
    pub(crate) fn to_json(&self, form: SignalForm) -> (&'static str, Map) {
        let (kind, mut fields) = match (&self.what, form) {
            (What::Signal(signal), SignalForm::Whole) => {
                let about = wire::signal(signal);
                (about.kind, about.fields)
            }
            (What::Signal(_), SignalForm::Log) => log::line(&self.record()),
            (What::Lost(lost), _) => ("lost", lost_fields(*lost)),
        };
        if fields.get("time").is_none() {
            fields.insert("time".to_owned(), json!(self.at.to_string()));
        }
        if let Some(seq) = self.seq {
            fields.insert("signal_seq".to_owned(), json!(seq));
        }
        (kind, fields)
    }
}

/// What a reader asks of a stream.
///
/// # Errors
/// It is no query, or one that only what is kept can answer.
pub(crate) fn asked(query: &str, now: Timestamp) -> Result<log::Query, String> {
    let query = log::Query::parse(query, now).map_err(|error| error.to_string())?;
    if query.is_about_shadows() {
        return Err(
            "what a hook in shadow would have done is known after its event; `lineside log` answers it"
                .to_owned(),
        );
    }
    Ok(query)
}

/// What a reader learns of signals that it does not get.
pub(crate) fn lost_fields(lost: u64) -> Map {
    let mut map = Map::new();
    map.insert("kind".to_owned(), json!("lost"));
    map.insert("lost".to_owned(), json!(lost));
    map
}

#[cfg(test)]
mod tests {
    use lineside::Bus;

    use super::*;

    #[tokio::test]
    async fn a_publisher_takes_its_share_into_the_feed_and_waits_for_no_other() {
        let bus = Bus::new();
        let feed = Feed::new(&bus, Most { signals: 2, receipts: 2, bytes: 1 << 20 });
        for text in ["one", "two", "three"] {
            bus.announce(lineside::core::Notice::info(text));
        }
        let at_it = feed.sent.lock().unwrap();
        feed.hear_share(|_| {});
        assert_eq!(feed.counts(), (0, 0));
        drop(at_it);
        feed.hear_share(|_| {});
        assert_eq!(feed.counts(), (2, 0));
        feed.hear_share(|_| {});
        assert_eq!((feed.counts(), feed.after(0, 9).0), ((3, 0), 1));
        let session = bus.session("s").open().await.unwrap();
        session.close().await;
        let mut over = Vec::new();
        feed.hear_share(|session| over.push(session.to_string()));
        assert_eq!(over, ["s"]);
    }

    #[tokio::test]
    async fn what_comes_after_the_end_of_a_session_has_no_number_and_the_session_is_not_kept_for_it() {
        let bus = Bus::new();
        let feed = Feed::new(&bus, Most { signals: 64, receipts: 8, bytes: 1 << 20 });
        let session = bus.session("s").open().await.unwrap();
        session.close().await;
        let late = Signal::Notified {
            event: EventId::at(0, [0; 10]),
            session: session.id().clone(),
            hook: "h".into(),
            notice: lineside::core::Notice::info("late"),
        };
        feed.hear(|_| {});
        let mut kept = feed.kept();
        let before = kept.seqs.len();
        kept.push((late, bus.wall_clock()), feed.most, &mut Vec::new());
        assert_eq!((before, kept.seqs.len()), (0, 0));
        assert_eq!(kept.entries.back().map(|entry| entry.seq), Some(None));
    }
}
