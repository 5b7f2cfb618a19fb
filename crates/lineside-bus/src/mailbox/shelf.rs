//! What is on record of each session: which messages wait, and which have come to their end. Pure: it is what the
//! records say, and the records that say the same in fewer.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use lineside_core::context::{Bounds, Size};
use lineside_core::journal::Record;
use lineside_core::{MessageId, SessionId};

use super::record::{self, Appended, Entry};
use super::{Order, REMEMBERED};

/// How many sessions that are not open are remembered; those that were spoken of longest ago are forgotten first, and
/// before others those for which nothing waits.
const SESSIONS: usize = 1024;

#[derive(Default)]
pub(super) struct Shelf {
    sessions: HashMap<SessionId, Kept>,
    touched: u64,
}

/// What is on record of one session.
#[derive(Default)]
pub(super) struct Kept {
    waiting: BTreeMap<(Order, MessageId), Waits>,
    orders: HashMap<MessageId, Order>,
    over: VecDeque<MessageId>,
    known_over: HashSet<MessageId>,
    size: Size,
    touched: u64,
}

struct Waits {
    record: Arc<Record>,
    size: Size,
}

impl Shelf {
    /// What one record says. `false` when it cannot be read.
    pub(super) fn replay(&mut self, record: Record) -> bool {
        match Entry::read(&record) {
            Some(Entry::Appended(entry)) => {
                let Appended { session, order, message, .. } = &*entry;
                let (id, size) = (message.id, Size::of(&message.text));
                self.appended(session, *order, id, size, Arc::new(record));
                true
            }
            Some(Entry::Settled(entry)) => {
                self.settled(&entry.session, &entry.ids);
                true
            }
            None => false,
        }
    }

    fn kept(&mut self, session: &SessionId) -> &mut Kept {
        self.touched += 1;
        let kept = self.sessions.entry(session.clone()).or_default();
        kept.touched = self.touched;
        kept
    }

    pub(super) fn appended(
        &mut self,
        session: &SessionId,
        order: Order,
        id: MessageId,
        size: Size,
        record: Arc<Record>,
    ) {
        let kept = self.kept(session);
        if kept.known_over.contains(&id) || kept.orders.contains_key(&id) {
            return;
        }
        kept.orders.insert(id, order);
        kept.size = kept.size + size;
        kept.waiting.insert((order, id), Waits { record, size });
    }

    pub(super) fn settled(&mut self, session: &SessionId, ids: &[MessageId]) {
        let kept = self.kept(session);
        for id in ids {
            if let Some(order) = kept.orders.remove(id)
                && let Some(waited) = kept.waiting.remove(&(order, *id))
            {
                kept.size = kept.size - waited.size;
            }
            if kept.known_over.insert(*id) {
                kept.over.push_back(*id);
            }
        }
        while kept.over.len() > REMEMBERED {
            if let Some(oldest) = kept.over.pop_front() {
                kept.known_over.remove(&oldest);
            }
        }
    }

    /// Whether a message of that id waits or has come to its end.
    pub(super) fn knows(&self, session: &SessionId, id: MessageId) -> bool {
        let kept = self.sessions.get(session);
        kept.is_some_and(|kept| kept.orders.contains_key(&id) || kept.known_over.contains(&id))
    }

    /// Whether there is room for one more message.
    pub(super) fn has_room(&self, session: &SessionId, size: Size, bounds: Bounds) -> bool {
        let (waiting, held) =
            self.sessions.get(session).map_or_else(Default::default, |kept| (kept.waiting.len(), kept.size));
        bounds.hold(waiting + 1, held + size)
    }

    /// What waits for a session, in order, and what has come to its end there, oldest first.
    pub(super) fn of(&self, session: &SessionId) -> Option<(Vec<Appended<'static>>, Vec<MessageId>)> {
        let kept = self.sessions.get(session)?;
        let read = |waits: &Waits| match Entry::read(&waits.record) {
            Some(Entry::Appended(entry)) => Some(*entry),
            _ => None,
        };
        Some((kept.waiting.values().filter_map(read).collect(), kept.over.iter().copied().collect()))
    }

    /// Forgets sessions that nobody has opened for long; gives how many messages waited there.
    pub(super) fn trim(&mut self, is_open: impl Fn(&SessionId) -> bool) -> usize {
        let mut absent: Vec<(bool, u64, SessionId)> = self
            .sessions
            .iter()
            .filter(|(session, _)| !is_open(session))
            .map(|(session, kept)| (!kept.waiting.is_empty(), kept.touched, session.clone()))
            .collect();
        let Some(too_many) = absent.len().checked_sub(SESSIONS) else { return 0 };
        absent.sort_unstable();
        let forgotten = absent.iter().take(too_many);
        forgotten
            .filter_map(|(.., session)| self.sessions.remove(session))
            .map(|kept| kept.waiting.len())
            .sum()
    }

    /// The records that say all this.
    pub(super) fn snapshot(&self) -> Vec<Record> {
        let mut sessions: Vec<_> = self.sessions.iter().collect();
        sessions.sort_unstable_by_key(|(_, kept)| kept.touched);
        let mut records = Vec::new();
        for (session, kept) in sessions {
            let over: Vec<MessageId> = kept.over.iter().copied().collect();
            if !over.is_empty() {
                records.extend(record::settled(session, &over).map(|record| (*record).clone()));
            }
            records.extend(kept.waiting.values().map(|waits| (*waits.record).clone()));
        }
        records
    }

    /// How many records that would be.
    pub(super) fn len(&self) -> usize {
        self.sessions.values().map(|kept| kept.waiting.len() + usize::from(!kept.over.is_empty())).sum()
    }

    /// How many sessions something waits for, and how many messages that is.
    pub(super) fn waiting(&self) -> (usize, usize) {
        let of_each = self.sessions.values().map(|kept| kept.waiting.len()).filter(|waiting| *waiting > 0);
        of_each.fold((0, 0), |(sessions, messages), waiting| (sessions + 1, messages + waiting))
    }
}
