//! Hooks of others as automations: their runs are jobs, accepted on record, counted, and taken up again after a kill.
//!
//! What such a hook does, when it tries again and what becomes of what it says is its own and the bus's; the machine
//! only knows that it was accepted, which attempts it made and how it ended. A run that another life has accepted waits
//! until its session is open and has the same hook.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lineside_bus::interceptor::BoxFuture;
use lineside_bus::{
    Accepted, Begun, Bus, DurableRun, Ending, Release, RunRecorder, Session, Ticket, UntilBegun,
};
use lineside_core::flow::{Debounce, Retry};
use lineside_core::hook::{Join, Lane, Standby};
use lineside_core::{AnyEvent, Failure, FailureKind, SessionId};
use tokio_util::sync::CancellationToken;

use crate::control::{self, AtEnd, Hold, KeyTemplate, LONGEST, MOST_HELD, OnBusy, Pause, Rules, Work};
use crate::debouncer::Last;
use crate::engine::{Automations, Engine, job_of};
use crate::machine::job::{AutomationId, Fence, JobId};
use crate::machine::{Ended, Input, Run};
use crate::offered::Offered;
use crate::report::{Report, ResultRule, ResultWhen};

mod hook_id;

pub use hook_id::HookId;

/// How often a run is started again at most after its process was killed, or after its session had no more time for it.
/// Two: a kill has its reasons elsewhere most of the time, and a hook that ends its own process must not do so for ever.
pub const RESTARTS: u32 = 2;

/// What has to be known of a hook whose runs are to be jobs.
pub struct Adoption {
    /// Which hook it is.
    pub id: HookId,
    /// Its events are held until it is quiet.
    pub debounce: Option<Debounce>,
    /// How often it tries again, by itself.
    pub retry: Retry,
    /// Whether the next model call waits for it.
    pub join: Join,
    /// Whether it runs beside others of its dialect.
    pub lane: Lane,
    /// Has a last look at what a burst came to.
    pub last: Last,
    /// Whether it can run.
    pub standby: Standby,
}

/// A hook whose runs are jobs. Clones are the same.
#[derive(Clone)]
pub struct Adopted {
    engine: Arc<Engine>,
    id: AutomationId,
    accepted: Accepted,
}

/// The hooks of a bus whose runs are jobs. Clones are the same.
#[derive(Clone)]
pub struct Adoptions {
    engine: Arc<Engine>,
}

/// What the engine knows of hooks whose runs are jobs.
#[derive(Default)]
pub(crate) struct Register {
    known: Mutex<Known>,
    /// The run that was started last, behind which the next one begins.
    turn: Mutex<Option<Begun>>,
    /// Cancelled when the last attempt that had its turn has begun; `None` before the first.
    begins: Mutex<Option<CancellationToken>>,
}

#[derive(Default)]
struct Known {
    /// The dialects whose hooks were looked for.
    loaded: HashSet<String>,
    /// Those that are there.
    current: HashSet<AutomationId>,
    /// Those that were there and may have work left.
    registered: HashSet<AutomationId>,
}

/// How the engine starts a run of a hook.
pub(crate) struct Starting {
    accepted: Accepted,
    last: Last,
}

impl Automations {
    /// The hooks of a bus whose runs are jobs: those of automations that were opened with a journal. `None` when there
    /// are none, and then runs begin and end with the process.
    #[must_use]
    pub fn adoptions(bus: &Bus) -> Option<Adoptions> {
        let engine = Arc::clone(&bus.kept_extension::<Self>()?.engine);
        engine.is_durable().then_some(Adoptions { engine })
    }
}

impl Adoptions {
    /// Takes a hook in. It has to be in force before it is called, and [`Self::replaced`] has to be
    /// told when it is.
    #[must_use]
    pub fn adopt(&self, adoption: Adoption) -> Adopted {
        let Adoption { id, debounce, retry, join, lane, last, standby } = adoption;
        let (name, key): (Arc<str>, AutomationId) = (Arc::from(&*id.name), id.to_string().into());
        let accepted = if debounce.is_some() { Accepted::Holds } else { Accepted::Runs };
        if self.engine.adopted.known().registered.insert(Arc::clone(&key)) {
            let rules = rules(&id.dialect, debounce, retry, join, lane);
            let starting = Starting { accepted, last };
            self.engine.adopt(&key, name, starting, Arc::new(rules));
        }
        self.engine.step(Input::SwitchedOff(Arc::clone(&key), standby != Standby::Ready));
        Adopted { engine: Arc::clone(&self.engine), id: key, accepted }
    }

    /// The hooks of a dialect that are in force from now on. What was accepted for one that is not comes to its end
    /// with what is known of it, if it is of this life, and to a bad one otherwise.
    pub fn replaced(&self, bus: &Bus, dialect: &str, hooks: &[Adopted]) {
        {
            let mut known = self.engine.adopted.known();
            known.loaded.insert(dialect.to_owned());
            known.current.retain(|id| HookId::read(id).is_none_or(|id| id.dialect != dialect));
            known.current.extend(hooks.iter().map(|hook| Arc::clone(&hook.id)));
            let Known { current, registered, .. } = &mut *known;
            // Those of another dialect may be adopted already, and be in force only when it is its turn.
            let is_own = |id: &AutomationId| HookId::read(id).is_none_or(|id| id.dialect == dialect);
            let idle = |id: &AutomationId| {
                is_own(id) && !current.contains(id) && !self.engine.ask(|machine| machine.is_busy(id))
            };
            for gone in registered.extract_if(idle) {
                self.engine.unregister(&gone);
            }
        }
        for session in bus.sessions().iter().filter_map(|id| bus.find(id.as_str())) {
            self.engine.opened(&session);
        }
    }
}

impl Register {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An attempt has its turn; gives what tells when the one before it has begun.
    fn begins(&self, begun: CancellationToken) -> Option<CancellationToken> {
        self.begins.lock().unwrap_or_else(PoisonError::into_inner).replace(begun)
    }

    /// What becomes of a job that rests, now that its session is there.
    fn look_at(&self, session: &Session, automation: &AutomationId, event: &Offered) -> Option<Fate> {
        let hook = HookId::read(automation)?;
        let known = self.known();
        if !known.loaded.contains(&hook.dialect) {
            return None;
        }
        if !known.current.contains(automation) {
            return Some(Fate::Gone);
        }
        match event.event() {
            Ok(of) => session.ticket(&of, automation).map(|ticket| {
                event.give(ticket);
                Fate::TakenUp
            }),
            // Its run says what is wrong with it.
            Err(_) => Some(Fate::TakenUp),
        }
    }
}

enum Fate {
    TakenUp,
    Gone,
}

impl Engine {
    /// A session is there: what rests for hooks that it has goes on.
    pub(crate) fn opened(&self, session: &Session) {
        for (job, automation, event) in self.ask(|machine| machine.resting(session.id())) {
            match self.adopted.look_at(session, &automation, &event) {
                Some(Fate::TakenUp) => self.step(Input::TakeUp(job)),
                Some(Fate::Gone) => self.step(Input::Gone(job)),
                // Its hooks were not looked for yet, or it is switched off here.
                None => {}
            }
        }
    }
}

/// What the machine has to know: everything that paces a run is the hook's own, except that events are held and that
/// the hooks of one lane go one after another for each event.
fn rules(dialect: &str, debounce: Option<Debounce>, retry: Retry, join: Join, lane: Lane) -> Rules {
    // A burst is due with one event more than it may hold, as everywhere.
    let hold = debounce.map(|pace| Hold { pace, count: MOST_HELD + 1 });
    let in_line = lane == Lane::Shared && debounce.is_none();
    Rules {
        rate: None,
        hold,
        hold_key: KeyTemplate::of_agent(),
        priority: 0,
        concurrency: in_line.then(|| (KeyTemplate::of_event(&format!("lane:{dialect}")), 1)),
        on_busy: OnBusy::Queue,
        timeout: LONGEST,
        retry: control::Retry {
            attempts: retry.again.saturating_add(1).saturating_add(RESTARTS),
            pause: Pause::Constant(retry.delay),
            after: retry.after,
        },
        join,
        result: ResultRule { when: ResultWhen::Ignore, ..ResultRule::default() },
        at_end: AtEnd::Drain(LONGEST),
        cancellable: false,
        work: Work::Adopted { restarts: RESTARTS },
    }
}

impl Adopted {
    /// The name by which the hook is found again in another life.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.id
    }

    /// Takes over a run.
    ///
    /// # Errors
    /// The ticket, when nothing is put on record any more, or there are as many jobs as there may be.
    pub fn accept(&self, event: &AnyEvent, ticket: Ticket) -> Result<Accepted, Ticket> {
        if !self.engine.takes() {
            return Err(ticket);
        }
        let id = event.envelope().id;
        let offered = Input::Offered(Arc::clone(&self.id), Offered::with(event.clone(), ticket));
        if let Some(job) = self.engine.step_and_see(offered, |effects| job_of(id, effects)) {
            self.engine.recent.note(id, Arc::clone(&self.id), job);
        }
        Ok(self.accepted)
    }

    /// As an interceptor does it.
    pub fn release(&self, session: &SessionId, which: Release) {
        self.engine.release(session, which);
    }

    /// As an interceptor does it.
    #[must_use]
    pub fn settled(&self, session: &SessionId, which: Release) -> BoxFuture<()> {
        let (engine, session) = (Arc::clone(&self.engine), session.clone());
        Box::pin(async move { engine.settled(session, which.into()).await })
    }

    /// As an interceptor does it.
    pub fn cut(&self, session: &SessionId) {
        self.engine.step(Input::SessionCut(session.clone()));
    }
}

/// Starts a run of a hook: with the right to do so that came with its event, or after a restart, with that of the hook
/// that is there now.
pub(crate) fn start(engine: &Arc<Engine>, bus: &Bus, starting: &Starting, run: Run<Offered>) {
    let Run { job, automation, fence, event: offered, .. } = run;
    let event = match offered.event() {
        Ok(event) => event,
        Err(error) => return engine.step(Input::Ended(job, fence, unreadable(&error))),
    };
    let ticket = offered.ticket().or_else(|| {
        let session = bus.find(event.envelope().source.session.as_str())?;
        session.ticket(&event, &automation)
    });
    // The session has closed meanwhile.
    let Some(ticket) = ticket else { return engine.step(Input::Ended(job, fence, Ended::Left)) };
    if starting.accepted == Accepted::Holds
        && let Some(why) = (starting.last)(&event)
    {
        ticket.skip(&event, why);
        let skipped = Report::success(format!("skipped: {}", why.as_str()));
        return engine.step(Input::Ended(job, fence, Ended::With(Ok(skipped))));
    }
    let failed = engine.ask(|machine| machine.failures(job));
    let earlier = failed.into_iter().map(|(kind, detail)| Failure::new(kind, detail)).collect();
    let cancel = CancellationToken::new();
    engine.can_cancel(job, fence, cancel.clone());
    let recorder = Arc::new(OfJob { engine: Arc::clone(engine), job, fence, earlier });
    let mut turn = engine.adopted.turn.lock().unwrap_or_else(PoisonError::into_inner);
    let durable = DurableRun { recorder, cancel, accepted: starting.accepted, behind: turn.take() };
    *turn = Some(ticket.start_durable(event, durable));
}

fn unreadable(error: &lineside_points::ReadEventError) -> Ended {
    let source = std::error::Error::source(error).map(|source| format!(": {source}"));
    Ended::With(Err((FailureKind::Error, format!("{error}{}", source.unwrap_or_default()))))
}

/// One run that is on record.
struct OfJob {
    engine: Arc<Engine>,
    job: JobId,
    fence: Fence,
    earlier: Vec<Failure>,
}

impl RunRecorder for OfJob {
    fn earlier(&self) -> Vec<Failure> {
        self.earlier.clone()
    }

    fn failed(&self, failure: &Failure, pause: Duration) {
        let Failure { kind, detail, .. } = failure;
        self.engine.step(Input::Failed(self.job, self.fence, *kind, detail.to_string(), pause));
    }

    fn begins(&self) -> BoxFuture<UntilBegun> {
        self.engine.step(Input::Begins(self.job, self.fence));
        let begun = CancellationToken::new();
        let before = self.engine.adopted.begins(begun.clone());
        let (engine, until_begun) = (Arc::clone(&self.engine), begun.drop_guard());
        Box::pin(async move {
            // Where nothing is kept any more, an attempt that is not on record is better than none.
            engine.kept().await.ok();
            if let Some(before) = before {
                before.cancelled().await;
            }
            Box::new(until_begun) as _
        })
    }

    fn ended(&self, ending: Ending) {
        let ended = match ending {
            Ending::Answered => Ended::With(Ok(Report::success("done"))),
            Ending::Failed(failure) => Ended::With(Err((failure.kind, failure.detail.into_owned()))),
            Ending::Cancelled => Ended::Cancelled,
            Ending::Left => Ended::Left,
        };
        self.engine.cannot_cancel(self.job, self.fence);
        self.engine.step(Input::Ended(self.job, self.fence, ended));
    }
}
