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
use lineside_core::{MessageId, SessionId};
use tokio::sync::watch;

use super::mailbox::{Lost, Mailbox, WAITING_IN_ALL, tell};
use super::mailbox_index::{GivenUp, MailboxIndex, Said};
use super::message::{Expiry, Item, Offer, Order};
use super::missing::WhyMissing;
use super::record;
use crate::base::background::Writers;
use crate::base::signal::{Signal, SignalBus};

/// How many bytes of records may wait for the journal; with more it has failed.
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
    /// How many records there are since they were put together.
    loose: usize,
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
        mailbox
    }

    /// Keeps a message for a session that is not open, if there is room for it. Gives it back when the mailbox is there
    /// after all, because the session was opened in this moment or is still referenced.
    fn leave(
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
        None
    }

    /// At most so many bytes wait in all mailboxes together.
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
        if inner.failed.is_some() {
            return;
        }
        inner.bytes += record.bytes.len();
        inner.pending.push_back(record);
        if inner.bytes > MOST_BEHIND {
            return self.fail(inner, Unavailable::because("the context journal is too far behind"));
        }
        self.start_writing(inner);
    }

    /// Has a task write what there is, unless one does; `false` where there is no runtime for one.
    fn start_writing(self: &Arc<Self>, inner: &mut Inner) -> bool {
        if self.is_abandoned.swap(false, Ordering::AcqRel) {
            // Its runtime has ended. What it had in hand may be in the journal or not; there, twice is as good as once.
            inner.is_writing = false;
            for record in std::mem::take(&mut inner.in_hand).into_iter().rev() {
                inner.bytes += record.bytes.len();
                inner.pending.push_front(record);
            }
        }
        if !inner.is_writing && !inner.pending.is_empty() {
            let log = Arc::clone(self);
            inner.is_writing = self.writers.start(|| Writing { log, has_ended: false }.run());
        }
        inner.is_writing || inner.pending.is_empty()
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
        while let Some(Batch { records, mark, snapshot }) = self.batch() {
            // Copied here, where no sender of a message waits for it.
            let records = records.iter().map(|record| Record::clone(record)).collect();
            let receipt = match self.journal.append(records).await {
                Ok(receipt) => receipt,
                Err(why) => return self.fail(&mut lock(&self.inner), why),
            };
            {
                let mut inner = lock(&self.inner);
                inner.in_hand.clear();
                (inner.kept, inner.durability) = (mark, receipt.durability);
            }
            self.progress.send_replace(());
            let Some((snapshot, given_up)) = snapshot else { continue };
            self.tell_of(&given_up);
            let snapshot = snapshot.into_iter().filter_map(Said::record).collect();
            if let Err(why) = self.journal.checkpoint(snapshot, receipt.last).await {
                // The records are still there, and the next append says whether they can be added to.
                tracing::warn!(%why, "the context journal cannot be made shorter");
            }
        }
    }

    /// What is to be kept next, and what stands for all of it where it is time for that.
    fn batch(&self) -> Option<Batch> {
        let is_due = {
            let inner = lock(&self.inner);
            let loose = inner.loose + inner.pending.len();
            loose >= OFTEN_ENOUGH && loose >= 2 * inner.index.len()
        };
        // Both only then: senders of messages wait meanwhile.
        let mailboxes = is_due.then(|| lock(&self.mailboxes));
        let mut inner = lock(&self.inner);
        if inner.pending.is_empty() {
            inner.is_writing = false;
            return None;
        }
        let records: Vec<Arc<Record>> = inner.pending.drain(..).collect();
        inner.in_hand.clone_from(&records);
        inner.bytes = 0;
        inner.loose += records.len();
        let snapshot = mailboxes.map(|mailboxes| {
            inner.loose = 0;
            let is_open = |session: &SessionId| {
                mailboxes.get(session).is_some_and(|mailbox| mailbox.strong_count() > 0)
            };
            let given_up = inner.index.trim(is_open);
            (inner.index.snapshot(), given_up)
        });
        Some(Batch { records, mark: inner.wanted, snapshot })
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
    /// Nothing is kept any more.
    pub(crate) fn durability(&self) -> Result<Durability, Unavailable> {
        let inner = lock(&self.inner);
        inner.failed.clone().map_or(Ok(inner.durability), Err)
    }

    /// Waits until everything up to a mark is kept, and says what it survives.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// Nothing is kept any more.
    pub(crate) async fn kept(self: &Arc<Self>, mark: u64) -> Result<Durability, Unavailable> {
        let mut progress = self.progress.subscribe();
        loop {
            {
                let mut inner = lock(&self.inner);
                if inner.kept >= mark {
                    return Ok(inner.durability);
                }
                if let Some(failure) = &inner.failed {
                    return Err(failure.clone());
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

/// A message that was put into a mailbox, or kept for one.
#[must_use = "it says from when on the message is kept"]
pub struct Posted {
    log: Option<(Arc<Log>, u64)>,
}

impl Posted {
    /// Whether there is a context journal that keeps it, so that [`kept`](Self::kept) has something to wait for.
    #[must_use]
    pub fn is_durable(&self) -> bool {
        self.log.is_some()
    }

    /// Waits until it is kept, and says what it survives: without a context journal, nothing, and at once.
    ///
    /// Cancel safe: the message is kept all the same.
    ///
    /// # Errors
    /// The context journal does not keep anything any more. The message is in the mailbox of this process.
    pub async fn kept(self) -> Result<Durability, Unavailable> {
        match self.log {
            Some((log, mark)) => log.kept(mark).await,
            None => Ok(Durability::Memory),
        }
    }
}

/// Puts a message into the mailbox of a session, which had that many events; of one that is not open, into what is kept
/// for it.
pub(crate) fn post_to(
    open: Option<(&Mailbox, u64)>,
    log: Option<&Arc<Log>>,
    signals: &SignalBus,
    to: &SessionId,
    seq: u64,
    offer: Offer,
) -> Posted {
    let mut lost = Lost::new();
    let order = Order::of(seq, u32::MAX);
    match (open, log) {
        (Some((mailbox, last_seq)), _) => {
            // A number of an earlier life of the session says nothing about this one.
            let order = Order { seq: seq.min(last_seq), ..order };
            mailbox.push(order, offer, &mut lost);
        }
        (None, Some(log)) => {
            if let Some((mailbox, offer)) = log.leave(to, order, offer, &mut lost) {
                mailbox.push(order, offer, &mut lost);
            }
        }
        (None, None) => lost.push((offer.message.hook, WhyMissing::NoRoom)),
    }
    tell(signals, to, lost);
    Posted { log: log.map(|log| (Arc::clone(log), log.mark())) }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
