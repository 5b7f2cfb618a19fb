//! The messages that wait for an agent's context, in order, within bounds, each once.
//!
//! A message stands by its event, then by its hook, then by when it came. One with a key takes the place of a message
//! of the same hook and key that still waits. One whose id has come to its end before, or is on its way, is not taken
//! again. What does not fit, or is too old when its turn comes, is counted and named in the next delivery.
//!
//! How they are handed over is in `delivery`; where they are kept so that a kill costs none, in `log`.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lineside_core::context::{Bounds, Size};
use lineside_core::{ContextMessage, MessageId, SessionId};
use tokio::time::Instant;

use crate::base::signal::{Signal, SignalBus};

use super::log::Log;
use super::message::{Item, Offer, Order, REMEMBERED};
use super::missing::{Losses, WhyMissing};

/// How much waits at most in one mailbox: more than an agent reads, and little enough for many sessions.
pub(crate) const WAITING: Bounds = Bounds { messages: 1024, bytes: 4 << 20, tokens: 1 << 20 };

/// How many bytes wait at most in all mailboxes together, where they are kept in a journal.
pub(crate) const WAITING_IN_ALL: usize = 256 << 20;

/// The messages of one session.
pub(crate) struct Mailbox {
    waiting: Mutex<Waiting>,
    bounds: Bounds,
    pub(super) log: Option<(Arc<Log>, SessionId)>,
}

#[derive(Default)]
pub(super) struct Waiting {
    queue: VecDeque<Item>,
    size: Size,
    /// How many are handed over and may come back, and what they take: their room is not that of others.
    out: (usize, Size),
    pub(super) life: u32,
    arrivals: u64,
    /// The ids of those that wait, are handed over, or have come to their end.
    pub(super) known: HashSet<MessageId>,
    /// Those of the last kind, oldest first.
    pub(super) over: VecDeque<MessageId>,
    losses: Losses,
    dropped: u64,
}

/// What became of lost messages.
pub(super) type Lost = Vec<(Arc<str>, WhyMissing)>;

/// What a collection takes out.
#[derive(Default)]
pub(super) struct Taken {
    pub(super) items: Vec<Item>,
    pub(super) losses: Losses,
    /// How many wait on.
    pub(super) remaining: usize,
    pub(super) lost: Lost,
}

impl Mailbox {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self { waiting: Mutex::default(), bounds, log: None }
    }

    /// Adds a message, and records drops in `lost`; returns whether it waits now.
    pub(super) fn push(&self, mut order: Order, offer: Offer, lost: &mut Lost) -> bool {
        let Offer { message, expires, keeps_working } = offer;
        let mut waiting = self.lock();
        if !waiting.known.insert(message.id) {
            return false;
        }
        (order.life, order.arrival) = (waiting.life, waiting.arrivals);
        waiting.arrivals += 1;
        let size = Size::of(&message.text);
        let fits = |waiting: &Waiting| {
            let earlier = waiting.queue.iter().find(|item| item.is_of(&message));
            let given_up = earlier.map_or(Size::default(), |item| item.size);
            let messages = waiting.queue.len() + waiting.out.0 + usize::from(earlier.is_none());
            let grows = size.bytes.saturating_sub(given_up.bytes);
            self.bounds.hold(messages, waiting.size + waiting.out.1 - given_up + size)
                && self.log.as_ref().is_none_or(|(log, _)| log.has_room(grows))
        };
        if !fits(&waiting) {
            self.expire(&mut waiting, lost);
            if !fits(&waiting) {
                self.lose(&mut waiting, &message, WhyMissing::NoRoom, lost);
                return false;
            }
        }
        if let Some(place) = waiting.queue.iter().position(|item| item.is_of(&message))
            && let Some(earlier) = waiting.queue.remove(place)
        {
            order = earlier.order;
            waiting.size = waiting.size - earlier.size;
            self.lose(&mut waiting, &earlier.message, WhyMissing::Replaced, lost);
        }
        let item = Item { order, size, expires, keeps_working, message };
        if let Some((log, session)) = &self.log {
            log.appended(session, &item);
        }
        waiting.insert(item);
        true
    }

    /// Takes out what is too old.
    fn expire(&self, waiting: &mut Waiting, lost: &mut Lost) {
        let now = Instant::now();
        let (old, young) = std::mem::take(&mut waiting.queue)
            .into_iter()
            .partition::<VecDeque<_>, _>(|item| item.expires.is_some_and(|expiry| expiry.at <= now));
        waiting.queue = young;
        for item in old {
            waiting.size = waiting.size - item.size;
            self.lose(waiting, &item.message, WhyMissing::Expired, lost);
        }
    }

    /// A message comes to its end without having been handed over.
    fn lose(&self, waiting: &mut Waiting, message: &ContextMessage, why: WhyMissing, lost: &mut Lost) {
        if why != WhyMissing::Replaced {
            waiting.losses.note(message, why);
        }
        waiting.dropped += u64::from(why == WhyMissing::NoRoom);
        self.settle(waiting, [message.id]);
        lost.push((Arc::clone(&message.hook), why));
    }

    /// These messages have come to their end.
    fn settle(&self, waiting: &mut Waiting, ids: impl IntoIterator<Item = MessageId>) -> u64 {
        let before = waiting.over.len();
        waiting.over.extend(ids);
        let mark = match &self.log {
            Some((log, session)) if waiting.over.len() > before => {
                log.settled(session, waiting.over.make_contiguous().get(before..).unwrap_or_default())
            }
            _ => 0,
        };
        while waiting.over.len() > REMEMBERED {
            if let Some(oldest) = waiting.over.pop_front() {
                waiting.known.remove(&oldest);
            }
        }
        mark
    }

    /// Takes out as many as fit, from the front; the first one in any case.
    pub(super) fn take(&self, bounds: Bounds) -> Taken {
        let now = Instant::now();
        let mut waiting = self.lock();
        let mut taken = Taken::default();
        let mut size = Size::default();
        while let Some(item) = waiting.queue.front() {
            let is_old = item.expires.is_some_and(|expiry| expiry.at <= now);
            let fits = taken.items.is_empty() || bounds.hold(taken.items.len() + 1, size + item.size);
            if !is_old && !fits {
                break;
            }
            let Some(item) = waiting.queue.pop_front() else { break };
            waiting.size = waiting.size - item.size;
            if is_old {
                self.lose(&mut waiting, &item.message, WhyMissing::Expired, &mut taken.lost);
            } else {
                size = size + item.size;
                taken.items.push(item);
            }
        }
        waiting.out = (waiting.out.0 + taken.items.len(), waiting.out.1 + size);
        taken.remaining = waiting.queue.len();
        taken.losses = std::mem::take(&mut waiting.losses);
        taken
    }

    /// The messages that keep their agent from stopping, in order, as many as fit and the first one in any case; they
    /// go on waiting.
    pub(crate) fn keeping_working(&self, bounds: Bounds) -> Vec<ContextMessage> {
        let now = Instant::now();
        let (mut keeping, mut size) = (Vec::new(), Size::default());
        for item in self.lock().queue.iter().filter(|item| item.keeps_working) {
            let is_old = item.expires.is_some_and(|expiry| expiry.at <= now);
            if is_old || !keeping.is_empty() && !bounds.hold(keeping.len() + 1, size + item.size) {
                continue;
            }
            size = size + item.size;
            keeping.push(item.message.clone());
        }
        keeping
    }

    /// Messages that were not accepted return to their place, which was kept for them.
    pub(super) fn put_back(&self, items: Vec<Item>, losses: Losses, lost: &mut Lost) {
        let mut waiting = self.lock();
        waiting.losses.join(losses);
        for item in items {
            waiting.is_back(item.size);
            // A later one with the same key has come meanwhile.
            match waiting.queue.iter().position(|other| other.is_of(&item.message)) {
                None => waiting.insert(item),
                Some(place) => {
                    if let Some(mut later) = waiting.queue.remove(place) {
                        later.order = item.order;
                        waiting.size = waiting.size - later.size;
                        waiting.insert(later);
                    }
                    self.lose(&mut waiting, &item.message, WhyMissing::Replaced, lost);
                }
            }
        }
    }

    /// These messages are in the context; gives the mark in the log.
    pub(super) fn accept(&self, messages: impl IntoIterator<Item = (MessageId, Size)>) -> u64 {
        let mut waiting = self.lock();
        let mut ids = Vec::new();
        for (id, size) in messages {
            waiting.is_back(size);
            ids.push(id);
        }
        self.settle(&mut waiting, ids)
    }

    /// The session is opened anew; what comes from now on stands behind what is there.
    pub(super) fn begin_life(&self) {
        self.lock().life += 1;
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many messages wait, and how many were dropped.
    pub(crate) fn counts(&self) -> (usize, u64) {
        let waiting = self.lock();
        (waiting.queue.len(), waiting.dropped)
    }
}

impl Waiting {
    /// A message is no longer handed over.
    fn is_back(&mut self, size: Size) {
        self.out = (self.out.0.saturating_sub(1), self.out.1 - size);
    }

    /// Puts a message where it belongs.
    pub(super) fn insert(&mut self, item: Item) {
        self.size = self.size + item.size;
        let place = self.queue.partition_point(|other| other.order <= item.order);
        self.queue.insert(place, item);
    }
}

/// Puts a message into the mailbox of a session; what becomes of others, or of it, is signalled.
pub(crate) fn post(mailbox: &Mailbox, signals: &SignalBus, session: &SessionId, order: Order, offer: Offer) {
    let mut lost = Lost::new();
    mailbox.push(order, offer, &mut lost);
    tell(signals, session, lost);
}

/// Signals which messages are lost.
pub(super) fn tell(signals: &SignalBus, session: &SessionId, lost: Lost) {
    for (hook, why) in lost {
        let session = session.clone();
        signals.emit(|| match why {
            WhyMissing::NoRoom => Signal::ContextDropped { session, hook },
            WhyMissing::Expired => Signal::ContextExpired { session, hook },
            WhyMissing::Replaced => Signal::ContextReplaced { session, hook },
        });
    }
}
