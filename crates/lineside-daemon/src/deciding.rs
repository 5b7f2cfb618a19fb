//! One event to its decision, by whichever way it has come.

use std::sync::Arc;

use lineside::Session;
use lineside::bus::PublishError;
use lineside::core::Point as _;
use lineside::core::event::digest_of;
use lineside::dialects::native::WhoseAsks;
use lineside::json::{Map, json};
use lineside::points::AfterSession;
use lineside::wire::{self, EventDraft};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::api::shapes::PublishQuery;
use crate::approvals::call::OfCall;
use crate::body::{Document, fields};
use crate::caller::Caller;
use crate::connections;
use crate::daemon::{Daemon, Opening};
use crate::lineage::Process;
use crate::problem::Problem;
use crate::room::Taken;
use crate::whole::{as_far_as_happened, if_happened, unless_left};

/// A body that was read, to the decision of its event. What that is, is not known before there is room for its values; a
/// fact is decided also where this is dropped meanwhile.
///
/// # Errors
/// As [`read`] and [`decide`], or there is no room for it.
pub(crate) async fn decide_document(
    daemon: &Arc<Daemon>,
    caller: &Caller,
    query: &PublishQuery,
    document: Document,
) -> Result<(String, Taken), Problem> {
    if document.is_small(daemon) {
        let draft = read(daemon, fields(&document.0)?)?;
        return decide(daemon, caller, query, draft, Taken::default()).await;
    }
    let began = Instant::now();
    let (held, query) = (Arc::clone(daemon), query.clone());
    let (load, of) = (document.load(daemon, || caller.tree(daemon)), caller.clone());
    as_far_as_happened(daemon, load, |left| async move {
        let (fields, room) = document.fields(&held).await?;
        let query = query.since(began);
        decide_if_happened(&held, &of, &query, read(&held, fields)?, room, &left).await
    })
    .await
}

/// One event of a publisher that may leave before it is decided: it is decided all the same where it has happened.
///
/// # Errors
/// As [`decide`].
pub(crate) async fn decide_if_happened<R: Send + 'static>(
    daemon: &Arc<Daemon>,
    caller: &Caller,
    query: &PublishQuery,
    draft: EventDraft,
    room: R,
    left: &CancellationToken,
) -> Result<(String, R), Problem> {
    let is_fact = draft.point.is_fact();
    if_happened(left, is_fact, decide(daemon, caller, query, draft, room)).await
}

/// The event that a JSON object is. The time that its publisher says is not taken over where it is still to be decided, for
/// limits rely on it.
///
/// # Errors
/// It is none.
pub(crate) fn read(daemon: &Daemon, fields: Map) -> Result<EventDraft, Problem> {
    let mut draft = EventDraft::read(fields, &daemon.vocabulary)
        .map_err(|error| Problem::bad_request(error.to_string()).blocks())?;
    if let Some(said) = draft.time.take_if(|_| !draft.point.is_fact()) {
        draft.extra.get_or_insert_with("publisher_time", || said.to_string().into());
    }
    Ok(draft)
}

/// One event to its decision, as compact JSON text.
///
/// A fact is decided also where this is dropped. The room of its body is given back when it is decided.
///
/// # Errors
/// Its session is not open or not the caller's, or the daemon is ending: the event must not happen then.
pub(crate) async fn decide<R: Send + 'static>(
    daemon: &Arc<Daemon>,
    caller: &Caller,
    query: &PublishQuery,
    draft: EventDraft,
    room: R,
) -> Result<(String, R), Problem> {
    let Some(id) = draft.session.clone() else {
        return Err(Problem::bad_request("the field `session` is absent").blocks());
    };
    if daemon.switch.is_off() {
        // Whatever is wrong with its session, the event passes.
        let session = session(daemon, caller, query, &id, &draft).await.ok();
        let mut decision = unseen(&id, &draft);
        if let Some(session) = session.filter(|_| draft.point == AfterSession::INFO) {
            connections::close(daemon, session.clone()).await;
            say_inherited(&mut decision, &session);
        }
        return Ok((decision, room));
    }
    if !draft.point.is_fact() {
        return Ok((decide_in(daemon, caller, query, &id, draft).await?, room));
    }
    let (held, caller, query) = (Arc::clone(daemon), caller.clone(), query.clone());
    let decided = async move { Ok((decide_in(&held, &caller, &query, &id, draft).await?, room)) };
    unless_left(daemon, true, decided).await
}

/// One event that was read to its decision.
async fn decide_in(
    daemon: &Arc<Daemon>,
    caller: &Caller,
    query: &PublishQuery,
    id: &str,
    draft: EventDraft,
) -> Result<String, Problem> {
    let began = Instant::now();
    let session = session(daemon, caller, query, id, &draft).await?;
    let stand = daemon.preparing.stand(daemon.bus(), &session);
    match query.since(began).within() {
        // What has happened is recorded also when its time is over.
        Some(left) if !draft.point.is_fact() => timeout(left, stand).await.map_err(|_| not_ready(id))?,
        _ => stand.await,
    }
    let is_fact = draft.point.is_fact();
    let publication = wire::publication(&session, draft);
    let publication = match query.since(began).within() {
        Some(left) => publication.within(left),
        None => publication,
    };
    let publication = match &caller.connection {
        Some(connection) if session.source().connection.as_ref() != Some(connection) => {
            publication.connection(Arc::clone(connection))
        }
        _ => publication,
    };
    // What is below the one who asks answers nothing, so that it has to be known who that is; that is looked at last.
    let is_seen = || caller.peer.is_some_and(Process::is_there);
    let asks = (!is_fact && questions_wait(daemon) && is_seen()).then(|| {
        let until = query.within().and_then(|within| began.checked_add(within));
        OfCall::of_publisher(daemon, (session.source().root_session.as_str(), caller.peer), until)
    });
    let published = match asks {
        None => publication.publish_any().await,
        Some(asks) => {
            let left = asks.left().clone();
            let published = publication.answered_by(asks).publish_any();
            left.run_until_cancelled(published).await.ok_or_else(Problem::ending)?
        }
    };
    let receipt = published.map_err(|error| not_published(&error))?;
    daemon.note(&receipt);
    let claims = if query.unkept {
        daemon.claims.unkept(&receipt)
    } else {
        let most = daemon.settings.limits.keeping;
        daemon.claims.of(&receipt, query.since(began).within().map_or(most, |left| left.min(most))).await
    };
    let mut decision = wire::decision_text(&receipt, &claims, query.receipt);
    if receipt.event.point() == AfterSession::INFO {
        daemon.note_closed(&session);
        session.close().await;
        say_inherited(&mut decision, &session);
    }
    Ok(decision)
}

/// Whether the questions of programs that publish wait for a person: the user has said so of all. How such a program asks its
/// user itself is not known.
fn questions_wait(daemon: &Daemon) -> bool {
    daemon.approvals.settings().is_some_and(|settings| settings.of == WhoseAsks::All)
}

/// Adds to the decision, a JSON object, about the event that has ended a session whether sessions below are under its hooks
/// still: their program goes on answering then.
fn say_inherited(decision: &mut String, session: &Session) {
    if session.has_heirs() {
        decision.pop();
        decision.push_str(",\"inherited\":true}");
    }
}

/// The session of an event, opened where the event may open it; of the event that ends it, one that the caller may end.
async fn session(
    daemon: &Daemon,
    caller: &Caller,
    query: &PublishQuery,
    id: &str,
    draft: &EventDraft,
) -> Result<Session, Problem> {
    let session = found_or_opened(daemon, caller, query, id, draft).await?;
    if draft.point == AfterSession::INFO { caller.ended_session(daemon, id) } else { Ok(session) }
}

async fn found_or_opened(
    daemon: &Daemon,
    caller: &Caller,
    query: &PublishQuery,
    id: &str,
    draft: &EventDraft,
) -> Result<Session, Problem> {
    if !query.open {
        return caller.spoken_session(daemon, id).map_err(|problem| daemon.closed_or(id, problem).blocks());
    }
    if daemon.bus().find(id).is_some() {
        return caller.spoken_session(daemon, id);
    }
    let (parent, above, attribution) = caller.parent(daemon, draft.parent.clone())?;
    let (connection, attribution) = (caller.connection.clone(), Some(attribution));
    let (work, tree) = (caller.work(), caller.tree(daemon));
    let opening = Opening { parent, above, connection, attribution, work, tree, ..opening(id, draft) };
    let session = daemon.session_of_event(opening).await?;
    // It may be one that another publisher has opened since it was looked for.
    caller.reaches(session)
}

fn opening(id: &str, draft: &EventDraft) -> Opening {
    Opening {
        id: id.to_owned(),
        parent: draft.parent.clone(),
        agent: draft.agent.clone(),
        project_root: draft.project_root.clone(),
        cwd: draft.cwd.clone(),
        model: draft.model.clone(),
        host: draft.host.clone(),
        traceparent: draft.traceparent.clone(),
        ..Opening::default()
    }
}

/// What is decided while hooks are switched off: nothing stands in the way, and no hook has seen it.
fn unseen(session: &str, draft: &EventDraft) -> String {
    let payload = draft.payload.to_json();
    let unseen = json!({
        "session": session, "point": draft.point.name, "verdict": "continue", "payload_sha256": digest_of(&payload),
        "payload": payload, "context": [], "notices": [], "off": true,
    });
    unseen.to_string()
}

/// The hooks with which a session was opened do not stand when the time of an event is over.
fn not_ready(session: &str) -> Problem {
    let detail =
        format!("the hooks of session `{session}` are being registered, and the time of the event is over");
    Problem::conflict("not-ready", "The hooks of the session do not stand yet", detail).blocks()
}

fn not_published(error: &PublishError) -> Problem {
    match error {
        PublishError::Draining => Problem::ending(),
        PublishError::Closed(_) => {
            Problem::conflict("session-closed", "The session is closed", error.to_string()).blocks()
        }
        _ => Problem::conflict("not-published", "The event was not published", error.to_string()).blocks(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lineside::core::{AttributedBy, Attribution};
    use lineside::dialects::{Places, Trust};

    use super::*;
    use crate::{Server, Settings};

    async fn served(folder: &Path) -> Server {
        let (socket, state) = (folder.join("run/lineside.sock"), folder.join("state"));
        let cwd = folder.to_path_buf();
        let places = Places { environment: [].into(), project_root: None, cwd, trust: Trust::Withheld };
        Server::start(Settings::new(socket, state, places)).await.unwrap()
    }

    #[tokio::test]
    async fn a_parent_that_closes_meanwhile_is_not_opened_as_a_root_for_a_caller_below_it() {
        let folder = tempfile::tempdir().unwrap();
        let server = served(folder.path()).await;
        let daemon = &server.daemon;
        let opening = |id: &str, by| Opening {
            id: id.to_owned(),
            parent: Some("gone".to_owned()),
            attribution: Some(Attribution { by, process: None, since: server.bus().wall_clock() }),
            ..Opening::default()
        };
        for by in [AttributedBy::Grant, AttributedBy::Ancestry] {
            let refused = daemon.session_of_event(opening("child", by)).await.map(drop).unwrap_err();
            assert_eq!((refused.status, refused.verdict), (404, Some("block")), "{by:?}");
            assert!(server.bus().find("gone").is_none() && server.bus().find("child").is_none());
        }
        let child = daemon.session_of_event(opening("child", AttributedBy::Nothing)).await.ok().unwrap();
        assert!(child.is_below(&server.bus().find("gone").unwrap()));
        server.end().await;
    }

    #[tokio::test]
    async fn the_time_of_a_publisher_holds_for_what_comes_before_the_hooks_too() {
        let folder = tempfile::tempdir().unwrap();
        let server = served(folder.path()).await;
        let daemon = &server.daemon;
        let _session = server.bus().session("s").open().await.unwrap();
        let prepared = daemon.preparing.begin("s");
        let event = lineside::json::json!({"point": "before_tool", "session": "s", "payload": {"tool_name": "Shell", "tool_input": {}}});
        let draft = read(daemon, event.as_object().unwrap().clone()).unwrap();
        let query = PublishQuery { within_ms: Some(50), ..PublishQuery::default() };
        let (caller, long) = (Caller::user(), std::time::Duration::from_secs(20));
        let decided = decide(daemon, &caller, &query, draft, ());
        let decided = timeout(long, decided).await.expect("its time is over");
        let problem = decided.map(drop).unwrap_err();
        assert_eq!((problem.status, problem.verdict), (409, Some("block")));
        assert_eq!(query.since(Instant::now()).within_ms, Some(50));
        let long_ago = Instant::now().checked_sub(long).unwrap();
        assert_eq!(query.since(long_ago).within_ms, Some(0), "what was spent on the way is gone");
        drop(prepared);
        server.end().await;
    }
}
