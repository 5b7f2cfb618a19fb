//! What goes into the machine, and what comes out of it to be done.

use std::sync::Arc;
use std::time::Duration;

use lineside_core::{EventId, FailureKind, SessionId};

use super::job::{AutomationId, ClaimId, Fence, JobId, Why};
use super::run::Ended;
use crate::control::Rules;
use crate::record::Record;
use crate::report::Handover;
use crate::unix_micros::UnixMicros;

/// What has happened.
#[derive(Debug, Clone)]
pub enum Input<E> {
    /// An automation is there from now on, with these rules. Its work that rested goes on.
    Registered(AutomationId, Arc<Rules>),
    /// No further event will come for an automation: it goes when its work is over.
    Leaves(AutomationId),
    /// Every automation that there will be is there. What rests for others goes to the dead letters.
    AllRegistered,
    /// An automation is declared and switched off in this process, or no longer is: its jobs wait for a process in
    /// which it is on.
    SwitchedOff(AutomationId, bool),
    /// An event that an automation is for.
    Offered(AutomationId, E),
    /// An event that cancels the held and waiting work of the same key.
    Cancelling(AutomationId, E),
    /// Time has passed.
    Tick,
    /// A run has ended.
    Ended(JobId, Fence, Ended),
    /// An attempt of a run that paces its own attempts has failed, and the next follows after this time.
    Failed(JobId, Fence, FailureKind, String, Duration),
    /// A run that paces its attempts itself begins one.
    Begins(JobId, Fence),
    /// The session of a job is there, and has the hook that does its work.
    TakeUp(JobId),
    /// The session of a job is there, and the hook that was to do its work is gone.
    Gone(JobId),
    /// The result of a job was delivered, or could not be.
    Delivered(JobId),
    /// Whatever is held runs at once.
    ReleaseAll,
    /// The next model call of a session waits for what is held.
    Release(SessionId),
    /// A session ends.
    SessionEnds(SessionId),
    /// A session has ended, and what is to be drained with it has no more time.
    SessionCut(SessionId),
    /// The bus is about to end. What is held runs at once, and what has no more time from now on remains there.
    BusEnds(UnfinishedJobs),
    /// The bus has ended: no run has any time left, and none starts.
    BusCut,
    /// A run that has waited for a key of the cluster has it, and wants a turn.
    HasKey(JobId, Fence),
    /// This machine has a window of the cluster, of which these are the events of all machines, in order.
    Close(AutomationId, Arc<str>, Vec<E>),
    /// These events of a window of the cluster are run for on another machine.
    Elsewhere(AutomationId, Arc<str>, Vec<EventId>),
    /// The cluster has let in a start of a rate, or has none.
    LetIn(AutomationId, Arc<str>, bool),
    /// Another machine is to run a job that waits for a turn.
    Lend(JobId),
    /// A run for another machine has ended here, and gives its turn back.
    TurnOver,
    /// Something that is no job wants a key.
    Claim(ClaimId, Arc<str>),
    /// It no longer has the key, or no longer waits for it.
    GiveUp(ClaimId),
    /// A person takes a dead job up again.
    Revive(JobId),
    /// A person drops a job.
    Drop(JobId),
}

/// Where unsettled jobs remain when the bus ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnfinishedJobs {
    /// On record, for the next life.
    OnRecord,
    /// Nowhere: they are cancelled, which is announced.
    Nowhere,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect<E> {
    /// Keep this before anything else is done or acknowledged.
    Persist(Record<E>),
    /// Run a job.
    Start(StartedRun<E>),
    /// Cancel a run, and tell when it has ended.
    Cancel(JobId, Fence),
    /// Hand something over, and tell when that is done.
    Deliver(JobId, AutomationId, E, Handover),
    /// Call again at this time, if nothing else happens before.
    WakeAt(UnixMicros),
    /// Announce what became of an event or a job.
    Announce(Announcement),
    /// An automation is gone, with everything that was known of it.
    Gone(AutomationId),
    /// What is no job has the key that it wants.
    Granted(ClaimId),
    /// A run that has a key of the cluster has a turn as well.
    Turn(JobId, Fence),
    /// Something has come into a window of the cluster, or it is to be over.
    Window(AutomationId, Arc<str>),
    /// Jobs wait for a rate of the cluster.
    Rate(AutomationId, Arc<str>),
    /// A job runs on another machine from here on; its attempt counts.
    Lent(StartedRun<E>),
    /// A job without records is over; it is forgotten, and nothing else is announced of it.
    Over(JobId),
    /// The run of such a job will never start: its session has ended, or a person has dropped it.
    CutShort(E),
}

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct StartedRun<E> {
    /// The job.
    pub job: JobId,
    /// The automation.
    pub automation: AutomationId,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// Tells this run from all others, greater for later ones; its end has to bear it.
    pub fence: Fence,
    /// What it is for.
    pub event: E,
}

/// Something that has become of an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Announcement {
    /// The automation.
    pub automation: AutomationId,
    /// The job, unless there never was one.
    pub job: Option<JobId>,
    /// The event, or the last one of the job.
    pub event: EventId,
    /// Its session.
    pub session: SessionId,
    /// What.
    pub news: News,
}

/// What has become of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// It is held with others.
    Held,
    /// It will run.
    Queued,
    /// It was not accepted.
    Refused(Why),
    /// A run has started; which attempt it is.
    Started(u32),
    /// An attempt has failed, and there is another one.
    Retried {
        /// How it failed.
        failed: String,
        /// When the next one is.
        again: UnixMicros,
    },
    /// It has come to a good end.
    Finished,
    /// It has come to a bad end, and rests in the dead letters.
    Dead(Why),
    /// It will not run, or not to its end.
    Cancelled(Why),
    /// It rests because its automation is gone.
    Parked,
    /// A person has taken it up again.
    Revived,
    /// The oldest dead letter was thrown away, because there are too many.
    Forgotten,
    /// An input named a run that is over or never existed.
    Stale,
}
