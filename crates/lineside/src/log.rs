//! The decision log, fed from the stream of signals.
//!
//! What a log is and how it is read is said by the crate behind it; here a signal becomes a record.

use std::time::Duration;

use lineside_bus::signal::{Signals, Watched};
use lineside_bus::{Bus, JobNews, Signal};
use lineside_core::json::{Map, Value, json};
use lineside_core::{Notice, Outcome, Timestamp};

pub use lineside_log::{
    Considered, Decision, Given, Happened, HookStats, Kept, LEFT, Log, Look, LookError, News, OpenLogError,
    Options, ParseQueryError, Query, Record, Recorded, Retention, SessionStats, Shadowed, State, Stats,
    VERSION, Why,
};

/// The file of the log within a state folder.
pub const FILE: &str = "log.sqlite";

/// How long what happens gathers before it is taken: far below the time of a transaction of the log.
const GATHERING: Duration = Duration::from_millis(5);

/// What the log keeps of a signal that came at this time; a decision has a time of its own.
///
/// ```
/// use lineside::core::Timestamp;
/// use lineside::log::{line, record};
/// use lineside::prelude::*;
///
/// let signal = Signal::Announced { notice: Notice::info("hooks were read again") };
/// let (kind, fields) = line(&record(&signal, Timestamp::UNIX_EPOCH));
/// assert_eq!(kind, "announced");
/// assert_eq!(fields["detail"], "hooks were read again");
/// ```
#[must_use]
pub fn record(signal: &Signal, at: Timestamp) -> Record {
    let news = |what, fill: &dyn Fn(&mut Happened)| {
        let mut happened = Happened::new(at, what);
        happened.session = signal.session().cloned();
        fill(&mut happened);
        Record::Happened(Box::new(happened))
    };
    let notice = |notice: &Notice| notice.text.clone();
    match signal {
        Signal::Decided(receipt) => Record::Decided(std::sync::Arc::clone(receipt)),
        Signal::SessionOpened { parent, .. } => news("session_opened", &|it| {
            it.detail = parent.as_ref().map(|parent| format!("below {parent}")).unwrap_or_default();
        }),
        Signal::SessionClosed { last_seq, .. } => {
            news("session_closed", &|it| it.detail = format!("after {last_seq} events"))
        }
        Signal::CoverageMismatch { event, mismatch, .. } => news("coverage_mismatch", &|it| {
            it.event = Some(*event);
            it.detail = format!("believed {}, in force {}", mismatch.believed, mismatch.in_force);
        }),
        Signal::Abandoned { left, .. } => Record::Left(std::sync::Arc::clone(left)),
        Signal::DetachedFinished { event, hook, outcome, given, took, .. } if hook.is_shadow() => {
            Record::Shadowed(Box::new(Shadowed {
                event: *event,
                hook: std::sync::Arc::clone(hook),
                outcome: outcome.clone(),
                given: given.clone(),
                took: *took,
            }))
        }
        Signal::DetachedFinished { event, hook, outcome, took, .. } => {
            let failure = match outcome {
                Outcome::Failed { failure, .. } => Some(failure),
                _ => None,
            };
            news(if failure.is_some() { "detached_failed" } else { "detached_finished" }, &|it| {
                (it.event, it.hook, it.took) = (Some(*event), Some(hook.name.clone()), Some(*took));
                it.detail = failure.map(|failure| format!("{}: {failure}", failure.kind)).unwrap_or_default();
            })
        }
        Signal::Released { event, hook, skipped, .. } => news("released", &|it| {
            (it.event, it.hook) = (Some(*event), Some(hook.name.clone()));
            it.detail = skipped.map(|why| why.to_string()).unwrap_or_default();
        }),
        Signal::Notified { event, hook, notice: told, .. } => news("notified", &|it| {
            (it.event, it.hook, it.detail) = (Some(*event), Some(hook.clone()), notice(told));
        }),
        Signal::Announced { notice: told } => news("announced", &|it| it.detail = notice(told)),
        Signal::ContextDelivered { messages, .. } => {
            news("context_delivered", &|it| it.detail = messages.to_string())
        }
        Signal::ContextDropped { hook, .. } => news("context_dropped", &|it| it.hook = Some(hook.clone())),
        Signal::ContextExpired { hook, .. } => news("context_expired", &|it| it.hook = Some(hook.clone())),
        Signal::ContextReplaced { hook, .. } => news("context_replaced", &|it| it.hook = Some(hook.clone())),
        Signal::ContextCut { hook, .. } => news("context_cut", &|it| it.hook = Some(hook.clone())),
        Signal::ContextRecovered { messages, .. } => {
            news("context_recovered", &|it| it.detail = messages.to_string())
        }
        Signal::Automation { hook, job, event, news: about, .. } => news(job_kind(about), &|it| {
            (it.event, it.hook, it.job) = (Some(*event), Some(hook.clone()), *job);
            it.detail = of_job(about);
        }),
        Signal::ApprovalAsked { event, id, hook, within, .. } => news("approval_asked", &|it| {
            (it.event, it.hook) = (Some(*event), Some(hook.clone()));
            it.detail = format!("{id}: waits for {} s at most", within.as_secs());
        }),
        Signal::ApprovalAnswered { event, hook, approval, .. } => news("approval_answered", &|it| {
            (it.event, it.hook, it.took) = (Some(*event), Some(hook.clone()), Some(approval.waited));
            it.detail = approval.to_string();
        }),
        Signal::ObserverLagged { hook, lost } => news("observer_lagged", &|it| {
            (it.hook, it.detail) = (Some(hook.clone()), format!("{lost} lost"));
        }),
        other => news("unknown", &|it| it.detail = format!("{other:?}")),
    }
}

/// A record as one line for a reader of the stream, without secrets: its kind, and a decision as
/// [`Decision::to_json`] has it, with `waited_us` where a person was asked, or `time`, `session`, `event`, `hook`, `job`, `took_us` and `detail` of what else happens.
#[must_use]
pub fn line(record: &Record) -> (&'static str, Map) {
    let micros = |took: Duration| u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    let (kind, fields) = match record {
        Record::Decided(receipt) => {
            let mut object = Decision::of(receipt, None).to_json();
            if let Some(approval) = &receipt.approval {
                object.insert("waited_us".to_owned(), json!(micros(approval.waited)));
            }
            ("decided", Value::Object(object))
        }
        Record::Left(receipt) => {
            let mut object = Decision::of(receipt, None).to_json();
            object.insert("event".to_owned(), json!(receipt.event.envelope().id));
            object.insert("detail".to_owned(), json!(LEFT));
            ("abandoned", Value::Object(object))
        }
        Record::Shadowed(shadowed) => {
            let Shadowed { event, hook, outcome, took, .. } = &**shadowed;
            let said = outcome.verdict().map(lineside_core::Verdict::strength);
            (
                "shadowed",
                json!({"event": event, "hook": hook.name, "verdict": said, "took_us": micros(*took)}),
            )
        }
        Record::Happened(happened) => {
            let News { time, hook, job, took, detail, .. } = News::of(happened);
            let fields = json!({
                "time": time.to_string(), "session": happened.session, "event": happened.event, "hook": hook,
                "job": job, "took_us": took.map(micros), "detail": detail,
            });
            (happened.what, fields)
        }
        Record::Lost(lost) => ("lost", json!({"lost": lost})),
        _ => ("unknown", Value::Null),
    };
    let mut line = Map::from_iter([("kind".to_owned(), json!(kind))]);
    if let Value::Object(fields) = fields {
        line.extend(fields);
    }
    (kind, line)
}

/// What has become of a job, in the word that the log has for it.
///
/// ```
/// use lineside::bus::JobNews;
/// use lineside::log::job_kind;
///
/// assert_eq!(job_kind(&JobNews::Finished), "job_finished");
/// ```
#[must_use]
pub fn job_kind(news: &JobNews) -> &'static str {
    match news {
        JobNews::Held => "job_held",
        JobNews::Queued => "job_queued",
        JobNews::Refused(_) => "job_refused",
        JobNews::Started { .. } => "job_started",
        JobNews::Retried { .. } => "job_retried",
        JobNews::Finished => "job_finished",
        JobNews::Dead(_) => "job_dead",
        JobNews::Cancelled(_) => "job_cancelled",
        JobNews::Parked => "job_parked",
        JobNews::Revived => "job_revived",
        JobNews::Forgotten => "job_forgotten",
        _ => "job_unknown",
    }
}

fn of_job(news: &JobNews) -> String {
    match news {
        JobNews::Refused(why) | JobNews::Dead(why) | JobNews::Cancelled(why) => why.clone(),
        JobNews::Started { attempt } => format!("attempt {attempt}"),
        JobNews::Retried { failed, .. } => failed.clone(),
        unknown if job_kind(unknown) == "job_unknown" => format!("{unknown:?}"),
        _ => String::new(),
    }
}

/// A log with the stream that it is fed from.
///
/// ```
/// use lineside::log::{Follower, Log, Look, Options, Query};
/// use lineside::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("log.sqlite");
/// let bus = Bus::new();
/// let mut follower = Follower::new(&bus, Log::open(&file, Options::default())?);
/// let session = bus.session("s1").open().await?;
/// let policy = session.intercept::<BeforeTool>("policy").matching(tool("Shell"));
/// policy.gate(async |_call, _cx| Verdict::block("not here"))?;
/// session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await?;
/// follower.end();
/// let why = Look::open(&file)?.why_last(&Query::default())?.ok_or("nothing was decided")?;
/// assert_eq!(why.decision.reason.as_deref(), Some("not here"));
/// # Ok(())
/// # }
/// ```
pub struct Follower {
    signals: Signals,
    log: Log,
    bus: Bus,
}

impl Follower {
    /// Feeds a log with all that happens on a bus from now on, whenever one of its functions is called.
    #[must_use]
    pub fn new(bus: &Bus, log: Log) -> Self {
        Self { signals: bus.signals(), log, bus: bus.clone() }
    }

    /// Goes on for as long as there is something to come, and takes it some milliseconds late, so that not each event has to
    /// wake a task. Cancel safe: what was not taken is taken by the next call.
    pub async fn follow(&mut self) {
        while let Some(watched) = self.signals.next_gathered(GATHERING).await {
            self.take(&watched);
        }
    }

    /// Takes what there is, and waits until it is written. Blocks the thread for that.
    pub fn end(&mut self) {
        while let Some(watched) = self.signals.try_next() {
            self.take(&watched);
        }
        self.log.flush();
    }

    /// How the log stands.
    #[must_use]
    pub fn state(&self) -> State {
        self.log.state()
    }

    fn take(&self, watched: &Watched) {
        self.log.offer(match watched {
            Watched::Signal(signal) => record(signal, self.bus.wall_clock()),
            Watched::Lost(lost) => Record::Lost(*lost),
        });
    }
}
