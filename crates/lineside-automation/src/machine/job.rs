//! A job: what an automation is to do for one event, or for a burst of them, and how far it has come.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use lineside_core::{EventId, FailureKind};
use serde::{Deserialize, Serialize};

use super::occurrence::Occurrence;
use crate::report::Handover;
use crate::unix_micros::UnixMicros;

/// The name of an automation, the same after a restart.
pub type AutomationId = Arc<str>;

/// The number of a job, greater for later ones; the same after a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub u64);

/// Tells a claim from all others of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClaimId(pub u64);

/// A place in the line for a key: behind the job of this number, and behind those that came so after it.
pub(crate) type Place = (u64, u64);

/// What is known by job. The numbers are the machine's own, one after another, and so are their places: what is done for
/// very many jobs in their order reads the memory in its order, and does not wait for it.
pub(crate) type ByJob<T> = HashMap<JobId, T, BuildHasherDefault<InOrder>>;

/// The hash of a number whose neighbours are to stay neighbours. A table takes the place from the lower bits and tells
/// those near one place apart by the upper seven.
#[derive(Default)]
pub(crate) struct InOrder(u64);

impl Hasher for InOrder {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(self.0.rotate_left(8) ^ u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number ^ number << 57;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Tells one run from all others; greater for later ones, also after a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub u64);

/// Why a job does not run, or no longer runs.
///
/// ```
/// use lineside_automation::machine::job::{JobId, Why};
///
/// assert_eq!(Why::Coalesced(JobId(7)).to_string(), "it was merged into job 7");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Why {
    /// There are as many jobs as there may be, or as many bytes of their events.
    Full,
    /// There is no such automation.
    Unregistered,
    /// There were as many starts as there may be.
    Rate,
    /// The automation has had all of its events before.
    Duplicate,
    /// The key was taken.
    Busy,
    /// It was merged into another job.
    Coalesced(JobId),
    /// A job that has its events as well was started in its place.
    Restarted(JobId),
    /// Its events are those of a window of the cluster, for which another machine runs.
    Elsewhere,
    /// An event has cancelled it.
    Event(EventId),
    /// Its session has ended.
    SessionEnded,
    /// The bus has ended, and nothing keeps it for a next life.
    BusEnded,
    /// A person has dropped it.
    Person,
    /// It has failed as often as it may.
    Failed {
        /// How many attempts there were.
        attempts: u32,
        /// How the last one failed.
        kind: FailureKind,
        /// What a person needs to know of that.
        detail: String,
    },
    /// The hook that was to do the work is gone, or is not what it was.
    HookGone,
    /// It was started as often as it may, and the last run never ended: its process was killed.
    Lost {
        /// How many attempts there were.
        attempts: u32,
    },
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("there are as many jobs as there may be, or their events are too long"),
            Self::Unregistered => f.write_str("there is no such automation"),
            Self::Rate => f.write_str("its rate allows no further start now"),
            Self::Duplicate => f.write_str("the automation has had the event before"),
            Self::Busy => f.write_str("its key was taken"),
            Self::Coalesced(job) => write!(f, "it was merged into job {job}"),
            Self::Elsewhere => f.write_str("another machine of the cluster runs for its events and others"),
            Self::Restarted(job) => write!(f, "job {job} took its place, with its events"),
            Self::Event(event) => write!(f, "event {event} cancelled it"),
            Self::SessionEnded => f.write_str("its session ended"),
            Self::BusEnded => f.write_str("the bus ended, and there is no journal that keeps it"),
            Self::Person => f.write_str("a person dropped it"),
            Self::Failed { attempts: 0, kind, detail } => {
                write!(f, "it never started ({kind}): {detail}")
            }
            Self::Failed { attempts: 1, kind, detail } => write!(f, "it failed ({kind}): {detail}"),
            Self::Failed { attempts, kind, detail } => {
                write!(f, "it failed {attempts} times, at last ({kind}): {detail}")
            }
            Self::HookGone => f.write_str("its hook was removed, or is not what it was"),
            Self::Lost { attempts } => {
                write!(f, "it was started {attempts} times, and its process did not live to end it")
            }
        }
    }
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Tells it from all others.
    pub fence: Fence,
    /// When it was started.
    pub started: UnixMicros,
    /// When and how it ended; `None` while it runs, or when its process was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<(UnixMicros, AttemptEnd)>,
    /// When the next one was to be, if it failed and there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<UnixMicros>,
}

impl Attempt {
    /// One that begins.
    pub(crate) fn begun(fence: Fence, started: UnixMicros) -> Self {
        Self { fence, started, ended: None, again: None }
    }
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnd {
    /// It came to a result, the summary of which this is: all is in order.
    Succeeded(String),
    /// It came to a result, the summary of which this is: something is not in order. It is not tried again.
    NotInOrder(String),
    /// It failed.
    Failed(FailureKind, String),
    /// It was cancelled.
    Cancelled,
}

/// What is known of a job.
pub(crate) struct Job<E> {
    pub(crate) automation: usize,
    /// What it is for: what its events come to; the first of them while it is held.
    pub(crate) event: E,
    /// What came after that and is not merged into it yet, in order.
    pub(crate) more: Vec<E>,
    /// All its events, if there are more than one.
    pub(crate) ids: Vec<EventId>,
    pub(crate) key: Option<Arc<str>>,
    /// The key whose events cancel it, if there are such.
    pub(crate) cancelled_under: Option<Arc<str>>,
    /// The key of its lane.
    pub(crate) lane: Option<Arc<str>>,
    pub(crate) rate: Option<Arc<str>>,
    pub(crate) accepted: UnixMicros,
    pub(crate) state: State,
    pub(crate) attempts: Vec<Attempt>,
    /// Attempts before a person took it up again, which do not count.
    pub(crate) spent: u32,
    /// It counts among the starts that its rate has admitted and that have not happened.
    pub(crate) admitted: bool,
    /// Its key is its own.
    pub(crate) has_key: bool,
    /// It is its turn in its lane.
    pub(crate) has_lane: bool,
    /// Its place in the line for its key, if that is not the one of its number: the work of hooks goes in the order in
    /// which it became due.
    pub(crate) due: Option<Place>,
    /// About how many bytes its events take.
    pub(crate) weight: usize,
    /// What its run has of the turns.
    pub(crate) seat: Seat,
    /// There is a record of it.
    pub(crate) recorded: bool,
    /// There is none, and never will be: it ends with its session, and is forgotten then.
    pub(crate) in_memory: bool,
    /// Until when it has time because its session has ended; [`UnixMicros::NEVER`] while that has not.
    pub(crate) drain_by: UnixMicros,
}

/// How far a job has come.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum State {
    /// Its events are held under this key.
    Held(Arc<str>),
    /// Its automation is gone, or not there yet.
    Parked(Parked),
    /// It waits for its rate, its key, or its turn.
    Waiting(Stage),
    /// It runs.
    Running(Fence, Option<Why>),
    /// It has failed and waits for its next attempt.
    Delayed(UnixMicros),
    /// It has run, and what it found is being handed over.
    Delivering(Box<(Handover, Settled)>),
    /// It is settled.
    Rests(Box<Settled>, UnixMicros),
}

/// What a run has of the turns of its machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Seat {
    /// Nothing: it does not run, needs none, or runs on another machine.
    #[default]
    None,
    /// It waits for a key of the cluster, and for a turn after that.
    Waits,
    /// A turn.
    Turn,
}

/// What a job waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Rate,
    Lane,
    Key,
    Turn,
}

/// How far a job had come when its automation went, or the process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parked {
    /// It was accepted and never started.
    Accepted,
    /// It was started and has no end.
    Interrupted,
    /// It has failed, and this is when its next attempt is.
    Delayed(UnixMicros),
    /// It has run to a good end, and nothing that was to follow is on record.
    Done,
}

/// The final state of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    /// It has run.
    Done,
    /// It has failed as often as it may.
    Dead(Why),
    /// It did not run, or not to its end.
    Cancelled(Why),
}

impl State {
    /// The word for it, the same as of a job that is shown.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Held(_) => "debouncing",
            Self::Parked(_) | Self::Waiting(_) => "waiting",
            Self::Running(..) => "running",
            Self::Delayed(_) => "retrying",
            Self::Delivering(_) => "delivering",
            Self::Rests(settled, _) => match **settled {
                Settled::Done => "done",
                Settled::Dead(_) => "dead",
                Settled::Cancelled(_) => "cancelled",
            },
        }
    }

    pub(crate) fn is_at_rest(&self) -> bool {
        matches!(self, Self::Rests(..))
    }
}

impl<E: Occurrence> Job<E> {
    /// What all its events come to.
    pub(crate) fn whole(&self) -> E {
        if self.more.is_empty() {
            return self.event.clone();
        }
        let all: Vec<E> = std::iter::once(&self.event).chain(&self.more).cloned().collect();
        E::merge(&all).unwrap_or_else(|| self.last().clone())
    }

    /// Merges what is not merged yet.
    pub(crate) fn fold(&mut self) {
        self.event = self.whole();
        self.more = Vec::new();
    }

    /// All its events, at least one.
    pub(crate) fn all_ids(&self) -> Vec<EventId> {
        if self.ids.is_empty() { vec![self.event.id()] } else { self.ids.clone() }
    }

    /// Adds what came later. Merging costs as much as everything that is merged, so it waits until there is as much to
    /// be merged as there is already: over a burst, each event is merged a few times and not once for each after it.
    pub(crate) fn add(&mut self, event: E, ids: &[EventId]) {
        if self.ids.is_empty() {
            self.ids.push(self.event.id());
        }
        self.ids.extend_from_slice(ids);
        self.more.push(event);
        if self.more.len() * 2 >= self.ids.len() {
            self.fold();
        }
    }

    /// Puts the events of another job before its own.
    pub(crate) fn take_over(&mut self, event: E, ids: Vec<EventId>) {
        let own_ids = self.all_ids();
        let own = std::mem::replace(&mut self.event, event);
        self.ids = ids;
        self.add(own, &own_ids);
    }
}

impl<E> Job<E> {
    /// Its place in the line for its key.
    pub(crate) fn place(&self, id: JobId) -> Place {
        self.due.unwrap_or((id.0, 0))
    }

    pub(crate) fn new(automation: usize, event: E, accepted: UnixMicros, state: State) -> Self {
        Self {
            automation,
            event,
            more: Vec::new(),
            ids: Vec::new(),
            key: None,
            cancelled_under: None,
            lane: None,
            rate: None,
            accepted,
            state,
            attempts: Vec::new(),
            spent: 0,
            admitted: false,
            has_key: false,
            has_lane: false,
            due: None,
            weight: 0,
            seat: Seat::None,
            recorded: false,
            in_memory: false,
            drain_by: UnixMicros::NEVER,
        }
    }

    /// The last of its events, with whatever of the others has been merged into it so far.
    pub(crate) fn last(&self) -> &E {
        self.more.last().unwrap_or(&self.event)
    }

    /// How far it has come, as its attempts say it: what is known when it does not run and stands in no line.
    pub(crate) fn parked(&self) -> Parked {
        let Some(last) = self.attempts.last().filter(|_| self.made() > 0) else { return Parked::Accepted };
        match (&last.ended, last.again) {
            (Some((_, AttemptEnd::Succeeded(_))), _) => Parked::Done,
            (Some(_), Some(again)) => Parked::Delayed(again),
            // The record that says what a failure means may have been lost with the process.
            (Some(_) | None, _) => Parked::Interrupted,
        }
    }

    /// When its last attempt ended, or when it was accepted if there was none.
    pub(crate) fn ended(&self) -> UnixMicros {
        let ended = self.attempts.last().and_then(|attempt| attempt.ended.as_ref());
        ended.map_or(self.accepted, |(at, _)| *at)
    }

    /// How many attempts count.
    pub(crate) fn made(&self) -> u32 {
        u32::try_from(self.attempts.len()).unwrap_or(u32::MAX).saturating_sub(self.spent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_number_keeps_neighbours_together_and_their_upper_bits_apart() {
        let hash = |write: &dyn Fn(&mut InOrder)| {
            let mut hasher = InOrder::default();
            write(&mut hasher);
            hasher.finish()
        };
        let of = |number| hash(&|hasher| hasher.write_u64(number));
        assert_eq!([of(5), of(6)], [5 | 5 << 57, 6 | 6 << 57]);
        assert_eq!(of(3 | 1 << 57), 3 | 2 << 57, "a bit that is there twice is none");
        assert_eq!(hash(&|hasher| hasher.write(&[5])), of(5));
        // What the first has come to is turned by eight bits before the second is mixed in.
        assert_eq!(hash(&|hasher| hasher.write(&[255, 255])), of(0xfffe ^ 0xff));
    }
}
