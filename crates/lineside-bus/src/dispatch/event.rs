//! One event from its admission to its receipt.

use std::cell::LazyCell;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;

use lineside_core::envelope::Cause;
use lineside_core::{AnyEvent, CoverageMismatch, Envelope, PointInfo, Receipt};
use tokio::time::Instant;

use crate::base::gauge::InFlight;
use crate::base::signal::Signal;
use crate::dispatch::admission::Details;
use crate::dispatch::advance::Suspended;
use crate::dispatch::dispatcher::Dispatcher;
use crate::dispatch::shadow::Shadows;
use crate::hook::state::{InForce, KeptInForce, Node, Observers, Plan, Session};

/// An event that was let in: it has a number.
pub(crate) struct Dispatch<'a> {
    pub(crate) session: &'a Session,
    pub(crate) seq: u64,
    pub(crate) cause: Option<Cause>,
    pub(crate) details: &'a Details,
    /// Held until the decision, so that the ends of the session and of the bus wait for it.
    pub(crate) in_flight: InFlight<'a>,
}

/// How far an event has come at its first poll.
pub(crate) enum Begun<'a> {
    Settled(Record),
    UnderWay(Waiting<'a>),
}

/// How far an event has come that has to be waited for.
pub(crate) struct Reached<'a> {
    /// The next hook of its plan.
    pub(crate) next: u32,
    pub(crate) halt: Option<Suspended<'a>>,
    /// Whether its plan has nothing more to run, as long as nothing is amended.
    last: bool,
    /// The session of the agent that stops by it, if there may be results for that.
    pub(crate) stopping: Option<Arc<Node>>,
}

/// The receipt of an event that has to be waited for.
pub(crate) type Waiting<'a> = Pin<Box<dyn Future<Output = Record> + Send + 'a>>;

/// The receipt of an event that was decided.
#[derive(Debug)]
pub(crate) enum Record {
    /// For the publisher alone. A count of references would cost more than the rest of it.
    Own(Box<Receipt>),
    /// Observers or watchers have it as well.
    Shared(Arc<Receipt>),
}

impl Deref for Record {
    type Target = Receipt;

    #[inline]
    fn deref(&self) -> &Receipt {
        match self {
            Self::Own(receipt) => receipt,
            Self::Shared(receipt) => receipt,
        }
    }
}

impl From<Record> for Arc<Receipt> {
    fn from(record: Record) -> Self {
        match record {
            Record::Own(receipt) => receipt.into(),
            Record::Shared(receipt) => receipt,
        }
    }
}

impl<'a> Dispatch<'a> {
    /// Whether the event has hooks, watchers or a count.
    #[inline]
    pub(crate) fn is_heard(&self, in_force: &InForce<'_>, point: &PointInfo) -> bool {
        !in_force.is_empty()
            || self.details.believes()
            || self.details.decided.is_some()
            || self.session.shared().signals.is_watched()
            || self.session.node().state.stops_so_far().is_some()
            || self.session.may_have_results(point)
    }

    /// The envelope of the event.
    #[inline]
    pub(crate) fn envelope(&self, now: Instant) -> Envelope {
        self.details.envelope(&self.session.node().source, self.seq, self.cause, now)
    }

    /// Runs the hooks of the event, which was made now, as far as they answer at once, which most do: then the event is
    /// settled, and nothing is kept of its dispatch.
    pub(crate) fn begin(
        self,
        in_force: &InForce<'_>,
        event: AnyEvent,
        now: Instant,
        task: &mut Context<'_>,
    ) -> Begun<'a> {
        let Self { session, details, .. } = self;
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
        let halt = dispatcher.advance(&plan, &mut next, task);
        let stopping = details.decided.is_none().then(|| dispatcher.stopping()).flatten();
        // What asks may have to be waited for; what was decided beforehand asks nothing.
        let asks = details.approver.is_some() && details.decided.is_none();
        if halt.is_none() && stopping.is_none() && !asks && dispatcher.is_done(&plan) {
            return Begun::Settled(dispatcher.settle(in_force, details, coverage));
        }
        let last = plan.entry(next).is_none() && !plan.tells() && stopping.is_none() && !asks;
        Begun::UnderWay(Box::pin(self.finish_async(
            in_force.keep(),
            dispatcher,
            Reached { next, halt, last, stopping },
            coverage,
        )))
    }

    /// The rest of it, from where it has halted.
    fn finish_async(
        self,
        in_force: KeptInForce,
        mut dispatcher: Dispatcher<'a>,
        mut reached: Reached<'a>,
        coverage: Option<Box<CoverageMismatch>>,
    ) -> impl Future<Output = Record> + Send {
        let Self { session, details, in_flight, .. } = self;
        let watch = Watch::over(session, &dispatcher.event, in_flight);
        async move {
            let in_force = in_force.borrow();
            dispatcher.resume(&mut reached.halt).await;
            // Most events wait once, for their last hook; what the others need has no place in the future of each.
            if reached.halt.is_some() || !reached.last || dispatcher.chain.version() > 0 {
                // The same plan as before: no amendment changes which hooks may run.
                let plan = in_force.interceptors(&dispatcher.event);
                Box::pin(dispatcher.finish_async(&plan, &mut reached, details.approver.as_ref())).await;
            }
            let record = dispatcher.settle(&in_force, details, coverage);
            watch.disarm();
            record
        }
    }
}

impl Dispatcher<'_> {
    /// Ends the event and tells of it.
    #[inline(always)]
    fn settle(
        mut self,
        in_force: &InForce<'_>,
        details: &Details,
        coverage: Option<Box<CoverageMismatch>>,
    ) -> Record {
        let session = self.session;
        let concluded = self.conclude(details);
        // They begin when all who hear of the event have heard of it, so that what comes of them comes later.
        let shadows = self.cold.as_mut().map(|cold| std::mem::take(&mut cold.shadows));
        let observers = in_force.observers(&self.event);
        if observers.is_none() && !session.shared().signals.is_watched() {
            let receipt = Box::new(self.into_receipt(concluded, in_force, details, coverage));
            shadows.into_iter().for_each(Shadows::start);
            return Record::Own(receipt);
        }
        let receipt = Arc::new(self.into_receipt(concluded, in_force, details, coverage));
        if let Some(observers) = observers {
            tell_observers(session, &observers, &receipt);
        }
        session.shared().signals.emit(|| Signal::Decided(Arc::clone(&receipt)));
        shadows.into_iter().for_each(Shadows::start);
        Record::Shared(receipt)
    }
}

/// Tells of an event that its publisher gave up, while it still counts as under way.
struct Watch<'a> {
    session: &'a Session,
    lost: Option<(AnyEvent, Instant)>,
    _in_flight: InFlight<'a>,
}

impl<'a> Watch<'a> {
    #[inline]
    fn over(session: &'a Session, event: &AnyEvent, in_flight: InFlight<'a>) -> Self {
        Self { session, lost: Some((event.clone(), Instant::now())), _in_flight: in_flight }
    }

    #[inline]
    fn disarm(mut self) {
        self.lost = None;
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if let Some((event, since)) = self.lost.take() {
            let (session, seq, id) = (self.session.id().clone(), event.envelope().seq, event.envelope().id);
            self.session.shared().signals.emit(|| {
                let left = Arc::new(Receipt::undecided(event, since.elapsed()));
                Signal::Abandoned { session, seq, event: id, left }
            });
        }
    }
}

fn tell_observers(session: &Session, observers: &Observers<'_>, receipt: &Arc<Receipt>) {
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
