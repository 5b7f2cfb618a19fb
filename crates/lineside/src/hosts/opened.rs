//! The sessions that calls of agent programs have opened, as opposed to those that others have opened under their ids.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lineside_bus::Session;
use lineside_bus::interceptor::BoxFuture;
use lineside_bus::session::{OpenSession, OpenSessionError};
use lineside_core::envelope::{AttributedBy, Attribution};
use lineside_core::{Notice, SessionId, Source};
use lineside_dialects::hosts::serve::{Coming, Incoming, Reading};
use tokio::time::timeout;

use super::{CallOrigin, Confinement, Hosts, Ownership, ReadCall, ServeHostError, about};

/// How often a session is tried to be opened while others open one under its id.
const TRIES: usize = 8;

/// What is done to a session before it is opened.
pub(super) type Prepare =
    dyn Fn(OpenSession, Option<PathBuf>) -> BoxFuture<Result<OpenSession, PrepareSessionError>> + Send + Sync;

/// What is done to a session before an event of it, with the folders from which it is heard.
pub(super) type Join =
    dyn Fn(Session, Vec<PathBuf>) -> BoxFuture<Result<(), PrepareSessionError>> + Send + Sync;

/// Why a session cannot be opened as it is to be. Completes "failed to prepare the session: ".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PrepareSessionError(pub String);

/// Those that are open, and a few that no longer are.
#[derive(Default)]
pub(super) struct Opened(Mutex<HashMap<SessionId, Session>>);

impl Opened {
    /// Opens a session. No look at it comes before it is known here.
    pub(super) fn open(&self, opening: OpenSession) -> Result<Session, OpenSessionError> {
        let mut all = self.all();
        let session = opening.open_now()?;
        if all.len() == all.capacity() {
            // What has ended goes before there is room for more.
            all.retain(|_, session| session.is_open());
        }
        all.insert(session.id().clone(), session.clone());
        Ok(session)
    }

    /// Whether an open session was opened here.
    pub(super) fn has(&self, session: &Session) -> bool {
        session.is_open() && self.all().get(session.id()).is_some_and(Session::is_open)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<SessionId, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hosts {
    /// The open session of that id, if a call has opened it.
    #[must_use]
    pub fn opened(&self, id: &str) -> Option<Session> {
        self.bus.find(id).filter(|session| self.inner.opened.has(session))
    }

    /// The session of that id: the one that is open, if a call has opened it or the host `owns` it, else a new one.
    pub(super) async fn open(
        &self,
        id: &str,
        origin: &CallOrigin,
        opening: impl Fn() -> OpenSession,
        owns: impl Fn(&Session) -> Result<bool, ServeHostError>,
    ) -> Result<Session, ServeHostError> {
        for _ in 0..TRIES {
            if let Some(session) = self.bus.find(id) {
                if self.inner.opened.has(&session) || owns(&session)? {
                    return Ok(session);
                }
                self.end_stranger(&session).await;
            }
            let opening = match &self.prepare {
                Some(prepare) => prepare(opening(), origin.work.clone()).await?,
                None => opening(),
            };
            match self.inner.opened.open(opening) {
                // Another call has opened it meanwhile, or a stranger has.
                Err(OpenSessionError::Taken(_)) => {}
                opened => return Ok(opened?),
            }
        }
        Err(OpenSessionError::Taken(id.into()).into())
    }

    /// Opens the session of the main agent of a call that [passes](Self::pass) without any hook, unless one is over by that.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub async fn open_passing(&self, call: ReadCall, origin: &CallOrigin) -> Result<(), ServeHostError> {
        let Reading::Event(arrival) = call.0 else { return Ok(()) };
        if arrival.is_end() {
            return Ok(());
        }
        let coming = Coming::from(arrival);
        fits(coming.incoming())?;
        self.root(coming.incoming(), origin).await.map(drop)
    }

    /// The session of the main agent of an event, opened if it is not open.
    pub(super) async fn root(
        &self,
        incoming: &Incoming,
        origin: &CallOrigin,
    ) -> Result<Session, ServeHostError> {
        let above = origin.parent.as_ref().filter(|parent| parent.id().as_str() != incoming.root);
        let opening = || {
            let opening = match above {
                Some(above) => above.subagent(incoming.root.as_str()),
                None => {
                    let opening = self.bus.session(incoming.root.as_str());
                    origin.quota.iter().fold(opening, OpenSession::within)
                }
            };
            let opening = about(opening, incoming, origin);
            match origin.attribution {
                Some(Attribution { by: AttributedBy::Claim, .. }) => opening.claimed(),
                _ => opening,
            }
        };
        let root = self.open(&incoming.root, origin, opening, |root| {
            within_reach(root.clone(), origin)?;
            Ok(whose(root, origin)? == Ownership::OfHost)
        });
        within_reach(root.await?, origin)
    }

    /// Ends a session that others have opened under an id of a host.
    pub(super) async fn end_stranger(&self, session: &Session) {
        let id = session.id();
        let why =
            format!("session `{id}` was not opened by the agent program with this id, and has been ended");
        self.bus.announce(Notice::warning(why));
        // It is closed at the first poll; the call does not wait for what it runs.
        timeout(Duration::ZERO, self.end(session)).await.ok();
    }
}

/// The folders from which a session is heard.
pub(super) fn heard_from(incoming: &Incoming, origin: &CallOrigin) -> Vec<PathBuf> {
    let named = [&incoming.cwd, &incoming.project_root].into_iter().flatten().map(PathBuf::from);
    let mut named: Vec<_> = named.filter(|folder| folder.is_absolute()).collect();
    named.dedup();
    if named.is_empty() { origin.work.iter().cloned().collect() } else { named }
}

/// A session in which the host may act.
pub(super) fn within_reach(session: Session, origin: &CallOrigin) -> Result<Session, ServeHostError> {
    match &origin.parent {
        Some(parent) if origin.confined == Confinement::ToParent && !session.is_below(parent) => {
            let (session, parent) = (session.id().to_string(), parent.id().to_string());
            Err(ServeHostError::NotBelow { session, parent })
        }
        _ => Ok(session),
    }
}

/// Whose a session is that no call has opened.
///
/// # Errors
/// It is another program's.
pub(super) fn whose(session: &Session, origin: &CallOrigin) -> Result<Ownership, ServeHostError> {
    match origin.owns.as_ref().map_or(Ownership::OfHost, |owns| owns(session)) {
        Ownership::OfOther => Err(ServeHostError::OfOther(session.id().to_string())),
        whose => Ok(whose),
    }
}

/// Whether everything that is kept for as long as the session is open is short.
pub(super) fn fits(incoming: &Incoming) -> Result<(), ServeHostError> {
    let Incoming { root, agent, cwd, project_root, model, .. } = incoming;
    let model = model.as_ref().and_then(|model| model.selected.as_deref());
    let (child, child_name) = incoming.subagent();
    let session = incoming.session();
    let names = [
        ("id", Some(session.as_str()), Source::LONGEST_NAME),
        ("root", Some(root), Source::LONGEST_NAME),
        ("agent type", agent.as_ref().and_then(|agent| agent.role.as_deref()), Source::LONGEST_NAME),
        ("subagent", child, Source::LONGEST_NAME),
        ("subagent type", child_name, Source::LONGEST_NAME),
        ("model", model, Source::LONGEST_NAME),
        ("cwd", cwd.as_deref(), Source::LONGEST_PATH),
        ("project_root", project_root.as_deref(), Source::LONGEST_PATH),
    ];
    for (name, text, most) in names {
        if let Some(length) = text.map(str::len).filter(|length| *length > most) {
            return Err(ServeHostError::TooLong { name, length, most });
        }
    }
    Ok(())
}
