//! Posting: a message goes into the mailbox of its session, or into what is kept for one that is not open.

use std::sync::Arc;

use lineside_core::SessionId;
use lineside_core::journal::{Durability, Unavailable};

use super::log::Log;
use super::mailbox::{Lost, Mailbox, tell};
use super::message::{Offer, Order};
use super::missing::WhyMissing;
use crate::base::signal::SignalBus;

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
    /// The context journal no longer keeps anything. The message is in the mailbox of this process.
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
