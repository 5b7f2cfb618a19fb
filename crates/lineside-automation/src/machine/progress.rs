//! How far the jobs of a machine have come that was recovered and drives nothing: for those who only look at records.

use super::job::{JobId, Parked, Settled, State};
use super::{Machine, Occurrence};
use crate::unix_micros::UnixMicros;

/// How far a job had come when the last record of it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Its events are held.
    Held {
        /// How many there are.
        events: usize,
        /// When the first and the last one came.
        since: (UnixMicros, UnixMicros),
    },
    /// It was accepted and waits for a start.
    Waiting,
    /// It was started, and has no end: it runs, or its process was killed.
    Started {
        /// When.
        at: UnixMicros,
    },
    /// It has failed and waits for its next attempt.
    Delayed {
        /// When that is.
        until: UnixMicros,
    },
    /// It has run, and what it found is still to be handed over, or that it was is still to be recorded.
    Delivering,
    /// It is settled.
    Settled {
        /// How.
        settled: Settled,
        /// When.
        at: UnixMicros,
    },
}

impl<E: Occurrence> Machine<E> {
    /// How far a job has come; `None` when the job is not known or no longer known.
    ///
    /// Unlike [`why`](Self::why) it needs no automation to be there.
    #[must_use]
    pub fn progress(&self, id: JobId) -> Option<Progress> {
        let job = self.jobs.get(&id)?;
        let started =
            || Progress::Started { at: job.attempts.last().map_or(job.accepted, |last| last.started) };
        Some(match &job.state {
            State::Held(window) => {
                let held = self.automations.get(job.automation)?.held.as_ref()?;
                Progress::Held { events: held.held(&**window)?.len(), since: held.since(&**window)? }
            }
            State::Waiting(_) | State::Parked(Parked::Accepted) => Progress::Waiting,
            State::Running(..) | State::Parked(Parked::Interrupted) => started(),
            State::Delayed(until) | State::Parked(Parked::Delayed(until)) => {
                Progress::Delayed { until: *until }
            }
            State::Delivering(_) | State::Parked(Parked::Done) => Progress::Delivering,
            State::Rests(settled, at) => Progress::Settled { settled: (**settled).clone(), at: *at },
        })
    }
}
