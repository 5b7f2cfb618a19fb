//! One event from its admission to its receipt.

use std::cell::LazyCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use lineside_core::envelope::Cause;
use lineside_core::{AnyEvent, CoverageMismatch, Envelope, EventId, Receipt};
use tokio::time::Instant;

use crate::base::gauge::InFlight;
use crate::base::signal::Signal;
use crate::dispatch::admission::Details;
use crate::dispatch::dispatcher::Dispatcher;
use crate::hook::state::{InForce, Plan, Session};

/// An event that was let in: it has a number and a plan.
pub(crate) struct Dispatch<'a> {
    pub(crate) session: &'a Session,
    /// What was in force when it was let in, kept as it was until the decision.
    pub(crate) in_force: InForce,
    pub(crate) seq: u64,
    pub(crate) cause: Option<Cause>,
    pub(crate) details: &'a Details,
    /// Held until the decision, so that the ends of the session and of the bus wait for it.
    pub(crate) _in_flight: InFlight<'a>,
}

impl Dispatch<'_> {
    /// Whether the event has hooks, watchers or a count.
    #[inline]
    pub(crate) fn is_heard(&self) -> bool {
        !self.in_force.is_empty()
            || self.details.believes()
            || self.details.decided.is_some()
            || self.session.shared().signals.is_watched()
            || self.session.node().state.stops_so_far().is_some()
    }

    /// The envelope of the event.
    #[inline]
    pub(crate) fn envelope(&self, now: Instant) -> Envelope {
        self.details.envelope(&self.session.node().source, self.seq, self.cause, now)
    }

    /// Runs the hooks and settles the event, which was made now. The hooks begin at the first poll.
    #[inline]
    pub(crate) fn run(&self, event: AnyEvent, now: Instant) -> Run<'_> {
        Run::Unbegun(self, event, now)
    }

    /// Runs the hooks as far as they answer at once, which most do: then the event is settled, and nothing is kept of
    /// its dispatch.
    fn begin(&self, event: AnyEvent, now: Instant, task: &mut Context<'_>) -> Begun<'_> {
        let Self { session, in_force, details, .. } = self;
        let plan = match &details.decided {
            Some(_) => Plan::of(&[]),
            None => in_force.interceptors(&event),
        };
        let coverage = details.mismatch(session).map(Box::new);
        if let Some(mismatch) = &coverage {
            session.shared().signals.emit(|| Signal::CoverageMismatch {
                session: session.id().clone(),
                event: event.envelope().id,
                mismatch: (**mismatch).clone(),
            });
        }
        let budget = details.budget(session.shared().budget);
        let mut dispatcher = Dispatcher::new(session, Arc::clone(plan.hooks()), event, budget, now);
        let mut next = 0;
        let mut halt = dispatcher.advance(&plan, &mut next, task);
        if halt.is_none() && dispatcher.is_done(&plan) {
            return Begun::Settled(self.settle(dispatcher, coverage));
        }
        let watch = Watch::over(session, &dispatcher.event);
        Begun::UnderWay(Box::pin(async move {
            dispatcher.walk(&plan, &mut next, &mut halt).await;
            let receipt = self.settle(dispatcher, coverage);
            watch.disarm();
            receipt
        }))
    }

    #[inline]
    fn settle(&self, dispatcher: Dispatcher<'_>, coverage: Option<Box<CoverageMismatch>>) -> Arc<Receipt> {
        let Self { session, in_force, details, .. } = self;
        let receipt = dispatcher.finalize(in_force, details, coverage);
        tell_observers(session, in_force, &receipt);
        session.shared().signals.emit(|| Signal::Decided(Arc::clone(&receipt)));
        receipt
    }
}

/// The receipt of an event, to be waited for. Small, because it is moved: what waits is on the heap.
pub(crate) enum Run<'a> {
    Unbegun(&'a Dispatch<'a>, AnyEvent, Instant),
    UnderWay(Waiting<'a>),
    Over,
}

/// How far an event has come at its first poll.
enum Begun<'a> {
    Settled(Arc<Receipt>),
    UnderWay(Waiting<'a>),
}

type Waiting<'a> = Pin<Box<dyn Future<Output = Arc<Receipt>> + Send + 'a>>;

impl Future for Run<'_> {
    type Output = Arc<Receipt>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Arc<Receipt>> {
        if let Self::UnderWay(waiting) = &mut *self {
            return waiting.as_mut().poll(task);
        }
        let Self::Unbegun(dispatch, event, now) = std::mem::replace(&mut *self, Self::Over) else {
            return Poll::Pending;
        };
        match dispatch.begin(event, now, task) {
            Begun::Settled(receipt) => Poll::Ready(receipt),
            Begun::UnderWay(waiting) => {
                *self = Self::UnderWay(waiting);
                self.poll(task)
            }
        }
    }
}

/// Tells of an event that its publisher gave up.
struct Watch<'a> {
    session: &'a Session,
    lost: Option<(u64, EventId)>,
}

impl<'a> Watch<'a> {
    #[inline]
    fn over(session: &'a Session, event: &AnyEvent) -> Self {
        let envelope = event.envelope();
        Self { session, lost: Some((envelope.seq, envelope.id)) }
    }

    #[inline]
    fn disarm(mut self) {
        self.lost = None;
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if let Some((seq, event)) = self.lost {
            let session = self.session.id().clone();
            self.session.shared().signals.emit(|| Signal::Abandoned { session, seq, event });
        }
    }
}

#[inline]
fn tell_observers(session: &Session, in_force: &InForce, receipt: &Arc<Receipt>) {
    let Some(observers) = in_force.observers(&receipt.event) else { return };
    let weight = LazyCell::new(|| receipt.weight());
    for (hook, listener) in (0..).map_while(|place| observers.entry(place)) {
        if hook.skip(&receipt.event).is_some() {
            continue;
        }
        if let Some(lost) = listener.push(receipt, *weight) {
            let hook = Arc::clone(&hook.name);
            session.shared().signals.emit(|| Signal::ObserverLagged { hook, lost });
        }
    }
}
