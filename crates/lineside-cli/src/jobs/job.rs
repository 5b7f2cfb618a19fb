//! A job as the command tells it: one word for where it stands, and one line about it.

use clap::ValueEnum;
use lineside::automation::HookId;
use lineside::automation::hook_id::name_of;
use lineside::automation::machine::job::{Attempt, AttemptEnd, Settled, Why};
use lineside::automation::machine::{JobSummary, Progress};
use lineside::automation::unix_micros::UnixMicros;
use lineside::durable::RecordedJob;
use lineside::json::{Value, json};
use lineside::wire::{attempt, stamp};

use super::span::wide;
use crate::style::{Tone, count};

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum State {
    /// Its events are held until no further one comes, or there are enough.
    Debouncing,
    /// It waits for its rate, its key or its turn.
    Waiting,
    /// It runs.
    Running,
    /// It ran when its process ended; the next one goes on with it.
    Interrupted,
    /// It has failed and waits for its next attempt.
    Retrying,
    /// It has run, and what it found is being handed over.
    Delivering,
    /// It has run to its end, and what it found is where it belongs; that may be that something is not in order.
    Done,
    /// It failed as often as it may.
    Dead,
    /// It did not run, or not to its end.
    Cancelled,
}

impl State {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Debouncing => "debouncing",
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Retrying => "retrying",
            Self::Delivering => "delivering",
            Self::Done => "done",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
        }
    }

    pub(super) fn tone(self) -> Tone {
        match self {
            Self::Debouncing | Self::Waiting | Self::Delivering => Tone::Plain,
            Self::Running => Tone::Bold,
            Self::Interrupted | Self::Retrying => Tone::Warning,
            Self::Done => Tone::Good,
            Self::Dead => Tone::Bad,
            Self::Cancelled => Tone::Dim,
        }
    }
}

/// A job.
pub(super) struct Job {
    pub(super) shown: JobSummary,
    pub(super) progress: Progress,
    pub(super) state: State,
}

impl Job {
    /// A job of a journal, which another process may have open.
    pub(super) fn new(looked: RecordedJob, is_held: bool) -> Self {
        let RecordedJob { shown, progress } = looked;
        let state = match &progress {
            Progress::Held { .. } => State::Debouncing,
            Progress::Started { .. } if is_held => State::Running,
            Progress::Started { .. } => State::Interrupted,
            Progress::Delayed { .. } => State::Retrying,
            Progress::Delivering => State::Delivering,
            Progress::Settled { settled: Settled::Done, .. } => State::Done,
            Progress::Settled { settled: Settled::Dead(_), .. } => State::Dead,
            Progress::Settled { settled: Settled::Cancelled(_), .. } => State::Cancelled,
            // A state of a later version: all that is known is that the job has not settled.
            _ => State::Waiting,
        };
        Self { shown, progress, state }
    }

    /// Its automation's own name, or its hook's, without where that is registered.
    pub(super) fn name(&self) -> String {
        name_of(&self.shown.automation)
    }

    /// Whether it has run to its end and found that something is not in order.
    pub(super) fn is_not_in_order(&self) -> bool {
        let last = self.shown.attempts.last().and_then(|last| last.ended.as_ref());
        self.state == State::Done && matches!(last, Some((_, AttemptEnd::NotInOrder(_))))
    }

    /// Whether it is a run of a hook that nothing waits for, which ended well at the first attempt: as each of a log.
    pub(super) fn is_uneventful(&self) -> bool {
        let is_of_hook = || HookId::read(&self.shown.automation).is_some();
        self.state == State::Done && self.shown.attempts.len() == 1 && !self.is_not_in_order() && is_of_hook()
    }

    pub(super) fn tone(&self) -> Tone {
        if self.is_not_in_order() { Tone::Warning } else { self.state.tone() }
    }

    /// Since when it stands where it does.
    pub(super) fn since(&self) -> UnixMicros {
        let last = self.shown.attempts.last();
        let ended = last.and_then(|last| Some(last.ended.as_ref()?.0));
        match &self.progress {
            Progress::Held { since: (_, last), .. } => *last,
            Progress::Started { at } | Progress::Settled { at, .. } => *at,
            _ => ended.unwrap_or(self.shown.accepted),
        }
    }

    /// When the next attempt is.
    pub(super) fn next(&self) -> Option<UnixMicros> {
        match self.progress {
            Progress::Delayed { until } => Some(until),
            _ => None,
        }
    }

    /// What a person wants to know beyond the state.
    pub(super) fn about(&self) -> String {
        let attempts = self.shown.attempts.len();
        match &self.progress {
            Progress::Held { events, .. } => format!("{} held", count(*events, "event")),
            Progress::Started { .. } => format!("attempt {attempts}"),
            Progress::Delayed { .. } => self.failed(),
            // How often it failed stands beside it.
            Progress::Settled { settled: Settled::Dead(Why::Failed { detail, .. }), .. } => detail.clone(),
            Progress::Settled { settled: Settled::Dead(Why::Lost { .. }), .. } => {
                "its process was killed each time".to_owned()
            }
            Progress::Settled { settled: Settled::Dead(why) | Settled::Cancelled(why), .. } => {
                why.to_string()
            }
            Progress::Settled { settled: Settled::Done, .. } => match self.shown.attempts.last() {
                Some(Attempt { ended: Some((_, AttemptEnd::Succeeded(summary))), .. }) => summary.clone(),
                Some(Attempt { ended: Some((_, AttemptEnd::NotInOrder(summary))), .. }) => {
                    not_in_order(summary)
                }
                _ => String::new(),
            },
            Progress::Waiting => match &self.shown.key {
                Some(key) => format!("key {key}"),
                None => String::new(),
            },
            _ => String::new(),
        }
    }

    /// Why it came to a bad end, or to none.
    pub(super) fn why(&self) -> Option<String> {
        match &self.progress {
            Progress::Settled { settled: Settled::Dead(why) | Settled::Cancelled(why), .. } => {
                Some(why.to_string())
            }
            _ => None,
        }
    }

    /// How its last attempt failed.
    fn failed(&self) -> String {
        match self.shown.attempts.last().and_then(|last| last.ended.as_ref()) {
            Some((_, AttemptEnd::Failed(_, detail))) => detail.clone(),
            _ => "its process was killed".to_owned(),
        }
    }

    /// Everything about it.
    pub(super) fn to_json(&self) -> Value {
        let shown = &self.shown;
        let attempts: Vec<Value> =
            (1..).zip(&shown.attempts).map(|(number, one)| attempt(number, one)).collect();
        let held = match self.progress {
            Progress::Held { events, .. } => Some(events),
            _ => None,
        };
        json!({
            "job": shown.job.0,
            "state": self.state.as_str(),
            "automation": self.name(),
            "registered_as": shown.automation,
            "session": shown.session,
            "events": shown.events.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "held": held,
            "key": shown.key,
            "accepted": stamp(shown.accepted),
            "since": stamp(self.since()),
            "next": self.next().map(stamp),
            "why": self.why(),
            "attempts": attempts,
        })
    }
}

/// What a run found that came to the result that something is not in order.
fn not_in_order(summary: &str) -> String {
    const FOUND: &str = "found";
    // What a run that says nothing more is taken to have said.
    if summary == "not in order" { format!("{FOUND} something wrong") } else { format!("{FOUND}: {summary}") }
}

/// How an attempt ended, for people.
pub(super) fn end(attempt: &Attempt, state: State, is_last: bool) -> (String, Tone) {
    match &attempt.ended {
        Some((_, AttemptEnd::Succeeded(summary))) => (wide("ran to its end", summary), Tone::Good),
        Some((_, AttemptEnd::NotInOrder(summary))) => {
            (format!("ran to its end, and {}", not_in_order(summary)), Tone::Warning)
        }
        Some((_, AttemptEnd::Failed(kind, detail))) => (format!("failed ({kind}): {detail}"), Tone::Bad),
        Some((_, AttemptEnd::Cancelled)) => ("cancelled".to_owned(), Tone::Dim),
        None if is_last && state == State::Running => ("runs".to_owned(), Tone::Bold),
        None => ("no end: its process was killed".to_owned(), Tone::Warning),
    }
}
