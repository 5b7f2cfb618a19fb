//! A message on its way to a mailbox and in its place there.

use std::sync::Arc;
use std::time::Duration;

use lineside_core::context::Size;
use lineside_core::{Append, ContextMessage, EventId, MessageId, SessionId};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::base::clock;

/// How many ids are remembered of messages that have come to their end; the oldest is forgotten first.
pub(super) const REMEMBERED: usize = 4096;

/// Where a message stands among the others of its mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Order {
    /// How often the session had been opened anew.
    pub(super) life: u32,
    /// The number of the event that it is about.
    pub(super) seq: u64,
    /// The hook's place in plan order.
    pub(super) hook: u32,
    /// How many came before it.
    pub(super) arrival: u64,
}

impl Order {
    /// For the event of that number, by the hook of that place.
    pub(crate) fn of(seq: u64, hook: u32) -> Self {
        Self { life: 0, seq, hook, arrival: 0 }
    }

    /// After everything that the session has published so far.
    pub(crate) fn arriving(last_seq: u64) -> Self {
        Self::of(last_seq, u32::MAX)
    }
}

/// Where a message comes from.
pub(crate) struct Source {
    pub(crate) hook: Arc<str>,
    pub(crate) dialect: &'static str,
    pub(crate) point: std::borrow::Cow<'static, str>,
    pub(crate) event: EventId,
    pub(crate) session: SessionId,
}

impl Source {
    /// A message from here; its id is a new one unless it is given.
    pub(crate) fn message(self, id: Option<MessageId>, append: Append) -> Offer {
        let now = Instant::now();
        let Self { hook, dialect, point, event, session } = self;
        let Append { role, text, key, expires } = append;
        let id = id.unwrap_or_else(|| clock::stamp(now.into_std()).0.into());
        let dialect = dialect.into();
        let message = ContextMessage { id, hook, dialect, point, event, session, role, key, text, cut: None };
        let expires = expires.and_then(|after| Expiry::after(now, after));
        Offer { message, expires, keeps_working: false }
    }
}

/// A message about to be put into a mailbox.
pub(crate) struct Offer {
    pub(crate) message: ContextMessage,
    pub(crate) expires: Option<Expiry>,
    pub(crate) keeps_working: bool,
}

/// When a message is too old.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expiry {
    pub(super) at: Instant,
    /// The same by the wall clock, in milliseconds, for those who come after this process.
    pub(super) wall: i64,
}

impl Expiry {
    /// `None` when that is beyond all time.
    fn after(now: Instant, after: Duration) -> Option<Self> {
        let wall = clock::stamp(now.into_std()).1.as_millisecond();
        let wall = wall.checked_add(i64::try_from(after.as_millis()).ok()?)?;
        Some(Self { at: now.checked_add(after)?, wall })
    }

    /// What the wall clock of an earlier process said.
    pub(super) fn at_wall(wall: i64) -> Self {
        let now = Instant::now();
        let left = wall.saturating_sub(clock::stamp(now.into_std()).1.as_millisecond());
        let left = Duration::from_millis(u64::try_from(left).unwrap_or_default());
        Self { at: now.checked_add(left).unwrap_or(now), wall }
    }
}

/// A message in its place.
pub(super) struct Item {
    pub(super) order: Order,
    pub(super) size: Size,
    pub(super) expires: Option<Expiry>,
    /// Its agent does not stop before it has it.
    pub(super) keeps_working: bool,
    pub(super) message: ContextMessage,
}

impl Item {
    pub(super) fn is_of(&self, other: &ContextMessage) -> bool {
        let message = &self.message;
        other.key.is_some()
            && message.key == other.key
            && message.hook == other.hook
            && message.dialect == other.dialect
    }
}
