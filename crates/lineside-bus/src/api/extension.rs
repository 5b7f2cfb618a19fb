//! The interface for work that goes on after events are decided: it receives events, runs for one with its cause and
//! its time, and posts what it found into a mailbox.
//!
//! When such work runs, and how often, is not known here; see `lineside-automation`.

use std::any::Any;
use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use lineside_core::Timestamp;
use lineside_core::budget::{Bound, after};
use lineside_core::envelope::Cause;
use lineside_core::{AnyEvent, Append, EventId, Failure, MessageId, SessionId, Source};
use tokio::time::Instant;

use crate::api::bus::Bus;
use crate::api::register::Installed;
use crate::api::register::{RegisterHookError, Registration};
use crate::base::caught::BoxFuture;
use crate::base::clock;
use crate::base::signal::Signal;
use crate::context::message::{self, Offer};
use crate::context::posted::{self, Posted};
use crate::hook::cx::Cx;
use crate::hook::guard::{Guarded, Time};
use crate::hook::state::Session;
use crate::hook::state::Shared;
use crate::hook::state::{Node, Place, State};

/// A reference that does not keep the bus alive.
#[derive(Clone)]
pub struct WeakBus(Weak<Shared>);

impl WeakBus {
    /// The bus, if it is still there.
    #[must_use]
    pub fn upgrade(&self) -> Option<Bus> {
        self.0.upgrade().map(|shared| Bus { shared })
    }
}

impl Bus {
    /// The same bus, without keeping it alive.
    ///
    /// ```
    /// use lineside_bus::Bus;
    ///
    /// let bus = Bus::new();
    /// let weak = bus.downgrade();
    /// assert!(weak.upgrade().is_some());
    /// drop(bus);
    /// assert!(weak.upgrade().is_none());
    /// ```
    #[must_use]
    pub fn downgrade(&self) -> WeakBus {
        WeakBus(Arc::downgrade(&self.shared))
    }

    /// The bus's value of this type; created at the first call.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// use lineside_bus::Bus;
    ///
    /// /// What a crate keeps with each bus.
    /// #[derive(Default)]
    /// struct Calls(AtomicU64);
    ///
    /// let bus = Bus::new();
    /// bus.extension(Calls::default).0.fetch_add(1, Ordering::Relaxed);
    /// assert_eq!(bus.extension(Calls::default).0.load(Ordering::Relaxed), 1);
    /// ```
    pub fn extension<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        self.shared.extensions.get_or_make(make)
    }

    /// The bus's value of this type, if it was created before.
    #[must_use]
    pub fn kept_extension<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.shared.extensions.get()
    }

    /// The wall-clock time, to the millisecond.
    #[must_use]
    pub fn wall_clock(&self) -> Timestamp {
        clock::stamp(Instant::now().into_std()).1
    }

    /// Sends a signal. It is made only if there is a watcher.
    pub fn signal(&self, signal: impl FnOnce() -> Signal) {
        self.shared.signals.emit(signal);
    }

    /// Puts a message into the mailbox of a session. One that does not fit is dropped, counted and told of, like any
    /// other; one whose id was there before is not there twice.
    ///
    /// Where the bus has a context journal, a message for a session that is not open is kept for when it is opened
    /// again; where it has none, that is a message that does not fit.
    pub fn deliver(&self, to: &SessionId, late: DeferredMessage) -> Posted {
        let DeferredMessage { hook, dialect, point, event, seq, id, append, keeps_working } = late;
        let source = message::Source { hook, dialect, point, event, session: to.clone() };
        let node = self.shared.tree.find(to.as_str());
        let offer = Offer { keeps_working, ..source.message(id, append) };
        let open = node.as_ref().map(|node| (&**node.state.mailbox(), node.state.in_flight.last()));
        posted::post_to(open, self.shared.context.as_ref(), &self.shared.signals, to, seq, offer)
    }

    /// Installs one hook for every session, beside those that are there.
    ///
    /// # Errors
    /// An interceptor at a fact.
    pub fn attach(&self, hook: Installed) -> Result<Registration, RegisterHookError> {
        self.shared.register(Place::Bus, hook.added(None))
    }

    /// A handle on a session that is over: it takes no events, and its messages are not collected.
    #[must_use]
    pub fn closed_session(&self, source: &Source) -> Session {
        let state = State::default();
        state.in_flight.close();
        Session::new(Arc::new(Node::over(source.clone(), state)), Arc::clone(&self.shared))
    }
}

/// A context message that is posted after its event was decided.
#[derive(Debug, Clone)]
pub struct DeferredMessage {
    /// The hook that gives it.
    pub hook: Arc<str>,
    /// The format of that hook.
    pub dialect: &'static str,
    /// The point of the event that it answers.
    pub point: Cow<'static, str>,
    /// The event that it answers.
    pub event: EventId,
    /// The number of that event in its session; messages stand in the order of their events.
    pub seq: u64,
    /// Which message it is, where it may be offered more than once; see [`MessageId::stable`].
    pub id: Option<MessageId>,
    /// The message.
    pub append: Append,
    /// Whether its agent is to have it before it stops: while it waits, a stop is blocked with it.
    pub keeps_working: bool,
}

impl Session {
    /// The bus.
    #[must_use]
    pub fn bus(&self) -> Bus {
        Bus { shared: Arc::clone(self.shared()) }
    }

    /// Installs one hook on this session.
    ///
    /// # Errors
    /// An interceptor at a fact, or a session that is closed.
    pub fn attach(&self, hook: Installed) -> Result<Registration, RegisterHookError> {
        self.shared().register(self.place(), hook.added(None))
    }

    /// Calls something on behalf of an event of this session: what it publishes carries the event as its cause, its
    /// panics are failures, and it has so much time. It is called at once, and cancelled when the call is dropped.
    pub fn call<T>(
        &self,
        event: &AnyEvent,
        timeout: Duration,
        work: impl FnOnce(Cx) -> BoxFuture<Result<T, Failure>>,
    ) -> Call<T> {
        let envelope = event.envelope();
        let cause = Cause { event: envelope.id, depth: envelope.cause.map_or(0, |cause| cause.depth) };
        let time = Time { granted: timeout, bound: Bound::Hook, deadline: after(Instant::now(), timeout) };
        let cx = Cx::new(self.clone(), cause, time.deadline);
        Call(Guarded::of(cx, time, Cow::Owned(self.shared().failures.clone()), work))
    }
}

/// A call under way. Dropping it cancels it.
#[must_use = "a call is cancelled when it is dropped"]
pub struct Call<T>(Guarded<'static, T>);

impl<T> Future for Call<T> {
    type Output = Result<T, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}
