//! A delivery within bounds, which is accepted or goes back.

use std::sync::Arc;

use lineside_core::context::{Bounds, FullText, Size, cut, render};
use lineside_core::journal::{Durability, Unavailable};
use lineside_core::{ContextMessage, SessionId};

use super::full_texts::{FullTexts, Keeping};
use super::mailbox::{Lost, Mailbox, tell};
use super::message::{Expiry, Item, Order};
use super::missing::{Losses, Missing};
use crate::base::signal::{Signal, SignalBus};

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
    keeps_working: bool,
    /// Its text, if it was cut.
    whole: Option<String>,
}

impl Given {
    /// The message as it waited.
    fn back(self, mut message: ContextMessage) -> Item {
        let Self { order, size, expires, keeps_working, whole } = self;
        if let Some(whole) = whole {
            (message.text, message.cut) = (whole, None);
        }
        Item { order, size, expires, keeps_working, message }
    }
}

/// Messages handed over. They go back to where they stood unless they are accepted.
///
/// ```
/// use lineside_bus::Bus;
/// use lineside_core::{Judgement, Verdict};
/// use lineside_points::BeforePrompt;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Bus::new().session("s1").open().await?;
/// session
///     .intercept::<BeforePrompt>("date")
///     .gate(async |_, _cx| Judgement::from(Verdict::Continue).append("Today is Monday."))?;
/// drop(session.publish(BeforePrompt::new("plan the week")).await?);
///
/// // A delivery that is dropped goes back: its messages are in the next one.
/// drop(session.collect().ready());
/// let delivery = session.collect().ready();
/// assert_eq!(delivery.messages().len(), 1);
/// assert_eq!(delivery.accept().len(), 1);
/// # Ok(())
/// # }
/// ```
#[must_use = "messages that are not accepted go back"]
pub struct Delivery {
    session: SessionId,
    /// Where they were; `None` where there never was a message.
    mailbox: Option<Arc<Mailbox>>,
    signals: SignalBus,
    messages: Vec<ContextMessage>,
    given: Vec<Given>,
    losses: Losses,
    remaining: usize,
}

impl Delivery {
    /// Takes out of the mailbox of a session what is there and fits. What is cut is kept as a whole in `texts`.
    pub(crate) fn take(
        mailbox: Option<&Arc<Mailbox>>,
        signals: &SignalBus,
        session: &SessionId,
        texts: &dyn FullTexts,
        bounds: Bounds,
    ) -> Self {
        let taken = mailbox.map(|mailbox| mailbox.take(bounds)).unwrap_or_default();
        tell(signals, session, taken.lost);
        let mut given = Vec::with_capacity(taken.items.len());
        let mut messages = Vec::with_capacity(taken.items.len());
        for mut item in taken.items {
            let whole = shorten(&mut item.message, texts, bounds);
            if whole.is_some() {
                let (message, hook) = (item.message.id, Arc::clone(&item.message.hook));
                signals.emit(|| Signal::ContextCut { session: session.clone(), hook, message });
            }
            let Item { order, size, expires, keeps_working, message } = item;
            given.push(Given { order, size, expires, keeps_working, whole });
            messages.push(message);
        }
        Self {
            session: session.clone(),
            mailbox: mailbox.cloned(),
            signals: signals.clone(),
            messages,
            given,
            losses: taken.losses,
            remaining: taken.remaining,
        }
    }

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

    /// Confirms that they are in the agent's context; they are not delivered again.
    ///
    /// Where the bus has a context journal this is on its way to it and not yet there: a kill in this moment gives them
    /// once more to the next process. [`accept_durably`](Self::accept_durably) waits.
    pub fn accept(mut self) -> Vec<ContextMessage> {
        self.accepted();
        std::mem::take(&mut self.messages)
    }

    /// Confirms that the messages that `which` picks are in the agent's context, as [`accept`](Self::accept) does; the
    /// others go back to their places.
    ///
    /// ```
    /// use lineside_bus::Bus;
    /// use lineside_core::{Judgement, Verdict};
    /// use lineside_points::BeforePrompt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Bus::new().session("s1").open().await?;
    /// session
    ///     .intercept::<BeforePrompt>("two")
    ///     .gate(async |_, _cx| Judgement::from(Verdict::Continue).append("now").append("later"))?;
    /// drop(session.publish(BeforePrompt::new("go on")).await?);
    /// let accepted = session.collect().ready().accept_some(|message| message.text == "now");
    /// assert_eq!(accepted.len(), 1);
    /// assert_eq!(session.collect().ready().messages()[0].text, "later");
    /// # Ok(())
    /// # }
    /// ```
    pub fn accept_some(mut self, mut which: impl FnMut(&ContextMessage) -> bool) -> Vec<ContextMessage> {
        let all = std::mem::take(&mut self.given).into_iter().zip(std::mem::take(&mut self.messages));
        let (taken, left): (Vec<_>, Vec<_>) = all.partition(|(_, message)| which(message));
        (self.given, self.messages) = taken.into_iter().unzip();
        let left: Vec<Item> = left.into_iter().map(|(given, message)| given.back(message)).collect();
        if let Some(mailbox) = self.mailbox.as_ref().filter(|_| !left.is_empty()) {
            let mut lost = Lost::new();
            mailbox.put_back(left, Losses::default(), &mut lost);
            tell(&self.signals, &self.session, lost);
        }
        if self.messages.is_empty() {
            return Vec::new();
        }
        self.accepted();
        std::mem::take(&mut self.messages)
    }

    /// Confirms that they are in the agent's context; once this returns, they are not delivered again, even after a kill,
    /// as far as what is given back with them survives it. Without a context journal that is nothing.
    ///
    /// Dropping the future leaves them accepted and does not say whether that is kept.
    ///
    /// # Errors
    /// The context journal no longer keeps anything. This process does not give them again, the next one may.
    pub async fn accept_durably(mut self) -> Result<(Vec<ContextMessage>, Durability), NotKept> {
        let mark = self.accepted();
        let messages = std::mem::take(&mut self.messages);
        let log = self.mailbox.as_ref().and_then(|mailbox| mailbox.log.as_ref());
        let kept = match log {
            Some((log, _)) => log.kept(mark).await,
            None => Ok(Durability::Memory),
        };
        match kept {
            Ok(durability) => Ok((messages, durability)),
            Err(why) => Err(NotKept { messages, why }),
        }
    }

    /// Gives the mark in the log.
    fn accepted(&mut self) -> u64 {
        let given = std::mem::take(&mut self.given);
        self.losses = Losses::default();
        let accepted = self.messages.iter().zip(&given).map(|(message, given)| (message.id, given.size));
        let mark = self.mailbox.as_ref().map_or(0, |mailbox| mailbox.accept(accepted));
        let (session, messages) = (&self.session, self.messages.len());
        self.signals.emit(|| Signal::ContextDelivered { session: session.clone(), messages });
        mark
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let given = std::mem::take(&mut self.given).into_iter().zip(std::mem::take(&mut self.messages));
        let items: Vec<Item> = given.map(|(given, message)| given.back(message)).collect();
        let losses = std::mem::take(&mut self.losses);
        let Some(mailbox) = self.mailbox.as_ref().filter(|_| !items.is_empty() || !losses.0.is_empty())
        else {
            return;
        };
        let mut lost = Lost::new();
        mailbox.put_back(items, losses, &mut lost);
        tell(&self.signals, &self.session, lost);
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
