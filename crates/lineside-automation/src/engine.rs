//! Drives the machine: gives it tokio's time and what happens, keeps its records, and does what it says.
//!
//! The machine is stepped where something happens, under a lock and without waiting. What it wants done is done by one
//! task, in order: first the records, all that there are at once, and when they are kept, the rest.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use foldhash::fast::RandomState;
use lineside_bus::interceptor::BoxFuture;
use lineside_bus::{Bus, Cx, WeakBus};
use lineside_core::budget::after;
use lineside_core::journal::{Durability, Journal, Sequence, Unavailable};
use lineside_core::{AnyEvent, Failure, SessionId};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::control::{Assignment, Place, Rules, Scope, Work};
use crate::machine::job::{AutomationId, ClaimId, Fence, JobId, Why};
use crate::machine::{Bounds, Effect, Input, Machine, News};
use crate::offered::{CollectedTickets, Offered};
use crate::record::{Entry, Record};
use crate::report::Report;
use crate::shared_keys::SharedKeys;
use crate::shared_windows::SharedWindows;
use crate::tasks::Tasks;
use crate::unix_micros::UnixMicros;

mod compaction;
mod outbox;
mod hooks;
mod recent;
mod recovered;
mod sources;
mod waiting;

mod adopting;
mod lending;
mod borrowing;
mod claims;
mod job_store;
mod permit;
mod processes;
mod settled;
mod sharing;
mod windows;
mod snapshot;
mod driver;
mod trigger;

mod automations;

pub use automations::{Automations, OpenError, WorkPlace};
pub use borrowing::{Borrowed, BorrowedTurn};
pub use claims::{HeldKey, KeyClaim};
pub use hooks::{Last, Recording};
pub use lending::{LentRun, SpareJob};
pub use permit::AttemptPermit;
pub use recovered::{RecordFinding, Recovered};
pub use windows::{HeldEvent, HeldHere, SharedWindow};

pub(crate) use hooks::{Fate, Register, Starting};
pub(crate) use processes::Processes;
pub(crate) use recent::job_of;
pub(crate) use trigger::{Canceller, Trigger};

use compaction::Compaction;
use outbox::{Outbox, until};
use recent::Recent;
use recovered::Earlier;
use sources::Sources;
use waiting::{Waiting, Waits};

/// What an automation runs, for the event that all events of a job come to.
pub(crate) type Run =
    Arc<dyn Fn(AnyEvent, Assignment, Cx) -> BoxFuture<Result<Report, Failure>> + Send + Sync>;

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
    /// How far its key holds.
    pub(crate) scope: Scope,
    /// Its key, its rate or its windows are to hold on all machines of the cluster.
    pub(crate) is_shared: bool,
    /// Where its jobs may run.
    pub(crate) place: Place,
    /// What it is called on every machine, where another one may have it.
    pub(crate) everywhere: Option<Arc<str>>,
    pub(crate) does: Does,
}

impl Handler {
    /// One that is not registered yet, of which no other machine knows.
    pub(crate) fn new(name: Arc<str>, timeout: Duration, does: Does) -> Self {
        let (scope, place) = (Scope::default(), Place::default());
        Self { registration: 0, name, timeout, scope, is_shared: false, place, everywhere: None, does }
    }

    /// Registered under this number and with these rules: gives those of the machine. An attempt counts when it has its key,
    /// where that comes from elsewhere, and what no other machine can have runs here.
    fn take(&mut self, registration: u64, rules: Arc<Rules>) -> Arc<Rules> {
        (self.registration, self.scope, self.place) = (registration, rules.scope, rules.place);
        self.is_shared = rules.is_shared();
        let waits = rules.scope == Scope::Cluster && rules.work == Work::Own;
        let stays = rules.place == Place::Anywhere && self.everywhere.is_none();
        if !waits && !stays {
            return rules;
        }
        let work = if waits { Work::ExternalSlot } else { rules.work };
        let place = if stays { Place::Origin } else { rules.place };
        Arc::new(Rules { work, place, ..Arc::unwrap_or_clone(rules) })
    }
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
    pub(crate) sources: Sources,
    /// Automations have come or gone that other machines may have too.
    everywhere: watch::Sender<u64>,
    /// Jobs are to be named to other machines.
    spare: Notify,
    /// Keys that hold on other machines as well; without them every key holds here alone.
    shared_keys: OnceLock<Arc<dyn SharedKeys>>,
    /// Windows and rates that are kept with other machines.
    shared_windows: OnceLock<Arc<dyn SharedWindows>>,
}

struct Core {
    machine: Machine<Offered>,
    handlers: HashMap<AutomationId, Handler>,
    outbox: Outbox<Effect<Offered>>,
    wake: Option<UnixMicros>,
    runs: HashMap<(JobId, Fence), CancellationToken, RandomState>,
    /// Those without records, which the ends of their sessions wait for and not the engine's.
    unrecorded_runs: HashMap<(JobId, Fence), CancellationToken, RandomState>,
    /// Tells runs that have a key of the cluster that they have a turn.
    turns: HashMap<(JobId, Fence), oneshot::Sender<()>>,
    /// The windows and the rates that are kept with other machines.
    kept_windows: windows::Kept,
    /// Tells those that wait for keys and are no jobs.
    claims: HashMap<ClaimId, oneshot::Sender<()>>,
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

/// Tells those that wait for keys that they have them.
fn tell(granted: Vec<oneshot::Sender<()>>) {
    for granted in granted {
        // One that waits no longer gives the key back when it is dropped.
        granted.send(()).ok();
    }
}

impl Core {
    /// Those that wait for the keys that were given.
    fn granted(&mut self, effects: &[Effect<Offered>]) -> Vec<oneshot::Sender<()>> {
        let given = effects.iter().filter_map(|effect| match effect {
            Effect::Granted(claim) => self.claims.remove(claim),
            Effect::Turn(job, fence) => self.turns.remove(&(*job, *fence)),
            _ => None,
        });
        given.collect()
    }

    /// Whether a job goes on although records are no longer kept: as the work of a hook, or because it runs.
    fn goes_on_unkept(&self, job: JobId) -> bool {
        self.machine.is_of_hook(job) || self.runs.keys().any(|(running, _)| *running == job)
    }

    /// The machine as it is with everything that waits in the outbox, if the journal is to be compacted.
    fn snapshot_if_due(&mut self, journaled: bool) -> Option<Vec<Record<Offered>>> {
        if !journaled || self.outbox.len() == 0 || !self.compaction.is_due(self.machine.kept()) {
            return None;
        }
        self.compaction.begin();
        Some(self.machine.snapshot())
    }
}

impl Engine {
    /// An engine with what an earlier life has left; nothing drives it yet.
    fn new(bus: &Bus, journal: Option<Arc<dyn Journal>>, bounds: Bounds, earlier: Earlier) -> Arc<Self> {
        let micros = u64::try_from(bus.wall_clock().as_microsecond()).unwrap_or_default();
        let absent = earlier.machine.sessions().map(|session| (session.clone(), Vec::new())).collect();
        let durability = journal.as_ref().map_or(Durability::Memory, |journal| journal.durability());
        let core = Core {
            machine: earlier.machine,
            handlers: HashMap::new(),
            outbox: Outbox::default(),
            wake: None,
            runs: HashMap::default(),
            unrecorded_runs: HashMap::default(),
            turns: HashMap::new(),
            kept_windows: windows::Kept::default(),
            claims: HashMap::new(),
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
        Arc::new(Self {
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
            sources: Sources::default(),
            everywhere: watch::Sender::new(0),
            spare: Notify::new(),
            shared_keys: OnceLock::new(),
            shared_windows: OnceLock::new(),
        })
    }

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

    /// The same where this holds for the machine, which nothing changes in between; says whether it does.
    pub(crate) fn step_if(&self, input: Input<Offered>, may: impl FnOnce(&Machine<Offered>) -> bool) -> bool {
        let core = self.core();
        let may = may(&core.machine);
        if may {
            self.step_in(core, input, |_| ());
        }
        may
    }

    /// The same, with what was looked at under the lock before.
    fn step_in<T>(
        &self,
        mut core: MutexGuard<'_, Core>,
        input: Input<Offered>,
        see: impl FnOnce(&[Effect<Offered>]) -> T,
    ) -> T {
        // Dropped when the lock is given back, as is what was not taken in.
        let collected = CollectedTickets::begin();
        if core.is_left {
            let effects = core.machine.step_left(&input);
            let (seen, granted) = (see(&effects), core.granted(&effects));
            drop(core);
            drop((input, collected));
            tell(granted);
            return seen;
        }
        // Taken under the lock, so that no later step has an earlier time.
        let now = self.clock.now();
        let effects = core.machine.step(now, input);
        let seen = see(&effects);
        let wanted = core.outbox.wanted();
        let granted = core.granted(&effects);
        let mut wakes = false;
        for effect in effects {
            match effect {
                Effect::WakeAt(at) => (core.wake, wakes) = (Some(at), true),
                Effect::Persist(_) if self.journal.is_none() => {}
                Effect::Granted(_) | Effect::Turn(..) | Effect::Lent(_) => {}
                other => {
                    if let Some((_, is_lost)) = end_of(&other) {
                        core.finished += u64::from(!is_lost);
                        core.lost += usize::from(is_lost);
                    }
                    core.outbox.push(other);
                }
            }
        }
        // Most steps that a session takes to wait for its jobs leave nothing to be done.
        let has_work = core.outbox.wanted() > wanted || wakes;
        let has_spare = core.machine.spare_count() > 0;
        drop(core);
        drop(collected);
        if has_work {
            self.work.notify_one();
        }
        if has_spare {
            self.spare.notify_one();
        }
        tell(granted);
        seen
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
        let rules = handler.take(registration, rules);
        let mut core = self.core();
        // One that leaves and still has work may come back.
        if core.handlers.contains_key(id) && core.machine.is_there(id) {
            return None;
        }
        let replaced = core.handlers.insert(Arc::clone(id), handler);
        self.step_in(core, Input::Registered(Arc::clone(id), rules), |_| ());
        self.tell_everywhere();
        drop(replaced);
        Some(registration)
    }

    /// Registers an automation in the place of the one of this name; gives the number of its registration. With the
    /// rules that it has already, nothing of its work is touched.
    pub(crate) fn replace(&self, id: &AutomationId, mut handler: Handler, rules: Arc<Rules>) -> u64 {
        let registration = self.next_registration();
        let rules = handler.take(registration, rules);
        let mut core = self.core();
        let replaced = core.handlers.insert(Arc::clone(id), handler);
        if core.machine.is_paced(id, &rules) {
            drop(core);
        } else {
            self.step_in(core, Input::Registered(Arc::clone(id), rules), |_| ());
        }
        self.tell_everywhere();
        drop(replaced);
        registration
    }

    /// The registrations that these automations have now.
    pub(crate) fn registered(&self, ids: &HashSet<AutomationId>) -> HashMap<AutomationId, u64> {
        let core = self.core();
        let registered =
            ids.iter().filter_map(|id| Some((Arc::clone(id), core.handlers.get(id)?.registration)));
        registered.collect()
    }

    /// Nothing offers events to an automation any more, unless another one has its name by now: it goes when its work is
    /// over.
    pub(crate) fn leaves(&self, id: &AutomationId, registration: u64) {
        let is_of = |handler: &Handler| handler.registration == registration;
        let core = self.core();
        if core.handlers.get(id).is_some_and(is_of) {
            self.step_in(core, Input::Leaves(Arc::clone(id)), |_| ());
            self.tell_everywhere();
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
