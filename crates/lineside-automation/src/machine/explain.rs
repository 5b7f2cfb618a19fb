//! What is known of a job, for those who ask: where it stands, why, and what it has gone through.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use lineside_core::{EventId, SessionId};

use super::job::{Attempt, AutomationId, ByJob, Job, JobId, Place, Settled, Stage, State};
use super::queue::Waiter;
use super::{Announcement, Machine, Occurrence};
use crate::unix_micros::UnixMicros;

/// Where a job stands, and why it does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobStatus {
    /// Its events are held until this time, if no further one comes.
    Held {
        /// The time.
        until: UnixMicros,
        /// How many there are.
        events: usize,
    },
    /// Its automation is gone, or not there yet.
    Parked,
    /// Its automation is switched off in this life.
    Off,
    /// It waits for a start of its rate.
    Rate {
        /// When the next one is, unless that hangs on jobs that have been let in.
        until: Option<UnixMicros>,
        /// How many wait before it.
        ahead: usize,
    },
    /// It waits for its key.
    Key {
        /// The key.
        key: Arc<str>,
        /// The jobs that have it; none where something has it that is no job, such as a gate.
        holders: Vec<JobId>,
        /// How many wait before it.
        ahead: usize,
    },
    /// It has everything but a turn: as many run as may.
    Turn {
        /// How many wait before it.
        ahead: usize,
    },
    /// It runs.
    Running {
        /// Which attempt it is, from 1.
        attempt: u32,
        /// Since when.
        since: UnixMicros,
        /// Whether it is being cancelled.
        cancelling: bool,
    },
    /// It has failed and waits for its next attempt.
    Delayed {
        /// When that is.
        until: UnixMicros,
        /// Which attempt it will be.
        attempt: u32,
    },
    /// It has run, and what it found is being handed over.
    Delivering,
    /// It is settled.
    Settled {
        /// How.
        settled: Settled,
        /// When.
        at: UnixMicros,
    },
}

impl fmt::Display for JobStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held { events: 1, .. } => f.write_str("1 event is held"),
            Self::Held { events, .. } => write!(f, "{events} events are held"),
            Self::Parked => f.write_str("its automation is not there"),
            Self::Off => f.write_str("its automation is switched off"),
            Self::Rate { ahead, .. } => write!(f, "waits for a start of its rate, {ahead} before it"),
            Self::Key { key, ahead, .. } => write!(f, "waits for the key `{key}`, {ahead} before it"),
            Self::Turn { ahead } => write!(f, "waits for a turn, {ahead} before it"),
            Self::Running { attempt, cancelling: false, .. } => write!(f, "runs, attempt {attempt}"),
            Self::Running { attempt, .. } => write!(f, "attempt {attempt} is being cancelled"),
            Self::Delayed { attempt, .. } => write!(f, "waits for attempt {attempt}"),
            Self::Delivering => f.write_str("what it found is being handed over"),
            Self::Settled { settled: Settled::Done, .. } => f.write_str("done"),
            Self::Settled { settled: Settled::Dead(why), .. } => write!(f, "dead: {why}"),
            Self::Settled { settled: Settled::Cancelled(why), .. } => write!(f, "cancelled: {why}"),
        }
    }
}

/// A job, for those who ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSummary {
    /// The job.
    pub job: JobId,
    /// Its automation.
    pub automation: AutomationId,
    /// Its session.
    pub session: SessionId,
    /// Its events.
    pub events: Vec<EventId>,
    /// Its concurrency key.
    pub key: Option<Arc<str>>,
    /// When its first event came.
    pub accepted: UnixMicros,
    /// Where it stands.
    pub standing: JobStatus,
    /// Its attempts.
    pub attempts: Vec<Attempt>,
}

/// A line that jobs stand in.
enum Line<'a> {
    /// For a rate or for a turn.
    Jobs(&'a BTreeSet<(Reverse<i32>, JobId)>),
    /// For a key, with what is no job.
    Key(&'a BTreeSet<(Reverse<i32>, Place, Waiter)>),
}

impl<'a> Line<'a> {
    /// Who stands in it, the first one first; `None` for what is no job.
    fn walk(&self) -> Box<dyn Iterator<Item = Option<JobId>> + 'a> {
        match self {
            Self::Jobs(line) => Box::new(line.iter().map(|(_, job)| Some(*job))),
            Self::Key(line) => Box::new(line.iter().map(|(_, _, waiter)| match waiter {
                Waiter::Job(job) => Some(*job),
                Waiter::Claim(_) => None,
            })),
        }
    }

    /// What tells it from all others.
    fn address(&self) -> *const () {
        match self {
            Self::Jobs(line) => std::ptr::from_ref(*line).cast(),
            Self::Key(line) => std::ptr::from_ref(*line).cast(),
        }
    }
}

impl<E: Occurrence> Machine<E> {
    /// How many events a job is for; 1 for one that there is not.
    pub(crate) fn events_of(&self, id: JobId) -> usize {
        self.jobs.get(&id).map_or(1, |job| job.ids.len().max(1))
    }

    /// The concurrency key of a job.
    pub(crate) fn key_of(&self, id: JobId) -> Option<Arc<str>> {
        self.jobs.get(&id)?.key.clone()
    }

    /// The state of a job, and why it does not run; `None` when the job is not known or no longer known.
    #[must_use]
    pub fn why(&self, id: JobId) -> Option<JobStatus> {
        self.standing(id, &mut |line| line.walk().take_while(|other| *other != Some(id)).count())
    }

    /// The same, by what says how many stand in a line before it.
    fn standing(&self, id: JobId, ahead: &mut dyn FnMut(&Line<'_>) -> usize) -> Option<JobStatus> {
        let job = self.jobs.get(&id)?;
        let automation = self.automations.get(job.automation)?;
        Some(match &job.state {
            State::Held(_) | State::Parked(_) if automation.off => JobStatus::Off,
            State::Held(_) | State::Parked(_) if !automation.active => JobStatus::Parked,
            State::Parked(_) => JobStatus::Parked,
            State::Held(window) => {
                let held = automation.held.as_ref()?;
                JobStatus::Held { until: held.due(&**window)?, events: held.held(&**window)?.len() }
            }
            State::Waiting(Stage::Rate) => {
                let state = automation.rates.get(job.rate.as_ref()?)?;
                let (rate, _) = automation.rules.as_ref()?.rate.as_ref()?;
                let until = state.starts.front().map(|start| *start + rate.period);
                JobStatus::Rate { until, ahead: ahead(&Line::Jobs(&state.waiting)) }
            }
            State::Waiting(stage @ (Stage::Lane | Stage::Key)) => {
                let key = if *stage == Stage::Lane { &job.lane } else { &job.key }.as_ref()?;
                let state = self.keys.get(key)?;
                JobStatus::Key {
                    key: Arc::clone(key),
                    holders: state.jobs_that_hold().collect(),
                    ahead: ahead(&Line::Key(&state.waiting)),
                }
            }
            State::Waiting(Stage::Turn) => JobStatus::Turn { ahead: ahead(&Line::Jobs(&self.ready)) },
            // It has its turn elsewhere, and waits for that.
            State::Running(..) if job.made() == 0 => JobStatus::Turn { ahead: 0 },
            State::Running(_, cancelling) => JobStatus::Running {
                attempt: job.made(),
                since: job.attempts.last()?.started,
                cancelling: cancelling.is_some(),
            },
            State::Delayed(until) => JobStatus::Delayed { until: *until, attempt: job.made() + 1 },
            State::Delivering(_) => JobStatus::Delivering,
            State::Rests(settled, at) => JobStatus::Settled { settled: (**settled).clone(), at: *at },
        })
    }

    /// Everything that is known of a job.
    #[must_use]
    pub fn show(&self, id: JobId) -> Option<JobSummary> {
        self.shown(id, self.why(id)?)
    }

    /// The last jobs of which this is so, at most this many, in the order in which their first events came. A line is
    /// walked once for all that stand in it.
    pub(crate) fn list(&self, wanted: impl Fn(&str, &Job<E>) -> bool, most: usize) -> Vec<JobSummary> {
        let name = |job: &Job<E>| self.automations.get(job.automation).map_or("", |own| &own.id);
        let wanted = |id: &JobId| self.jobs.get(id).is_some_and(|job| wanted(name(job), job));
        let mut lines: HashMap<*const (), ByJob<usize>> = HashMap::new();
        let mut listed: Vec<JobId> = self.jobs().into_iter().rev().filter(wanted).take(most).collect();
        listed.reverse();
        let shown = listed.into_iter().filter_map(|id| {
            let standing = self.standing(id, &mut |line| {
                let in_line = || line.walk().enumerate().filter_map(|(place, job)| Some((job?, place)));
                let places = lines.entry(line.address()).or_insert_with(|| in_line().collect());
                places.get(&id).copied().unwrap_or_default()
            });
            self.shown(id, standing?)
        });
        shown.collect()
    }

    fn shown(&self, id: JobId, standing: JobStatus) -> Option<JobSummary> {
        let job = self.jobs.get(&id)?;
        Some(JobSummary {
            job: id,
            automation: self.automation_id(job.automation),
            session: job.last().session().clone(),
            events: job.all_ids(),
            key: job.key.clone(),
            accepted: job.accepted,
            standing,
            attempts: job.attempts.clone(),
        })
    }

    /// All jobs that it knows, in the order in which their first events came.
    #[must_use]
    pub fn jobs(&self) -> Vec<JobId> {
        let mut jobs: Vec<JobId> = self.jobs.keys().copied().collect();
        jobs.sort_unstable();
        jobs
    }

    /// The dead letters, oldest first.
    pub fn dead_letters(&self) -> impl Iterator<Item = JobId> + use<'_, E> {
        self.dead.iter().copied()
    }

    /// How many dead letters were thrown away in this life, because there were more than there may be.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// The last events that were not accepted, oldest first; there is no job to ask about.
    pub fn refused(&self) -> impl Iterator<Item = &Announcement> {
        self.refused.iter()
    }

    /// How many events were not accepted so far.
    #[must_use]
    pub fn refused_so_far(&self) -> u64 {
        self.refused_so_far
    }

    /// How many jobs it knows.
    pub(crate) fn known(&self) -> usize {
        self.jobs.len()
    }

    /// How many jobs are in each state.
    pub(crate) fn by_state(&self) -> BTreeMap<&'static str, usize> {
        let mut states = BTreeMap::new();
        for job in self.jobs.values() {
            *states.entry(job.state.word()).or_default() += 1;
        }
        states
    }

    /// The state of a job that it knows.
    pub(crate) fn state(&self, id: JobId) -> Option<&State> {
        self.jobs.get(&id).map(|job| &job.state)
    }

    /// How many jobs are not settled.
    #[must_use]
    pub fn live(&self) -> usize {
        self.live
    }

    /// Whether a session has unsettled jobs.
    pub(crate) fn has_work(&self, session: &SessionId) -> bool {
        self.sessions.contains_key(session)
    }

    /// The sessions with unsettled jobs.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = &SessionId> {
        self.sessions.keys()
    }

    /// How many jobs a snapshot has: the unsettled and the dead ones.
    pub(crate) fn kept(&self) -> usize {
        self.accounted() + self.dead.len()
    }

    /// Whether a job is settled, or not known.
    #[must_use]
    pub fn is_settled(&self, id: JobId) -> bool {
        self.jobs.get(&id).is_none_or(|job| job.state.is_at_rest())
    }
}
