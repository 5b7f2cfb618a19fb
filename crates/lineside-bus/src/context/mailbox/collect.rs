//! Collecting: a delivery within bounds, which is accepted or goes back.

use lineside_core::ContextMessage;
use lineside_core::context::{Bounds, FullText, Size, cut, render};
use lineside_core::journal::{Durability, Unavailable};

use super::full_texts::{FullTexts, Keeping};
use super::missing::{Losses, Missing};
use super::{Expiry, Item, Lost, Order, tell};
use crate::api::session::Session;
use crate::base::signal::Signal;
use crate::hook::background::Release;

/// A collection under way.
pub struct Collect<'a> {
    session: &'a Session,
    bounds: Bounds,
}

impl<'a> Collect<'a> {
    pub(crate) fn new(session: &'a Session) -> Self {
        Self { session, bounds: Bounds::default() }
    }

    /// Takes no more than this; 128 messages, 48 KiB and 12 thousand tokens when it is not said.
    ///
    /// What does not fit stays, in order, for the next delivery. A message that alone is more than this is cut: its
    /// head and its tail stay, and a marker between them says how much is missing and where all of it is.
    #[must_use]
    pub fn at_most(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Everything that is there now and fits.
    ///
    /// Where texts are cut and kept in files, it waits for the files.
    pub fn ready(self) -> Delivery {
        let Self { session, bounds } = self;
        let taken = session.node().mailbox_so_far().map(|mailbox| mailbox.take(bounds)).unwrap_or_default();
        let shared = session.shared();
        tell(shared, session.id(), taken.lost);
        let mut given = Vec::with_capacity(taken.items.len());
        let mut messages = Vec::with_capacity(taken.items.len());
        for mut item in taken.items {
            let whole = shorten(&mut item.message, &*shared.full_texts, bounds);
            if whole.is_some() {
                let (id, hook) = (item.message.id, std::sync::Arc::clone(&item.message.hook));
                shared.signals.emit(|| Signal::ContextCut {
                    session: session.id().clone(),
                    hook,
                    message: id,
                });
            }
            let Item { order, size, expires, message } = item;
            given.push(Given { order, size, expires, whole });
            messages.push(message);
        }
        Delivery {
            given,
            messages,
            losses: taken.losses,
            remaining: taken.remaining,
            session: session.clone(),
        }
    }

    /// Everything that the next model call must have: it waits for the hooks that say so and that events up to now
    /// have started, each within its own time, and starts those at once that wait for further events.
    ///
    /// Cancel safe: a dropped call takes nothing.
    pub async fn before_next_model(self) -> Delivery {
        if let Some(background) = self.session.node().background_so_far() {
            let (session, failures) = (self.session.id(), &self.session.shared().failures);
            background.release(session, Release::Joining, failures);
            background.joined(session, failures).await;
        }
        self.ready()
    }
}

/// Cuts a message that alone is over the bounds; gives its whole text then.
fn shorten(message: &mut ContextMessage, texts: &dyn FullTexts, bounds: Bounds) -> Option<String> {
    let most = Size { bytes: bounds.bytes, tokens: bounds.tokens };
    let size = Size::of(&message.text);
    if bounds.hold(1, size) {
        return None;
    }
    let id = message.id;
    let kept = texts.keep(id, &message.text);
    let mark = |place: &str| {
        let all = size.bytes;
        cut(&message.text, most, |left_out| format!("\n[… {left_out} of {all} bytes left out; {place}]\n"))
    };
    let by_id = || mark(&format!("all of it: message {id}"));
    let short = match &kept {
        Keeping::File(path) => {
            let named = mark(&format!("all of it: {path}"));
            // A path that is too long for the marker is in the label all the same.
            if named.as_ref().is_some_and(|text| text.contains(&**path)) { named } else { by_id() }
        }
        Keeping::Memory => by_id(),
        Keeping::Nowhere => mark("all of it could not be kept"),
    }?;
    let file = if let Keeping::File(path) = kept { Some(path) } else { None };
    message.cut = Some(FullText { bytes: size.bytes, tokens: size.tokens, file });
    Some(std::mem::replace(&mut message.text, short))
}

/// What a delivery has to know of a message to give it back.
struct Given {
    order: Order,
    size: Size,
    expires: Option<Expiry>,
    /// Its text, if it was cut.
    whole: Option<String>,
}

impl Given {
    /// The message as it waited.
    fn back(self, mut message: ContextMessage) -> Item {
        let Self { order, size, expires, whole } = self;
        if let Some(whole) = whole {
            (message.text, message.cut) = (whole, None);
        }
        Item { order, size, expires, message }
    }
}

/// Messages handed over. They go back to where they stood unless they are accepted.
#[must_use = "messages that are not accepted go back"]
pub struct Delivery {
    session: Session,
    messages: Vec<ContextMessage>,
    given: Vec<Given>,
    losses: Losses,
    remaining: usize,
}

impl Delivery {
    /// The messages, in order.
    #[must_use]
    pub fn messages(&self) -> &[ContextMessage] {
        &self.messages
    }

    /// What the agent does not get, since the last delivery that was accepted.
    #[must_use]
    pub fn missing(&self) -> &[Missing] {
        &self.losses.0
    }

    /// How many messages did not fit and wait for the next delivery.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.remaining
    }

    /// The messages as one text, for agents that can only take text: each in an envelope of its own, as
    /// [`lineside_core::context::render`] describes it.
    #[must_use]
    pub fn text(&self) -> String {
        render(&self.messages)
    }

    /// They are in the agent's context now; nobody will get them again.
    ///
    /// Where the bus has a context journal this is on its way to it and not yet there: a kill in this moment gives them
    /// once more to the next process. [`accept_durably`](Self::accept_durably) waits.
    pub fn accept(mut self) -> Vec<ContextMessage> {
        self.accepted();
        std::mem::take(&mut self.messages)
    }

    /// They are in the agent's context now, and when this returns, nobody will get them again: also not after a kill,
    /// as far as what is given back with them survives it. Without a context journal that is nothing.
    ///
    /// Dropping the future leaves them accepted and does not say whether that is kept.
    ///
    /// # Errors
    /// The context journal does not keep anything any more. This process does not give them again, the next one may.
    pub async fn accept_durably(mut self) -> Result<(Vec<ContextMessage>, Durability), NotKept> {
        let mark = self.accepted();
        let messages = std::mem::take(&mut self.messages);
        let kept = match &self.session.shared().context {
            Some(log) => log.kept(mark).await,
            None => Ok(Durability::Memory),
        };
        match kept {
            Ok(durability) => Ok((messages, durability)),
            Err(why) => Err(NotKept { messages, why }),
        }
    }

    /// Gives the mark in the log.
    fn accepted(&mut self) -> u64 {
        self.given.clear();
        self.losses = Losses::default();
        let session = &self.session;
        let ids = self.messages.iter().map(|message| message.id);
        let mark = session.node().mailbox_so_far().map_or(0, |mailbox| mailbox.accept(ids));
        let messages = self.messages.len();
        session
            .shared()
            .signals
            .emit(|| Signal::ContextDelivered { session: session.id().clone(), messages });
        mark
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let given = std::mem::take(&mut self.given).into_iter().zip(std::mem::take(&mut self.messages));
        let items: Vec<Item> = given.map(|(given, message)| given.back(message)).collect();
        let losses = std::mem::take(&mut self.losses);
        if items.is_empty() && losses.0.is_empty() {
            return;
        }
        let mut lost = Lost::new();
        self.session.node().mailbox().put_back(items, losses, &mut lost);
        tell(self.session.shared(), self.session.id(), lost);
    }
}

/// Messages were accepted, and that is not on record.
#[derive(Debug, thiserror::Error)]
#[error("the messages are accepted, but a later process may give them again")]
pub struct NotKept {
    /// The messages.
    pub messages: Vec<ContextMessage>,
    /// What has become of the journal.
    #[source]
    pub why: Unavailable,
}
