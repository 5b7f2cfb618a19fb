//! Jobs that wait for a turn here and may run on another machine: which there are, and the part that this machine has in such a
//! run. Everything that becomes of the job is on record here, as if it ran here.

use std::sync::Arc;

use lineside_core::journal::Unavailable;
use lineside_core::{FailureKind, json};
use tokio_util::sync::CancellationToken;

use super::{Automations, Engine};
use crate::control::Scope;
use crate::machine::job::{Fence, JobId};
use crate::machine::{Effect, Ended, Input, StartedRun};

/// A job that waits for a turn, and that another machine may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpareJob {
    /// Which job.
    pub job: u64,
    /// How many attempts it has made.
    pub attempts: usize,
    /// What its hook is called on every machine that has it.
    pub hook: Arc<str>,
    /// How many bytes its event takes, about.
    pub bytes: usize,
    /// The key that its run needs, where that holds on all machines.
    pub key: Option<Arc<str>>,
}

/// A run on another machine. Dropping it fails its attempt.
pub struct LentRun {
    engine: Arc<Engine>,
    job: JobId,
    fence: Fence,
    cancelled: CancellationToken,
    is_over: bool,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// How many events the job has.
    pub events: usize,
    /// What they come to, as [`Automations::borrow`] reads it.
    pub event: String,
}

impl Automations {
    /// Has jobs that wait for a turn run on other machines from now on, where they may; no longer where this is not said. All
    /// of them are to be named, again where they were.
    pub fn share_jobs(&self, shared: bool) {
        self.engine.core().machine.share_jobs(shared);
        self.engine.spare.notify_one();
    }

    /// How many jobs that wait may run elsewhere and were not given by [`spare_jobs`](Self::spare_jobs) yet; waits until there
    /// are any. Cancel safe.
    pub async fn spare_count(&self) -> usize {
        loop {
            let count = self.engine.core().machine.spare_count();
            if count > 0 {
                return count;
            }
            self.engine.spare.notified().await;
        }
    }

    /// Waits until jobs that wait may run elsewhere and were not given here yet, and gives the oldest of them, at most this many.
    /// They may not be on record yet: what is [lent](Self::lend) is. Cancel safe.
    pub async fn spare_jobs(&self, most: usize) -> Vec<SpareJob> {
        loop {
            self.spare_count().await;
            let mut core = self.engine.core();
            let taken = core.machine.take_spare(most);
            let spare = |id: JobId| {
                let handler = core.handlers.get(&core.machine.automation_of(id)?)?;
                let hook = handler.everywhere.clone()?;
                let key = core.machine.key_of(id).filter(|_| handler.scope == Scope::Cluster);
                let (attempts, bytes) = core.machine.size_of(id);
                Some(SpareJob { job: id.0, attempts, hook, bytes, key })
            };
            let spare: Vec<_> = taken.into_iter().filter_map(spare).collect();
            if !spare.is_empty() {
                return spare;
            }
        }
    }

    /// Has another machine run a job: its attempt is counted, and on record when this returns. `None` when it does not wait for
    /// a turn, or is not of this hook any more.
    ///
    /// Dropping the future after its first poll fails the attempt.
    pub async fn lend(&self, job: u64, hook: &str) -> Option<LentRun> {
        self.lend_within(job, hook, usize::MAX).await
    }

    /// The same, and `None` where what it is for takes more than this many bytes as text: it waits for its turn here.
    ///
    /// Dropping the future after its first poll may fail the attempt.
    pub async fn lend_within(&self, job: u64, hook: &str, longest: usize) -> Option<LentRun> {
        let engine = &self.engine;
        // Measured before its attempt counts: written as text it may take six times its bytes.
        let is_short = |event: &_| json::to_string(event).is_ok_and(|text| text.len() <= longest);
        if longest < usize::MAX {
            let event = engine.core().machine.event_for_run(JobId(job));
            if !event.is_none_or(|event| is_short(&event)) {
                return None;
            }
        }
        let run = {
            let core = engine.core();
            let automation = core.machine.automation_of(JobId(job))?;
            let handler = core.handlers.get(&automation)?;
            if core.failed.is_some() || handler.everywhere.as_deref() != Some(hook) {
                return None;
            }
            engine.step_in(core, Input::Lend(JobId(job)), |effects| {
                effects.iter().find_map(|effect| match effect {
                    Effect::Lent(run) => Some(run.clone()),
                    _ => None,
                })
            })?
        };
        let StartedRun { job, fence, attempt, event, .. } = run;
        let cancelled = CancellationToken::new();
        let events = {
            let mut core = engine.core();
            core.runs.insert((job, fence), cancelled.clone());
            // It may have been cancelled since.
            if core.is_left || core.machine.is_cancelling(job) {
                cancelled.cancel();
            }
            core.machine.events_of(job)
        };
        let (engine, event) = (Arc::clone(engine), json::to_string(&event).unwrap_or_default());
        let lent = LentRun { engine, job, fence, cancelled, is_over: false, attempt, events, event };
        // Where it is not on record it does not begin.
        lent.engine.kept().await.is_ok().then_some(lent)
    }

    /// The automations that say that they may run anywhere and that no other machine can have: those of programs.
    #[must_use]
    pub fn places_without_effect(&self) -> Vec<Arc<str>> {
        let core = self.engine.core();
        let bound = core.handlers.values().filter(|handler| {
            handler.place == crate::control::Place::Anywhere && handler.everywhere.is_none()
        });
        let mut names: Vec<_> = bound.map(|handler| Arc::clone(&handler.name)).collect();
        names.sort();
        names
    }
}

impl LentRun {
    /// Its number, greater than that of every run before it.
    #[must_use]
    pub fn fence(&self) -> u64 {
        self.fence.0
    }

    /// Waits until it is to be given up. Cancel safe.
    pub async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }

    /// It has ended like this; returns when that is on record.
    ///
    /// # Errors
    /// Records are no longer kept.
    pub async fn ended(mut self, ended: Ended) -> Result<(), Unavailable> {
        self.over(ended);
        self.engine.kept().await.map(drop)
    }

    fn over(&mut self, ended: Ended) {
        if !std::mem::replace(&mut self.is_over, true) {
            self.engine.forget_run(self.job, self.fence);
            self.engine.step(Input::Ended(self.job, self.fence, ended));
            // Nothing may follow, and there may be a waiter.
            self.engine.done.send_modify(|done| *done += 1);
        }
    }
}

impl Drop for LentRun {
    fn drop(&mut self) {
        let why = "its run on another machine was given up".to_owned();
        self.over(Ended::With(Err((FailureKind::Closed, why))));
    }
}
