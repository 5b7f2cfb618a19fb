//! The machine: what becomes of every event that is offered to an automation, as one pure step.
//!
//! It is given the time and what has happened, and says what is to be done. It knows no clock, starts nothing, writes
//! nothing and waits for nothing: that is the engine's. What it says is to be done in order, and nothing that follows
//! a record before that record is kept.
//!
//! The files stand in the order in which an event passes them: it is offered and held, accepted, waits for its rate,
//! its key and its place, runs, and is settled.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use foldhash::quality::RandomState;
use lineside_core::{EventId, SessionId};

use crate::bursts::Bursts;
use crate::control::Rules;
use crate::hook_id::Owner;
use crate::record::Record;
use crate::unix_micros::UnixMicros;

pub mod job;

mod occurrence;
mod exchange;

mod offer;
mod accept;
mod cancelling;
mod queue;
mod turns;
mod lending;
mod windows;
mod run;
mod rest;
mod registry;
mod orphans;
mod timers;
mod session;
mod adopted;
mod claims;
mod explain;
mod progress;
mod recover;
mod snapshot;
mod weights;

use job::{AutomationId, ByJob, ClaimId, Job, JobId, State};
use lending::Sharing;
use queue::{Key, RateState};
use timers::Timers;
use weights::Weights;

pub use exchange::{Announcement, Effect, Input, News, StartedRun, UnfinishedJobs};
pub use explain::{JobStatus, JobSummary};
pub use occurrence::Occurrence;
pub use progress::Progress;
pub use recover::ReplayError;
pub use run::{Ended, Outcome};
pub use session::Awaited;

/// How much the machine holds.
///
/// ```
/// use lineside_automation::machine::Bounds;
///
/// // Few runs at a time, for a small machine.
/// let bounds = Bounds { running: 4, ..Bounds::default() };
/// assert_eq!((bounds.running, bounds.jobs), (4, 2_000_000));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Unsettled jobs; further events are refused.
    pub jobs: usize,
    /// Bytes of the events of such jobs, about; further events are refused, except one alone. Of the events of jobs that
    /// are settled at most as many are kept: the oldest that came to a good end or were cancelled go first.
    pub bytes: usize,
    /// Runs at a time, of all keys together.
    pub running: usize,
    /// Jobs that have come to a good end or were cancelled, for those who ask; the oldest goes.
    pub finished: usize,
    /// Dead letters; the oldest is dropped, which is announced.
    pub dead: usize,
    /// Events of each automation by which it knows that it has had one before; the oldest goes.
    pub remembered: usize,
    /// Bytes of the keys of rates whose starts are counted still, about; an event with a further key is refused.
    pub rates: usize,
    /// Records in the journal since it was last compacted, with fewer of which it is not: it is when there are so many
    /// and four times as many as jobs.
    pub records: usize,
}

impl Default for Bounds {
    /// Two million jobs are half a gigabyte and what their events take, for which there is a gigabyte; 64 runs are more than a machine has cores,
    /// because most of them wait for something. Ten thousand records are some megabytes, read in a tenth of a second.
    fn default() -> Self {
        Self {
            jobs: 2_000_000,
            bytes: 1 << 30,
            running: 64,
            finished: 1_000,
            dead: 10_000,
            remembered: 16_384,
            rates: 64 << 20,
            records: 10_000,
        }
    }
}

/// All automations, their jobs and their keys.
///
/// ```
/// use std::sync::Arc;
///
/// use lineside_automation::Control;
/// use lineside_automation::control::KeyTemplate;
/// use lineside_automation::machine::{Bounds, Effect, Input, Machine, News, Occurrence};
/// use lineside_automation::unix_micros::UnixMicros;
/// use lineside_core::{EventId, Point as _, SessionId};
/// use lineside_points::OnIdle;
///
/// #[derive(Clone)]
/// struct Event(EventId, SessionId);
///
/// impl Occurrence for Event {
///     fn id(&self) -> EventId {
///         self.0
///     }
///     fn session(&self) -> &SessionId {
///         &self.1
///     }
///     fn render(&self, template: &KeyTemplate, key: &mut String) {
///         key.push_str(template.text());
///     }
///     fn merge(events: &[Self]) -> Option<Self> {
///         events.last().cloned()
///     }
/// }
///
/// let mut machine = Machine::new(Bounds::default());
/// let rules = Arc::new(Control::default().check(OnIdle::INFO, &[])?);
/// let (now, tidy) = (UnixMicros(1_000_000), Arc::from("tidy"));
/// assert!(machine.step(now, Input::Registered(Arc::clone(&tidy), rules)).is_empty());
///
/// let event = Event(EventId::from_u128(1), SessionId::from("s1"));
/// let effects = machine.step(now, Input::Offered(tidy, event));
/// // What is to be kept comes before what is to be started.
/// assert!(matches!(effects.first(), Some(Effect::Persist(_))));
/// let queued = |effect: &Effect<_>| matches!(effect, Effect::Announce(said) if said.news == News::Queued);
/// assert!(effects.iter().any(queued));
/// assert!(effects.iter().any(|effect| matches!(effect, Effect::Start(run) if run.attempt == 1)));
/// # Ok::<_, lineside_automation::ControlError>(())
/// ```
pub struct Machine<E> {
    bounds: Bounds,
    now: UnixMicros,
    last_job: u64,
    last_fence: u64,
    names: HashMap<AutomationId, usize>,
    automations: Vec<Automation<E>>,
    /// Places of automations that are free.
    free: Vec<usize>,
    jobs: ByJob<Box<Job<E>>>,
    /// How many jobs are not settled.
    live: usize,
    /// How many of them are the work of hooks.
    of_hooks: usize,
    /// How many of them have no records.
    in_memory: usize,
    /// The unsettled jobs of each session.
    sessions: HashMap<SessionId, BTreeSet<JobId>, RandomState>,
    keys: HashMap<Arc<str>, Key>,
    /// The keys of what is no job.
    claims: HashMap<ClaimId, Arc<str>>,
    /// How many places in lines were given that are not those of the numbers of jobs.
    places: u64,
    /// Jobs that have everything but a turn.
    ready: BTreeSet<(Reverse<i32>, JobId)>,
    /// Jobs that have everything and need no turn.
    due: BTreeSet<JobId>,
    /// Jobs that have everything but a key of the cluster, for which they wait without a turn, and how many do.
    for_shared: BTreeSet<(Reverse<i32>, JobId)>,
    awaiting_shared: usize,
    running: usize,
    /// What is shared with other machines.
    sharing: Sharing,
    /// The bus is about to end, or has ended.
    remains: Option<UnfinishedJobs>,
    has_ended: bool,
    finished: VecDeque<JobId>,
    dead: VecDeque<JobId>,
    /// How many dead letters were thrown away because there were too many.
    forgotten: u64,
    /// The last events that never became jobs.
    refused: VecDeque<Announcement>,
    refused_so_far: u64,
    weights: Weights,
    timers: Timers,
    effects: Vec<Effect<E>>,
    /// For making keys, so that those which are known cost no allocation.
    text: String,
}

/// One automation.
struct Automation<E> {
    id: AutomationId,
    /// Whose work its jobs are.
    owner: Owner,
    /// The rules that it has, or had when it was there last, as long as its rate counts starts of then.
    rules: Option<Arc<Rules>>,
    active: bool,
    /// It goes when its work is over: it was taken away, or no further event will come for it.
    leaves: bool,
    /// It is declared and switched off: what rests for it waits for a life in which it is on.
    off: bool,
    /// How many of its jobs are not settled, and how many are known.
    live: usize,
    jobs: usize,
    rates: HashMap<Arc<str>, RateState>,
    held: Option<Bursts<Arc<str>, (JobId, E), UnixMicros>>,
    parked: BTreeSet<JobId>,
    /// Its live jobs by their keys, if there are events that cancel them.
    cancellable: HashMap<Arc<str>, BTreeSet<JobId>>,
    seen: Seen,
}

/// The last events that an automation has accepted.
#[derive(Default)]
struct Seen {
    order: VecDeque<EventId>,
    ids: std::collections::HashSet<EventId>,
}

impl Seen {
    fn insert(&mut self, id: EventId, most: usize) {
        if self.ids.insert(id) {
            self.order.push_back(id);
        }
        while self.order.len() > most {
            if let Some(oldest) = self.order.pop_front() {
                self.ids.remove(&oldest);
            }
        }
    }
}

impl<E> Automation<E> {
    fn new(id: AutomationId) -> Self {
        Self {
            owner: Owner::of(&id),
            id,
            rules: None,
            active: false,
            leaves: false,
            off: false,
            live: 0,
            jobs: 0,
            rates: HashMap::new(),
            held: None,
            parked: BTreeSet::new(),
            cancellable: HashMap::new(),
            seen: Seen::default(),
        }
    }
}

impl<E: Occurrence> Machine<E> {
    /// A machine without automations.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            now: UnixMicros::default(),
            last_job: 0,
            last_fence: 0,
            names: HashMap::new(),
            automations: Vec::new(),
            free: Vec::new(),
            jobs: ByJob::default(),
            live: 0,
            of_hooks: 0,
            in_memory: 0,
            sessions: HashMap::default(),
            keys: HashMap::new(),
            claims: HashMap::new(),
            places: 0,
            ready: BTreeSet::new(),
            due: BTreeSet::new(),
            for_shared: BTreeSet::new(),
            awaiting_shared: 0,
            running: 0,
            sharing: Sharing::default(),
            remains: None,
            has_ended: false,
            finished: VecDeque::new(),
            dead: VecDeque::new(),
            forgotten: 0,
            refused: VecDeque::new(),
            refused_so_far: 0,
            weights: Weights::default(),
            timers: Timers::default(),
            effects: Vec::new(),
            text: String::new(),
        }
    }

    /// Takes in what has happened, and says what is to be done about it and about the time that has passed.
    ///
    /// Time never goes backwards here: an earlier `now` than before counts as the one before.
    #[must_use = "the effects must be executed"]
    pub fn step(&mut self, now: UnixMicros, input: Input<E>) -> Vec<Effect<E>> {
        self.now = self.now.max(now);
        self.expire();
        match input {
            Input::Registered(id, rules) => self.register(&id, &rules),
            Input::Leaves(id) => self.leaves(&id),
            Input::AllRegistered => self.give_up_orphans(),
            Input::SwitchedOff(id, off) => self.switched_off(&id, off),
            Input::Offered(id, event) => self.offer(&id, event),
            Input::Cancelling(id, event) => self.cancel_key(&id, &event),
            // A tick uses up the reported wake-up, perhaps in place of a later one.
            Input::Tick => self.timers.say_again(),
            Input::Ended(job, fence, ended) => self.ended(job, fence, ended),
            Input::Failed(job, fence, kind, detail, pause) => {
                self.attempt_failed(job, fence, kind, detail, pause);
            }
            Input::Begins(job, fence) => self.begins(job, fence),
            Input::TakeUp(job) => self.take_up_again(job),
            Input::Gone(job) => self.hook_is_gone(job),
            Input::Delivered(job) => self.delivered(job),
            Input::ReleaseAll => self.release_all(),
            Input::Release(session) => self.release(&session),
            Input::SessionEnds(session) => self.session_ends(&session),
            Input::SessionCut(session) => self.session_cut(&session),
            Input::BusEnds(remains) => self.bus_ends(remains),
            Input::BusCut => self.bus_cut(),
            Input::HasKey(job, fence) => self.has_shared_key(job, fence),
            Input::Close(id, window, all) => self.close_shared(&id, &window, all),
            Input::Elsewhere(id, window, gone) => self.elsewhere(&id, &window, &gone),
            Input::LetIn(id, key, is_in) => self.let_in(&id, &key, is_in),
            Input::Lend(job) => self.lend(job),
            Input::TurnOver => self.running = self.running.saturating_sub(1),
            Input::Claim(claim, key) => self.claim(claim, &key),
            Input::GiveUp(claim) => self.give_up(claim),
            Input::Revive(job) => self.revive(job),
            Input::Drop(job) => self.drop_job(job),
        }
        // What the input has made due at once.
        self.expire();
        self.start_ready();
        self.spare();
        if let Some(next) = self.timers.announce() {
            self.effects.push(Effect::WakeAt(next));
        }
        std::mem::take(&mut self.effects)
    }

    /// The place of an automation, made if it has none.
    fn place(&mut self, id: &AutomationId) -> usize {
        if let Some(place) = self.names.get(id) {
            return *place;
        }
        let automation = Automation::new(Arc::clone(id));
        let place = match self.free.pop() {
            Some(place) => {
                self.automations[place] = automation;
                place
            }
            None => {
                self.automations.push(automation);
                self.automations.len() - 1
            }
        };
        self.names.insert(Arc::clone(id), place);
        place
    }

    /// The rules of an automation that is there.
    fn rules(&self, place: usize) -> Option<Arc<Rules>> {
        let automation = self.automations.get(place)?;
        if automation.active { automation.rules.clone() } else { None }
    }

    fn automation_id(&self, place: usize) -> AutomationId {
        self.automations.get(place).map_or_else(|| Arc::from(""), |automation| Arc::clone(&automation.id))
    }

    /// A new job for an event.
    fn new_job(&mut self, automation: usize, event: E, state: State) -> JobId {
        self.last_job += 1;
        let id = JobId(self.last_job);
        let mut job = Job::new(automation, event, self.now, state);
        let rules = self.automations.get(automation).and_then(|own| own.rules.as_deref());
        job.in_memory = rules.is_some_and(Rules::is_in_memory);
        self.in_memory += usize::from(job.in_memory);
        self.add_job(id, job);
        id
    }

    fn add_job(&mut self, id: JobId, job: Job<E>) {
        if !job.state.is_at_rest() {
            self.count_live(job.automation, 1);
            self.sessions.entry(job.last().session().clone()).or_default().insert(id);
        }
        if let Some(automation) = self.automations.get_mut(job.automation) {
            automation.jobs += 1;
        }
        self.jobs.insert(id, Box::new(job));
        self.weigh(id);
        self.can_be_cancelled(id);
    }

    /// Gives a job what its events come to now. It belongs to the session of the last one.
    fn set_event(&mut self, id: JobId, event: E, ids: Vec<EventId>) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let before = job.last().session().clone();
        (job.event, job.more) = (event, Vec::new());
        job.ids = if ids.len() > 1 { ids } else { Vec::new() };
        self.weigh(id);
        self.change_session(id, &before);
    }

    /// A job that was of one session may be of another now.
    fn change_session(&mut self, id: JobId, before: &SessionId) {
        let Some(job) = self.jobs.get(&id) else { return };
        if job.last().session() != before && !job.state.is_at_rest() {
            let after = job.last().session().clone();
            self.set_drain_by(id, UnixMicros::NEVER);
            self.leave_session(id, before);
            self.sessions.entry(after).or_default().insert(id);
        }
    }

    fn leave_session(&mut self, id: JobId, session: &SessionId) {
        if let Some(jobs) = self.sessions.get_mut(session) {
            jobs.remove(&id);
            if jobs.is_empty() {
                self.sessions.remove(session);
            }
        }
    }

    fn persist(&mut self, record: Record<E>) {
        self.effects.push(Effect::Persist(record));
    }

    fn tell(&mut self, id: JobId, news: News) {
        let Some(job) = self.jobs.get(&id) else { return };
        if job.in_memory {
            return;
        }
        let told = Announcement {
            automation: self.automation_id(job.automation),
            job: Some(id),
            event: job.last().id(),
            session: job.last().session().clone(),
            news,
        };
        self.effects.push(Effect::Announce(told));
    }
}

#[cfg(test)]
mod tests;
