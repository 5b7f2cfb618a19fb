//! Which jobs the last events have come into, so that the publisher of one can name them.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use lineside_core::EventId;

use crate::machine::Effect;
use crate::machine::Occurrence as _;
use crate::machine::job::{AutomationId, JobId};
use crate::offered::Offered;
use crate::record::Record;

/// How many acceptances are remembered: more than there are of events that are decided at once. Older ones are looked for
/// among all jobs.
const MOST: usize = 1_024;

/// The last acceptances, oldest first.
#[derive(Default)]
pub(crate) struct Recent(Mutex<VecDeque<Acceptance>>);

struct Acceptance {
    event: EventId,
    automation: AutomationId,
    /// None where it was refused, so that no job is looked for.
    job: Option<JobId>,
}

impl Recent {
    /// An automation has accepted an event into a job, or refused it.
    pub(crate) fn note(&self, event: EventId, automation: AutomationId, job: Option<JobId>) {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() == MOST {
            recent.pop_front();
        }
        recent.push_back(Acceptance { event, automation, job });
    }

    /// The jobs of an event, in the order in which they accepted it; `None` when it is not remembered.
    pub(crate) fn of(&self, event: EventId) -> Option<Vec<(AutomationId, JobId)>> {
        let recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut own = recent.iter().filter(|acceptance| acceptance.event == event).peekable();
        own.peek()?;
        let jobs =
            own.filter_map(|acceptance| Some((AutomationId::clone(&acceptance.automation), acceptance.job?)));
        Some(jobs.collect())
    }
}

/// The job that an event has come into, by what is to be done about its offer.
pub(crate) fn job_of(event: EventId, effects: &[Effect<Offered>]) -> Option<JobId> {
    effects.iter().rev().find_map(|effect| match effect {
        Effect::Persist(Record::Held { job, event: held, .. }) if held.id() == event => Some(*job),
        Effect::Persist(
            Record::Accepted { job, event: last, ids, .. }
            | Record::Joined { into: job, event: last, ids, .. },
        ) if last.id() == event || ids.contains(&event) => Some(*job),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> EventId {
        format!("00000000-0000-7000-8000-{number:012}").parse().unwrap()
    }

    #[test]
    fn the_last_events_are_remembered_with_their_jobs_in_order() {
        let recent = Recent::default();
        recent.note(id(0), "a".into(), Some(JobId(1)));
        recent.note(id(0), "refuses".into(), None);
        recent.note(id(0), "b".into(), Some(JobId(2)));
        assert_eq!(recent.of(id(0)), Some(vec![("a".into(), JobId(1)), ("b".into(), JobId(2))]));
        assert_eq!(recent.of(id(1)), None);
        for number in 1..=MOST {
            recent.note(id(number), "a".into(), None);
        }
        assert_eq!(recent.of(id(0)), None, "the oldest is forgotten");
        assert_eq!(recent.of(id(1)), Some(Vec::new()), "it was refused");
    }
}
