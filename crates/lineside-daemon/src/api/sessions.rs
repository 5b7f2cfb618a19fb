//! Sessions: opened, looked up, closed; the tree that they form; the hooks that each is under.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use lineside::core::{Notice, SessionId};
use lineside::{Session as BusSession, wire};

use super::attach::Brought;
use super::shapes::{
    AttachedOutcome, CloseQuery, Closed, Hooks, OpenSession, Opened, Session, Sessions, SessionsQuery,
};
use crate::agents::Hold;
use crate::attachments::Registrant;
use crate::body::{Asked, Json, Path, Query, Written, listed};
use crate::caller::{self, Caller};
use crate::closed::OpenedBy;
use crate::daemon::{Daemon, Opening};
use crate::problem::Problem;
use crate::whole::whole;

/// Open a session.
///
/// With `hooks`, the program of `attachment` has them on it from its first event on. When one cannot be registered, the
/// session is not opened; on one that was open already the others are registered, and the answer has its problem.
#[cfg_attr(feature = "describe", utoipa::path(
    post, path = "/v1/sessions", tag = "sessions", request_body = OpenSession,
    responses(
        (status = 201, body = Opened),
        (status = 200, body = Opened, description = "it was open, and is resumed"),
        (status = 403, body = Problem, description = "the grant does not reach this far"),
        (status = 404, body = Problem, description = "the parent is not open"),
        (status = 409, body = Problem, description = "the id is taken"),
    )
))]
pub(super) async fn open(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    Asked(asked, _room): Asked<OpenSession>,
) -> Result<Response, Problem> {
    let OpenSession {
        id,
        parent,
        agent,
        project_root,
        cwd,
        model,
        host,
        traceparent,
        resume,
        attachment,
        hooks,
    } = asked;
    let tree = caller.tree(&daemon);
    let brought = Brought::by(&daemon, attachment, hooks, tree).await?;
    let (agent, model) = (agent.map(Into::into), model.map(Into::into));
    let connection = caller.connection.clone();
    let (attribution, work) = (None, caller.work());
    let opening = Opening {
        id,
        parent,
        above: None,
        agent,
        project_root,
        cwd,
        model,
        host,
        traceparent,
        connection,
        attribution,
        work,
        tree,
        by: OpenedBy::Request,
    };
    let held = Arc::clone(&daemon);
    // It is opened with its hooks, or it is not.
    let opened = async move { open_with_hooks(&held, &caller, (opening, resume), brought).await };
    whole(&daemon.tracker, opened).await
}

/// A session with the hooks that its program brings. Its events wait for these from when it is open, or when it is known that
/// they may be on it: who may not have hooks there, or finds the id taken, holds up nothing.
async fn open_with_hooks(
    daemon: &Daemon,
    caller: &Caller,
    (opening, resume): (Opening, bool),
    brought: Brought,
) -> Result<Response, Problem> {
    let has_hooks = !brought.is_empty();
    let begin = |id: &str| has_hooks.then(|| daemon.preparing.begin(id));
    let (status, session, opened) = taken_over_or_opened(daemon, caller, opening, resume, begin).await?;
    let how = if status == StatusCode::CREATED { Hold::Opened } else { Hold::TakenOver };
    caller.holds(daemon, &session, how)?;
    if has_hooks && status == StatusCode::OK {
        caller.hooked_session(daemon, session.id().as_str())?;
    }
    let by = if has_hooks { caller.registrant(daemon)? } else { Registrant::Unknown };
    let _preparing = opened.or_else(|| begin(session.id().as_str()));
    let outcomes = brought.register(daemon, &session, &by);
    if has_hooks {
        let late = daemon.cluster.changed(daemon, &session).await;
        late.into_iter().for_each(|text| daemon.bus().announce(Notice::warning(text)));
    }
    let failed = outcomes.iter().find_map(|outcome| outcome.problem.clone());
    if let Some(problem) = failed.filter(|_| status == StatusCode::CREATED) {
        session.close().await;
        return Err(problem);
    }
    Ok(self::opened(status, &session, outcomes))
}

/// The session, and what is begun right before it is opened; nothing of that where it was open.
async fn taken_over_or_opened<T>(
    daemon: &Daemon,
    caller: &Caller,
    mut opening: Opening,
    resume: bool,
    begin: impl Fn(&str) -> Option<T>,
) -> Result<(StatusCode, BusSession, Option<T>), Problem> {
    let id = opening.id.clone();
    if resume && daemon.bus().find(&id).is_some() {
        let session = resumed(daemon, caller, &id)?;
        if opening.parent.is_some_and(|parent| {
            session.source().parent_session.as_ref().map(SessionId::as_str) != Some(&parent)
        }) {
            let detail = format!("session `{id}` is open and has another parent");
            return Err(Problem::conflict("other-parent", "The session has another parent", detail));
        }
        return Ok((StatusCode::OK, session, None));
    }
    let (parent, above, attribution) = caller.parent(daemon, opening.parent)?;
    (opening.parent, opening.above) = (parent, above);
    opening.attribution = Some(attribution);
    match daemon.open_with(opening, || begin(&id)).await {
        Ok((session, begun)) => Ok((StatusCode::CREATED, session, begun)),
        // Another request has opened it meanwhile.
        Err(problem) if resume => {
            resumed(daemon, caller, &id).map(|session| (StatusCode::OK, session, None)).map_err(|_| problem)
        }
        Err(problem) => Err(problem),
    }
}

/// An open session that is gone on with: what is given with it is for what it is above of, for what is above it, and for the
/// program that has opened it.
fn resumed(daemon: &Daemon, caller: &Caller, id: &str) -> Result<BusSession, Problem> {
    match daemon.hosts.opened(id) {
        Some(_) => caller.spoken_session(daemon, id),
        None => caller.own_session(daemon, id),
    }
}

/// What the opener of a session gets, which is not shown again: what processes of the session inherit.
fn opened(status: StatusCode, session: &BusSession, hooks: Vec<AttachedOutcome>) -> Response {
    let variables = session.environment();
    let environment = variables.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let shape = Opened { session: session.into(), environment, hooks };
    (status, [(header::CACHE_CONTROL, "no-store")], Json(shape)).into_response()
}

/// The open sessions. With a grant, only with `below`.
#[cfg_attr(feature = "describe", utoipa::path(
    get, path = "/v1/sessions", tag = "sessions", params(SessionsQuery),
    responses((status = 200, body = Sessions), (status = 404, body = Problem))
))]
pub(super) async fn list(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    Query(query): Query<SessionsQuery>,
) -> Result<Written, Problem> {
    match query.below {
        Some(top) => {
            let top = caller.session(&daemon, &top)?;
            listed(&daemon, &caller, move |daemon| from(daemon, &top)).await
        }
        None if caller.granted().is_some() => Err(caller::too_far()),
        None => {
            let list = |daemon: &Daemon| Sessions { sessions: all(daemon).into_values().collect() };
            listed(&daemon, &caller, list).await
        }
    }
}

/// A session.
#[cfg_attr(feature = "describe", utoipa::path(
    get, path = "/v1/sessions/{session}", tag = "sessions", params(("session" = String, Path)),
    responses((status = 200, body = Session), (status = 404, body = Problem))
))]
pub(super) async fn look_up(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    Path(session): Path<String>,
) -> Result<Json<Session>, Problem> {
    Ok(Json((&caller.session(&daemon, &session)?).into()))
}

/// A session and everything open below it, each parent before its children.
#[cfg_attr(feature = "describe", utoipa::path(
    get, path = "/v1/sessions/{session}/tree", tag = "sessions", params(("session" = String, Path)),
    responses((status = 200, body = Sessions), (status = 404, body = Problem))
))]
pub(super) async fn tree(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    Path(session): Path<String>,
) -> Result<Written, Problem> {
    let top = caller.session(&daemon, &session)?;
    listed(&daemon, &caller, move |daemon| from(daemon, &top)).await
}

/// A session and those below it.
fn from(daemon: &Daemon, top: &BusSession) -> Sessions {
    let mut below: BTreeMap<String, Vec<Session>> = BTreeMap::new();
    for session in all(daemon).into_values() {
        if let Some(parent) = &session.parent {
            below.entry(parent.clone()).or_default().push(session);
        }
    }
    let (mut sessions, mut waiting) = (Vec::new(), vec![Session::from(top)]);
    while let Some(session) = waiting.pop() {
        waiting.extend(below.remove(&session.id).unwrap_or_default().into_iter().rev());
        sessions.push(session);
    }
    Sessions { sessions }
}

/// End a session. Its background hooks are waited for.
///
/// What is confined below a session ends the sessions that its own process has opened, and those without hooks of their own
/// whose opener is gone.
#[cfg_attr(feature = "describe", utoipa::path(
    delete, path = "/v1/sessions/{session}", tag = "sessions", params(("session" = String, Path), CloseQuery),
    responses(
        (status = 200, body = Closed),
        (status = 403, body = Problem, description = "the caller is confined, and another program has opened the session"),
        (status = 404, body = Problem),
    )
))]
pub(super) async fn close(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    Path(session): Path<String>,
    Query(query): Query<CloseQuery>,
) -> Result<Json<Closed>, Problem> {
    let session = caller.ended_session(&daemon, &session)?;
    daemon.note_closed(&session);
    let closing = session.clone();
    // What it runs comes to its end without a waiter too.
    let closed = async move {
        match query.within_ms {
            Some(within) => closing.close_within(Duration::from_millis(within)).await,
            None => closing.close().await,
        }
    };
    whole(&daemon.tracker, closed).await;
    Ok(Json(Closed {
        id: session.id().to_string(),
        last_seq: session.last_seq(),
        inherited: session.has_heirs(),
    }))
}

/// The hooks that a session is under, with their origins.
#[cfg_attr(feature = "describe", utoipa::path(
    get, path = "/v1/sessions/{session}/hooks", tag = "sessions", params(("session" = String, Path)),
    responses((status = 200, body = Hooks), (status = 404, body = Problem))
))]
pub(super) async fn hooks(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    Path(session): Path<String>,
) -> Result<Written, Problem> {
    let session = caller.session(&daemon, &session)?;
    let list = move |_: &Daemon| {
        let hooks = session.hooks().iter().map(|(point, hook)| wire::hook(point, hook)).collect();
        Hooks { coverage: session.coverage().to_string(), hooks }
    };
    listed(&daemon, &caller, list).await
}

/// The open sessions by their ids.
fn all(daemon: &Daemon) -> BTreeMap<String, Session> {
    let bus = daemon.bus();
    let open = bus.sessions().into_iter().filter_map(|id| bus.find(id.as_str()));
    open.map(|session| (session.id().to_string(), Session::from(&session))).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::pin::pin;

    use futures_util::poll;
    use lineside::json::{from_value, json};

    use super::super::{jobs, receipts};
    use super::*;
    use crate::Server;

    #[tokio::test]
    async fn a_session_that_is_being_opened_with_hooks_holds_up_none_that_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let project = root.join("project");
        fs::create_dir_all(project.join(".lineside")).unwrap();
        fs::create_dir(project.join(".git")).unwrap();
        fs::write(project.join(".lineside/hooks.yaml"), "hooks: []\nkey: 1\n").unwrap();
        let server = Server::in_folder(&root).await;
        let (daemon, bus) = (&Arc::clone(&server.daemon), server.bus().clone());
        let open = bus.session("s").open_now().unwrap();
        let below = open.subagent("below").open_now().unwrap();
        let hook = json!({"called": "g", "hook": {"name": "g", "on": "before_tool"}});
        let brought = Brought::read(daemon, "none", vec![from_value(&hook).unwrap()], None).await;
        let opening = |id: &str| {
            let cwd = Some(project.display().to_string());
            Opening { id: id.to_owned(), cwd, ..Opening::default() }
        };
        let held_up = daemon.projects.all_places().await;
        let caller = Caller::user();
        let mut opens = pin!(open_with_hooks(daemon, &caller, (opening("s"), false), brought));
        assert!(poll!(opens.as_mut()).is_pending(), "the project is loaded first");
        for session in [&open, &below] {
            assert!(poll!(pin!(daemon.preparing.stand(&bus, session))).is_ready());
        }
        drop(held_up);
        assert_eq!(opens.await.map(drop).unwrap_err().status, 409);
        // One that is opened decides nothing before its hooks stand.
        let begin = || daemon.preparing.begin("new");
        let (new, begun) = daemon.open_with(opening("new"), begin).await.map_err(drop).unwrap();
        assert!(poll!(pin!(daemon.preparing.stand(&bus, &new))).is_pending());
        drop(begun);
        daemon.preparing.stand(&bus, &new).await;
        server.end().await;
    }

    #[tokio::test]
    async fn lists_are_made_beside_the_requests_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::in_folder(&folder.path().canonicalize().unwrap()).await;
        let daemon = Arc::clone(&server.daemon);
        server.bus().session("s").open_now().unwrap();
        let (user, id) = (Caller::user, || Path("s".to_owned()));
        let state = || State(Arc::clone(&daemon));
        let looked = daemon.looks.all_places().await;
        let mut lists: [std::pin::Pin<Box<dyn Future<Output = bool>>>; 5] = [
            Box::pin(async { list(state(), user(), query()).await.is_ok() }),
            Box::pin(async { tree(state(), user(), id()).await.is_ok() }),
            Box::pin(async { hooks(state(), user(), id()).await.is_ok() }),
            Box::pin(async { jobs::list(state(), user(), query()).await.is_ok() }),
            Box::pin(async { receipts::list(state(), user(), query()).await.is_ok() }),
        ];
        for (place, list) in lists.iter_mut().enumerate() {
            assert!(poll!(list.as_mut()).is_pending(), "{place}");
        }
        drop(looked);
        for list in lists {
            assert!(list.await);
        }
        server.end().await;
    }

    fn query<T: serde::de::DeserializeOwned>() -> Query<T> {
        Query(from_value(&json!({})).unwrap())
    }
}
