//! The state behind the handles: a session and what it has beside hooks, and what all sessions of a bus share.
//!
//! What is done with it stands above: events in `dispatch`, everything that a program calls in `api`.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use lineside_core::budget::Budget;
use lineside_core::{Agent, PointInfo, SessionId, Source};

use crate::base::background::{self, Endings};
use crate::base::caught::Failures;
use crate::base::extensions::Extensions;
use crate::base::gauge::Gauge;
use crate::base::signal::SignalBus;
use crate::base::stop_limit::StopLimit;
use crate::context::FullTexts;
use crate::context::log::Log;
use crate::context::mailbox::{self, Mailbox, WAITING};
use crate::context::message::{Offer, Order};
use crate::hook::interceptor::{BackgroundRuns, Interceptor};
use crate::hook::observer::Listener;
use crate::registry::{own, registered, table, tree};

pub(crate) type Added = registered::Added<Arc<dyn Interceptor>, Arc<dyn Listener>>;
pub(crate) type Registered = registered::Registered<Arc<dyn Interceptor>, Arc<dyn Listener>>;
pub(crate) type Runs = registered::Runs<Arc<dyn Interceptor>, Arc<dyn Listener>>;
/// Which registrations are taken away.
pub(crate) type Leaves<'a> = own::Leaves<'a, Arc<dyn Interceptor>, Arc<dyn Listener>>;
/// The interceptors that may run for one event.
pub(crate) type Plan<'a> = lineside_core::Candidates<'a, Arc<dyn Interceptor>>;
/// The observers that may hear of one event.
pub(crate) type Observers<'a> = lineside_core::Candidates<'a, Arc<dyn Listener>>;
/// What an event of a session meets at its point.
pub(crate) type InForce<'a> = table::InForce<'a, Arc<dyn Interceptor>, Arc<dyn Listener>>;
pub(crate) type KeptInForce = table::KeptInForce<Arc<dyn Interceptor>, Arc<dyn Listener>>;

pub(crate) type Tree = tree::Tree<Arc<dyn Interceptor>, Arc<dyn Listener>, State>;
pub(crate) type Node = tree::Node<Arc<dyn Interceptor>, Arc<dyn Listener>, State>;
/// On what hooks are registered.
pub(crate) type Place = tree::Place<Arc<dyn Interceptor>, Arc<dyn Listener>, State>;
/// The hooks of one scope.
pub(crate) type ScopeHooks = own::Own<Arc<dyn Interceptor>, Arc<dyn Listener>>;
pub(crate) type Background = background::Background<Arc<dyn BackgroundRuns>>;

/// What a session has beside hooks; most of it is made when it is needed first.
#[derive(Default)]
pub(crate) struct State {
    /// Its events under way; closed when it is.
    pub(crate) in_flight: Gauge,
    mailbox: OnceLock<Arc<Mailbox>>,
    stops: OnceLock<Box<StopLimit>>,
    background: OnceLock<Arc<Background>>,
}

impl State {
    /// That of a session whose context is kept in this log, if in any.
    pub(crate) fn new(session: &SessionId, context: Option<&Arc<Log>>) -> Self {
        let mailbox = context.map(|log| OnceLock::from(log.mailbox(session))).unwrap_or_default();
        Self { mailbox, ..Self::default() }
    }

    pub(crate) fn mailbox(&self) -> &Arc<Mailbox> {
        self.mailbox.get_or_init(|| Arc::new(Mailbox::new(WAITING)))
    }

    /// The mailbox, if there ever was one: it is made for the first message.
    pub(crate) fn mailbox_so_far(&self) -> Option<&Arc<Mailbox>> {
        self.mailbox.get()
    }

    pub(crate) fn stops(&self) -> &StopLimit {
        self.stops.get_or_init(Box::default)
    }

    /// The counts of blocked stops, if there ever was one.
    #[inline]
    pub(crate) fn stops_so_far(&self) -> Option<&StopLimit> {
        self.stops.get().map(|stops| &**stops)
    }

    pub(crate) fn background(&self) -> &Arc<Background> {
        self.background.get_or_init(Arc::default)
    }

    /// Whether something goes on: an event, or background work.
    pub(crate) fn goes_on(&self) -> bool {
        self.in_flight.inside() > 0 || self.background_so_far().is_some_and(Background::goes_on)
    }

    /// The background work, if any was ever started.
    pub(crate) fn background_so_far(&self) -> Option<&Background> {
        self.background.get().map(|background| &**background)
    }
}

/// A handle on a session. Cloning it costs one reference count; dropping it closes nothing.
#[derive(Clone)]
pub struct Session {
    inner: Arc<Inner>,
}

struct Inner {
    node: Arc<Node>,
    shared: Arc<Shared>,
}

impl Session {
    pub(crate) fn new(node: Arc<Node>, shared: Arc<Shared>) -> Self {
        Self { inner: Arc::new(Inner { node, shared }) }
    }

    #[inline]
    pub(crate) fn node(&self) -> &Arc<Node> {
        &self.inner.node
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.inner.shared
    }

    /// Whether both are the same handle, or clones of it.
    #[inline]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    pub(crate) fn place(&self) -> Place {
        Place::Session(Arc::clone(&self.inner.node))
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.inner.node.source.session
    }

    /// Its agent.
    #[must_use]
    pub fn agent(&self) -> &Agent {
        &self.inner.node.source.agent
    }

    /// What all its events share.
    #[must_use]
    pub fn source(&self) -> &Arc<Source> {
        &self.inner.node.source
    }

    /// Whether it still takes events.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.inner.node.is_open()
    }

    /// The number of the last event; 0 before the first.
    #[must_use]
    pub fn last_seq(&self) -> u64 {
        self.inner.node.state.in_flight.last()
    }

    /// Puts a message into its mailbox; what becomes of others, or of it, is signalled.
    pub(crate) fn post(&self, order: Order, offer: Offer) {
        mailbox::post(self.node().state.mailbox(), &self.shared().signals, self.id(), order, offer);
    }
}

/// What all sessions of a bus share.
pub(crate) struct Shared {
    pub(crate) tree: Tree,
    pub(crate) signals: SignalBus,
    pub(crate) budget: Budget,
    /// Sessions that were closed while something of theirs went on: a drain waits for that too.
    pub(crate) closed: Mutex<Vec<Weak<Node>>>,
    /// Sessions that come to their end behind a hook of theirs.
    pub(crate) endings: Endings,
    pub(crate) failures: Failures,
    pub(crate) extensions: Extensions,
    pub(crate) full_texts: Arc<dyn FullTexts>,
    /// What keeps the context, where something does.
    pub(crate) context: Option<Arc<Log>>,
}

impl Shared {
    #[inline]
    pub(crate) fn is_draining(&self) -> bool {
        self.tree.is_draining()
    }

    /// Lets in no further session, and no further event of those that are open, which it returns, with those that are
    /// closed and go on.
    pub(crate) fn close_to_events(&self) -> Vec<Arc<Node>> {
        let mut sessions = self.tree.close_to_sessions();
        sessions.iter().for_each(|node| node.state.in_flight.close());
        // Seen last: one that is not open any more is here, if it has to be.
        sessions.extend(self.closed().iter().filter_map(Weak::upgrade));
        sessions.retain(|node| node.is_open() || node.state.goes_on());
        sessions.sort_unstable_by_key(|node| Arc::as_ptr(node).addr());
        sessions.dedup_by(|one, other| Arc::ptr_eq(one, other));
        sessions
    }

    /// Lets in no further event of a session, which is closed next.
    pub(crate) fn close_session_to_events(&self, node: &Arc<Node>) {
        node.state.in_flight.close();
        if !node.state.goes_on() {
            return;
        }
        let mut closed = self.closed();
        // Dropped without the lock: the last reference to a session may be that to hooks of users.
        let mut looked_at = Vec::new();
        if closed.len() == closed.capacity() {
            closed.retain(|other| {
                let Some(other) = other.upgrade() else { return false };
                let goes_on = other.state.goes_on();
                looked_at.push(other);
                goes_on
            });
            // So that it is not searched again for each of the next ones.
            let others = closed.len();
            closed.reserve(others + 1);
        }
        closed.push(Arc::downgrade(node));
        drop(closed);
        drop(looked_at);
    }

    fn closed(&self) -> MutexGuard<'_, Vec<Weak<Node>>> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the hooks of one source away at one place, at one point or at all. Sources compare as whole strings.
    pub(crate) fn remove_source(
        self: &Arc<Self>,
        place: &Place,
        point: Option<&PointInfo>,
        source: &str,
    ) -> usize {
        self.remove(place, &|registered| {
            *registered.hook.source == *source && point.is_none_or(|point| registered.point == point)
        })
    }
}
