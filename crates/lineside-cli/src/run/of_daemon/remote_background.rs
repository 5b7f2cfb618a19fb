//! What hooks of the daemon do that are not waited for, in the sessions of the run: heard over its stream of signals.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lineside::client::Signals;
use lineside::json::Value;

use crate::run::background::News;
use crate::tasks::Beside;

/// Listens until it is dropped.
pub(super) struct RemoteBackground {
    heard: Arc<Mutex<Heard>>,
    _listener: Beside,
}

#[derive(Default)]
struct Heard {
    news: News,
    /// The sessions of the run, and no others of the daemon.
    sessions: HashSet<String>,
}

impl RemoteBackground {
    pub(super) fn of(mut signals: Signals) -> Self {
        let heard = Arc::new(Mutex::new(Heard::default()));
        let shared = Arc::clone(&heard);
        let listener = Beside::start(async move {
            while let Some(signal) = signals.next().await {
                let mut heard = lock(&shared);
                let session = signal.get("session").and_then(Value::as_str);
                let is_lost = signal.get("kind").and_then(Value::as_str) == Some("lost");
                if is_lost || session.is_some_and(|session| heard.sessions.contains(session)) {
                    heard.news.hear(&signal);
                }
            }
        });
        Self { heard, _listener: listener }
    }

    /// A session is one of the run. Called before it is opened.
    pub(super) fn concerns(&self, session: &str) {
        let mut heard = lock(&self.heard);
        if !heard.sessions.contains(session) {
            heard.sessions.insert(session.to_owned());
        }
    }

    /// What has happened since the last time.
    pub(super) fn take(&self) -> Vec<Value> {
        lock(&self.heard).news.take()
    }

    /// What is left to be said at the end.
    pub(super) fn last_words(&self) -> Vec<String> {
        lock(&self.heard).news.last_words()
    }
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}
