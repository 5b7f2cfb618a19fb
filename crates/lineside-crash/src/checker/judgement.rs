//! What is decided about a log: the promises that were not kept, and what there was.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::log::Label;

/// A promise that was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Violation {
    /// A line of the log is none, and no kill can have cut it.
    Strange(String),
    /// The log does not end with all jobs settled.
    NotDrained,
    /// Opening the journal found damage; a kill does none.
    Finding { life: u32, finding: String },
    /// Records are not in sequence without a gap.
    Sequence { after: u64, found: u64 },
    /// An event was acknowledged and no run for it came to its end, nor does it rest dead.
    Lost { automation: String, label: Label },
    /// A run without a promise.
    Unknown { automation: String },
    /// A job was started more often than it may be.
    TooOften { automation: String, job: u64, starts: u32 },
    /// Runs for one event were started more often than they may be, whatever the jobs are called.
    EventTooOften { automation: String, label: Label, starts: u32 },
    /// An attempt has a number that one before it had, or a later one.
    Attempt { automation: String, job: u64, attempt: u32, before: u32 },
    /// A job ran again in the life in which it had come to its end.
    AgainAfterEnd { automation: String, job: u64 },
    /// Two runs of a key at once.
    Together { key: String, first: u64, second: u64, life: u32 },
    /// The second of two runs found the mark of the first.
    Clash { key: String, life: u32 },
    /// A run ended that had not begun, or not in this life.
    EndOfNothing { run: u64, life: u32 },
    /// A fence is not greater than all of the lives before.
    Fence { fence: u64, before: u64, life: u32 },
    /// A fence was given twice.
    FenceTwice { fence: u64, life: u32 },
    /// The fields of a burst are not those of its last event.
    NotTheLast { automation: String, run: u64, life: u32, last: Label, had: Label },
    /// When everything is over, a job is left in a state that was not asked for.
    Rests { automation: String, job: u64, how: String },
    /// A dead job has attempts left.
    DeadTooSoon { automation: String, job: u64, attempts: u32 },
    /// The file of an event says that it was worked for too often, or never.
    Effect { label: Label, count: u32 },
    /// A message was handed over after it had been accepted.
    AcceptedBefore { label: Label },
    /// A message was handed over after a later one of its mailbox.
    Order { label: Label, after: Label },
    /// A message was handed over twice at once.
    TwiceAtOnce { label: Label },
    /// A run told something, and it was never handed over.
    Untold { label: Label },
    /// A message has no author, or in the mailbox of another session than its event.
    Misdelivered { session: String, message: String },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Strange(line) => write!(f, "malformed log line: {line}"),
            Self::NotDrained => f.write_str("the last life did not bring everything to rest"),
            Self::Finding { life, finding } => write!(f, "life {life} found: {finding}"),
            Self::Sequence { after, found } => write!(f, "record {found} comes after record {after}"),
            Self::Lost { automation, label } => {
                write!(
                    f,
                    "{automation}: event {label} was acknowledged, never ran to its end and is not dead"
                )
            }
            Self::Unknown { automation } => write!(f, "there is no automation `{automation}`"),
            Self::TooOften { automation, job, starts } => {
                write!(f, "{automation}: job {job} was started {starts} times")
            }
            Self::EventTooOften { automation, label, starts } => {
                write!(f, "{automation}: runs for event {label} were started {starts} times")
            }
            Self::Attempt { automation, job, attempt, before } => {
                write!(f, "{automation}: attempt {attempt} of job {job} comes after attempt {before}")
            }
            Self::AgainAfterEnd { automation, job } => {
                write!(f, "{automation}: job {job} ran again after it had come to its end")
            }
            Self::Together { key, first, second, life } => {
                write!(f, "life {life}: runs {first} and {second} had the key `{key}` at once")
            }
            Self::Clash { key, life } => write!(f, "life {life}: two runs worked in the place of `{key}`"),
            Self::EndOfNothing { run, life } => write!(f, "life {life}: run {run} ended and had not begun"),
            Self::Fence { fence, before, life } => {
                write!(f, "life {life}: fence {fence} is not greater than {before} of an earlier life")
            }
            Self::FenceTwice { fence, life } => write!(f, "life {life}: fence {fence} was given twice"),
            Self::NotTheLast { automation, run, life, last, had } => {
                write!(
                    f,
                    "life {life}: run {run} of {automation} is for events up to {last} and has the fields of {had}"
                )
            }
            Self::Rests { automation, job, how } => write!(f, "{automation}: job {job} rests: {how}"),
            Self::DeadTooSoon { automation, job, attempts } => {
                write!(f, "{automation}: job {job} is dead after {attempts} attempts and had more")
            }
            Self::Effect { label, count } => {
                write!(f, "the file of event {label} says that it was worked for {count} times")
            }
            Self::AcceptedBefore { label } => {
                write!(f, "the message about {label} was handed over after it had been accepted")
            }
            Self::Order { label, after } => {
                write!(f, "the message about {label} was handed over after the one about {after}")
            }
            Self::TwiceAtOnce { label } => {
                write!(f, "the message about {label} was handed over twice at once")
            }
            Self::Untold { label } => write!(f, "the message about {label} was never handed over"),
            Self::Misdelivered { session, message } => {
                write!(f, "{session} was handed a message about event {message}, which is not its own")
            }
        }
    }
}

/// What there was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Figures {
    /// Lives.
    pub(crate) lives: u64,
    /// Lives that came to open their journal.
    pub(crate) opened: u64,
    /// Events that were acknowledged, for each automation that hears them.
    pub(crate) acknowledged: u64,
    /// Jobs that were started or rest.
    pub(crate) jobs: u64,
    /// Runs that began.
    pub(crate) runs: u64,
    /// Runs that ended with their life.
    pub(crate) killed: u64,
    /// Jobs that rest dead.
    pub(crate) dead: u64,
    /// Messages that were accepted.
    pub(crate) accepted: u64,
    /// Files of events that were worked for.
    pub(crate) files: u64,
}

/// What was decided.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    pub(crate) figures: Figures,
    pub(crate) violations: Vec<Violation>,
}

/// How often each event was worked for, as the files say that the work has left.
pub(crate) type Effects = BTreeMap<Label, u32>;
