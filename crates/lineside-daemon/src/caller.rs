//! Who asks: over which connection, and with which rights. The user may do everything; a process that shows a grant may
//! act below the session of the grant and nowhere else.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

use axum::body::to_bytes;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use lineside::Session;
use lineside::core::Attribution;
use lineside::core::propagation::HEADER;
use tokio::time::{Duration, timeout};

use crate::agents::{Hold, Shown};
use crate::aside::Load;
use crate::attachments::{Registrant, Remover};
use crate::daemon::Daemon;
use crate::elsewhere;
use crate::lineage::Process;
use crate::place::Place;
use crate::problem::Problem;
use crate::shares::Tree;

/// The connection that a request came over: its door and its number, such as `socket:17`.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    pub(crate) name: Arc<str>,
    /// The process that has made it, as it was then: others may have its number, and the connection, by now.
    pub(crate) peer: Option<Process>,
    /// Its stream, for a request that makes it something else.
    pub(crate) stream: Arc<dyn Any + Send + Sync>,
    /// The room that it takes at its door, which a request that makes it something else goes on to take.
    pub(crate) place: Arc<Place>,
}

/// Who asks.
#[derive(Clone)]
pub(crate) struct Caller {
    rights: Rights,
    pub(crate) connection: Option<Arc<str>>,
    pub(crate) peer: Option<Process>,
}

#[derive(Clone)]
enum Rights {
    /// The user, who has the socket or the token.
    User,
    /// A process that was started under this session.
    Below(Session),
}

impl Caller {
    #[cfg(test)]
    pub(crate) fn user() -> Self {
        Self { rights: Rights::User, connection: None, peer: None }
    }

    /// The session that its new sessions are children of when it names no parent.
    pub(crate) fn granted(&self) -> Option<&Session> {
        match &self.rights {
            Rights::User => None,
            Rights::Below(session) => Some(session),
        }
    }

    /// Where its process works, as the system sees it now.
    pub(crate) fn work(&self) -> Option<PathBuf> {
        self.peer?.works_in()
    }

    /// Whether its grant is worth something still, over a connection that it has shown it for once.
    ///
    /// # Errors
    /// The session of the grant is over.
    pub(crate) fn stands(&self) -> Result<(), Problem> {
        match self.granted().is_none_or(Session::is_open) {
            true => Ok(()),
            false => Err(no_such_grant()),
        }
    }

    /// An open session that the caller may act in.
    ///
    /// # Errors
    /// It is not open, or it is not below the session of the grant; which of the two is not told.
    pub(crate) fn session(&self, daemon: &Daemon, id: &str) -> Result<Session, Problem> {
        match (daemon.session(id), &self.rights) {
            (Ok(session), _) => self.reaches(session),
            (Err(problem), Rights::User) => Err(problem),
            (Err(_), Rights::Below(above)) => Err(not_below(id, above)),
        }
    }

    /// A session, if the caller may act in it.
    ///
    /// # Errors
    /// It is not below the session of the grant.
    pub(crate) fn reaches(&self, session: Session) -> Result<Session, Problem> {
        match &self.rights {
            Rights::Below(above) if !session.is_below(above) => Err(not_below(session.id().as_str(), above)),
            _ => Ok(session),
        }
    }

    /// The tree that the caller's process is in; `None` for the daemon's own.
    pub(crate) fn tree(&self, daemon: &Daemon) -> Option<Tree> {
        daemon.agents.tree(self.peer)
    }

    /// It has opened a session, or has taken it over. What is confined takes over none of an agent.
    ///
    /// # Errors
    /// It is confined elsewhere.
    pub(crate) fn holds(&self, daemon: &Daemon, session: &Session, how: Hold) -> Result<(), Problem> {
        let is_of_agent = || daemon.hosts.opened(session.id().as_str()).is_some();
        if how == Hold::Opened || !is_of_agent() || self.confined(daemon)?.is_none() {
            daemon.agents.hold(session, self.peer, how);
        }
        Ok(())
    }

    /// An open session in which the caller may speak and hear: what runs below an agent speaks in the session of no agent
    /// beside that.
    ///
    /// # Errors
    /// As [`session`](Self::session), or it is of an agent elsewhere.
    pub(crate) fn spoken_session(&self, daemon: &Daemon, id: &str) -> Result<Session, Problem> {
        let session = elsewhere::is_here(self.session(daemon, id)?)?;
        if daemon.hosts.opened(id).is_none() {
            return Ok(session);
        }
        self.unless_hidden(daemon)?;
        self.unless_beside(daemon, session)
    }

    /// The session, unless the caller is confined elsewhere: to one that is neither below nor above it.
    fn unless_beside(&self, daemon: &Daemon, session: Session) -> Result<Session, Problem> {
        match self.confined(daemon)? {
            Some(above)
                if session.id() != above.id() && !session.is_below(&above) && !above.is_below(&session) =>
            {
                Err(not_below_agent(session.id().as_str(), &above))
            }
            _ => Ok(session),
        }
    }

    /// An open session of no agent that the caller goes on with.
    ///
    /// # Errors
    /// As [`session`](Self::session), or it is confined elsewhere and has not opened it.
    pub(crate) fn own_session(&self, daemon: &Daemon, id: &str) -> Result<Session, Problem> {
        let session = self.session(daemon, id)?;
        let has_opened = daemon.agents.holds(&session, self.peer) == Some(Hold::Opened);
        if has_opened { Ok(session) } else { self.unless_beside(daemon, session) }
    }

    /// An open session whose messages the caller may take. Those of one on another machine are for the user outside of all
    /// agents, and for what is above it.
    ///
    /// # Errors
    /// As [`spoken_session`](Self::spoken_session).
    pub(crate) fn mailbox(&self, daemon: &Daemon, id: &str) -> Result<Session, Problem> {
        let session = self.session(daemon, id)?;
        if elsewhere::machine(&session).is_none() {
            return self.spoken_session(daemon, id);
        }
        self.unless_hidden(daemon)?;
        match self.confined(daemon)? {
            Some(above) if !session.is_below(&above) => Err(not_below_agent(id, &above)),
            _ => Ok(session),
        }
    }

    /// That it is known who asks, or by a grant in which session it may act: the token of HTTP what an agent has started can
    /// read as well.
    ///
    /// # Errors
    /// It is not known.
    fn unless_hidden(&self, daemon: &Daemon) -> Result<(), Problem> {
        let unknown =
            |why| Problem::new(StatusCode::FORBIDDEN, "not-known", "It is not known who asks", why).blocks();
        match self.rights {
            Rights::User => daemon.agents.is_known(self.peer).map_err(unknown),
            Rights::Below(_) => Ok(()),
        }
    }

    /// A session on which the caller may register hooks: what is confined has hooks on the sessions that it has opened and on
    /// those below its own, and none on the session of an agent; of whom it is not known whether an agent has started them, on no
    /// session of another.
    ///
    /// # Errors
    /// It may not act in the session, is confined elsewhere, or is not known.
    pub(crate) fn hooked_session(&self, daemon: &Daemon, id: &str) -> Result<Session, Problem> {
        let session = elsewhere::is_here(self.session(daemon, id)?)?;
        let (is_of_agent, confined) = (daemon.hosts.opened(id).is_some(), self.confined(daemon)?);
        // One that it has taken over may be that of a program elsewhere, which is gone.
        let has_opened = || daemon.agents.holds(&session, self.peer) == Some(Hold::Opened);
        let Some(above) = confined else {
            let is_anothers = is_of_agent || daemon.agents.is_held(&session) && !has_opened();
            return if is_anothers { self.unless_hidden(daemon).map(|()| session) } else { Ok(session) };
        };
        match !is_of_agent && (has_opened() || session.is_below(&above)) {
            true => Ok(session),
            false if self.granted().is_some() => Err(too_far()),
            false => Err(not_below_agent(id, &above)),
        }
    }

    /// A session that the caller may end. What is confined ends what its own process has opened, and what has no hooks of its
    /// own once the process is gone that has opened it: opened anew, a session would be without them.
    ///
    /// # Errors
    /// It may not act in the session, or is confined and the session is that of another program.
    pub(crate) fn ended_session(&self, daemon: &Daemon, id: &str) -> Result<Session, Problem> {
        let session = elsewhere::is_here(self.session(daemon, id)?)?;
        let is_left = || {
            let is_of_another =
                daemon.hosts.opened(id).is_some() || daemon.agents.is_held_elsewhere(&session, self.peer);
            !is_of_another && !session.has_own_hooks()
        };
        let may = daemon.agents.holds(&session, self.peer) == Some(Hold::Opened)
            || match self.confined(daemon)? {
                Some(above) => session.is_below(&above) && is_left(),
                None => daemon.agents.is_known(self.peer).is_ok() || is_left(),
            };
        if may { Ok(session) } else { Err(not_its_own(&session)) }
    }

    /// Who registers a hook: the user, if it is known that no agent has started the caller.
    ///
    /// # Errors
    /// As [`confined`](Self::confined).
    pub(crate) fn registrant(&self, daemon: &Daemon) -> Result<Registrant, Problem> {
        let is_known = || daemon.agents.is_known(self.peer).is_ok();
        Ok(match self.confined(daemon)? {
            Some(above) => Registrant::Below(above),
            None if is_known() => Registrant::User,
            None => Registrant::Unknown,
        })
    }

    /// Who takes a hook away: the user outside of all agents, or the program of this token.
    ///
    /// # Errors
    /// As [`confined`](Self::confined).
    pub(crate) fn remover(&self, daemon: &Daemon, token: Option<String>) -> Result<Remover, Problem> {
        Ok(match self.registrant(daemon)? {
            Registrant::User => Remover::User,
            _ => Remover::Program(token.unwrap_or_default()),
        })
    }

    /// That it may take off guards: the user, over the socket, outside of all agents.
    ///
    /// # Errors
    /// It stands below an agent, or it is not known.
    pub(crate) fn is_a_person(&self, daemon: &Daemon) -> Result<(), Problem> {
        let refused = |why| Problem::new(StatusCode::FORBIDDEN, "below-an-agent", "A person does this", why);
        daemon.agents.is_typed_by_a_person(self.peer).map_err(refused)
    }

    /// The session that it may act below and nowhere else: that of its grant, of the agent that it runs below, or of the
    /// program above it that has opened one. `None` for the user, outside of all of these.
    ///
    /// # Errors
    /// Its grant is of a session elsewhere, or it is not known what it runs below.
    pub(crate) fn confined(&self, daemon: &Daemon) -> Result<Option<Session>, Problem> {
        let grant = self.granted().map_or(Shown::None, Shown::Of);
        let standing = daemon.agents.standing_of_client(self.peer, &grant).map_err(granted_elsewhere)?;
        Ok(standing.above.or_else(|| daemon.agents.held_above(self.peer)))
    }

    /// The parent of a session that is to be opened, and how it was found: the one that is named, else that of the grant,
    /// or the one whose agent has started the caller's process, whichever is the nearer. Of these two it is given itself, since
    /// that of an agent may have ended.
    ///
    /// # Errors
    /// The one that is named is neither that session nor below it, or the grant is of a session elsewhere.
    pub(crate) fn parent(
        &self,
        daemon: &Daemon,
        named: Option<String>,
    ) -> Result<(Option<String>, Option<Session>, Attribution), Problem> {
        let grant = self.granted().map_or(Shown::None, Shown::Of);
        let standing = daemon.agents.standing_of_client(self.peer, &grant);
        let standing = standing.map_err(granted_elsewhere)?;
        let attribution =
            daemon.cluster.attribution(standing.above.as_ref(), standing.attribution(daemon.bus()));
        let is_of_agent = |named: &String| daemon.hosts.opened(named).is_some();
        let (parent, above) = match (standing.above, named) {
            (None, named) => {
                if named.as_ref().is_some_and(is_of_agent) {
                    self.unless_hidden(daemon)?;
                }
                (named, None)
            }
            (Some(above), None) => (Some(above.id().to_string()), Some(above)),
            (Some(above), Some(named)) if *above.id().as_str() == *named => (Some(named), Some(above)),
            (Some(above), Some(named)) => {
                let found = self.session(daemon, &named)?;
                if !found.is_below(&above) {
                    return Err(not_below_agent(&named, &above));
                }
                (Some(named), None)
            }
        };
        Ok((parent, above, attribution))
    }
}

/// The problem with a grant of a session that is not above or below the one whose agent has started the caller.
const ELSEWHERE: (&str, &str) = ("granted-elsewhere", "The grant is of a session elsewhere");

fn granted_elsewhere(why: String) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, ELSEWHERE.0, ELSEWHERE.1, why).blocks()
}

fn not_below_agent(id: &str, above: &Session) -> Problem {
    let detail = format!(
        "the process runs below the agent of session `{}`, and `{id}` is not below that; name a session below it, or none",
        above.id()
    );
    Problem::new(StatusCode::FORBIDDEN, ELSEWHERE.0, "It is a session elsewhere", detail).blocks()
}

fn not_its_own(session: &Session) -> Problem {
    let detail = format!(
        "session `{}` was opened by another program, which ends it, or the user outside of all agents",
        session.id()
    );
    Problem::new(StatusCode::FORBIDDEN, "session-owned", "The session has an owner", detail).blocks()
}

fn not_below(id: &str, above: &Session) -> Problem {
    let detail = format!(
        "the grant of session `{}` is for sessions below it; `{id}` is not an open one of them",
        above.id()
    );
    Problem::new(StatusCode::FORBIDDEN, "not-granted", "The grant does not reach this far", detail).blocks()
}

/// Finds out who asks.
///
/// # Errors
/// It shows a grant that is not known.
pub(crate) fn recognise(daemon: &Daemon, request: &Request) -> Result<Caller, Problem> {
    let mut given = request.headers().get_all(HEADER).iter();
    let rights = match (given.next(), given.next()) {
        (None, _) => Some(Rights::User),
        (Some(grant), None) => daemon.grants.session(grant.as_bytes()).map(Rights::Below),
        (Some(_), Some(_)) => None,
    };
    let Some(rights) = rights else {
        return Err(no_such_grant());
    };
    let connection = request.extensions().get::<Connection>();
    let peer = connection.and_then(|connection| connection.peer);
    let connection = connection.map(|connection| Arc::clone(&connection.name));
    Ok(Caller { rights, connection, peer })
}

/// The grant that a request shows, if it is one.
pub(crate) fn grant(request: &Request) -> Option<Vec<u8>> {
    let mut given = request.headers().get_all(HEADER).iter();
    let grant = given.next()?.as_bytes().to_vec();
    given.next().is_none().then_some(grant)
}

const NO_SUCH_GRANT: &str = "no-such-grant";

fn no_such_grant() -> Problem {
    let detail = "the header `Lineside-Grant` does not hold the grant of an open session; a grant ends with \
        its session, and a process that presents none is a root session of the user";
    Problem::new(StatusCode::FORBIDDEN, NO_SUCH_GRANT, "The grant is not known", detail).blocks()
}

/// Whether it is the problem with a grant that is not known.
pub(crate) fn is_of_grant(problem: &Problem) -> bool {
    problem.kind.ends_with(NO_SUCH_GRANT)
}

/// Lets only the user in.
pub(crate) async fn user_only(caller: Caller, request: Request, next: Next) -> Response {
    match caller.granted() {
        None => next.run(request).await,
        Some(_) => refused(request, too_far()).await,
    }
}

/// How long the rest of a request is waited for whose answer is known, and how long that rest may be, in bytes.
const REST: (Duration, usize) = (Duration::from_secs(1), 64 << 10);

/// The answer to a request that is refused before it was read: one that is being sent still would break under its sender,
/// who would not hear why.
async fn refused(request: Request, problem: Problem) -> Response {
    // What is longer, or does not come, is not wanted.
    drop(timeout(REST.0, to_bytes(request.into_body(), REST.1)).await);
    problem.into_response()
}

/// Lets only a person in: no process that stands below an agent, whether it shows a grant or not.
pub(crate) async fn person_only(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    request: Request,
    next: Next,
) -> Response {
    let (held, tree) = (Arc::clone(&daemon), caller.tree(&daemon));
    // It looks at the processes above, one after the other.
    match daemon.looks.run(Load::large(tree), async move { caller.is_a_person(&held) }).await {
        Ok(()) => next.run(request).await,
        Err(problem) => refused(request, problem).await,
    }
}

/// What is asked for is the user's.
pub(crate) fn too_far() -> Problem {
    let detail = "a grant lets a process open sessions and publish below its session; leave the header \
                `Lineside-Grant` out to act as the user";
    Problem::new(StatusCode::FORBIDDEN, "not-granted", "The grant does not reach this far", detail)
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        if let Some(problem) = parts.extensions.get::<Problem>() {
            return Err(problem.clone());
        }
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| Problem::bad_request("it is not known who asks"))
    }
}

#[cfg(test)]
mod tests {
    use lineside::Bus;

    use super::*;

    #[tokio::test]
    async fn a_grant_reaches_what_is_below_its_session_whoever_has_opened_it() {
        let bus = Bus::new();
        let above = bus.session("above").open().await.unwrap();
        let below = above.subagent("below").open().await.unwrap();
        let beside = bus.session("beside").open().await.unwrap();
        let caller = Caller { rights: Rights::Below(above), connection: None, peer: None };
        assert!(caller.reaches(below).is_ok());
        assert_eq!(caller.reaches(beside).err().map(|problem| problem.status), Some(403));
    }
}
