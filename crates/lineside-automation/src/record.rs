//! What has to survive the process: one record for each thing that a job goes through, versioned.
//!
//! A record is JSON behind a byte for its kind. The event in it is JSON in any case, with its numbers as they were; a
//! person can read the file with what the machine has; and next to a sync of the disk the rest costs nothing. Every
//! record bears the version of the format: a reader that knows an older one only says so and goes on.

use std::sync::Arc;

use lineside_core::EventId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::machine::job::{Attempt, AttemptEnd, AutomationId, Fence, JobId, Settled};
use crate::report::Handover;
use crate::unix_micros::UnixMicros;

/// The version of the format. Since version 2, what is merged into a job is recorded once and not with all that the job
/// comes to; since version 3, an attempt says that what it looked at is not in order. Records of both are read as they are.
pub const VERSION: u32 = 3;

/// One thing that a job has gone through.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record<E> {
    /// An event is held.
    Held {
        /// The job that it is held for.
        job: JobId,
        /// Its automation.
        automation: AutomationId,
        /// The key under which it is held.
        window: Arc<str>,
        /// The event.
        event: E,
        /// When.
        at: UnixMicros,
    },
    /// A job is accepted: it will run. What was held for it is in its event.
    Accepted {
        /// The job.
        job: JobId,
        /// Its automation.
        automation: AutomationId,
        /// What its events came to.
        event: E,
        /// Its events, if there are more than one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ids: Vec<EventId>,
        /// Its concurrency key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Arc<str>>,
        /// The key of its lane.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lane: Option<Arc<str>>,
        /// The key of its rate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate: Option<Arc<str>>,
        /// The job that it is started in the place of, whose events come before its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        restarts: Option<JobId>,
        /// When.
        at: UnixMicros,
    },
    /// A job has the events of another one as well, which is over: as version 1 has it, with all that it comes to.
    Merged {
        /// The job.
        into: JobId,
        /// The other one.
        from: JobId,
        /// What all its events came to.
        event: E,
        /// Its events.
        ids: Vec<EventId>,
        /// When.
        at: UnixMicros,
    },
    /// A job has the events of another one as well, which is over.
    Joined {
        /// The job.
        into: JobId,
        /// The other one.
        from: JobId,
        /// What the events of the other one came to.
        event: E,
        /// The events of the other one, if there are more than one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ids: Vec<EventId>,
        /// When.
        at: UnixMicros,
    },
    /// An attempt begins; it counts from here on.
    Started {
        /// The job.
        job: JobId,
        /// Tells the attempt from all others.
        fence: Fence,
        /// When.
        at: UnixMicros,
    },
    /// An attempt has ended.
    Ended {
        /// The job.
        job: JobId,
        /// Which attempt.
        fence: Fence,
        /// When.
        at: UnixMicros,
        /// How.
        end: AttemptEnd,
        /// When the next one is, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        again: Option<UnixMicros>,
    },
    /// How a job ends is decided: done, dead, or cancelled.
    Settled {
        /// The job.
        job: JobId,
        /// When.
        at: UnixMicros,
        /// How.
        settled: Settled,
        /// Its result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hand_over: Option<Handover>,
    },
    /// The result of a job was delivered.
    Delivered {
        /// The job.
        job: JobId,
        /// When.
        at: UnixMicros,
    },
    /// A person has taken a dead job up again.
    Revived {
        /// The job.
        job: JobId,
        /// When.
        at: UnixMicros,
    },
    /// A dead job was thrown away.
    Forgotten {
        /// The job.
        job: JobId,
    },
    /// Of a snapshot: a job that was accepted, as it was.
    Job {
        /// The job.
        job: JobId,
        /// The job that has taken its place, while its run ends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaced_by: Option<JobId>,
        /// Its automation.
        automation: AutomationId,
        /// What its events came to.
        event: E,
        /// Its events, if there are more than one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ids: Vec<EventId>,
        /// Its concurrency key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Arc<str>>,
        /// The key of its lane.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lane: Option<Arc<str>>,
        /// The key of its rate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate: Option<Arc<str>>,
        /// When it was accepted.
        at: UnixMicros,
        /// Its attempts.
        attempts: Vec<Attempt>,
        /// How many of them do not count any more.
        spent: u32,
        /// How it has ended, and what is still to be handed over.
        settled: Option<(Settled, Option<Handover>, UnixMicros)>,
    },
    /// Of a snapshot: the last starts of a rate.
    Starts {
        /// The automation.
        automation: AutomationId,
        /// The key of the rate.
        rate: Arc<str>,
        /// The starts, oldest first.
        starts: Vec<UnixMicros>,
    },
    /// Of a snapshot: events that an automation has had, oldest first.
    Seen {
        /// The automation.
        automation: AutomationId,
        /// The events.
        ids: Vec<EventId>,
    },
    /// Of a snapshot: the last numbers that were given.
    Numbers {
        /// Of jobs.
        job: JobId,
        /// Of runs.
        fence: Fence,
    },
}

/// A record as it is kept. The kind says what is recorded, so that a reader may leave out what it does not want.
pub use lineside_core::journal::Record as Entry;

#[derive(Serialize, Deserialize)]
struct Versioned<R> {
    v: u32,
    record: R,
}

#[derive(Deserialize)]
struct VersionOnly {
    v: u32,
}

impl<E> Record<E> {
    /// The byte for what is recorded. It never changes and is never used again for something else.
    #[must_use]
    pub fn kind(&self) -> u8 {
        match self {
            Self::Held { .. } => 1,
            Self::Accepted { .. } => 2,
            Self::Merged { .. } => 3,
            Self::Started { .. } => 4,
            Self::Ended { .. } => 5,
            Self::Settled { .. } => 6,
            Self::Delivered { .. } => 7,
            Self::Revived { .. } => 8,
            Self::Forgotten { .. } => 9,
            Self::Job { .. } => 10,
            Self::Starts { .. } => 11,
            Self::Seen { .. } => 12,
            Self::Numbers { .. } => 13,
            Self::Joined { .. } => 14,
        }
    }
}

/// Why a record cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// Its event cannot be written as JSON.
    #[error("the record cannot be written")]
    Write(#[source] lineside_core::json::Error),
    /// It is not a record.
    #[error("entry {kind} is not a record")]
    Read {
        /// The kind that it says it is.
        kind: u8,
        /// What is wrong with it.
        source: lineside_core::json::Error,
    },
    /// A newer version of the format.
    #[error("entry {kind} is of version {version}, and this programme reads up to {VERSION}")]
    Version {
        /// The kind.
        kind: u8,
        /// The version.
        version: u32,
    },
}

impl<E: Serialize> Record<E> {
    /// The record as it is kept.
    ///
    /// ```
    /// use lineside_automation::machine::job::JobId;
    /// use lineside_automation::record::Record;
    /// use lineside_automation::unix_micros::UnixMicros;
    ///
    /// let record: Record<String> = Record::Delivered { job: JobId(7), at: UnixMicros::millis(3) };
    /// let entry = record.write()?;
    /// assert_eq!(Record::read(&entry)?, record);
    /// # Ok::<_, lineside_automation::record::RecordError>(())
    /// ```
    ///
    /// # Errors
    /// Its event cannot be written as JSON.
    pub fn write(&self) -> Result<Entry, RecordError> {
        let versioned = Versioned { v: VERSION, record: self };
        let bytes = lineside_core::json::to_vec(&versioned).map_err(RecordError::Write)?;
        Ok(Entry::new(self.kind(), bytes))
    }
}

impl<E: DeserializeOwned> Record<E> {
    /// The record of an entry.
    ///
    /// # Errors
    /// It is of a newer version, or not a record. It never panics, whatever the bytes are.
    pub fn read(entry: &Entry) -> Result<Self, RecordError> {
        let kind = entry.kind;
        let unreadable = |source| RecordError::Read { kind, source };
        let VersionOnly { v: version } = lineside_core::json::from_slice(&entry.bytes).map_err(unreadable)?;
        if !(1..=VERSION).contains(&version) {
            return Err(RecordError::Version { kind, version });
        }
        let versioned: Versioned<Self> = lineside_core::json::from_slice(&entry.bytes).map_err(unreadable)?;
        Ok(versioned.record)
    }
}
