//! The messages that wait for an agent's context, and how they are handed over: in order, once for each acceptance.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use lineside_core::{EventId, Role, SessionId};
use serde::Serialize;

use crate::background::Release;
use crate::session::Session;
use crate::signal::Signal;
use crate::tree::Node;

/// A message for an agent's context, with its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContextMessage {
    /// The hook that gave it.
    pub hook: Arc<str>,
    /// The format of that hook.
    pub dialect: &'static str,
    /// The event that it answers.
    pub event: EventId,
    /// The session of that event.
    pub session: SessionId,
    /// The role that it has in the context.
    pub role: Role,
    /// Its text, as the hook gave it.
    pub text: String,
}

/// How many messages wait at most; one more is dropped, counted and signalled.
const MOST_MESSAGES: usize = 1024;

/// How many bytes of text wait at most.
const MOST_BYTES: usize = 4 << 20;

/// The messages of one session.
#[derive(Default)]
pub(crate) struct Mailbox {
    waiting: Mutex<Waiting>,
}

/// Where a message stands among the others of its mailbox: by its event, then by its hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Order {
    /// The number of the event that it is about.
    pub(crate) seq: u64,
    /// The hook's place in plan order.
    pub(crate) hook: u32,
}

impl Order {
    /// After everything that the session has published so far.
    pub(crate) fn arriving(node: &Node) -> Self {
        Self { seq: node.seq.load(Ordering::Relaxed), hook: u32::MAX }
    }
}

#[derive(Default)]
struct Waiting {
    messages: VecDeque<(Order, ContextMessage)>,
    bytes: usize,
    dropped: u64,
}

impl Mailbox {
    /// Adds a message; gives it back when there is no room for it.
    pub(crate) fn push(&self, order: Order, message: ContextMessage) -> Result<(), ContextMessage> {
        let mut waiting = self.lock();
        if waiting.messages.len() >= MOST_MESSAGES || waiting.bytes + message.text.len() > MOST_BYTES {
            waiting.dropped += 1;
            return Err(message);
        }
        waiting.bytes += message.text.len();
        let place = waiting.messages.partition_point(|(other, _)| *other <= order);
        waiting.messages.insert(place, (order, message));
        Ok(())
    }

    fn take(&self) -> Vec<(Order, ContextMessage)> {
        let mut waiting = self.lock();
        waiting.bytes = 0;
        waiting.messages.drain(..).collect()
    }

    fn put_back(&self, messages: Vec<(Order, ContextMessage)>) {
        let mut waiting = self.lock();
        for (order, message) in messages.into_iter().rev() {
            waiting.bytes += message.text.len();
            waiting.messages.push_front((order, message));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many messages wait, and how many were dropped.
    pub(crate) fn counts(&self) -> (usize, u64) {
        let waiting = self.lock();
        (waiting.messages.len(), waiting.dropped)
    }
}

/// A collection under way.
pub struct Collect<'a> {
    session: &'a Session,
}

impl<'a> Collect<'a> {
    pub(crate) fn new(session: &'a Session) -> Self {
        Self { session }
    }

    /// Everything that is there now.
    pub fn ready(self) -> Delivery {
        let (orders, messages) = self.session.node().mailbox().take().into_iter().unzip();
        Delivery { orders, messages, session: self.session.clone() }
    }

    /// Everything that the next model call must have: it waits for the hooks that say so and that events up to now
    /// have started, each within its own time, and starts those at once that wait for further events.
    ///
    /// Cancel safe: a dropped call takes nothing.
    pub async fn before_next_model(self) -> Delivery {
        if let Some(background) = self.session.node().background_so_far() {
            background.release(self.session.id(), Release::Joining);
            background.joined(self.session.id()).await;
        }
        self.ready()
    }
}

/// Messages handed over. They go back into the mailbox, to its front, unless they are accepted.
#[must_use = "messages that are not accepted go back"]
pub struct Delivery {
    session: Session,
    messages: Vec<ContextMessage>,
    /// Where each of them stood.
    orders: Vec<Order>,
}

impl Delivery {
    /// The messages, in order.
    #[must_use]
    pub fn messages(&self) -> &[ContextMessage] {
        &self.messages
    }

    /// They are in the agent's context now; nobody will get them again.
    pub fn accept(mut self) -> Vec<ContextMessage> {
        let messages = std::mem::take(&mut self.messages);
        let session = &self.session;
        session
            .shared()
            .signals
            .emit(|| Signal::ContextDelivered { session: session.id().clone(), messages: messages.len() });
        messages
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if !self.messages.is_empty() {
            let orders = std::mem::take(&mut self.orders).into_iter();
            let messages = orders.zip(std::mem::take(&mut self.messages)).collect();
            self.session.node().mailbox().put_back(messages);
        }
    }
}
