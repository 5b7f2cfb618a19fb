//! What a daemon that was started anew is given: the sessions that have hooks of this process, and the hooks.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lineside_core::json::{Map, Value, json};
use serde::Deserialize;
use tokio::time::sleep;

use super::{FIRST, Hook, Hooks, Standing};
use crate::opening::Opening;
use crate::request::RequestError;
use crate::segment::segment;
use crate::wire::problem as refused;

/// The longest pause before what is not back yet is tried again.
const LONGEST: Duration = Duration::from_secs(60);

/// A session that is to be opened again, or has hooks that are not back yet.
struct Lost {
    session: Arc<Opening>,
    /// It was opened again; what is not back yet are hooks.
    is_reopened: bool,
    /// What each of its hooks is called, and registered with.
    hooks: Vec<(String, Map)>,
}

#[derive(Deserialize)]
struct OpenedAgain {
    #[serde(default)]
    hooks: Vec<Outcome>,
}

#[derive(Deserialize)]
struct Outcome {
    called: String,
    hook: Option<u64>,
    problem: Option<Map>,
}

impl Hooks {
    /// Registers everything again with a daemon that knows nothing of this process, if it is one. What it refuses and may
    /// take later is tried again, and nothing else; each pause is twice as long as the last.
    pub(super) async fn be_known(&self) {
        let mut wait = FIRST;
        while self.state().is_unknown {
            if let Err(error) = self.register_all().await {
                tracing::debug!(%error, "hooks could not be registered again");
                sleep(wait).await;
                wait = (wait * 2).min(LONGEST);
            }
        }
    }

    /// The daemon does not know us: it is another one. Sessions are opened again where they are not open, each together
    /// with its hooks, so that none of its events is decided without them. One that was closed since is not opened once
    /// more.
    ///
    /// # Errors
    /// The daemon cannot be asked any more, or has refused something that it may take later.
    async fn register_all(&self) -> Result<(), RequestError> {
        let mut later = Ok(());
        for lost in self.lost() {
            let again = if lost.is_reopened {
                self.register_again(&lost).await
            } else {
                self.open_again(&lost).await
            };
            match again {
                Ok(()) => {}
                Err(error) if may_pass(&error) => later = Err(error),
                Err(error @ (RequestError::Refused { .. } | RequestError::Unreadable(_))) => {
                    let session = lost.session.id();
                    tracing::warn!(%error, session, "a session could not be opened again with its hooks");
                    self.give_up(lost.hooks.iter().map(|(called, _)| called));
                }
                Err(error) => return Err(error),
            }
        }
        later?;
        self.state().is_unknown = false;
        Ok(())
    }

    /// The sessions of the hooks that are not back yet, each below those that were above it, in this order.
    fn lost(&self) -> Vec<Lost> {
        let state = self.state();
        let lost = state.hooks.iter().filter(|(_, hook)| hook.standing == Standing::Lost);
        let mut hooks: Vec<(u64, &str, &Hook)> =
            lost.map(|(called, hook)| (called.parse().unwrap_or_default(), &**called, hook)).collect();
        hooks.sort_by_key(|(number, ..)| *number);
        let mut all: Vec<Lost> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (_, called, hook) in hooks {
            let line = std::iter::successors(Some(&hook.session), |session| session.above.as_ref());
            let line: Vec<&Arc<Opening>> = line.collect();
            for session in line.into_iter().rev() {
                let is_reopened = state.reopened.contains(session.id());
                if is_reopened && session.id() != hook.session.id() {
                    continue;
                }
                places.entry(session.id()).or_insert_with(|| {
                    all.push(Lost { session: Arc::clone(session), is_reopened, hooks: Vec::new() });
                    all.len() - 1
                });
            }
            if let Some(lost) = places.get(hook.session.id()).and_then(|place| all.get_mut(*place)) {
                lost.hooks.push((called.to_owned(), hook.fields.clone()));
            }
        }
        all
    }

    /// Opens a session with its hooks.
    async fn open_again(&self, lost: &Lost) -> Result<(), RequestError> {
        let mut fields = lost.session.fields.clone();
        fields.insert("resume".to_owned(), json!(true));
        if !lost.hooks.is_empty() {
            fields.insert("attachment".to_owned(), json!(self.state().token));
            let hooks = lost.hooks.iter().map(|(_, hook)| Value::Object(hook.clone())).collect();
            fields.insert("hooks".to_owned(), hooks);
        }
        let opened: OpenedAgain = self.wire.call(hyper::Method::POST, "/v1/sessions", Some(&fields)).await?;
        self.state().reopened.insert(lost.session.id().to_owned());
        let path = format!("/v1/sessions/{}/hooks", segment(lost.session.id()));
        let mut later = Ok(());
        for Outcome { called, hook, problem } in opened.hooks {
            let problem = problem.map(|problem| refused(None, Value::Object(problem).to_string().as_bytes()));
            match (problem, hook) {
                (Some(error), _) if may_pass(&error) => later = Err(error),
                (Some(error), _) => self.refused(lost, &called, &error),
                (None, Some(number)) => self.is_registered(&path, &called, number).await?,
                (None, None) => {}
            }
        }
        later
    }

    /// Registers those hooks of an open session that are not back yet.
    async fn register_again(&self, lost: &Lost) -> Result<(), RequestError> {
        let mut later = Ok(());
        for (called, _) in &lost.hooks {
            match self.register(called).await {
                Ok(()) => {}
                Err(RequestError::Refused { kind, .. }) if kind.ends_with(":no-such-session") => {
                    tracing::debug!(session = lost.session.id(), "the session was closed meanwhile");
                    self.forget(lost.session.id());
                    return later;
                }
                Err(error) if may_pass(&error) => later = Err(error),
                Err(error @ (RequestError::Refused { .. } | RequestError::Unreadable(_))) => {
                    self.refused(lost, called, &error);
                }
                Err(error) => return Err(error),
            }
        }
        later
    }

    /// The daemon does not take a hook, now or later.
    fn refused(&self, lost: &Lost, called: &String, error: &RequestError) {
        tracing::warn!(session = lost.session.id(), %error, "a hook could not be registered again");
        self.give_up([called]);
    }

    /// These hooks are not tried again with this daemon.
    fn give_up<'a>(&self, called: impl IntoIterator<Item = &'a String>) {
        let mut state = self.state();
        for called in called {
            if let Some(hook) = state.hooks.get_mut(called) {
                hook.standing = Standing::Refused;
            }
        }
    }
}

/// What the daemon has refused now and may take later: what is above or beside it is not there yet, an owner is not gone
/// yet, or there is too much at the moment.
fn may_pass(error: &RequestError) -> bool {
    matches!(error, RequestError::Refused { status: 404 | 409 | 429 | 500.., .. })
}
