//! Keeps what the mailboxes hold in a journal, and gives it back to sessions that are opened again.
//!
//! What happens in a mailbox is put here under its lock, so that records stand in the order of what happened; a task
//! hands them to the journal, all that there are at once, and says up to which mark they are kept. Now and then, what
//! is on record is put in the place of how it came to be.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use lineside_core::context::{Bounds, Size};
use lineside_core::journal::{Durability, Journal, Record, Sequence, Unavailable};
use lineside_core::{MessageId, Notice, SessionId};
use tokio::sync::watch;

use super::mailbox::{Lost, Mailbox, WAITING_IN_ALL};
use super::mailbox_index::{GivenUp, LOAD, MailboxIndex, Said};
use super::message::{Expiry, Item, Offer, Order};
use super::missing::WhyMissing;
use super::record;
use crate::base::background::Writers;
use crate::base::signal::{Signal, SignalBus};

/// How many bytes of records may wait for the journal; with more, what waits is written as a whole when the journal has
/// ended what it has in hand.
const MOST_BEHIND: usize = 64 << 20;

/// After how many records at least they are put together.
const OFTEN_ENOUGH: usize = 1024;

/// What was found in a context journal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContextRecovered {
    /// For how many sessions messages wait.
    pub sessions: usize,
    /// How many messages wait.
    pub messages: usize,
    /// How many records could not be read. Everything else counts.
    pub unreadable: usize,
    /// How many messages were given up because their sessions were not opened for long.
    pub given_up: usize,
}

pub(crate) struct Log {
    journal: Arc<dyn Journal>,
    bounds: Bounds,
    /// How many bytes wait at most in all mailboxes together, of sessions that are open and of those that are not.
    most: AtomicUsize,
    /// The mailboxes of this process: a session that is opened again while its mailbox is there has the same one.
    mailboxes: Mutex<HashMap<SessionId, Weak<Mailbox>>>,
    inner: Mutex<Inner>,
    progress: watch::Sender<()>,
    writers: Writers,
    /// The runtime of the writer has ended before it.
    is_abandoned: AtomicBool,
    /// How many messages were given up in this process because their sessions were not opened for long.
    given_up: AtomicU64,
    /// The signal bus; set when the bus is built.
    signals: OnceLock<SignalBus>,
    pub(crate) recovered: ContextRecovered,
}

#[derive(Default)]
struct Inner {
    index: MailboxIndex,
    pending: VecDeque<Arc<Record>>,
    /// What the journal was given and has not acknowledged.
    in_hand: Vec<Arc<Record>>,
    /// Of what is pending.
    bytes: usize,
    /// How many records there ever were, and how many of them are kept.
    wanted: u64,
    kept: u64,
    durability: Durability,
    failed: Option<Unavailable>,
    is_writing: bool,
    pace: Pace,
    /// How much the index holds when the sessions are next looked at that were not opened for long.
    trim_at: usize,
    /// How many records there are since they were put together.
    loose: usize,
}

/// Whether the journal has the records that there are.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// It has them, or has them before it or in hand.
    #[default]
    Even,
    /// It was so slow that records were given up; the index has what they say.
    Behind,
    /// It is given the index.
    CatchingUp,
}

impl Inner {
    fn has_work(&self) -> bool {
        !self.pending.is_empty() || self.pace == Pace::Behind
    }

    /// Why what comes now is not kept.
    fn unavailable(&self) -> Option<Unavailable> {
        let behind = || Unavailable::because("the context journal is too far behind");
        self.failed.clone().or_else(|| (self.pace == Pace::Behind).then(behind))
    }

    /// Forgets sessions that were not opened for long, if much has come since that was done last.
    fn trim(&mut self, mailboxes: &HashMap<SessionId, Weak<Mailbox>>) -> Vec<GivenUp> {
        if self.index.load() < self.trim_at.max(LOAD) {
            return Vec::new();
        }
        let given_up = self.index.trim(|session| is_open(mailboxes, session));
        self.trim_at = 2 * self.index.load();
        given_up
    }
}

fn is_open(mailboxes: &HashMap<SessionId, Weak<Mailbox>>, session: &SessionId) -> bool {
    mailboxes.get(session).is_some_and(|mailbox| mailbox.strong_count() > 0)
}

impl Log {
    /// A log in this journal, with what that had.
    pub(crate) fn open(
        journal: Arc<dyn Journal>,
        bounds: Bounds,
        records: impl IntoIterator<Item = (Sequence, Record)>,
    ) -> Self {
        let mut inner = Inner { durability: Durability::Memory, ..Inner::default() };
        let mut recovered = ContextRecovered::default();
        for (_, record) in records {
            inner.loose += 1;
            recovered.unreadable += usize::from(!inner.index.replay(record));
        }
        recovered.given_up = inner.index.trim(|_| false).iter().map(GivenUp::messages).sum();
        (recovered.sessions, recovered.messages) = inner.index.waiting();
        Self {
            journal,
            bounds,
            most: AtomicUsize::new(WAITING_IN_ALL),
            mailboxes: Mutex::default(),
            inner: Mutex::new(inner),
            progress: watch::Sender::new(()),
            writers: Writers::default(),
            is_abandoned: AtomicBool::new(false),
            given_up: AtomicU64::new(0),
            signals: OnceLock::new(),
            recovered,
        }
    }

    /// The mailbox of a session that is being opened.
    pub(crate) fn mailbox(self: &Arc<Self>, session: &SessionId) -> Arc<Mailbox> {
        let mut mailboxes = lock(&self.mailboxes);
        if let Some(mailbox) = mailboxes.get(session).and_then(Weak::upgrade) {
            mailbox.begin_life();
            return mailbox;
        }
        let (waiting, over) = lock(&self.inner).index.of(session).unwrap_or_default();
        let mut mailbox = Mailbox::new(self.bounds);
        {
            let mut inside = mailbox.lock();
            for entry in waiting {
                let message = entry.message.into_owned();
                inside.life = inside.life.max(entry.order.life + 1);
                inside.known.insert(message.id);
                let (order, size) = (entry.order, Size::of(&message.text));
                let (expires, keeps_working) = (entry.expires.map(Expiry::at_wall), entry.keeps_working);
                inside.insert(Item { order, size, expires, keeps_working, message });
            }
            inside.known.extend(&over);
            inside.over = over.into();
        }
        mailbox.log = Some((Arc::clone(self), session.clone()));
        let mailbox = Arc::new(mailbox);
        if mailboxes.len() == mailboxes.capacity() {
            mailboxes.retain(|_, mailbox| mailbox.strong_count() > 0);
        }
        mailboxes.insert(session.clone(), Arc::downgrade(&mailbox));
        let given_up = lock(&self.inner).trim(&mailboxes);
        drop(mailboxes);
        self.tell_of(&given_up);
        mailbox
    }

    /// Keeps a message for a session that is not open, if there is room for it. Gives it back when the mailbox is there
    /// after all, because the session was opened in this moment or is still referenced.
    pub(super) fn leave(
        self: &Arc<Self>,
        to: &SessionId,
        order: Order,
        offer: Offer,
        lost: &mut Lost,
    ) -> Option<(Arc<Mailbox>, Offer)> {
        let mailboxes = lock(&self.mailboxes);
        if let Some(mailbox) = mailboxes.get(to).and_then(Weak::upgrade) {
            return Some((mailbox, offer));
        }
        let Offer { message, expires, keeps_working } = offer;
        let mut inner = lock(&self.inner);
        let size = Size::of(&message.text);
        if inner.index.knows(to, message.id) {
            return None;
        }
        let has_room = inner.index.has_room(to, size, self.bounds);
        if !has_room || !inner.index.has_room_in_all(size.bytes, self.most.load(Ordering::Relaxed)) {
            lost.push((message.hook, WhyMissing::NoRoom));
            return None;
        }
        let order = Order { arrival: inner.wanted, ..order };
        self.append(&mut inner, to, &Item { order, size, expires, keeps_working, message });
        let given_up = inner.trim(&mailboxes);
        drop((inner, mailboxes));
        self.tell_of(&given_up);
        None
    }

    /// At most this many bytes wait in all mailboxes together.
    pub(crate) fn at_most(&self, bytes: usize) {
        self.most.store(bytes, Ordering::Relaxed);
    }

    /// Whether so many bytes more fit, over all mailboxes.
    pub(super) fn has_room(&self, more: usize) -> bool {
        lock(&self.inner).index.has_room_in_all(more, self.most.load(Ordering::Relaxed))
    }

    /// A message waits.
    pub(super) fn appended(self: &Arc<Self>, session: &SessionId, item: &Item) {
        let mut inner = lock(&self.inner);
        self.append(&mut inner, session, item);
    }

    fn append(self: &Arc<Self>, inner: &mut Inner, session: &SessionId, item: &Item) {
        let Some(record) = record::appended(session, item) else { return };
        inner.index.appended(session, item.order, item.message.id, item.size, Arc::clone(&record));
        self.push(inner, record);
    }

    /// Messages have come to their end. Gives the mark after that.
    pub(super) fn settled(self: &Arc<Self>, session: &SessionId, ids: &[MessageId]) -> u64 {
        let mut inner = lock(&self.inner);
        inner.index.settled(session, ids);
        if let Some(record) = record::settled(session, ids) {
            self.push(&mut inner, record);
        }
        inner.wanted
    }

    fn push(self: &Arc<Self>, inner: &mut Inner, record: Arc<Record>) {
        inner.wanted += 1;
        if inner.unavailable().is_some() {
            return;
        }
        inner.bytes += record.bytes.len();
        inner.pending.push_back(record);
        if inner.bytes > MOST_BEHIND {
            tracing::warn!(
                "the context journal is too far behind; nothing more is kept until it has caught up"
            );
            inner.pending.clear();
            (inner.bytes, inner.pace) = (0, Pace::Behind);
            self.progress.send_replace(());
        }
        self.start_writing(inner);
    }

    /// Has a task write what there is, unless one does; `false` where there is no runtime for one.
    fn start_writing(self: &Arc<Self>, inner: &mut Inner) -> bool {
        if self.is_abandoned.swap(false, Ordering::AcqRel) {
            // Its runtime has ended. What it had in hand may be in the journal or not; there, twice is as good as once.
            inner.is_writing = false;
            if inner.pace == Pace::CatchingUp {
                inner.pace = Pace::Behind;
            }
            for record in std::mem::take(&mut inner.in_hand).into_iter().rev() {
                inner.bytes += record.bytes.len();
                inner.pending.push_front(record);
            }
        }
        if !inner.is_writing && inner.has_work() {
            let log = Arc::clone(self);
            inner.is_writing = self.writers.start(|| Writing { log, has_ended: false }.run());
        }
        inner.is_writing || !inner.has_work()
    }

    fn fail(&self, inner: &mut Inner, why: Unavailable) {
        tracing::warn!(%why, "context is not kept any more");
        inner.pending.clear();
        inner.in_hand.clear();
        inner.bytes = 0;
        inner.failed = Some(why);
        self.progress.send_replace(());
    }

    /// Hands the journal what there is, until there is no more.
    async fn write(&self) {
        while let Some(Batch { records, mark, snapshot, catches_up }) = self.batch() {
            // Copied here, where no sender of a message waits for it.
            let records = records.iter().map(|record| Record::clone(record)).collect();
            let receipt = match self.journal.append(records).await {
                Ok(receipt) => receipt,
                Err(why) => return self.fail(&mut lock(&self.inner), why),
            };
            {
                let mut inner = lock(&self.inner);
                inner.in_hand.clear();
                inner.durability = receipt.durability;
                if !catches_up {
                    inner.kept = mark;
                }
            }
            self.progress.send_replace(());
            let Some((snapshot, given_up)) = snapshot else { continue };
            self.tell_of(&given_up);
            let snapshot = snapshot.into_iter().filter_map(Said::record).collect();
            match self.journal.checkpoint(snapshot, receipt.last).await {
                Ok(()) if catches_up => self.has_caught_up(mark),
                Ok(()) => {}
                Err(why) if catches_up => return self.fail(&mut lock(&self.inner), why),
                // The records are still there, and the next append says whether they can be added to.
                Err(why) => tracing::warn!(%why, "the context journal cannot be made shorter"),
            }
        }
    }

    /// The journal has everything up to a mark again.
    fn has_caught_up(&self, mark: u64) {
        {
            let mut inner = lock(&self.inner);
            inner.kept = mark;
            if inner.pace == Pace::CatchingUp {
                inner.pace = Pace::Even;
            }
        }
        self.progress.send_replace(());
        let text = "the context journal was too far behind, and messages for the context would not have survived a \
                    kill; it has caught up, and they are kept again";
        if let Some(signals) = self.signals.get() {
            signals.emit(|| Signal::Announced { notice: Notice::warning(text) });
        }
    }

    /// What is to be kept next, and what stands for all of it where it is time for that.
    fn batch(&self) -> Option<Batch> {
        let is_due = |inner: &Inner| {
            let loose = inner.loose + inner.pending.len();
            inner.pace == Pace::Behind || loose >= OFTEN_ENOUGH && loose >= 2 * inner.index.len()
        };
        let mut mailboxes = None;
        let mut inner = loop {
            let inner = lock(&self.inner);
            if mailboxes.is_some() || !is_due(&inner) {
                break inner;
            }
            drop(inner);
            // Both only then, and in this order: senders of messages wait meanwhile.
            mailboxes = Some(lock(&self.mailboxes));
        };
        if !inner.has_work() {
            inner.is_writing = false;
            return None;
        }
        let mut records: Vec<Arc<Record>> = inner.pending.drain(..).collect();
        let catches_up = inner.pace == Pace::Behind;
        if catches_up {
            // What stands for everything is put behind one of its own records.
            inner.pace = Pace::CatchingUp;
            records =
                inner.index.snapshot().into_iter().take(1).filter_map(Said::record).map(Arc::new).collect();
        }
        inner.in_hand.clone_from(&records);
        inner.bytes = 0;
        inner.loose += records.len();
        let snapshot = mailboxes.map(|mailboxes| {
            inner.loose = 0;
            let given_up = inner.index.trim(|session| is_open(&mailboxes, session));
            (inner.index.snapshot(), given_up)
        });
        Some(Batch { records, mark: inner.wanted, snapshot, catches_up })
    }

    /// Sets the signal bus that reports what becomes of messages.
    pub(crate) fn tell_by(&self, signals: &SignalBus) {
        // A log is one bus's alone, so nothing was said before.
        self.signals.set(signals.clone()).ok();
    }

    /// How many messages were given up in this life.
    pub(crate) fn given_up(&self) -> u64 {
        self.given_up.load(Ordering::Relaxed)
    }

    /// Counts messages that were given up, and tells of them.
    fn tell_of(&self, given_up: &[GivenUp]) {
        for gone in given_up {
            self.given_up.fetch_add(gone.messages() as u64, Ordering::Relaxed);
            let Some(signals) = self.signals.get().filter(|signals| signals.is_watched()) else { continue };
            for hook in gone.hooks() {
                signals.emit(|| Signal::ContextDropped { session: gone.session.clone(), hook });
            }
        }
    }

    /// The mark after everything that has happened by now.
    pub(crate) fn mark(&self) -> u64 {
        lock(&self.inner).wanted
    }

    /// How many records are not kept, or not yet.
    pub(crate) fn behind(&self) -> u64 {
        let inner = lock(&self.inner);
        inner.wanted - inner.kept
    }

    /// What records survive that come now.
    ///
    /// # Errors
    /// Nothing is kept any more, or not until the journal has caught up.
    pub(crate) fn durability(&self) -> Result<Durability, Unavailable> {
        let inner = lock(&self.inner);
        inner.unavailable().map_or(Ok(inner.durability), Err)
    }

    /// Waits until everything up to a mark is kept, and says what it survives.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// Nothing is kept any more, or not until the journal has caught up.
    pub(crate) async fn kept(self: &Arc<Self>, mark: u64) -> Result<Durability, Unavailable> {
        let mut progress = self.progress.subscribe();
        loop {
            {
                let mut inner = lock(&self.inner);
                if inner.kept >= mark {
                    return Ok(inner.durability);
                }
                if let Some(failure) = inner.unavailable() {
                    return Err(failure);
                }
                // The writer may be gone with its runtime.
                if !self.start_writing(&mut inner) {
                    return Err(Unavailable::because("there is no runtime that could write it"));
                }
            }
            if progress.changed().await.is_err() {
                return Err(Unavailable::because("the bus is gone"));
            }
        }
    }
}

/// Records for the journal, the mark after them, and where it is time for that, what stands for all that it has and who
/// is not among that any more.
struct Batch {
    records: Vec<Arc<Record>>,
    mark: u64,
    snapshot: Option<(Vec<Said>, Vec<GivenUp>)>,
    /// Only the snapshot has everything up to the mark.
    catches_up: bool,
}

/// A writer at work. One that is given up with its runtime wakes those who wait, and one of them begins another.
struct Writing {
    log: Arc<Log>,
    has_ended: bool,
}

impl Writing {
    async fn run(mut self) {
        self.log.write().await;
        self.has_ended = true;
    }
}

impl Drop for Writing {
    /// Takes no lock: it may be dropped where it is started.
    fn drop(&mut self) {
        if !self.has_ended {
            self.log.is_abandoned.store(true, Ordering::Release);
            self.log.progress.send_replace(());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
