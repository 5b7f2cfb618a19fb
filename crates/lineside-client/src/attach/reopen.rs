//! What a daemon that was started anew is given: the sessions that have hooks of this process, and the hooks.

use std::collections::HashMap;
use std::sync::Arc;

use lineside_core::json::{Map, Value, json};
use serde::Deserialize;
use tokio::time::sleep;

use super::{FIRST, Hook, Hooks, LONGEST};
use crate::opening::Opening;
use crate::request::RequestError;
use crate::segment::segment;
use crate::wire::problem as refused;

/// A session that is to be opened again.
struct Lost {
    session: Arc<Opening>,
    /// What each of its hooks is registered with.
    hooks: Vec<Map>,
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
    /// Registers everything again with a daemon that knows nothing of this process, if it is one.
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
    /// with its hooks, so that none of its events is decided without them.
    ///
    /// # Errors
    /// The daemon cannot be asked any more, or has refused something that it may take later.
    async fn register_all(&self) -> Result<(), RequestError> {
        let mut later = Ok(());
        for lost in self.lost() {
            match self.open_again(&lost).await {
                Ok(()) => {}
                Err(error) if may_pass(&error) => later = Err(error),
                Err(error @ (RequestError::Refused { .. } | RequestError::Unreadable(_))) => {
                    let session = lost.session.id();
                    tracing::warn!(%error, session, "a session could not be opened again with its hooks");
                }
                Err(error) => return Err(error),
            }
        }
        later?;
        self.state().is_unknown = false;
        Ok(())
    }

    /// The sessions of the hooks that were registered, each below those that were above it, in this order.
    fn lost(&self) -> Vec<Lost> {
        let state = self.state();
        // One without a number is being registered, by a call that has an error when the daemon has ended.
        let registered = state.hooks.iter().filter(|(_, hook)| hook.number.is_some());
        let mut hooks: Vec<(u64, &Hook)> =
            registered.map(|(called, hook)| (called.parse().unwrap_or_default(), hook)).collect();
        hooks.sort_by_key(|(called, _)| *called);
        let mut all: Vec<Lost> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (_, hook) in hooks {
            let line = std::iter::successors(Some(&hook.session), |session| session.above.as_ref());
            let line: Vec<&Arc<Opening>> = line.collect();
            for session in line.into_iter().rev() {
                places.entry(session.id()).or_insert_with(|| {
                    all.push(Lost { session: Arc::clone(session), hooks: Vec::new() });
                    all.len() - 1
                });
            }
            if let Some(lost) = places.get(hook.session.id()).and_then(|place| all.get_mut(*place)) {
                lost.hooks.push(hook.fields.clone());
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
            fields.insert("hooks".to_owned(), lost.hooks.iter().cloned().map(Value::Object).collect());
        }
        let opened: OpenedAgain = self.wire.call(hyper::Method::POST, "/v1/sessions", Some(&fields)).await?;
        let mut later = Ok(());
        for Outcome { called, hook, problem } in opened.hooks {
            match problem.map(|problem| refused(None, Value::Object(problem).to_string().as_bytes())) {
                Some(error) if may_pass(&error) => later = Err(error),
                Some(error) => {
                    tracing::warn!(session = lost.session.id(), %error, "a hook could not be registered again");
                }
                None => {}
            }
            let known = self.state().hooks.get_mut(&called).map(|known| {
                known.number = hook.or(known.number);
            });
            if let (None, Some(number)) = (known, hook) {
                // It was taken away meanwhile.
                let path = format!("/v1/sessions/{}/hooks/{number}", segment(lost.session.id()));
                let _removed: Value = self.wire.call(hyper::Method::DELETE, &path, None).await?;
            }
        }
        later
    }
}

/// What the daemon has refused now and may take later: what is above or beside it is not there yet, an owner is not gone
/// yet, or there is too much at the moment.
fn may_pass(error: &RequestError) -> bool {
    matches!(error, RequestError::Refused { status: 404 | 409 | 429 | 500.., .. })
}
