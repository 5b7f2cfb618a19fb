//! Drives the bursts of one hook: one task looks after each burst until it is due.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lineside_bus::{Release, Ticket};
use lineside_core::flow::Debounce;
use lineside_core::hook::Join;
use lineside_core::{AnyEvent, SessionId, SkipReason, burst};
use tokio::time::{Instant, sleep_until};

use crate::bursts::{Bursts, Pushed};
use crate::tasks::Tasks;

/// Says why the hook does not run for what a burst came to; `None` when it does.
pub type Last = Box<dyn Fn(&AnyEvent) -> Option<SkipReason> + Send + Sync>;

/// Holds the events of one hook, for each session and agent, until it is quiet.
#[derive(Clone)]
pub struct Debouncer {
    inner: Arc<Inner>,
}

struct Inner {
    bursts: Mutex<Bursts<Key, (AnyEvent, Ticket)>>,
    last: Last,
    tasks: Tasks,
}

type Key = (SessionId, Arc<str>);

impl Debouncer {
    /// Holds nothing yet. `last` has a last look at what a burst came to.
    #[must_use]
    pub fn new(pace: Debounce, last: Last) -> Self {
        let bursts = Mutex::new(Bursts::new(pace));
        Self { inner: Arc::new(Inner { bursts, last, tasks: Tasks::default() }) }
    }

    /// Holds an event. The ticket of the last event of the burst will be used.
    pub fn hold(&self, event: &AnyEvent, ticket: Ticket) {
        let source = &event.envelope().source;
        let key = (source.session.clone(), Arc::clone(&source.agent.id));
        let pushed =
            self.inner.bursts().push(key.clone(), (event.clone(), ticket), Instant::now().into_std());
        if pushed == Pushed::Began {
            self.inner.tasks.spawn(Arc::clone(&self.inner).look_after(key));
        }
    }

    /// Runs at once for the events of a session that are held.
    pub fn release(&self, session: &SessionId, which: Release) {
        let keys = self.inner.bursts().keys(|(held, _)| held == session);
        for key in keys {
            let joins = |held: &[(AnyEvent, Ticket)]| {
                held.last().is_some_and(|(_, ticket)| ticket.hook().join == Join::BeforeNextModel)
            };
            let taken = self.inner.bursts().take_if(&key, |held| which == Release::All || joins(held));
            if let Some(held) = taken {
                self.inner.run(held);
            }
        }
    }
}

impl Inner {
    async fn look_after(self: Arc<Self>, key: Key) {
        loop {
            let Some(due) = self.bursts().due(&key) else { return };
            sleep_until(due.into()).await;
            let taken = self.bursts().take_due(&key, Instant::now().into_std());
            if let Some(held) = taken {
                self.run(held);
                return;
            }
        }
    }

    fn run(&self, held: Vec<(AnyEvent, Ticket)>) {
        let (events, mut tickets): (Vec<_>, Vec<_>) = held.into_iter().unzip();
        let Some((event, ticket)) = burst::merge(&events).zip(tickets.pop()) else { return };
        match (self.last)(&event) {
            None => ticket.start(event),
            Some(why) => ticket.skip(&event, why),
        }
    }

    fn bursts(&self) -> MutexGuard<'_, Bursts<Key, (AnyEvent, Ticket)>> {
        self.bursts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
