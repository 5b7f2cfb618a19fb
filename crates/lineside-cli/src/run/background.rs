//! What hooks did that nobody waited for: told with the next decision, or at the end.

use std::collections::BTreeMap;

use lineside::bus::signal::Watched;
use lineside::bus::{JobNews, Signals};
use lineside::core::{Outcome, Receipt};
use lineside::{ContextMessage, Signal};
use serde_json::{Value, json};

use super::accepted::Accepted;

/// Listens to what happens in the background.
pub(super) struct Background {
    signals: Signals,
    /// Hooks that were started and have not been heard to end. What is kept in a journal is counted there.
    pending: BTreeMap<String, usize>,
    /// What was heard and not taken yet.
    heard: Vec<Value>,
}

impl Background {
    pub(super) fn new(signals: Signals) -> Self {
        Self { signals, pending: BTreeMap::new(), heard: Vec::new() }
    }

    /// What an event has started or put off.
    pub(super) fn started(&mut self, receipt: &Receipt, accepted: &[Accepted]) {
        for claim in accepted {
            let count = self.pending.entry(claim.hook.to_string()).or_default();
            match receipt.runs[claim.run].outcome {
                Outcome::Detached => *count += 1,
                // There is one run for several events.
                _ => *count = (*count).max(1),
            }
        }
    }

    /// The names of the hooks that were started and have not been heard to end.
    pub(super) fn pending(&self) -> Vec<String> {
        let names = self.pending.iter().filter(|(_, count)| **count > 0);
        names.map(|(name, _)| name.clone()).collect()
    }

    /// Listens to what has happened since, and leaves it to be taken.
    pub(super) fn hear(&mut self) {
        let told = self.listen();
        self.heard.extend(told);
    }

    fn ended(&mut self, hook: &str) {
        if let Some(count) = self.pending.get_mut(hook) {
            *count = count.saturating_sub(1);
        }
    }

    /// What has happened since the last time: notices for the user, and hooks that failed or were given up. What went
    /// well and says nothing is not told.
    pub(super) fn take(&mut self) -> Vec<Value> {
        self.hear();
        std::mem::take(&mut self.heard)
    }

    fn listen(&mut self) -> Vec<Value> {
        let mut told = Vec::new();
        while let Some(watched) = self.signals.try_next() {
            if let Watched::Signal(Signal::DetachedFinished { hook, .. }) = &watched {
                self.ended(&hook.name);
            }
            match watched {
                Watched::Lost(count) => told.push(json!({"lost": count})),
                Watched::Signal(Signal::Notified { event, session, hook, notice }) => {
                    told.push(json!({
                        "event": event, "session": session, "hook": hook,
                        "notice": {"level": notice.level, "text": notice.text},
                    }));
                }
                Watched::Signal(Signal::Announced { notice }) => {
                    told.push(json!({"notice": {"level": notice.level, "text": notice.text}}));
                }
                Watched::Signal(Signal::DetachedFinished {
                    event,
                    session,
                    hook,
                    outcome: Outcome::Failed { failure, .. },
                    ..
                }) => {
                    told.push(json!({
                        "event": event, "session": session, "hook": hook.name,
                        "failed": failure.kind, "detail": failure.detail,
                    }));
                }
                Watched::Signal(Signal::Automation {
                    event,
                    session,
                    hook,
                    job,
                    news: JobNews::Dead(why),
                }) => {
                    told.push(json!({
                        "event": event, "session": session, "hook": hook, "job": job, "dead": why,
                    }));
                }
                Watched::Signal(_) => {}
            }
        }
        told
    }
}

/// A message that was handed over to the agent's context, with its origin.
pub(super) fn delivered(message: &ContextMessage) -> Value {
    json!({
        "hook": message.hook, "dialect": message.dialect, "event": message.event,
        "role": message.role, "text": message.text,
    })
}

/// What is told at the end, when no decision follows any more: a line for people.
pub(super) fn last_word(told: &Value) -> String {
    let text = |key: &str| told.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    if told.get("dead").is_some() {
        let job = told.get("job").and_then(Value::as_u64).unwrap_or_default();
        return format!("job {job} of {} is dead: {}", text("hook"), text("dead"));
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
