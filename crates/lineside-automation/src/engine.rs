//! Drives the machine: gives it tokio's time and what happens, keeps its records, and does what it says.
//!
//! The machine is stepped where something happens, under a lock and without waiting. What it wants done is done by one
//! task, in order: first the records, all that there are at once, and when they are kept, the rest.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldhash::fast::RandomState;
use lineside_bus::interceptor::BoxFuture;
use lineside_bus::{Bus, Cx, WeakBus};
use lineside_core::budget::after;
use lineside_core::journal::{Durability, Journal, Sequence, Unavailable};
use lineside_core::{Acceptance, AnyEvent, Failure, SessionId};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::adopted::{Register, Starting};
use crate::control::{Assignment, Rules};
use crate::declared::Declared;
use crate::machine::job::{AutomationId, ClaimId, Fence, JobId, Why};
use crate::machine::{Bounds, Effect, Input, Machine, News};
use crate::offered::Offered;
use crate::record::{Entry, Record};
use crate::report::Report;
use crate::tasks::Tasks;
use crate::unix_micros::UnixMicros;

mod adopting;
mod claims;
mod compaction;
mod driver;
mod job_store;
mod recent;
mod recovered;
mod trigger;
mod permit;
mod waiting;

pub use claims::{Claim, HeldKey};
pub use permit::AttemptPermit;
pub use recovered::{Finding, Recovered};

pub(crate) use recent::job_of;
pub(crate) use trigger::{Canceller, Trigger};

use compaction::Compaction;
use job_store::{KeptBy, Waiting};
use recent::Recent;
use recovered::Earlier;
use waiting::Waits;

/// What an automation runs, for the event that all events of a job come to.
pub type Run = Arc<dyn Fn(AnyEvent, Assignment, Cx) -> BoxFuture<Result<Report, Failure>> + Send + Sync>;

/// The same, where what it runs waits for a turn elsewhere.
pub type RunInTurn =
    Arc<dyn Fn(AnyEvent, Assignment, Cx, AttemptPermit) -> BoxFuture<Result<Report, Failure>> + Send + Sync>;

/// An automation that is there.
#[derive(Clone)]
pub(crate) struct Handler {
    /// Which registration it is of.
    pub(crate) registration: u64,
    /// The name for people.
    pub(crate) name: Arc<str>,
    pub(crate) timeout: Duration,
    pub(crate) does: Does,
}

/// What an automation does for a job.
#[derive(Clone)]
pub(crate) enum Does {
    /// It runs this.
    Run(Run),
    /// It runs this, which says itself when it begins.
    RunInTurn(RunInTurn),
    /// It starts a hook.
    Start(Arc<Starting>),
}

/// How many effects may wait for their records; with more, events are refused.
const MOST_BEHIND: usize = 100_000;

/// The automations of a bus. Clones are the same automations.
#[derive(Clone)]
pub struct Automations {
    pub(crate) engine: Arc<Engine>,
    /// Ends the driver when the bus is gone.
    _end: Arc<DropGuard>,
}

pub(crate) struct Engine {
    core: Mutex<Core>,
    /// What keeps the records; without one nothing is kept.
    journal: Option<Arc<dyn Journal>>,
    /// What is said to those whose events are accepted.
    durability: Durability,
    /// What the journal has and this programme cannot read.
    unreadable: Arc<[Entry]>,
    bus: WeakBus,
    clock: Clock,
    /// There is something to do.
    work: Notify,
    /// How many batches of effects are done.
    done: watch::Sender<u64>,
    refused: AtomicU64,
    registrations: AtomicU64,
    /// Which jobs the last events have come into.
    pub(crate) recent: Recent,
    tasks: Tasks,
    /// The hooks whose runs are jobs.
    pub(crate) adopted: Register,
    /// The automations that files declare.
    pub(crate) declared: Declared,
}

struct Core {
    machine: Machine<Offered>,
    handlers: HashMap<AutomationId, Handler>,
    outbox: VecDeque<Effect<Offered>>,
    wake: Option<UnixMicros>,
    runs: HashMap<(JobId, Fence), CancellationToken, RandomState>,
    /// Those without records, which the ends of their sessions wait for and not the engine's.
    unrecorded_runs: HashMap<(JobId, Fence), CancellationToken, RandomState>,
    /// Tells those that wait for keys and are no jobs.
    claims: HashMap<ClaimId, oneshot::Sender<()>>,
    /// How many effects the machine ever wanted done.
    wanted: u64,
    /// How many of them are done.
    done: u64,
    /// What the last records survive that were kept.
    kept: Durability,
    /// The last record that was kept.
    last: Sequence,
    compaction: Compaction,
    failed: Option<Unavailable>,
    /// Sessions of an earlier life that have work and have not been opened in this one, with what waits for them.
    absent: HashMap<SessionId, Vec<Waiting>>,
    /// Who waits for which jobs.
    waits: Waits,
    /// How many jobs were settled in this process.
    finished: u64,
    /// It was said that dead letters are thrown away.
    warned_of_forgetting: bool,
    /// How many were cancelled because the bus ended and nothing keeps them.
    lost: usize,
    /// Unsettled jobs are left to the next process.
    is_left: bool,
    /// Jobs whose messages are in a mailbox, but on no record.
    unkept: HashSet<JobId, RandomState>,
}

/// The wall clock when everything began, carried on by tokio's, so that it never jumps.
struct Clock {
    wall: UnixMicros,
    began: Instant,
}

impl Clock {
    fn now(&self) -> UnixMicros {
        self.wall + self.began.elapsed()
    }

    fn instant(&self, at: UnixMicros) -> Instant {
        after(self.began, at.since(self.wall))
    }
}

/// Why automations cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The bus has automations already.
    #[error("the bus has automations already; they are opened before the first one is registered")]
    Already,
    /// There is nothing to drive them.
    #[error("automations need a tokio runtime")]
    NoRuntime,
}

impl Automations {
    /// The automations of a bus; what they accept is in memory, unless they were opened otherwise before.
    ///
    /// # Errors
    /// There is no tokio runtime.
    pub fn of(bus: &Bus) -> Result<Self, OpenError> {
        Self::runtime()?;
        Ok((*bus
            .extension(|| Self::start(bus, None, Bounds::default(), Earlier::nothing(Bounds::default()))))
        .clone())
    }

    /// Opens the automations of a bus, with the journal that keeps their records and with what that has of an earlier
    /// life, in its order. Work that was accepted then goes on as soon as its automation is registered.
    ///
    /// # Errors
    /// The bus has automations already, or there is no tokio runtime.
    pub fn open(
        bus: &Bus,
        bounds: Bounds,
        journal: Arc<dyn Journal>,
        earlier: impl IntoIterator<Item = (Sequence, Entry)>,
    ) -> Result<(Self, Recovered), OpenError> {
        Self::runtime()?;
        let mut recovered = None;
        let automations = bus.extension(|| {
            let (earlier, report) = Earlier::read(bounds, earlier);
            recovered = Some(report);
            Self::start(bus, Some(journal), bounds, earlier)
        });
        match recovered {
            Some(recovered) => Ok(((*automations).clone(), recovered)),
            None => Err(OpenError::Already),
        }
    }

    fn runtime() -> Result<(), OpenError> {
        tokio::runtime::Handle::try_current().map(drop).map_err(|_| OpenError::NoRuntime)
    }

    fn start(bus: &Bus, journal: Option<Arc<dyn Journal>>, bounds: Bounds, earlier: Earlier) -> Self {
        let micros = u64::try_from(bus.wall_clock().as_microsecond()).unwrap_or_default();
        let absent = earlier.machine.sessions().map(|session| (session.clone(), Vec::new())).collect();
        let durability = journal.as_ref().map_or(Durability::Memory, |journal| journal.durability());
        let core = Core {
            machine: earlier.machine,
            handlers: HashMap::new(),
            outbox: VecDeque::new(),
            wake: None,
            runs: HashMap::default(),
            unrecorded_runs: HashMap::default(),
            claims: HashMap::new(),
            wanted: 0,
            done: 0,
            kept: durability,
            last: earlier.last,
            compaction: Compaction::new(earlier.entries, bounds.records),
            failed: None,
            absent,
            waits: Waits::default(),
            finished: 0,
            warned_of_forgetting: false,
            lost: 0,
            is_left: false,
            unkept: HashSet::default(),
        };
        let engine = Arc::new(Engine {
            core: Mutex::new(core),
            journal,
            durability,
            unreadable: earlier.unreadable.into(),
            bus: bus.downgrade(),
            clock: Clock { wall: UnixMicros(micros), began: Instant::now() },
            work: Notify::new(),
            done: watch::Sender::new(0),
            refused: AtomicU64::new(0),
            registrations: AtomicU64::new(0),
            recent: Recent::default(),
            tasks: Tasks::default(),
            adopted: Register::default(),
            declared: Declared::default(),
        });
        // There is none yet: these are the first automations of the bus.
        let _is_first = bus.set_job_store(Arc::new(KeptBy(Arc::clone(&engine))));
        let end = CancellationToken::new();
        engine.tasks.spawn(driver::drive(Arc::clone(&engine), end.clone()));
        Self { engine, _end: Arc::new(end.drop_guard()) }
    }

    /// Says that every automation that there will be is there. What an earlier life has left for others goes to the dead
    /// letters, which is announced; until this is called it rests, for as long as it takes. What is left for one that a file
    /// declares and that is switched off, as those of a project that is not trusted are, waits for another life.
    pub fn all_registered(&self) {
        self.engine.step(Input::AllRegistered);
    }

    /// Runs at once for whatever is held: no further event will come.
    pub fn release_all(&self) {
        self.engine.step(Input::ReleaseAll);
    }

    /// Waits until every job is settled, including those of earlier processes. Not waited for is what a job has for
    /// a session that is not open: it is handed over when the session is opened, in this life or a later one. Neither is
    /// the work of hooks, for which the end of their sessions waits.
    ///
    /// Work for automations that are not there rests until [`all_registered`](Self::all_registered). Cancel safe.
    ///
    /// # Errors
    /// Records are not kept any more, and nothing is started.
    pub async fn at_rest(&self) -> Result<(), Unavailable> {
        let mut done = self.engine.done.subscribe();
        loop {
            {
                let core = self.engine.core();
                if let Some(failed) = &core.failed {
                    return Err(failed.clone());
                }
                let waiting = core.absent.values().map(Vec::len).sum::<usize>()
                    + core.machine.of_hooks()
                    + core.machine.switched_off_jobs();
                if core.machine.live() <= waiting && core.done >= core.wanted {
                    return Ok(());
                }
            }
            if done.changed().await.is_err() {
                return Err(Unavailable::because("the automations are gone"));
            }
        }
    }

    /// Leaves everything as it is to the next life: nothing is accepted or started any more, what happens from now on is
    /// not recorded, and waiters for jobs are released. What has happened up to now is still recorded.
    /// Runs under way are cancelled; they count as attempts. Without a journal, unsettled jobs are lost.
    pub fn leave(&self) {
        self.engine.leave();
    }

    /// What jobs survive that are accepted now; an error when none are.
    ///
    /// # Errors
    /// Records are not kept any more, for this reason.
    pub fn durability(&self) -> Result<Durability, Unavailable> {
        match &self.engine.core().failed {
            Some(failed) => Err(failed.clone()),
            None => Ok(self.engine.durability),
        }
    }

    /// Waits until everything that was offered up to now is kept, and says what it survives.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// Records are not kept any more; what was offered since then runs in no life.
    pub async fn kept(&self) -> Result<Durability, Unavailable> {
        self.engine.kept().await
    }
}

/// The job that was settled, and whether it is lost.
fn end_of(effect: &Effect<Offered>) -> Option<(JobId, bool)> {
    let Effect::Announce(told) = effect else { return None };
    let is_lost = match &told.news {
        News::Finished | News::Dead(_) => false,
        News::Cancelled(why) => *why == Why::BusEnded,
        _ => return None,
    };
    Some((told.job?, is_lost))
}

impl Core {
    /// The machine as it is with everything that waits in the outbox, if the journal is to be compacted.
    fn snapshot_if_due(&mut self, journaled: bool) -> Option<Vec<Record<Offered>>> {
        if !journaled || self.outbox.is_empty() || !self.compaction.is_due(self.machine.kept()) {
            return None;
        }
        self.compaction.begin();
        Some(self.machine.snapshot())
    }
}

impl Engine {
    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the machine something.
    pub(crate) fn ask<T>(&self, question: impl FnOnce(&Machine<Offered>) -> T) -> T {
        question(&self.core().machine)
    }

    /// Tells the machine what has happened.
    pub(crate) fn step(&self, input: Input<Offered>) {
        self.step_and_see(input, |_| ());
    }

    /// Tells the machine what has happened, and looks at what is to be done about it.
    pub(crate) fn step_and_see<T>(
        &self,
        input: Input<Offered>,
        see: impl FnOnce(&[Effect<Offered>]) -> T,
    ) -> T {
        self.step_in(self.core(), input, see)
    }

    /// The same, with what was looked at under the lock before.
    fn step_in<T>(
        &self,
        mut core: MutexGuard<'_, Core>,
        input: Input<Offered>,
        see: impl FnOnce(&[Effect<Offered>]) -> T,
    ) -> T {
        if core.is_left {
            return see(&[]);
        }
        // Taken under the lock, so that no later step has an earlier time.
        let now = self.clock.now();
        let effects = core.machine.step(now, input);
        let seen = see(&effects);
        let wanted = core.wanted;
        let (mut granted, mut wakes) = (Vec::new(), false);
        for effect in effects {
            match effect {
                Effect::WakeAt(at) => (core.wake, wakes) = (Some(at), true),
                Effect::Persist(_) if self.journal.is_none() => {}
                Effect::Granted(claim) => granted.extend(core.claims.remove(&claim)),
                other => {
                    if let Some((_, is_lost)) = end_of(&other) {
                        core.finished += u64::from(!is_lost);
                        core.lost += usize::from(is_lost);
                    }
                    core.wanted += 1;
                    core.outbox.push_back(other);
                }
            }
        }
        // Most steps that a session takes to wait for its jobs leave nothing to be done.
        let has_work = core.wanted > wanted || wakes;
        drop(core);
        if has_work {
            self.work.notify_one();
        }
        for granted in granted {
            // One that waits no longer gives the key back when it is dropped.
            granted.send(()).ok();
        }
        seen
    }

    /// Offers an event, unless its records could not be kept.
    pub(crate) fn offer(&self, automation: &AutomationId, event: &AnyEvent) -> Acceptance {
        let unavailable = {
            let core = self.core();
            match &core.failed {
                Some(failed) => Some(failed.clone()),
                None if core.outbox.len() >= MOST_BEHIND => {
                    Some(Unavailable::because("its records are too far behind"))
                }
                None => None,
            }
        };
        match unavailable {
            None => {
                let offered = Input::Offered(Arc::clone(automation), event.clone().into());
                let id = event.envelope().id;
                let (acceptance, job) = self.step_and_see(offered, |effects| {
                    (trigger::acceptance(id, effects, self.durability), job_of(id, effects))
                });
                if let Some(job) = job.filter(|_| acceptance.is_accepted()) {
                    self.recent.note(id, Arc::clone(automation), job);
                }
                acceptance
            }
            Some(unavailable) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                driver::announce_refused(self, automation, event, unavailable.to_string());
                Acceptance::Unavailable(unavailable)
            }
        }
    }

    /// How many events were refused without the machine having seen them.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    pub(crate) fn next_registration(&self) -> u64 {
        self.registrations.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Registers an automation; gives the number of its registration, and `None` where there is one of its name.
    pub(crate) fn register(&self, id: &AutomationId, mut handler: Handler, rules: Arc<Rules>) -> Option<u64> {
        let registration = self.next_registration();
        handler.registration = registration;
        let mut core = self.core();
        // One that leaves and still has work may come back.
        if core.handlers.contains_key(id) && core.machine.is_there(id) {
            return None;
        }
        let replaced = core.handlers.insert(Arc::clone(id), handler);
        self.step_in(core, Input::Registered(Arc::clone(id), rules), |_| ());
        drop(replaced);
        Some(registration)
    }

    /// Registers an automation in the place of the one of this name; gives the number of its registration. With the
    /// rules that it has already, nothing of its work is touched.
    pub(crate) fn replace(&self, id: &AutomationId, mut handler: Handler, rules: Arc<Rules>) -> u64 {
        let registration = self.next_registration();
        handler.registration = registration;
        let mut core = self.core();
        let replaced = core.handlers.insert(Arc::clone(id), handler);
        if core.machine.is_paced(id, &rules) {
            drop(core);
        } else {
            self.step_in(core, Input::Registered(Arc::clone(id), rules), |_| ());
        }
        drop(replaced);
        registration
    }

    /// Takes an automation away; its runs come to their end.
    pub(crate) fn unregister(&self, id: &AutomationId) {
        let mut core = self.core();
        let gone = core.handlers.remove(id);
        self.step_in(core, Input::Unregistered(Arc::clone(id)), |_| ());
        // Not under the lock: it is the closure of a caller.
        drop(gone);
    }

    /// Nothing offers events to an automation any more: it goes when its work is over.
    pub(crate) fn leaves(&self, id: &AutomationId, registration: u64) {
        let is_of = |handler: &Handler| handler.registration == registration;
        let core = self.core();
        if core.handlers.get(id).is_some_and(is_of) {
            self.step_in(core, Input::Leaves(Arc::clone(id)), |_| ());
        }
    }

    /// The machine has let an automation go.
    fn gone(&self, id: &AutomationId) {
        let gone = {
            let mut core = self.core();
            if core.machine.is_there(id) { None } else { core.handlers.remove(id) }
        };
        drop(gone);
    }
}
