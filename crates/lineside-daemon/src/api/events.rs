//! Publishing: one event or many, each to its decision.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use futures_util::future::join_all;
use lineside::bus::PublishError;
use lineside::claims;
use lineside::core::event::digest_of;
use lineside::json::{Map, Value, json};
use lineside::wire::{self, EventDraft};

use super::shapes::{Decision, Decisions, Event, Events, PublishQuery};
use crate::body::{Asked, Fields, Json, Query};
use crate::caller::Caller;
use crate::daemon::{Daemon, Opening};
use crate::problem::Problem;

/// Events of one session, each with its place in the request.
type Line = Vec<(usize, Map)>;

/// How many events one request may publish.
const MOST: usize = 10_000;

/// Publish an event and have its decision.
///
/// What `accepted` claims of background work is kept when the answer is given. A connection that breaks before the answer
/// leaves the event undecided; it is not published again.
#[utoipa::path(
    post, path = "/v1/events", tag = "events", params(PublishQuery), request_body = Event,
    responses(
        (status = 200, body = Decision),
        (status = 400, body = Problem, description = "no event; `verdict` says that it must not happen"),
        (status = 404, body = Problem, description = "the session is not open, and this daemon has not closed it"),
        (status = 409, body = Problem, description = "the session was closed"),
        (status = 413, body = Problem, description = "too large for a gate to see; `verdict` is `block`"),
    )
)]
pub(super) async fn publish(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    query: Result<Query<PublishQuery>, Problem>,
    Fields(fields, _room): Fields,
) -> Result<Json<Map>, Problem> {
    let Query(query) = query.map_err(Problem::blocks)?;
    decide(&daemon, &caller, &query, fields).await.map(Json)
}

/// Publish many events; those of one session one after another, sessions beside one another.
#[utoipa::path(
    post, path = "/v1/events/batch", tag = "events", params(PublishQuery), request_body = Events,
    responses((status = 200, body = Decisions), (status = 400, body = Problem))
)]
pub(super) async fn publish_many(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    query: Result<Query<PublishQuery>, Problem>,
    asked: Result<Asked<Events>, Problem>,
) -> Result<Json<Decisions>, Problem> {
    let Query(query) = query.map_err(Problem::blocks)?;
    let Asked(Events { events }, _room) = asked.map_err(Problem::blocks)?;
    if events.len() > MOST {
        let detail = format!("{} events in one request, at most {MOST} are possible", events.len());
        return Err(Problem::bad_request(detail).blocks());
    }
    let mut lines: HashMap<String, Line> = HashMap::new();
    let count = events.len();
    for (place, event) in events.into_iter().enumerate() {
        let session = event.get("session").and_then(Value::as_str).unwrap_or_default().to_owned();
        lines.entry(session).or_default().push((place, event));
    }
    let (daemon, caller, query) = (&daemon, &caller, &query);
    let lines = lines.into_values().map(async |line| {
        let mut decided = Vec::with_capacity(line.len());
        for (place, event) in line {
            let result = match decide(daemon, caller, query, event).await {
                Ok(decision) => Value::Object(decision),
                Err(problem) => json!(problem),
            };
            decided.push((place, result));
        }
        decided
    });
    let mut decisions = vec![Value::Null; count];
    for (place, result) in join_all(lines).await.into_iter().flatten() {
        if let Some(slot) = decisions.get_mut(place) {
            *slot = result;
        }
    }
    Ok(Json(Decisions { decisions }))
}

/// One event to its decision.
async fn decide(daemon: &Daemon, caller: &Caller, query: &PublishQuery, fields: Map) -> Result<Map, Problem> {
    let draft = EventDraft::read(fields, &daemon.vocabulary)
        .map_err(|error| Problem::bad_request(error.to_string()).blocks())?;
    let Some(id) = draft.session.clone() else {
        return Err(Problem::bad_request("the field `session` is absent").blocks());
    };
    if daemon.switch.is_off() {
        return Ok(unseen(&id, &draft));
    }
    let session = if query.open {
        if daemon.bus().find(&id).is_some() {
            caller.session(daemon, &id)?;
        }
        let parent = caller.parent(daemon, draft.parent.clone())?;
        let connection = caller.connection.clone();
        daemon.session_of_event(Opening { parent, connection, ..opening(id, &draft) }).await?
    } else {
        caller.session(daemon, &id).map_err(|problem| daemon.closed_or(&id, problem).blocks())?
    };
    let publication = wire::publication(&session, draft);
    let publication = match query.within_ms {
        Some(within) => publication.within(Duration::from_millis(within)),
        None => publication,
    };
    let publication = match &caller.connection {
        Some(connection) if session.source().connection.as_ref() != Some(connection) => {
            publication.connection(Arc::clone(connection))
        }
        _ => publication,
    };
    let receipt = publication.publish_any().await.map_err(|error| not_published(&error))?;
    daemon.note(&receipt);
    let of = daemon.loaded();
    let claims = if query.unkept {
        of.claims.unkept(&receipt)
    } else {
        of.claims.of(&receipt, daemon.settings.limits.keeping).await
    };
    if receipt.event.point().name == "after_session" {
        daemon.note_closed(session.id());
        session.close().await;
    }
    let mut decision = wire::decision(&receipt, query.receipt);
    claims::put(&claims, &mut decision);
    Ok(decision)
}

fn opening(id: String, draft: &EventDraft) -> Opening {
    Opening {
        id,
        parent: draft.parent.clone(),
        agent: draft.agent.clone(),
        project_root: draft.project_root.clone(),
        cwd: draft.cwd.clone(),
        model: draft.model.clone(),
        host: draft.host.clone(),
        traceparent: draft.traceparent.clone(),
        connection: None,
    }
}

/// What is decided while hooks are switched off: nothing stands in the way, and no hook has seen it.
fn unseen(session: &str, draft: &EventDraft) -> Map {
    let payload = draft.payload.to_json();
    let mut map = Map::new();
    map.insert("session".to_owned(), json!(session));
    map.insert("point".to_owned(), json!(draft.point.name));
    map.insert("verdict".to_owned(), json!("continue"));
    map.insert("payload_sha256".to_owned(), json!(digest_of(&payload)));
    map.insert("payload".to_owned(), Value::Object(payload));
    map.insert("context".to_owned(), json!([]));
    map.insert("notices".to_owned(), json!([]));
    map.insert("off".to_owned(), json!(true));
    map
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
