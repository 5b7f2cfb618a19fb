//! How an automation is paced, as values: what its author declares, and what it comes to once it is checked.
//!
//! The settings take effect in this order: match, rate, debounce and batch, (journal,) priority, concurrency key, run,
//! retry, result. What triggers an automation, and what it runs, is said elsewhere.

use std::time::Duration;

use serde::Serialize;

use crate::failure::FailureKind;
use crate::flow::{Debounce, RetryAfter};
use crate::hook::Join;
use crate::point::PointInfo;
use crate::report::{Found, Handover, Report, ResultRule};

mod error;
mod setters;
mod shown;
mod template;

pub use error::ControlError;
pub use template::{KeyTemplate, TemplateError};

/// At most this many starts in a period, for each key.
///
/// ```
/// use std::time::Duration;
///
/// use lineside_core::control::{Excess, Rate};
///
/// let rate = Rate::new(5, Duration::from_secs(60)).dropping();
/// assert_eq!((rate.starts, rate.excess), (5, Excess::Drop));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rate {
    /// How many starts.
    pub starts: u32,
    /// In how long a time, whenever that begins.
    pub period: Duration,
    /// The template of the key; the automation as a whole by default.
    pub key: Option<String>,
    /// What becomes of more than that.
    pub excess: Excess,
    /// Of which machines the starts count.
    pub scope: Scope,
}

/// What becomes of more than a rate allows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Excess {
    /// It waits.
    #[default]
    Wait,
    /// It is dropped, and a signal says so.
    Drop,
}

impl Rate {
    /// At most this many starts in a period; more than that waits. Attempts after the first are no starts of their own.
    #[must_use]
    pub const fn new(starts: u32, period: Duration) -> Self {
        Self { starts, period, key: None, excess: Excess::Wait, scope: Scope::Machine }
    }

    /// For each key of this template.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use lineside_core::control::Rate;
    ///
    /// let rate = Rate::new(5, Duration::from_secs(60)).per("{project_root}");
    /// assert_eq!(rate.key.as_deref(), Some("{project_root}"));
    /// ```
    #[must_use]
    pub fn per(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// More than that is dropped.
    #[must_use]
    pub fn dropping(mut self) -> Self {
        self.excess = Excess::Drop;
        self
    }

    /// The starts on all machines of its cluster count, not those of this one alone.
    #[must_use]
    pub fn across_cluster(mut self) -> Self {
        self.scope = Scope::Cluster;
        self
    }
}

/// Events are held until there are enough of them, or the first has waited for long enough; then there is one run for
/// all of them.
///
/// ```
/// use std::time::Duration;
///
/// use lineside_core::control::{Batch, Control};
///
/// let batch = Batch { count: 20, within: Duration::from_secs(5) };
/// let control = Control { batch: Some(batch), ..Control::default() };
/// assert_eq!(control.batch.map(|batch| batch.count), Some(20));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// How many are enough.
    pub count: usize,
    /// How long the first one waits at most.
    pub within: Duration,
}

/// What happens when the key of a job that has just been accepted is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OnBusy {
    /// It waits in order.
    #[default]
    Queue,
    /// One waits; what comes after it is merged into it.
    Coalesce,
    /// It is dropped, and a signal says so.
    Drop,
    /// The run of this automation that has the key is cancelled, and there is a new one for its events and these.
    Restart,
}

/// How often a run that failed is tried again. The key stays taken between the attempts, so that order is kept.
///
/// ```
/// use std::time::Duration;
///
/// use lineside_core::FailureKind;
/// use lineside_core::control::Retry;
///
/// let secs = Duration::from_secs;
/// let retry = Retry::constant(3, secs(2));
/// assert_eq!(retry.pause(1, FailureKind::Exit, 0), Some(secs(2)));
/// assert_eq!(retry.pause(3, FailureKind::Exit, 0), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How many attempts there are in all, with the first.
    pub attempts: u32,
    /// How long it is from the end of an attempt to the next.
    pub pause: Pause,
    /// Which failures are tried again.
    pub after: RetryAfter,
}

/// How long it is from the end of an attempt to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// Always as long.
    Constant(Duration),
    /// Twice as long each time, up to a bound; of that any part, drawn for each job and attempt, so that what failed
    /// together is not tried again together.
    Exponential {
        /// The first pause.
        first: Duration,
        /// The longest.
        at_most: Duration,
    },
}

/// The longest pause between two attempts by default.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

impl Retry {
    /// One attempt.
    pub const NONE: Self =
        Self { attempts: 1, pause: Pause::Constant(Duration::ZERO), after: RetryAfter::AnyFailure };

    /// This many attempts in all, always as far apart.
    #[must_use]
    pub const fn constant(attempts: u32, pause: Duration) -> Self {
        Self { attempts, pause: Pause::Constant(pause), after: RetryAfter::AnyFailure }
    }

    /// This many attempts in all, each time up to twice as far apart, five minutes at most.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use lineside_core::FailureKind;
    /// use lineside_core::control::Retry;
    ///
    /// let secs = Duration::from_secs;
    /// let retry = Retry::exponential(10, secs(1)).at_most(secs(30));
    /// // Any part of 1 s, then of 2 s, then of 4 s: the last argument draws it.
    /// assert!(retry.pause(1, FailureKind::Exit, 17).is_some_and(|pause| pause <= secs(1)));
    /// assert!(retry.pause(9, FailureKind::Exit, 17).is_some_and(|pause| pause <= secs(30)));
    /// ```
    #[must_use]
    pub const fn exponential(attempts: u32, first: Duration) -> Self {
        Self { attempts, pause: Pause::Exponential { first, at_most: LONGEST_PAUSE }, ..Self::NONE }
    }

    /// The longest pause of an exponential one.
    #[must_use]
    pub const fn at_most(mut self, longest: Duration) -> Self {
        if let Pause::Exponential { first, .. } = self.pause {
            self.pause = Pause::Exponential { first, at_most: longest };
        }
        self
    }

    /// Only after these failures.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use lineside_core::FailureKind;
    /// use lineside_core::control::Retry;
    /// use lineside_core::flow::RetryAfter;
    ///
    /// let retry = Retry::constant(3, Duration::from_secs(2)).after(RetryAfter::AnyButOutput);
    /// assert_eq!(retry.pause(1, FailureKind::Output, 0), None);
    /// ```
    #[must_use]
    pub const fn after(mut self, after: RetryAfter) -> Self {
        self.after = after;
        self
    }

    /// The longest pause that there can be.
    #[must_use]
    pub fn longest(&self) -> Duration {
        match self.pause {
            Pause::Constant(pause) => pause,
            Pause::Exponential { at_most, .. } => at_most,
        }
    }

    /// The pause after this many attempts, the last of which failed like this; `None` when no attempt follows.
    /// `draw` decides which part of an exponential pause it is.
    #[must_use]
    pub fn pause(&self, attempts: u32, failed: FailureKind, draw: u64) -> Option<Duration> {
        if attempts >= self.attempts || !self.after.covers(failed) {
            return None;
        }
        Some(match self.pause {
            Pause::Constant(pause) => pause,
            Pause::Exponential { first, at_most } => {
                let doubled = 1_u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
                let whole = first.saturating_mul(doubled).min(at_most);
                whole.mul_f64((mix(draw) >> 11) as f64 / (1_u64 << 53) as f64)
            }
        })
    }
}

/// Spreads a number over all numbers (the finaliser of SplitMix64).
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// What becomes of the work of a session that ends.
///
/// ```
/// use std::time::Duration;
///
/// use lineside_core::control::{AtEnd, Control};
///
/// let control = Control { at_end: AtEnd::LeaveRunning, ..Control::default() };
/// assert_ne!(control.at_end, AtEnd::Drain(Duration::from_secs(5)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtEnd {
    /// What is held runs at once; what has not ended after this time is cancelled.
    Drain(Duration),
    /// It goes on as if nothing had happened; its result is discarded.
    LeaveRunning,
}

impl Default for AtEnd {
    /// As long as a run may take by default.
    fn default() -> Self {
        Self::Drain(RUN)
    }
}

/// How long a run may take by default: longer than a linter, shorter than a coffee.
const RUN: Duration = Duration::from_secs(120);

/// How many events one burst may hold; with one more it is due.
pub const MOST_HELD: usize = 4096;

/// No time of a setting may be longer: it is a slip of units.
pub const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// The starts of a period are remembered one by one; those of a cluster are one message of its server.
const MOST_STARTS: usize = 100_000;
const MOST_STARTS_OF_CLUSTER: usize = 1_000;

/// More attempts than this are no retry but a loop.
pub const MOST_ATTEMPTS: u32 = 1000;

/// What the author of an automation declares.
///
/// ```
/// use std::time::Duration;
///
/// use lineside_core::control::{Control, OnBusy, Retry};
/// use lineside_core::flow::Debounce;
///
/// let control = Control {
///     debounce: Some(Debounce::quiet(Duration::from_millis(300))),
///     concurrency: Some("lint:{project_root}".into()),
///     on_busy: OnBusy::Coalesce,
///     retry: Retry::constant(3, Duration::from_secs(2)),
///     ..Control::default()
/// };
/// assert_eq!((control.limit, control.timeout), (1, Duration::from_secs(120)));
/// ```
#[derive(Debug, Clone)]
pub struct Control {
    /// At most this many starts in a period.
    pub rate: Option<Rate>,
    /// Held until it is quiet.
    pub debounce: Option<Debounce>,
    /// Held until there are enough.
    pub batch: Option<Batch>,
    /// What is held together; what concerns the same agent of the same session by default, and with the scope
    /// of the cluster all of the automation.
    pub hold_key: Option<String>,
    /// Of which machines events are held together.
    pub hold_scope: Scope,
    /// Greater goes first where several wait.
    pub priority: i32,
    /// Runs with the same key go one at a time; no key by default.
    pub concurrency: Option<String>,
    /// How many at a time instead of one.
    pub limit: u32,
    /// What happens when the key is taken.
    pub on_busy: OnBusy,
    /// How far the key holds.
    pub scope: Scope,
    /// Where it may run.
    pub place: Place,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// How often it is tried.
    pub retry: Retry,
    /// Whether the next model call waits for it.
    pub join: Join,
    /// What becomes of its report.
    pub result: ResultRule,
    /// What becomes of it when its session ends.
    pub at_end: AtEnd,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            rate: None,
            debounce: None,
            batch: None,
            hold_key: None,
            hold_scope: Scope::default(),
            priority: 0,
            concurrency: None,
            limit: 1,
            on_busy: OnBusy::default(),
            scope: Scope::default(),
            place: Place::default(),
            timeout: RUN,
            retry: Retry::NONE,
            join: Join::default(),
            result: ResultRule::default(),
            at_end: AtEnd::default(),
        }
    }
}

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment {
    /// The number of the job, the same for all its attempts and after a restart.
    pub job: u64,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// How many events there are, of which the run has what they come to; 1 at least.
    pub events: usize,
    /// The fencing token of a key that holds over machines: greater for each run that has the key.
    pub fence: Option<u64>,
}

/// How far a concurrency key, a rate or a window of events holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// On this machine.
    #[default]
    Machine,
    /// On all machines of its cluster; without one on this machine.
    Cluster,
}

/// Where a job may run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// On the machine that its event came from.
    #[default]
    Origin,
    /// On any machine of its cluster that has the hook, as a person has trusted it there. Hooks that live in a program run
    /// where that is.
    Anywhere,
}

/// The settings of an automation, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// At most this many starts in a period, for each key of the template.
    pub rate: Option<(Rate, KeyTemplate)>,
    /// How events are held, if they are.
    pub hold: Option<Hold>,
    /// What is held together.
    pub hold_key: KeyTemplate,
    /// Greater goes first.
    pub priority: i32,
    /// How many runs of a key go at a time.
    pub concurrency: Option<(KeyTemplate, u32)>,
    /// The key of what its runs go one after another with before they wait for their concurrency key.
    pub lane: Option<KeyTemplate>,
    /// What happens when the key is taken.
    pub on_busy: OnBusy,
    /// How far the key holds.
    pub scope: Scope,
    /// Where it may run.
    pub place: Place,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// How often it is tried.
    pub retry: Retry,
    /// Whether the next model call waits for it.
    pub join: Join,
    /// What becomes of its report.
    pub result: ResultRule,
    /// What becomes of it when its session ends.
    pub at_end: AtEnd,
    /// Whether there are events that cancel its work.
    pub cancellable: bool,
    /// Whose work it is.
    pub work: Work,
}

/// Whose work the runs of an automation are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Work {
    /// Its own: it goes on with everything that it had as soon as it is there, and paces its attempts.
    #[default]
    Own,
    /// Its own as well, but what a run starts waits for a turn outside of the machine: an attempt counts when it has
    /// that, and one that fails without counts when it fails.
    ExternalSlot,
    /// That of a session, done by a hook which has rules of its own. It goes on when the session is there and has the
    /// hook, needs no place of its own, paces its attempts itself, and pauses when the session has no more time for it. An
    /// event that comes twice counts twice, as it does for every hook.
    Adopted {
        /// How often it is started again at most after its process was killed or its session ended.
        restarts: u32,
    },
    /// That of a session likewise, without a record: it ends with its session, and is shown until then.
    InMemory,
}

impl Rules {
    /// Whether its runs are the work of a session.
    #[must_use]
    pub fn is_adopted(&self) -> bool {
        matches!(self.work, Work::Adopted { .. } | Work::InMemory)
    }

    /// Whether there are no records of its runs.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        self.work == Work::InMemory
    }

    /// Whether its key, its rate or its windows are to hold on all machines of the cluster.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        let of_rate = self.rate.as_ref().map(|(rate, _)| rate.scope);
        [Some(self.scope), of_rate, self.hold.map(|hold| hold.scope)].contains(&Some(Scope::Cluster))
    }

    /// Where the text of a report goes, if anywhere. What is not in order keeps the agent from stopping, if its next model
    /// call waits for it.
    #[must_use]
    pub fn hand_over(&self, report: &Report) -> Option<Handover> {
        match self.result.hand_over(report)? {
            Handover::Append(text)
                if self.join == Join::BeforeNextModel && report.found == Found::Failure =>
            {
                Some(Handover::Keep(text))
            }
            other => Some(other),
        }
    }
}

/// How events are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// For how long.
    pub pace: Debounce,
    /// It is due with this many.
    pub count: usize,
    /// Of which machines.
    pub scope: Scope,
}

impl Control {
    /// Checks the settings for an automation at `point` whose work events of the points `cancelled_by` cancel.
    ///
    /// # Errors
    /// An invalid setting; the error names it.
    pub fn check(&self, point: &PointInfo, cancelled_by: &[&PointInfo]) -> Result<Rules, ControlError> {
        self.check_times()?;
        self.check_counts()?;
        if self.join == Join::BeforeNextModel && NO_MODEL_AFTER.contains(&point.name) {
            return Err(ControlError::NoModelAfter { point: point.name });
        }
        if self.on_busy != OnBusy::Queue && self.concurrency.is_none() {
            return Err(ControlError::NeedsKey { setting: "on_busy" });
        }
        if self.limit != 1 && self.concurrency.is_none() {
            return Err(ControlError::NeedsKey { setting: "limit" });
        }
        if self.scope == Scope::Cluster && self.concurrency.is_none() {
            return Err(ControlError::NeedsKey { setting: "scope" });
        }
        if self.hold_scope == Scope::Cluster && self.hold().is_none() {
            return Err(ControlError::NeedsHold);
        }
        if self.scope == Scope::Cluster && self.limit != 1 {
            return Err(ControlError::LimitOfCluster);
        }
        let template = |setting, text: &str, points: &[&PointInfo]| {
            KeyTemplate::read(text, points).map_err(|source| ControlError::Key { setting, source })
        };
        let mut all = vec![point];
        all.extend(cancelled_by);
        let rate = match &self.rate {
            Some(rate) => {
                let key = rate.key.as_deref().unwrap_or("*");
                Some((rate.clone(), template("rate.key", key, &[point])?))
            }
            None => None,
        };
        let concurrency = match &self.concurrency {
            Some(text) => Some((template("concurrency", text, &all)?, self.limit)),
            None => None,
        };
        // A session is of one machine.
        let by_default = if self.hold_scope == Scope::Cluster { "*" } else { "{session}/{agent}" };
        let hold_key = self.hold_key.as_deref().unwrap_or(by_default);
        // Without a concurrency key, events that cancel are compared by what is held together.
        let of_hold: &[&PointInfo] = if concurrency.is_some() { &[point] } else { &all };
        Ok(Rules {
            rate,
            hold: self.hold(),
            hold_key: template("hold_key", hold_key, of_hold)?,
            priority: self.priority,
            concurrency,
            lane: None,
            on_busy: self.on_busy,
            scope: self.scope,
            place: self.place,
            timeout: self.timeout,
            retry: self.retry,
            join: self.join,
            result: self.result,
            at_end: self.at_end,
            cancellable: !cancelled_by.is_empty(),
            work: Work::Own,
        })
    }

    fn check_times(&self) -> Result<(), ControlError> {
        let rate = self.rate.as_ref();
        let mut times = vec![("timeout", Some(self.timeout))];
        times.push(("rate.period", rate.map(|rate| rate.period)));
        times.push(("debounce.quiet", self.debounce.map(|pace| pace.quiet)));
        times.push(("debounce.at_most", self.debounce.map(|pace| pace.at_most)));
        times.push(("batch.within", self.batch.map(|batch| batch.within)));
        if let AtEnd::Drain(deadline) = self.at_end {
            times.push(("at_end.drain", Some(deadline)));
        }
        if let Pause::Exponential { first, at_most } = self.retry.pause {
            times.extend([("retry.exponential", Some(first)), ("retry.at_most", Some(at_most))]);
            if first > at_most {
                return Err(ControlError::Shorter { setting: "retry.at_most", than: "retry.exponential" });
            }
        }
        for (setting, time) in times {
            match time {
                Some(Duration::ZERO) => return Err(ControlError::Zero { setting }),
                Some(time) if time > LONGEST => return Err(ControlError::TooLong { setting }),
                Some(_) | None => {}
            }
        }
        match (self.retry.pause, self.debounce) {
            (Pause::Constant(pause), _) if pause > LONGEST => {
                Err(ControlError::TooLong { setting: "retry.constant" })
            }
            (_, Some(pace)) if pace.at_most < pace.quiet => {
                Err(ControlError::Shorter { setting: "debounce.at_most", than: "debounce.quiet" })
            }
            _ => Ok(()),
        }
    }

    fn check_counts(&self) -> Result<(), ControlError> {
        let of_cluster = self.rate.as_ref().is_some_and(|rate| rate.scope == Scope::Cluster);
        let most_starts = if of_cluster { MOST_STARTS_OF_CLUSTER } else { MOST_STARTS };
        let counts = [
            ("retry.attempts", Some(self.retry.attempts as usize), MOST_ATTEMPTS as usize),
            ("limit", Some(self.limit as usize), u32::MAX as usize),
            ("rate.starts", self.rate.as_ref().map(|rate| rate.starts as usize), most_starts),
            ("batch.count", self.batch.map(|batch| batch.count), MOST_HELD),
            ("result.lines", Some(self.result.lines), usize::MAX),
            ("result.bytes", Some(self.result.bytes), usize::MAX),
            ("result.tokens", Some(self.result.tokens), usize::MAX),
        ];
        for (setting, count, most) in counts {
            match count {
                Some(0) => return Err(ControlError::Zero { setting }),
                Some(count) if count > most => return Err(ControlError::TooMany { setting, most }),
                Some(_) | None => {}
            }
        }
        Ok(())
    }

    /// Debounce and batch together: whichever is over first.
    fn hold(&self) -> Option<Hold> {
        let scope = self.hold_scope;
        let of_batch = |batch: Batch| Debounce { quiet: batch.within, at_most: batch.within };
        match (self.debounce, self.batch) {
            (None, None) => None,
            (Some(pace), None) => Some(Hold { pace, count: MOST_HELD, scope }),
            (None, Some(batch)) => Some(Hold { pace: of_batch(batch), count: batch.count, scope }),
            (Some(pace), Some(batch)) => {
                let at_most = pace.at_most.min(batch.within);
                Some(Hold { pace: Debounce { at_most, ..pace }, count: batch.count, scope })
            }
        }
    }
}

/// After events of these points no model is called that could wait.
const NO_MODEL_AFTER: [&str; 2] = ["after_session", "on_service_stop"];

#[cfg(test)]
mod tests;
