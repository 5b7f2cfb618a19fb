//! A job of an automation as JSON.

use lineside_automation::hook_id::name_of;
use lineside_automation::machine::job::{Attempt, AttemptEnd, Settled};
use lineside_automation::machine::{JobStatus, JobSummary};
use lineside_automation::unix_micros::UnixMicros;
use lineside_core::Timestamp;
use lineside_core::json::{Map, Value, json};

/// Where a job stands, in one word.
///
/// ```
/// use lineside::automation::machine::JobStatus;
/// use lineside::wire::{JobState, job_state};
///
/// assert_eq!(job_state(&JobStatus::Delivering), JobState::Delivering);
/// assert_eq!(JobState::Delivering.as_str(), "delivering");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobState {
    /// Its events are held until no further one comes, or there are enough.
    Debouncing,
    /// It waits for its automation, its rate, its key or its turn.
    Waiting,
    /// It runs.
    Running,
    /// It has failed and waits for its next attempt.
    Retrying,
    /// It has run, and what it found is being handed over.
    Delivering,
    /// It came to a good end.
    Done,
    /// It failed as often as it may.
    Dead,
    /// It did not run, or not to its end.
    Cancelled,
}

impl JobState {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debouncing => "debouncing",
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Retrying => "retrying",
            Self::Delivering => "delivering",
            Self::Done => "done",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Where a job stands.
///
/// ```
/// use lineside::automation::machine::JobStatus;
/// use lineside::wire::{JobState, job_state};
///
/// assert_eq!(job_state(&JobStatus::Turn { ahead: 2 }), JobState::Waiting);
/// ```
#[must_use]
pub fn job_state(standing: &JobStatus) -> JobState {
    match standing {
        JobStatus::Held { .. } => JobState::Debouncing,
        JobStatus::Parked
        | JobStatus::Off
        | JobStatus::Rate { .. }
        | JobStatus::Key { .. }
        | JobStatus::Turn { .. } => JobState::Waiting,
        JobStatus::Running { .. } => JobState::Running,
        JobStatus::Delayed { .. } => JobState::Retrying,
        JobStatus::Delivering => JobState::Delivering,
        JobStatus::Settled { settled: Settled::Done, .. } => JobState::Done,
        JobStatus::Settled { settled: Settled::Dead(_), .. } => JobState::Dead,
        JobStatus::Settled { settled: Settled::Cancelled(_), .. } => JobState::Cancelled,
    }
}

/// A job.
///
/// Fields: `job` (its number), `state`, `about` (where it stands and why, for people), `automation` (its id, the same in
/// every life of the process), `hook` (the name that its author gave it), `session`, `events` (ids), `key`, `accepted`, `next` (the time of its next attempt), `why` (a bad end), `attempts`. Times are
/// RFC 3339 in UTC with milliseconds.
///
/// ```
/// use lineside::automation::Automations;
/// use lineside::prelude::*;
/// use lineside::wire;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bus = Bus::new();
/// bus.automate::<OnIdle>("tidy").run(async |_idle, _cx| Ok(Report::success("nothing to do")))?;
/// let session = bus.session("s1").open().await?;
/// drop(session.publish(OnIdle::new()).await?);
/// let automations = Automations::of(&bus)?;
/// automations.all_settled().await?;
/// let json = wire::job(&automations.jobs().list(&Default::default())[0]);
/// assert_eq!((&json["hook"], &json["state"]), (&json!("tidy"), &json!("done")));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn job(shown: &JobSummary) -> Map {
    let attempts: Vec<Value> = (1..).zip(&shown.attempts).map(|(number, one)| attempt(number, one)).collect();
    let why = match &shown.standing {
        JobStatus::Settled { settled: Settled::Dead(why) | Settled::Cancelled(why), .. } => {
            Some(why.to_string())
        }
        _ => None,
    };
    let next = match &shown.standing {
        JobStatus::Held { until, .. } | JobStatus::Delayed { until, .. } => Some(*until),
        JobStatus::Rate { until, .. } => *until,
        _ => None,
    };
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
    put("job", json!(shown.job.0));
    put("state", json!(job_state(&shown.standing).as_str()));
    put("about", json!(shown.standing.to_string()));
    put("automation", json!(shown.automation));
    put("hook", json!(name_of(&shown.automation)));
    put("session", json!(shown.session));
    put("events", shown.events.iter().map(ToString::to_string).collect());
    put("key", json!(shown.key));
    put("accepted", json!(stamp(shown.accepted)));
    put("next", json!(next.map(stamp)));
    put("why", json!(why));
    put("attempts", Value::Array(attempts));
    map
}

/// An attempt of a job: `attempt` (its number, from 1), `fence`, `started`, `ended`, `took_ms`, `end` (`succeeded`,
/// `not_in_order` of one that came to the result that something is not, `failed` or `cancelled`; absent while it runs, or
/// where its process was killed), `failure`, `text`.
#[must_use]
pub fn attempt(number: usize, attempt: &Attempt) -> Value {
    let (ended, end) = match &attempt.ended {
        Some((ended, end)) => (Some(*ended), Some(end)),
        None => (None, None),
    };
    let (word, kind, text) = match end {
        Some(AttemptEnd::Succeeded(summary)) => (Some("succeeded"), None, Some(summary)),
        Some(AttemptEnd::NotInOrder(summary)) => (Some("not_in_order"), None, Some(summary)),
        Some(AttemptEnd::Failed(kind, detail)) => (Some("failed"), Some(kind.to_string()), Some(detail)),
        Some(AttemptEnd::Cancelled) => (Some("cancelled"), None, None),
        None => (None, None, None),
    };
    let took = ended.map(|ended| ended.since(attempt.started));
    json!({
        "attempt": number,
        "fence": attempt.fence.0,
        "started": stamp(attempt.started),
        "ended": ended.map(stamp),
        "took_ms": took.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
        "end": word,
        "failure": kind,
        "text": text,
    })
}

/// A moment as RFC 3339 in UTC with milliseconds; beyond the year 9999, in seconds since the beginning of 1970.
///
/// ```
/// use lineside::automation::unix_micros::UnixMicros;
/// use lineside::wire::stamp;
///
/// assert_eq!(stamp(UnixMicros::millis(1_500)), "1970-01-01T00:00:01.500Z");
/// ```
#[must_use]
pub fn stamp(moment: UnixMicros) -> String {
    let micros = i64::try_from(moment.0).unwrap_or(i64::MAX);
    match Timestamp::from_microsecond(micros) {
        Some(time) => format!("{time:.3}"),
        None => moment.to_string(),
    }
}
