//! Which context messages of each session wait, and which were settled. Pure: it is built from records, and writes
//! the same state as fewer records.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use lineside_core::context::{Bounds, Size};
use lineside_core::journal::Record;
use lineside_core::{MessageId, SessionId};

use super::message::{Order, REMEMBERED};
use super::record::{self, Appended, Entry};

/// How many closed sessions are remembered; those without waiting messages are forgotten first, and among them those
/// that were unused for longest.
const SESSIONS: usize = 1024;

/// How many ids of settled messages are remembered of a closed session when there is much to remember.
const OVER_OF_CLOSED: usize = 256;

/// From which [load](MailboxIndex::load) on there is much to remember.
pub(super) const LOAD: usize = 2 * SESSIONS;

/// How many bytes a message takes at least, with all that is kept of it beside its text.
const PLACE: usize = 512;

#[derive(Default)]
pub(super) struct MailboxIndex {
    sessions: HashMap<SessionId, Kept>,
    touched: u64,
    /// How many messages wait, and how long their texts are.
    messages: usize,
    bytes: usize,
    /// How many ids of settled messages are remembered.
    over: usize,
    /// What a newer programme has written, for that one.
    unread: Vec<Arc<Record>>,
}

/// The recorded messages of one session.
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

impl Kept {
    /// Remembers at most this many ids; returns how many were forgotten.
    fn forget_over(&mut self, most: usize) -> usize {
        let too_many = self.over.len().saturating_sub(most);
        for oldest in self.over.drain(..too_many) {
            self.known_over.remove(&oldest);
        }
        too_many
    }
}

/// A session that was not opened for long, and the messages that waited for it.
pub(super) struct GivenUp {
    pub(super) session: SessionId,
    waiting: Vec<Arc<Record>>,
}

impl GivenUp {
    /// The number of messages.
    pub(super) fn messages(&self) -> usize {
        self.waiting.len()
    }

    /// The hooks that sent them.
    pub(super) fn hooks(&self) -> impl Iterator<Item = Arc<str>> {
        self.waiting.iter().filter_map(|record| match Entry::read(record)? {
            Entry::Appended(entry) => Some(Arc::clone(&entry.message.hook)),
            Entry::Settled(_) => None,
        })
    }
}

/// The content of one record of a snapshot.
pub(super) enum Said {
    Waits(Arc<Record>),
    Unread(Arc<Record>),
    Over(SessionId, Vec<MessageId>),
}

impl Said {
    /// The record.
    pub(super) fn record(self) -> Option<Record> {
        match self {
            Self::Waits(record) | Self::Unread(record) => Some(Arc::unwrap_or_clone(record)),
            Self::Over(session, ids) => record::settled(&session, &ids).map(Arc::unwrap_or_clone),
        }
    }
}

impl MailboxIndex {
    /// Replays one record. `false` when it cannot be read; it is kept.
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
            None => {
                self.unread.push(Arc::new(record));
                false
            }
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
        self.messages += 1;
        self.bytes += size.bytes;
    }

    pub(super) fn settled(&mut self, session: &SessionId, ids: &[MessageId]) {
        let (mut gone, mut freed, mut more) = (0, 0, 0);
        let kept = self.kept(session);
        for id in ids {
            if let Some(order) = kept.orders.remove(id)
                && let Some(waited) = kept.waiting.remove(&(order, *id))
            {
                kept.size = kept.size - waited.size;
                (gone, freed) = (gone + 1, freed + waited.size.bytes);
            }
            if kept.known_over.insert(*id) {
                kept.over.push_back(*id);
                more += 1;
            }
        }
        let forgotten = kept.forget_over(REMEMBERED);
        self.messages -= gone;
        self.bytes -= freed;
        self.over = self.over + more - forgotten;
    }

    /// How much is remembered: sessions, and in shares of one what is settled of them.
    pub(super) fn load(&self) -> usize {
        self.sessions.len() + self.over / OVER_OF_CLOSED
    }

    /// Whether a message of so many bytes more fits, over all sessions: short ones are bounded in number.
    pub(super) fn has_room_in_all(&self, more: usize, most: usize) -> bool {
        more <= most.saturating_sub(self.bytes) && self.messages < most / PLACE
    }

    /// Whether a message of that id waits or was settled.
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

    /// The waiting messages of a session, in order, and the settled ones, oldest first.
    pub(super) fn of(&self, session: &SessionId) -> Option<(Vec<Appended<'static>>, Vec<MessageId>)> {
        let kept = self.sessions.get(session)?;
        let read = |waits: &Waits| match Entry::read(&waits.record) {
            Some(Entry::Appended(entry)) => Some(*entry),
            _ => None,
        };
        Some((kept.waiting.values().filter_map(read).collect(), kept.over.iter().copied().collect()))
    }

    /// Forgets sessions that were not opened for long; returns those for which messages waited.
    pub(super) fn trim(&mut self, is_open: impl Fn(&SessionId) -> bool) -> Vec<GivenUp> {
        let mut absent: Vec<(bool, u64, SessionId)> = self
            .sessions
            .iter()
            .filter(|(session, _)| !is_open(session))
            .map(|(session, kept)| (!kept.waiting.is_empty(), kept.touched, session.clone()))
            .collect();
        if self.load() >= LOAD {
            for (.., session) in &absent {
                let kept = self.sessions.get_mut(session);
                self.over -= kept.map_or(0, |kept| kept.forget_over(OVER_OF_CLOSED));
            }
        }
        let Some(too_many) = absent.len().checked_sub(SESSIONS) else { return Vec::new() };
        absent.sort_unstable();
        let forgotten = absent.into_iter().take(too_many).filter_map(|(.., session)| {
            let kept = self.sessions.remove(&session)?;
            self.messages -= kept.waiting.len();
            self.bytes -= kept.size.bytes;
            self.over -= kept.over.len();
            let waiting: Vec<_> = kept.waiting.into_values().map(|waits| waits.record).collect();
            (!waiting.is_empty()).then_some(GivenUp { session, waiting })
        });
        forgotten.collect()
    }

    /// The state as records. Large texts are shared, not copied.
    pub(super) fn snapshot(&self) -> Vec<Said> {
        let mut sessions: Vec<_> = self.sessions.iter().collect();
        sessions.sort_unstable_by_key(|(_, kept)| kept.touched);
        let mut all = Vec::new();
        for (session, kept) in sessions {
            if !kept.over.is_empty() {
                all.push(Said::Over(session.clone(), kept.over.iter().copied().collect()));
            }
            all.extend(kept.waiting.values().map(|waits| Said::Waits(Arc::clone(&waits.record))));
        }
        all.extend(self.unread.iter().map(|record| Said::Unread(Arc::clone(record))));
        all
    }

    /// The number of records of a snapshot.
    pub(super) fn len(&self) -> usize {
        let of_session = |kept: &Kept| kept.waiting.len() + usize::from(!kept.over.is_empty());
        self.sessions.values().map(of_session).sum::<usize>() + self.unread.len()
    }

    /// The number of sessions with waiting messages, and of these messages.
    pub(super) fn waiting(&self) -> (usize, usize) {
        let of_each = self.sessions.values().map(|kept| kept.waiting.len()).filter(|waiting| *waiting > 0);
        of_each.fold((0, 0), |(sessions, messages), waiting| (sessions + 1, messages + waiting))
    }
}

#[cfg(test)]
mod tests {
    use lineside_core::Append;

    use super::*;
    use crate::context::message::{Item, Source};
    use crate::context::record::appended;

    #[test]
    fn a_snapshot_shares_the_records_and_copies_none() {
        let (mut index, session) = (MailboxIndex::default(), SessionId::from("s"));
        let source = Source {
            hook: "h".into(),
            dialect: "native",
            point: "on_idle".into(),
            event: lineside_core::EventId::from_u128(0),
            session: session.clone(),
        };
        let message = source.message(None, Append::system("x".repeat(1 << 20))).message;
        let (order, id, size) = (Order::of(1, 0), message.id, Size::of(&message.text));
        let item = Item { order, size, expires: None, keeps_working: false, message };
        let record = appended(&session, &item).unwrap();
        index.appended(&session, order, id, size, Arc::clone(&record));
        let snapshot = index.snapshot();
        assert!(matches!(&snapshot[..], [Said::Waits(same)] if Arc::ptr_eq(same, &record)));
        // Once it is settled, only its id is left.
        index.settled(&session, &[id]);
        drop(snapshot);
        assert_eq!(Arc::strong_count(&record), 1);
        assert!(matches!(&index.snapshot()[..], [Said::Over(_, ids)] if ids[..] == [id]));
    }

    #[test]
    fn of_closed_sessions_fewer_ids_are_remembered_where_there_are_many() {
        let mut index = MailboxIndex::default();
        let ids = |session: u128| -> Vec<MessageId> {
            let number = |number: usize| (session << 64) + number as u128;
            (0..REMEMBERED).map(|id| lineside_core::EventId::from_u128(number(id)).into()).collect()
        };
        let session = |number: u128| SessionId::from(format!("s{number}"));
        // Ten times as much as there is room for.
        for number in 0..(10 * LOAD * OVER_OF_CLOSED / REMEMBERED) as u128 {
            index.settled(&session(number), &ids(number));
            if index.load() >= 2 * LOAD {
                assert!(index.trim(|open| *open == session(0)).is_empty(), "nothing waited");
                assert!(index.load() < LOAD + 2 * REMEMBERED / OVER_OF_CLOSED, "{}", index.load());
            }
        }
        assert!(index.knows(&session(0), ids(0)[0]), "an open one remembers all of its own");
        let last = (10 * LOAD * OVER_OF_CLOSED / REMEMBERED) as u128 - 1;
        assert!(index.trim(|_| false).is_empty());
        assert!(index.knows(&session(last), ids(last)[REMEMBERED - 1]), "the latest ones");
        assert!(!index.knows(&session(last), ids(last)[0]));
    }
}
