//! What a daemon that was started anew is given: the sessions that have hooks of this process, and the hooks.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use lineside_core::json::{Map, Value, json};
use serde::Deserialize;
use tokio::time::sleep;

use super::{FIRST, Hook, Hooks, Standing, State};
use crate::opening::{Closed, Opening};
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

impl State {
    /// The daemon is another one, which has no hook yet. Those of sessions that were closed are brought back for what is
    /// open below these.
    pub(super) fn is_another(&mut self) {
        self.is_unknown = true;
        self.reopened.clear();
        self.closing.clear();
        self.opening.clear();
        // What was to be taken away is gone with the earlier daemon.
        self.hooks.retain(|_, hook| hook.run.is_some());
        let open = self.hooks.values().filter(|hook| !hook.session.is_closed());
        let above = open.flat_map(|hook| hook.session.line()).filter(|session| session.is_closed());
        let with_heirs: HashSet<String> = above.map(|session| session.id().to_owned()).collect();
        self.hooks.retain(|_, hook| !hook.session.is_closed() || with_heirs.contains(hook.session.id()));
        let registered = self.hooks.values_mut().filter(|hook| hook.standing != Standing::Registering);
        registered.for_each(|hook| hook.standing = Standing::Lost);
    }

    fn is_reopened(&self, session: &Opening) -> bool {
        if session.is_closed() { &self.closing } else { &self.reopened }.contains(session.id())
    }

    /// A session was opened again.
    fn reopened(&mut self, session: &Opening) {
        let reopened = if session.is_closed() { &mut self.closing } else { &mut self.reopened };
        reopened.insert(session.id().to_owned());
    }

    /// Whether something is to be brought back below a session that was closed.
    pub(super) fn is_awaited(&self, id: &str) -> bool {
        let lost = self.hooks.values().filter(|hook| hook.standing == Standing::Lost);
        let mut below = lost.filter(|hook| !self.is_reopened(&hook.session));
        below.any(|hook| hook.session.line().skip(1).any(|above| above.is_closed() && above.id() == id))
    }

    /// Those that are open for what is below them, and that nothing is to be brought back to or below.
    fn to_be_closed(&self) -> Vec<String> {
        let has_lost = |id: &str| {
            let mut lost = self.hooks.values().filter(|hook| hook.standing == Standing::Lost);
            lost.any(|hook| hook.session.is_closed() && hook.session.id() == id)
        };
        self.closing.iter().filter(|id| !has_lost(id) && !self.is_awaited(id)).cloned().collect()
    }
}

impl Hooks {
    /// Registers everything again with a daemon that knows nothing of this process, if it is one. What it refuses and may
    /// take later is tried again, and nothing else; each pause is twice as long as the last.
    pub(super) async fn be_known(&self) {
        let mut wait = FIRST;
        while self.state().is_unknown {
            if let Err(error) = self.register_all().await {
                tracing::debug!(%error, "hooks could not be registered again");
            }
            // What waits for a session of its own id to be closed may wait for itself.
            if self.state().is_unknown {
                sleep(wait).await;
                wait = (wait * 2).min(LONGEST);
            }
        }
    }

    /// The daemon does not know us: it is another one. Sessions are opened again where they are not open, each together
    /// with its hooks, so that none of its events is decided without them. One that was closed since is not opened once
    /// more, and one that was closed before is closed again when everything stands that is below it.
    ///
    /// # Errors
    /// The daemon cannot be asked any more, or has refused something that it may take later.
    async fn register_all(&self) -> Result<(), RequestError> {
        let (mut later, mut is_all) = (Ok(()), true);
        let all = self.lost();
        let closing: HashSet<&str> =
            all.iter().filter(|lost| lost.session.is_closed()).map(|lost| lost.session.id()).collect();
        // Those that were closed, and do not stand with their hooks so far.
        let mut missing: HashSet<&str> = HashSet::new();
        for lost in &all {
            let mut above = lost.session.line().skip(1);
            if above.any(|session| session.is_closed() && missing.contains(session.id())) {
                continue;
            }
            // Its id is that of an earlier session, which has to be closed first.
            if lost.session.line().any(|session| !session.is_closed() && closing.contains(session.id())) {
                is_all = false;
                continue;
            }
            let again =
                if lost.is_reopened { self.register_again(lost).await } else { self.open_again(lost).await };
            match again {
                Ok(()) => {}
                Err(error) if may_pass(&error) => {
                    missing.extend(lost.session.is_closed().then_some(lost.session.id()));
                    later = Err(error);
                }
                Err(error @ (RequestError::Refused { .. } | RequestError::Unreadable(_))) => {
                    let session = lost.session.id();
                    tracing::warn!(%error, session, "a session could not be opened again with its hooks");
                    self.give_up(lost.hooks.iter().map(|(called, _)| called));
                }
                Err(error) => return Err(error),
            }
        }
        self.close_again().await?;
        later?;
        self.state().is_unknown = !is_all;
        Ok(())
    }

    /// Closes what was closed, and was opened again for what is below it.
    async fn close_again(&self) -> Result<(), RequestError> {
        let mut later = Ok(());
        let closing = self.state().to_be_closed();
        for id in closing {
            let path = format!("/v1/sessions/{}", segment(&id));
            let closed: Result<Closed, _> = self.wire.call(hyper::Method::DELETE, &path, None).await;
            let inherited = match closed {
                Ok(Closed { inherited }) => inherited,
                // Another program has closed it.
                Err(RequestError::Refused { status: 404 | 409, .. }) => true,
                Err(error) if may_pass(&error) => {
                    later = Err(error);
                    continue;
                }
                Err(error @ (RequestError::Refused { .. } | RequestError::Unreadable(_))) => {
                    tracing::warn!(%error, session = id, "a session could not be closed again");
                    true
                }
                Err(error) => return Err(error),
            };
            self.state().closing.remove(&id);
            self.settle(&id, inherited);
        }
        later
    }

    /// The sessions of the hooks that are not back yet, each below those that were above it, in this order.
    fn lost(&self) -> Vec<Lost> {
        let state = self.state();
        let lost = state.hooks.iter().filter(|(_, hook)| hook.standing == Standing::Lost);
        let mut hooks: Vec<(u64, &str, &Hook)> =
            lost.map(|(called, hook)| (called.parse().unwrap_or_default(), &**called, hook)).collect();
        hooks.sort_by_key(|(number, ..)| *number);
        let mut all: Vec<Lost> = Vec::new();
        let mut places: HashMap<(&str, bool), usize> = HashMap::new();
        for (_, called, hook) in hooks {
            // What is above one that is open again was open again before it, and may be closed by now.
            let depth = if state.is_reopened(&hook.session) { 1 } else { usize::MAX };
            let line: Vec<&Arc<Opening>> = hook.session.line().take(depth).collect();
            for session in line.into_iter().rev() {
                let is_reopened = state.is_reopened(session);
                if is_reopened && session.id() != hook.session.id() {
                    continue;
                }
                places.entry((session.id(), session.is_closed())).or_insert_with(|| {
                    all.push(Lost { session: Arc::clone(session), is_reopened, hooks: Vec::new() });
                    all.len() - 1
                });
            }
            let place = places.get(&(hook.session.id(), hook.session.is_closed()));
            if let Some(lost) = place.and_then(|place| all.get_mut(*place)) {
                lost.hooks.push((called.to_owned(), hook.fields.clone()));
            }
        }
        all
    }

    /// Opens a session with its hooks.
    async fn open_again(&self, lost: &Lost) -> Result<(), RequestError> {
        let mut fields = lost.session.fields.clone();
        // Under the id of one that is closed another program may have a session by now, which is not taken over: unless an
        // answer was lost, so that it is this one.
        let is_closed = lost.session.is_closed();
        let resumes = !is_closed || !self.state().opening.insert(lost.session.id().to_owned());
        fields.insert("resume".to_owned(), json!(resumes));
        if !lost.hooks.is_empty() {
            fields.insert("attachment".to_owned(), json!(self.state().token));
            let hooks = lost.hooks.iter().map(|(_, hook)| Value::Object(hook.clone())).collect();
            fields.insert("hooks".to_owned(), hooks);
        }
        let opened = self.wire.call(hyper::Method::POST, "/v1/sessions", Some(&fields)).await;
        if !matches!(opened, Err(RequestError::Broken { .. })) {
            self.state().opening.remove(lost.session.id());
        }
        let opened: OpenedAgain = opened?;
        self.state().reopened(&lost.session);
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
                    self.close(lost.session.id(), false);
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
