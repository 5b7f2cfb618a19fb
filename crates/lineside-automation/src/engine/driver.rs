//! The task that does what the machine wants done, batch by batch: records first.

use std::borrow::Cow;
use std::sync::Arc;

use lineside_bus::{Bus, DeferredMessage, JobNews, Posted, Session, Signal};
use lineside_core::hook::NATIVE;
use lineside_core::journal::Unavailable;
use lineside_core::{AnyEvent, Append, EventId, Failure, FailureKind, MessageId, Notice};
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;

use super::permit::AttemptPermit;
use super::sharing::CallUnderKey;
use super::snapshot::compact;
use super::{Does, Engine, Handler, Processes};
use crate::control::{Assignment, Scope};
use crate::hook_id::Owner;
use crate::machine::job::{AutomationId, Fence, JobId};
use crate::machine::{Announcement, Effect, Ended, Input, News, Occurrence, StartedRun};
use crate::offered::Offered;
use crate::record::Entry;
use crate::report::Handover;

/// Drives until the bus is gone, or everything is left to the next life.
pub(super) async fn drive(engine: Arc<Engine>, end: CancellationToken) {
    loop {
        let (batch, snapshot, wake) = {
            let mut core = engine.core();
            if core.is_left && core.outbox.len() == 0 {
                return;
            }
            let snapshot = core.snapshot_if_due(engine.journal.is_some());
            (core.outbox.take(), snapshot, core.wake)
        };
        if batch.is_empty() {
            let until = wake.map(|at| engine.clock.instant(at));
            tokio::select! {
                () = end.cancelled() => return,
                () = engine.work.notified() => {}
                () = async { sleep_until(until.unwrap_or_else(tokio::time::Instant::now)).await }, if until.is_some() => {
                    // What another step wanted meanwhile is said again by the tick.
                    engine.core().wake = None;
                    engine.step(Input::Tick);
                }
            }
            continue;
        }
        let count = batch.len();
        let keeps = {
            let core = engine.core();
            core.failed.is_none() || core.is_left
        };
        if keeps && let Err(unavailable) = keep(&engine, &batch).await {
            fail(&engine, unavailable);
        }
        let (goes_on, is_left) = {
            let core = engine.core();
            (core.failed.is_none(), core.is_left)
        };
        if let (true, Some(snapshot), Some(journal)) = (goes_on, snapshot, &engine.journal) {
            let up_to = engine.core().last;
            engine.tasks.spawn(compact(Arc::clone(&engine), Arc::clone(journal), snapshot, up_to));
        }
        for effect in batch {
            // What hooks were to run goes on as it would without a journal: others may wait for it.
            if !goes_on && (is_left || !is_of_hook(&effect)) {
                let job = concerns(&effect);
                // It is not started, and holds up no hook that waits for its key.
                if let Effect::Start(run) = effect {
                    engine.step(Input::Ended(run.job, run.fence, Ended::Left));
                }
                let mut core = engine.core();
                if let Some(job) = job.filter(|job| !core.goes_on_unkept(*job)) {
                    core.waits.over(job);
                }
                continue;
            }
            let rests = rests(&effect);
            engine.act(effect);
            if let Some(job) = rests {
                let mut core = engine.core();
                if core.machine.is_over_for_now(job) {
                    core.waits.over(job);
                }
            }
        }
        engine.core().outbox.done(count);
        engine.done.send_modify(|done| *done += 1);
    }
}

/// The job whose waiters may be released after this.
fn rests(effect: &Effect<Offered>) -> Option<JobId> {
    let told = match effect {
        Effect::Over(job) => return Some(*job),
        Effect::Announce(told) => told,
        _ => return None,
    };
    let rests = matches!(told.news, News::Finished | News::Dead(_) | News::Cancelled(_) | News::Parked);
    told.job.filter(|_| rests)
}

/// The job that an effect is about, where waiters may depend on it.
fn concerns(effect: &Effect<Offered>) -> Option<JobId> {
    match effect {
        Effect::Start(run) => Some(run.job),
        Effect::Announce(told) => told.job,
        Effect::Deliver(job, ..) | Effect::Over(job) => Some(*job),
        _ => None,
    }
}

/// Whether this is to be done although nothing is kept any more.
fn is_of_hook(effect: &Effect<Offered>) -> bool {
    match effect {
        Effect::Start(run) => Owner::of(&run.automation) == Owner::Hook,
        Effect::Announce(told) => Owner::of(&told.automation) == Owner::Hook,
        Effect::Cancel(..) | Effect::Gone(_) | Effect::Over(_) | Effect::CutShort(_) => true,
        Effect::Persist(_) | Effect::Deliver(..) | Effect::WakeAt(_) | Effect::Granted(_) => false,
        Effect::Turn(..) | Effect::Lent(_) | Effect::Window(..) | Effect::Rate(..) => false,
    }
}

/// Nothing is accepted from now on, and nothing starts.
fn fail(engine: &Engine, unavailable: Unavailable) {
    let why = format!("no more work of automations is accepted: {unavailable}");
    {
        let mut core = engine.core();
        // What was to be left to the next life is not.
        (core.failed, core.is_left) = (Some(unavailable), false);
        let mut waits = std::mem::take(&mut core.waits);
        waits.over_unless(|job| core.goes_on_unkept(job));
        core.waits = waits;
    }
    engine.done.send_modify(|done| *done += 1);
    if let Some(bus) = engine.bus.upgrade() {
        bus.signal(|| Signal::Announced { notice: Notice::warning(why) });
    }
}

/// Has all records of a batch kept at once.
async fn keep(
    engine: &Engine,
    batch: &std::collections::VecDeque<Effect<Offered>>,
) -> Result<(), Unavailable> {
    let Some(journal) = &engine.journal else { return Ok(()) };
    let mut entries: Vec<Entry> = Vec::new();
    for effect in batch {
        if let Effect::Persist(record) = effect {
            entries.push(record.write().map_err(|error| Unavailable::because(error.to_string()))?);
        }
    }
    if entries.is_empty() {
        return Ok(());
    }
    let count = entries.len();
    let receipt = journal.append(entries).await?;
    let mut core = engine.core();
    (core.kept, core.last) = (receipt.durability, receipt.last);
    core.compaction.appended(count);
    Ok(())
}

impl Engine {
    fn act(self: &Arc<Self>, effect: Effect<Offered>) {
        match effect {
            // It is kept by now, or was dealt with when it was said.
            Effect::Persist(_) | Effect::WakeAt(_) | Effect::Granted(_) => {}
            Effect::Turn(..) | Effect::Lent(_) => {}
            Effect::Window(automation, key) => self.keep_window(automation, key),
            Effect::Rate(automation, key) => self.keep_rate(automation, key),
            Effect::Start(run) => self.start(run),
            Effect::Cancel(job, fence) => self.cancel(job, fence),
            Effect::Deliver(job, automation, event, what) => self.hand_over(job, automation, event, what),
            Effect::Announce(told) => self.announce(told),
            Effect::Gone(automation) => self.gone(&automation),
            Effect::Over(_) => {}
            Effect::CutShort(event) => crate::adopted::cut_short(&event),
        }
    }

    /// Cancels a run, if it is under way still.
    pub(super) fn cancel(&self, job: JobId, fence: Fence) {
        let core = self.core();
        if let Some(run) = core.runs.get(&(job, fence)).or_else(|| core.unrecorded_runs.get(&(job, fence))) {
            run.cancel();
        }
    }

    fn start(self: &Arc<Self>, run: StartedRun<Offered>) {
        let Some(bus) = self.bus.upgrade() else { return self.has_gone(&run) };
        let cancel = CancellationToken::new();
        let (handler, events, key) = {
            let mut core = self.core();
            let handler = core.handlers.get(&run.automation).cloned();
            if handler.as_ref().is_some_and(|handler| !matches!(handler.does, Does::Start(_))) {
                core.runs.insert((run.job, run.fence), cancel.clone());
            }
            (handler, core.machine.events_of(run.job), core.machine.key_of(run.job))
        };
        let has_key = key.is_some();
        let Some(Handler { timeout, scope, does, .. }) = handler else { return self.has_gone(&run) };
        if let Does::Start(starting) = &does {
            return crate::adopted::start(self, &bus, starting, run);
        }
        let StartedRun { job, fence, event, attempt, .. } = run;
        let assignment = Assignment { job: job.0, attempt, events, fence: None };
        let shared = key.filter(|_| scope == Scope::Cluster);
        let event = match event.event() {
            Ok(event) => event,
            Err(error) => {
                self.core().runs.remove(&(job, fence));
                let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
                let detail = format!("{error}{}", source.unwrap_or_default());
                return self.failed(job, fence, FailureKind::Error, detail.into());
            }
        };
        let engine = Arc::clone(self);
        self.tasks.spawn(async move {
            let session = session_of(&bus, &event);
            let turn = AttemptPermit::of(Arc::clone(&engine), job, fence);
            let (waiting, run_fence) = (Arc::clone(&engine), fence);
            let (is_shared, cancelled, processes) = (shared.is_some(), cancel.clone(), Processes::none());
            // What a closure starts is its own.
            let until_over = has_key.then(|| processes.until_over());
            let call: CallUnderKey = Box::new(move |fence| {
                Box::pin(async move {
                    let called = async move {
                        if is_shared {
                            waiting.turn(job, run_fence).await;
                        }
                        let mut turn = Some(turn);
                        if is_shared
                            && matches!(does, Does::Run(_))
                            && let Some(turn) = turn.take()
                        {
                            turn.begins().await;
                        }
                        let assignment = Assignment { fence, ..assignment };
                        let called = session.call(&event, timeout, |cx| {
                            let cx = cx.on_attempt(assignment.attempt);
                            match (does, turn) {
                                (Does::Run(run), _) => run(event.clone(), assignment, cx),
                                (Does::RunInTurn(run), Some(turn)) => {
                                    run(event.clone(), assignment, cx.holding(until_over), turn)
                                }
                                _ => unreachable!("it is started by its hook"),
                            }
                        });
                        called.await.map_err(|failure| flat(&failure))
                    };
                    let ended = cancelled.run_until_cancelled_owned(called).await;
                    ended.map_or(Ended::Cancelled, Ended::With)
                })
            });
            let ended = match &shared {
                Some(key) => engine.under_shared(key, call, &processes, &cancel).await,
                None => call(None).await,
            };
            processes.ended().await;
            engine.forget_run(job, fence);
            engine.step(Input::Ended(job, fence, ended));
            // Nothing may follow, and there may be a waiter.
            engine.done.send_modify(|done| *done += 1);
        });
    }

    fn has_gone(&self, run: &StartedRun<Offered>) {
        self.failed(run.job, run.fence, FailureKind::Closed, "its automation is gone".into());
    }

    fn failed(&self, job: JobId, fence: Fence, kind: FailureKind, detail: Cow<'static, str>) {
        self.step(Input::Ended(job, fence, Ended::With(Err((kind, detail.into_owned())))));
    }

    pub(super) fn name(&self, automation: &AutomationId) -> Arc<str> {
        match self.core().handlers.get(automation) {
            Some(handler) => Arc::clone(&handler.name),
            None => Arc::clone(automation),
        }
    }

    /// Delivers a job's result; the job is done then, or when that is recorded.
    pub(super) fn give(
        self: &Arc<Self>,
        job: JobId,
        automation: &AutomationId,
        event: &Offered,
        what: Handover,
    ) {
        match self.deliver(job, automation, event, what) {
            Some(posted) if posted.is_durable() => self.deliver_durably(job, posted),
            _ => self.step(Input::Delivered(job)),
        }
    }

    /// Delivers a job's result. A result without a receiver is announced.
    fn deliver(
        &self,
        job: JobId,
        automation: &AutomationId,
        event: &Offered,
        what: Handover,
    ) -> Option<Posted> {
        let bus = self.bus.upgrade()?;
        let hook = self.name(automation);
        let (session, id) = (event.session().clone(), event.id());
        // A program may say that a text is a hook's, and not which one; a bad end has no words of the hook itself.
        let is_dying = self.ask(|machine| machine.is_dying(job));
        let said = |text| if is_dying { format!("automation `{hook}`: {text}") } else { text };
        let keeps_working = matches!(what, Handover::Keep(_));
        match what {
            Handover::Notify(text) => {
                let notice = Notice::info(said(text));
                bus.signal(|| Signal::Notified { event: id, session, hook, notice });
                None
            }
            Handover::Append(text) | Handover::Keep(text) => {
                let (seq, point) = match event.event() {
                    // Sequence numbers restart in each process: a message of an earlier one comes first.
                    Ok(live) if event.is_recovered() => (0, live.point().name),
                    Ok(event) => (event.envelope().seq, event.point().name),
                    Err(_) => (u64::MAX, "unknown"),
                };
                let message = self.message_id(job, automation, id);
                let (point, append) = (point.into(), Append::system(said(text)));
                let late = DeferredMessage {
                    hook,
                    dialect: NATIVE,
                    point,
                    event: id,
                    seq,
                    id: Some(message),
                    append,
                    keeps_working,
                };
                Some(bus.deliver(&session, late))
            }
        }
    }

    /// The id of what a job has found: the same when it is run or handed over again because of a kill, another one
    /// when a person has taken it up again.
    fn message_id(&self, job: JobId, automation: &AutomationId, event: EventId) -> MessageId {
        let round = u64::from(self.ask(|machine| machine.taken_up_after(job)));
        let numbers = [job.0.to_le_bytes(), round.to_le_bytes()].concat();
        MessageId::stable(&[automation.as_bytes(), &event.as_u128().to_be_bytes(), &numbers])
    }

    /// A job is done when what it found is on record. If that fails, the next life hands it over again, and those who
    /// wait for the job find the message in the mailbox.
    fn deliver_durably(self: &Arc<Self>, job: JobId, posted: Posted) {
        let engine = Arc::clone(self);
        self.tasks.spawn(async move {
            match posted.kept().await {
                Ok(_) => engine.step(Input::Delivered(job)),
                Err(_) => {
                    let mut core = engine.core();
                    core.unkept.insert(job);
                    core.waits.over(job);
                    drop(core);
                    engine.done.send_modify(|done| *done += 1);
                }
            }
        });
    }

    /// Says once that dead letters are thrown away. A person may have done so too, which needs no warning.
    fn warn_of_forgetting(&self, bus: &Bus) {
        let most = {
            let mut core = self.core();
            if core.machine.forgotten() == 0 || std::mem::replace(&mut core.warned_of_forgetting, true) {
                return;
            }
            core.machine.dead_letters().count()
        };
        let why = format!("there are {most} dead letters, and no more are kept: the oldest are thrown away");
        bus.signal(|| Signal::Announced { notice: Notice::warning(why) });
    }

    fn announce(&self, told: Announcement) {
        let Some(bus) = self.bus.upgrade() else { return };
        let Announcement { automation, job, event, session, news } = told;
        let news = match news {
            News::Held => JobNews::Held,
            News::Queued => JobNews::Queued,
            News::Refused(why) => JobNews::Refused(why.to_string()),
            News::Started(attempt) => JobNews::Started { attempt },
            News::Retried { failed, again } => {
                JobNews::Retried { failed, pause: again.since(self.clock.now()) }
            }
            News::Finished => JobNews::Finished,
            News::Dead(why) => JobNews::Dead(why.to_string()),
            News::Cancelled(why) => JobNews::Cancelled(why.to_string()),
            News::Parked => JobNews::Parked,
            News::Revived => JobNews::Revived,
            News::Forgotten => {
                self.warn_of_forgetting(&bus);
                JobNews::Forgotten
            }
            News::Stale => return,
        };
        let job = job.map(|job| job.0);
        bus.signal(|| Signal::Automation { hook: self.name(&automation), job, event, session, news });
    }
}

/// Tells that an event was refused before the machine had seen it.
pub(super) fn announce_refused(engine: &Engine, automation: &AutomationId, event: &AnyEvent, why: String) {
    let Some(bus) = engine.bus.upgrade() else { return };
    let (hook, envelope) = (engine.name(automation), event.envelope());
    let (event, session) = (envelope.id, envelope.source.session.clone());
    bus.signal(|| Signal::Automation { hook, job: None, event, session, news: JobNews::Refused(why) });
}

/// The session of an event; one that is over when it is not open any more.
fn session_of(bus: &Bus, event: &AnyEvent) -> Session {
    let source = &event.envelope().source;
    bus.find(source.session.as_str()).unwrap_or_else(|| bus.closed_session(source))
}

pub(super) fn flat(failure: &Failure) -> (FailureKind, String) {
    (failure.kind, failure.detail.to_string())
}
