//! What hooks did that were not waited for: reported with the next decision, or at the end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lineside::bus::Signals;
use lineside::bus::signal::Watched;
use lineside::claims::Claim;
use lineside::core::{FailureKind, Outcome, Receipt};
use lineside::json::{Map, Value, json};
use lineside::{Bus, ContextMessage, Signal, wire};

use crate::style::count;
use crate::tasks::Beside;

/// The most reports kept until the next decision: more than a person reads. The rest is only counted.
const MOST_TOLD: usize = 10_000;

/// How many hooks that have failed are named at the end.
const MOST_NAMED: usize = 20;

/// Listens to what happens in the background, all the time: a listener that falls behind loses signals.
pub(super) struct Background {
    heard: Arc<Mutex<Heard>>,
    _listener: Beside,
}

struct Heard {
    signals: Signals,
    /// Hooks that were started and have not been heard to end. What is kept in a journal is counted there. Less than
    /// nothing for a hook that ended before its start was noted.
    pending: BTreeMap<String, i64>,
    news: News,
    /// Hooks whose session ended before they did.
    cut_short: usize,
}

/// What was heard, for the next decision and for the end.
#[derive(Debug, Default)]
pub(super) struct News {
    /// What was not taken yet.
    told: Vec<Value>,
    /// How much more was heard than is kept.
    untold: u64,
    /// The background hooks that have failed.
    pub(super) failed: FailedHooks,
}

impl News {
    /// Takes a signal in, as JSON. What has no report is passed over.
    pub(super) fn hear(&mut self, signal: &Map) {
        let Some(told) = told(signal) else { return };
        let text = |name: &str| told.get(name).and_then(Value::as_str);
        if let (Some(hook), Some(why)) = (text("hook"), text("detail")) {
            self.failed.add(hook, why);
        }
        if self.told.len() < MOST_TOLD {
            self.told.push(told);
        } else {
            self.untold += 1;
        }
    }

    /// What has happened since the last time: notices for the user, and hooks that failed or were given up. What went
    /// well and says nothing is not told.
    pub(super) fn take(&mut self) -> Vec<Value> {
        let mut told = std::mem::take(&mut self.told);
        let untold = std::mem::take(&mut self.untold);
        if untold > 0 {
            told.push(json!({"untold": untold}));
        }
        told
    }

    /// What is left to be said at the end, when no decision follows: a line each.
    pub(super) fn last_words(&mut self) -> Vec<String> {
        let told = self.take();
        let others = told.iter().filter(|told| told.get("failed").is_none()).map(last_word);
        others.chain(self.failed.lines()).collect()
    }
}

/// Background hooks that have failed, each with how often and why at last.
#[derive(Debug, Default)]
pub(super) struct FailedHooks {
    hooks: BTreeMap<String, (usize, String)>,
    /// Failures of further hooks, which are not named.
    others: usize,
}

impl FailedHooks {
    fn add(&mut self, hook: &str, why: &str) {
        if self.hooks.len() >= MOST_NAMED && !self.hooks.contains_key(hook) {
            self.others += 1;
            return;
        }
        let (times, last) = self.hooks.entry(hook.to_owned()).or_default();
        *times += 1;
        why.clone_into(last);
    }

    /// A line for each.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |(hook, (times, why)): (&String, &(usize, String))| match times {
            1 => format!("background hook {hook} failed: {why}"),
            _ => format!("background hook {hook} failed {times} times, at last: {why}"),
        };
        let mut lines: Vec<String> = self.hooks.iter().map(line).collect();
        if self.others > 0 {
            lines.push(format!("{} of others", count(self.others, "more failure")));
        }
        lines
    }
}

impl Background {
    pub(super) fn of(bus: &Bus) -> Self {
        let heard =
            Heard { signals: bus.news(), pending: BTreeMap::new(), news: News::default(), cut_short: 0 };
        let heard = Arc::new(Mutex::new(heard));
        let (shared, mut news) = (Arc::clone(&heard), bus.news());
        // The second stream only says that there is something in the first, which is read where it is needed sooner.
        let listener = Beside::start(async move {
            while news.next().await.is_some() {
                while news.try_next().is_some() {}
                lock(&shared).hear();
            }
        });
        Self { heard, _listener: listener }
    }

    /// Everything up to now.
    fn heard(&self) -> MutexGuard<'_, Heard> {
        let mut heard = lock(&self.heard);
        heard.hear();
        heard
    }

    /// What an event has started or put off.
    pub(super) fn started(&self, receipt: &Receipt, accepted: &[Claim]) {
        let mut heard = lock(&self.heard);
        for claim in accepted {
            let count = heard.pending.entry(claim.accepted.hook.to_string()).or_default();
            match receipt.runs[claim.run].outcome {
                Outcome::Detached => *count += 1,
                // There is one run for several events.
                _ => *count = (*count).max(1),
            }
        }
    }

    /// The names of the hooks that were started and have not been heard to end.
    pub(super) fn pending(&self) -> Vec<String> {
        let heard = self.heard();
        let names = heard.pending.iter().filter(|(_, count)| **count > 0);
        names.map(|(name, _)| name.clone()).collect()
    }

    /// How many hooks have been cut short by the end of their sessions so far.
    pub(super) fn cut_short(&self) -> usize {
        self.heard().cut_short
    }

    /// What has happened since the last time.
    pub(super) fn take(&self) -> Vec<Value> {
        self.heard().news.take()
    }

    /// What is left to be said at the end.
    pub(super) fn last_words(&self) -> Vec<String> {
        self.heard().news.last_words()
    }
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Heard {
    fn hear(&mut self) {
        while let Some(watched) = self.signals.try_next() {
            match &watched {
                Watched::Lost(count) => self.news.hear(&lost(*count)),
                Watched::Signal(signal) => {
                    if let Signal::DetachedFinished { hook, outcome, .. } = signal {
                        self.ended(&hook.name, outcome);
                    }
                    // The others are many, and long.
                    if matches!(
                        signal,
                        Signal::Notified { .. }
                            | Signal::Announced { .. }
                            | Signal::DetachedFinished { .. }
                            | Signal::Automation { .. }
                    ) {
                        self.news.hear(&wire::signal(signal).fields);
                    }
                }
            }
        }
    }

    fn ended(&mut self, hook: &str, outcome: &Outcome) {
        *self.pending.entry(hook.to_owned()).or_default() -= 1;
        if let Outcome::Failed { failure, .. } = outcome {
            self.cut_short += usize::from(failure.kind == FailureKind::Closed);
        }
    }
}

fn lost(count: u64) -> Map {
    [("kind".to_owned(), json!("lost")), ("lost".to_owned(), json!(count))].into_iter().collect()
}

/// The report of a signal, if it has one.
fn told(signal: &Map) -> Option<Value> {
    let text = |name: &str| signal.get(name).and_then(Value::as_str);
    let fields: &[&str] = match (text("kind")?, text("news")) {
        ("lost", _) => &["lost"],
        ("notified", _) => &["event", "session", "hook", "notice"],
        ("announced", _) => &["notice"],
        ("detached_finished", _) if signal.contains_key("failed") => {
            &["event", "session", "hook", "failed", "detail"]
        }
        ("automation", Some("dead")) => &["event", "session", "hook", "job"],
        _ => return None,
    };
    let field = |name: &&str| ((*name).to_owned(), signal.get(name).cloned().unwrap_or_default());
    let mut told: Map = fields.iter().map(field).collect();
    if text("news").is_some() {
        told.insert("dead".to_owned(), signal.get("detail").cloned().unwrap_or_default());
    }
    Some(Value::Object(told))
}

/// A message that was handed over to the agent's context, with its origin.
pub(super) fn delivered(message: &ContextMessage) -> Value {
    json!({
        "hook": message.hook, "dialect": message.dialect, "event": message.event,
        "role": message.role, "text": message.text,
    })
}

/// A report at the end, when no decision follows: a line for people.
pub(super) fn last_word(told: &Value) -> String {
    let text = |key: &str| told.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    if told.get("dead").is_some() {
        let job = told.get("job").and_then(Value::as_u64).unwrap_or_default();
        return format!("job {job} of {} is dead: {}", text("hook"), text("dead"));
    }
    if let Some(untold) = told.get("untold") {
        return format!("{untold} more of these");
    }
    match (told.get("notice"), told.get("lost")) {
        (Some(notice), _) => {
            let said = notice.get("text").and_then(Value::as_str).unwrap_or_default();
            let hook = text("hook");
            if hook.is_empty() { said.to_owned() } else { format!("hook {hook}: {said}") }
        }
        (None, Some(lost)) => format!("{lost} signals were lost"),
        (None, None) => format!("background hook {} failed: {}", text("hook"), text("detail")),
    }
}
