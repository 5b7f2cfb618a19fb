//! Hooks of others as automations: their runs are jobs, accepted on record, counted, and taken up again after a kill.
//!
//! What such a hook does, when it tries again and what becomes of what it says is its own and the bus's; the machine
//! only knows that it was accepted, which attempts it made and how it ended. A run that another life has accepted waits
//! until its session is open and has the same hook.

use std::sync::Arc;
use std::time::Duration;

use lineside_bus::durable_run::sealed::Sealed;
use lineside_bus::interceptor::BoxFuture;
use lineside_bus::{
    Accepted, BackgroundRuns, Bus, DurableRun, Ending, Release, RunRecorder, Session, Ticket, UntilBegun,
};
use lineside_core::flow::{Debounce, Retries};
use lineside_core::hook::{Join, Lane, Standby};
use lineside_core::{AnyEvent, Failure, FailureKind, Hook, Outcome, SessionId, SkipReason, UntilOver};
use tokio_util::sync::CancellationToken;

use crate::control::{
    self, AtEnd, Hold, KeyTemplate, LONGEST, MOST_HELD, OnBusy, Pause, Place, Rules, Scope, Work,
};
use crate::engine::{Does, Engine, Fate, Handler, Last, Processes, Recording, Starting, job_of};
use crate::hook_id::HookId;
use crate::machine::job::{AutomationId, Fence, JobId};
use crate::machine::{Ended, Input, StartedRun};
use crate::offered::Offered;
use crate::report::{Report, ResultRule, ResultWhen};

/// How often a run is started again at most after its process was killed, or after its session had no more time for it.
/// Two: a kill has its reasons elsewhere most of the time, and a hook that ends its own process must not do so for ever.
pub const RESTARTS: u32 = 2;

/// What has to be known of a hook whose runs are to be jobs.
pub struct HookJobSpec {
    /// Which hook it is.
    pub id: HookId,
    /// Where its runs are on record.
    pub recording: Recording,
    /// Its events are held until it is quiet.
    pub debounce: Option<Debounce>,
    /// How often it tries again, by itself.
    pub retry: Retries,
    /// Its runs and those of everything else with this key go one at a time.
    pub key: Option<Arc<str>>,
    /// Whether the next model call waits for it.
    pub join: Join,
    /// Whether it runs beside others of its dialect.
    pub lane: Lane,
    /// Has a last look at what a burst came to.
    pub last: Last,
    /// Whether it can run.
    pub standby: Standby,
}

impl HookJobSpec {
    /// Returns the adoption of a hook without records, bursts, retries and keys, as it is registered.
    ///
    /// ```
    /// use lineside_automation::{HookJobSpec, Recording};
    /// use lineside_core::{Hook, Part};
    ///
    /// let hook = Hook::foreign("jcli", "tests", Part::Detached);
    /// let adoption = HookJobSpec::in_memory(&hook);
    /// assert_eq!((adoption.recording, adoption.id.name.as_str()), (Recording::Memory, "tests"));
    /// ```
    #[must_use]
    pub fn in_memory(hook: &Hook) -> Self {
        Self {
            id: HookId::in_memory(hook.dialect, &hook.name),
            recording: Recording::Memory,
            debounce: None,
            retry: Retries::default(),
            key: None,
            join: hook.join,
            lane: hook.lane,
            last: Box::new(|_| None),
            standby: hook.standby.clone(),
        }
    }
}

/// A hook whose runs are jobs. When it is dropped, no further event will come for it.
pub struct HookJobs {
    engine: Arc<Engine>,
    id: AutomationId,
    registration: u64,
    accepted: Accepted,
    recording: Recording,
}

/// The hooks of a bus whose runs are jobs. Clones are the same.
#[derive(Clone)]
pub struct HookJobRegistry {
    engine: Arc<Engine>,
}

impl HookJobRegistry {
    pub(crate) fn of(engine: Arc<Engine>) -> Self {
        Self { engine }
    }

    /// Takes a hook in. It has to be in force before it is called, and those of a file are then [replaced](Self::replaced).
    #[must_use]
    pub fn adopt(&self, adoption: HookJobSpec) -> Arc<HookJobs> {
        let HookJobSpec { mut id, recording, debounce, retry, key, join, lane, last, standby } = adoption;
        if recording == Recording::Memory {
            // It is another one each time, because there may be nothing by which it is known again.
            id.content = self.engine.next_registration().to_string();
        }
        let recording = if self.engine.is_durable() { recording } else { Recording::Memory };
        let (name, own): (Arc<str>, AutomationId) = (Arc::from(&*id.name), id.to_string().into());
        let accepted = if debounce.is_some() { Accepted::Holds } else { Accepted::Runs };
        let work = match recording {
            Recording::Memory => Work::InMemory,
            Recording::Journal => Work::Adopted { restarts: RESTARTS },
        };
        let in_line = lane == Lane::Shared && debounce.is_none();
        let rules = Rules {
            concurrency: key.map(|key| (KeyTemplate::of_text(&key), 1)),
            lane: in_line.then(|| KeyTemplate::of_event(&format!("lane:{}", id.dialect))),
            work,
            ..rules(debounce, retry, join)
        };
        let does = Does::Start(Arc::new(Starting { accepted, recording, last }));
        let handler = Handler::new(name, Duration::MAX, does);
        let registration = self.engine.replace(&own, handler, Arc::new(rules));
        self.engine.step(Input::SwitchedOff(Arc::clone(&own), standby != Standby::Ready));
        Arc::new(HookJobs { engine: Arc::clone(&self.engine), id: own, registration, accepted, recording })
    }

    /// The hooks of a source that are in force from now on: of a dialect, by its name, or of a dialect in one project, by
    /// its name and the root. What was accepted for one that is not comes to its end with what is known of it, if it is of
    /// this life, and to a bad one otherwise.
    pub fn replaced<'a>(&self, bus: &Bus, source: &str, hooks: impl IntoIterator<Item = &'a Arc<HookJobs>>) {
        self.engine.adopted.replaced(source, hooks.into_iter().map(|hook| Arc::clone(&hook.id)));
        for session in bus.sessions().iter().filter_map(|id| bus.find(id.as_str())) {
            self.engine.opened(&session);
        }
    }
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

/// What the machine has to know: the attempts of a run are the hook's own.
fn rules(debounce: Option<Debounce>, retry: Retries, join: Join) -> Rules {
    // A burst is due with one event more than it may hold, as everywhere.
    let hold = debounce.map(|pace| Hold { pace, count: MOST_HELD + 1, scope: Scope::Machine });
    Rules {
        rate: None,
        hold,
        hold_key: KeyTemplate::of_agent(),
        priority: 0,
        concurrency: None,
        lane: None,
        on_busy: OnBusy::Queue,
        scope: Scope::Machine,
        place: Place::Origin,
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
        work: Work::default(),
    }
}

impl Drop for HookJobs {
    fn drop(&mut self) {
        self.engine.leaves(&self.id, self.registration);
    }
}

impl HookJobs {
    /// Where its runs are on record.
    #[must_use]
    pub fn recording(&self) -> Recording {
        self.recording
    }
}

impl Sealed for HookJobs {}

impl BackgroundRuns for HookJobs {
    /// Gives the ticket back when there are as many jobs as there may be, or everything was left to the next life.
    fn accept(&self, event: &AnyEvent, ticket: Ticket) -> Result<Outcome, Ticket> {
        let id = event.envelope().id;
        let offered = Offered::with(event.clone(), ticket);
        let taken = self.engine.take(&self.id, offered, |effects| match self.recording {
            Recording::Memory => None,
            Recording::Journal => job_of(id, effects),
        });
        if self.recording == Recording::Journal {
            self.engine.recent.note(id, Arc::clone(&self.id), *taken.as_ref().unwrap_or(&None));
        }
        taken?;
        Ok(match self.accepted {
            Accepted::Runs => Outcome::Detached,
            Accepted::Holds => Outcome::Skipped(SkipReason::Debounced),
        })
    }

    fn release(&self, session: &SessionId, which: Release) {
        self.engine.release(session, which);
    }

    fn settled(&self, session: &SessionId, which: Release) -> BoxFuture<()> {
        self.engine.settling(session, which)
    }

    fn cut(&self, session: &SessionId) {
        self.engine.step(Input::SessionCut(session.clone()));
    }

    /// The engine does all of it for the session.
    fn holder(&self) -> Option<usize> {
        Some(Arc::as_ptr(&self.engine).addr())
    }

    fn kept_as(&self) -> Option<&str> {
        (self.recording == Recording::Journal).then_some(&*self.id)
    }
}

/// Reports that a run will never start.
pub(crate) fn cut_short(offered: &Offered) {
    if let (Ok(event), Some(ticket)) = (offered.event(), offered.ticket()) {
        ticket.cut_short(event);
    }
}

/// Starts a run of a hook: with the right to do so that came with its event, or after a restart, with that of the hook
/// that is there now.
pub(crate) fn start(engine: &Arc<Engine>, bus: &Bus, starting: &Starting, run: StartedRun<Offered>) {
    let StartedRun { job, automation, fence, event: offered, .. } = run;
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
    let (failed, key) = engine.ask(|machine| (machine.failures(job), machine.key_of(job)));
    let earlier = failed.into_iter().map(|(kind, detail)| Failure::new(kind, detail)).collect();
    let cancel = CancellationToken::new();
    let recording = starting.recording;
    engine.can_cancel(job, fence, cancel.clone(), recording);
    let processes = key.map(|_| Processes::none());
    let recorder = Arc::new(OfJob { engine: Arc::clone(engine), job, fence, earlier, recording, processes });
    let cancel = Box::pin(cancel.cancelled_owned());
    engine.adopted.in_turn(|behind| {
        let durable = DurableRun { recorder, cancel, accepted: starting.accepted, behind };
        ticket.start_durable(event, durable)
    });
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
    recording: Recording,
    /// What it has started, where its key is kept until that has ended.
    processes: Option<Processes>,
}

impl Sealed for OfJob {}

impl RunRecorder for OfJob {
    fn earlier(&self) -> Vec<Failure> {
        self.earlier.clone()
    }

    fn failed(&self, failure: &Failure, pause: Duration) {
        let Failure { kind, detail, .. } = failure;
        self.engine.step(Input::Failed(self.job, self.fence, *kind, detail.to_string(), pause));
    }

    fn until_over(&self) -> Option<UntilOver> {
        self.processes.as_ref().map(Processes::until_over)
    }

    fn is_kept(&self) -> bool {
        self.recording == Recording::Journal
    }

    fn begins(&self) -> BoxFuture<UntilBegun> {
        self.engine.step(Input::Begins(self.job, self.fence));
        if self.recording == Recording::Memory {
            return Box::pin(std::future::ready(Box::new(()) as _));
        }
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
        let (engine, job, fence, recording) =
            (Arc::clone(&self.engine), self.job, self.fence, self.recording);
        let is_over = move || {
            engine.cannot_cancel(job, fence, recording);
            engine.step(Input::Ended(job, fence, ended));
        };
        match self.processes.clone().filter(|processes| !processes.have_ended()) {
            Some(processes) => self.engine.spawn(async move {
                processes.ended().await;
                is_over();
            }),
            None => is_over(),
        }
    }
}
