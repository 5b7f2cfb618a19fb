//! What a publisher gets back: the verdict, the payload that may run, and the record of how both came about.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use lineside_core::event::digest_of;
use lineside_core::outcome::By;
use lineside_core::payload::Point;
use lineside_core::{Append, Change, EventId, Hook, Notice, Payload, Reason, Receipt, Verdict};

use crate::base::clock;
use crate::dispatch::event::Record;

/// The decision about one event.
///
/// It is about the payload it holds, byte for byte: [`digest`](Self::digest) names those bytes.
#[must_use = "a decision has no effect unless the publisher obeys it"]
#[derive(Debug)]
pub struct Decision<P> {
    made: Made<P>,
}

#[derive(Debug)]
enum Made<P> {
    /// The point has no hooks; nothing was allocated.
    Unheard { payload: P, seq: u64, id: OnceLock<EventId> },
    /// It has a receipt.
    Settled(Record),
}

static CONTINUE: Verdict = Verdict::Continue;

impl<P: Point> Decision<P> {
    pub(crate) fn unheard(payload: P, seq: u64) -> Self {
        Self { made: Made::Unheard { payload, seq, id: OnceLock::new() } }
    }

    pub(crate) fn settled(record: Record) -> Self {
        Self { made: Made::Settled(record) }
    }

    /// The joined verdict.
    #[must_use]
    pub fn verdict(&self) -> &Verdict {
        match &self.made {
            Made::Unheard { .. } => &CONTINUE,
            Made::Settled(receipt) => &receipt.verdict,
        }
    }

    /// Whether it must not happen, or its result must not be used: the verdict is a block or a stop.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.verdict().strength().is_final()
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> Option<&Reason> {
        self.verdict().reason()
    }

    /// The hook whose verdict it is; `None` for `continue`.
    #[must_use]
    pub fn author(&self) -> Option<&Hook> {
        self.receipt()?.author()
    }

    /// The payload that the decision is about: with every amendment.
    #[must_use]
    pub fn payload(&self) -> &P {
        match &self.made {
            Made::Unheard { payload, .. } => payload,
            Made::Settled(receipt) => {
                let any: &dyn Any = receipt.event.payload();
                match any.downcast_ref() {
                    Some(payload) => payload,
                    None => unreachable!("an amendment keeps the type of the payload"),
                }
            }
        }
    }

    /// Returns the payload that the decision is about: with every amendment.
    ///
    /// The payload is moved out where nothing else has the receipt or the event; a watcher of signals, an observer or a
    /// hook that still runs has them, and then the payload is copied.
    #[must_use]
    pub fn into_payload(self) -> P {
        let event = match self.made {
            Made::Unheard { payload, .. } => return payload,
            Made::Settled(Record::Own(receipt)) => receipt.event,
            Made::Settled(Record::Shared(receipt)) => match Arc::try_unwrap(receipt) {
                Ok(receipt) => receipt.event,
                Err(shared) => shared.event.clone(),
            },
        };
        match event.into_payload() {
            Some(payload) => payload,
            None => unreachable!("an amendment keeps the type of the payload"),
        }
    }

    /// The SHA-256 of the payload's compact JSON, in hexadecimal.
    #[must_use]
    pub fn digest(&self) -> String {
        match &self.made {
            Made::Unheard { payload, .. } => digest_of(&payload.to_json()),
            Made::Settled(receipt) => receipt.event.digest(),
        }
    }

    /// Whether another payload is byte for byte the one that was decided about.
    #[must_use]
    pub fn is_about(&self, payload: &dyn Payload) -> bool {
        self.digest() == digest_of(&payload.to_json())
    }

    /// The number of the event in its session.
    #[must_use]
    pub fn seq(&self) -> u64 {
        match &self.made {
            Made::Unheard { seq, .. } => *seq,
            Made::Settled(receipt) => receipt.event.envelope().seq,
        }
    }

    /// The id of the event, under which `why` finds its receipt.
    #[must_use]
    pub fn id(&self) -> EventId {
        match &self.made {
            Made::Unheard { id, .. } => *id.get_or_init(|| clock::stamp(std::time::Instant::now()).0),
            Made::Settled(receipt) => receipt.event.envelope().id,
        }
    }

    /// The messages that were appended to the agent's context, in order. They wait in its mailbox.
    #[must_use]
    pub fn context(&self) -> &[By<Append>] {
        self.receipt().map_or(&[], |receipt| &receipt.context)
    }

    /// The messages for the user, in order.
    #[must_use]
    pub fn notices(&self) -> &[By<Notice>] {
        self.receipt().map_or(&[], |receipt| &receipt.notices)
    }

    /// What amendments have changed, in order.
    #[must_use]
    pub fn changes(&self) -> &[By<Change>] {
        self.receipt().map_or(&[], |receipt| &receipt.changes)
    }

    /// What happened to the event; `None` when its point has no hooks.
    #[must_use]
    pub fn receipt(&self) -> Option<&Receipt> {
        match &self.made {
            Made::Unheard { .. } => None,
            Made::Settled(receipt) => Some(receipt),
        }
    }
}
