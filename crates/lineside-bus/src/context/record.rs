//! What a context journal keeps: a message that waits, and messages that have come to their end. As JSON.

use std::borrow::Cow;
use std::sync::Arc;

use lineside_core::journal::Record;
use lineside_core::{ContextMessage, MessageId, SessionId};
use serde::{Deserialize, Serialize};

use super::message::{Item, Order};

/// A message waits for a session.
const APPENDED: u8 = 1;
/// Messages of a session were accepted, or have come to their end otherwise.
const SETTLED: u8 = 2;

/// A message that waits.
#[derive(Serialize, Deserialize)]
pub(super) struct Appended<'a> {
    pub(super) session: Cow<'a, SessionId>,
    pub(super) order: Order,
    /// When it is too old by the wall clock, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires: Option<i64>,
    /// Its agent does not stop before it has it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) keeps_working: bool,
    pub(super) message: Cow<'a, ContextMessage>,
}

/// Messages that have come to their end.
#[derive(Serialize, Deserialize)]
pub(super) struct Settled<'a> {
    pub(super) session: Cow<'a, SessionId>,
    pub(super) ids: Cow<'a, [MessageId]>,
}

/// A record that was read.
pub(super) enum Entry {
    Appended(Box<Appended<'static>>),
    Settled(Settled<'static>),
}

impl Entry {
    /// `None` when it is none of ours, or of a newer version.
    pub(super) fn read(record: &Record) -> Option<Self> {
        match record.kind {
            APPENDED => lineside_core::json::from_slice(&record.bytes)
                .ok()
                .map(|entry| Self::Appended(Box::new(entry))),
            SETTLED => lineside_core::json::from_slice(&record.bytes).ok().map(Self::Settled),
            _ => None,
        }
    }
}

/// The record of a message that waits.
pub(super) fn appended(session: &SessionId, item: &Item) -> Option<Arc<Record>> {
    let expires = item.expires.map(|expiry| expiry.wall);
    let (session, message) = (Cow::Borrowed(session), Cow::Borrowed(&item.message));
    let Item { order, keeps_working, .. } = *item;
    record(APPENDED, &Appended { session, order, expires, keeps_working, message })
}

/// The record of messages that have come to their end.
pub(super) fn settled(session: &SessionId, ids: &[MessageId]) -> Option<Arc<Record>> {
    record(SETTLED, &Settled { session: Cow::Borrowed(session), ids: Cow::Borrowed(ids) })
}

fn record(kind: u8, what: &impl Serialize) -> Option<Arc<Record>> {
    // Texts, numbers and lists of them can always be written.
    lineside_core::json::to_vec(what).ok().map(|bytes| Arc::new(Record::new(kind, bytes)))
}
