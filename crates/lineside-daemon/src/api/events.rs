//! Publishing: one event or many, each to its decision.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::future::join_all;
use lineside::json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

#[cfg(feature = "describe")]
use super::shapes::{Decision, Decisions, Event};
use super::shapes::{Events, PublishQuery};
use super::upgrade::upgraded;
use crate::body::{Document, JsonText, Query, asked};
use crate::caller::Caller;
use crate::connections;
use crate::daemon::Daemon;
use crate::deciding::{decide_document, decide_if_happened, read};
use crate::problem::Problem;
use crate::whole::as_far_as_happened;

/// The protocol of a connection for events, and its version.
const PROTOCOL: &str = "lineside-events/1";

/// Events of one session, each with its place in the request.
type Line = Vec<(usize, Map)>;

/// How many events one request may publish.
const MOST: usize = 10_000;

/// Publish an event and have its decision.
///
/// What `accepted` claims of background work is kept when the answer is given. A connection that breaks before the answer
/// leaves an event undecided that has not happened yet; one that has (`after_…`, `on_…`) is decided all the same. Neither is
/// published again.
#[cfg_attr(feature = "describe", utoipa::path(
    post, path = "/v1/events", tag = "events", params(PublishQuery), request_body = Event,
    responses(
        (status = 200, body = Decision),
        (status = 400, body = Problem, description = "no event; `verdict` says that it must not happen"),
        (status = 404, body = Problem, description = "the session is not open, and this daemon has not closed it"),
        (status = 409, body = Problem, description = "the session was closed"),
        (status = 413, body = Problem, description = "too large for a gate to see; `verdict` is `block`"),
    )
))]
pub(super) async fn publish(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    query: Result<Query<PublishQuery>, Problem>,
    document: Document,
) -> Result<JsonText, Problem> {
    let Query(query) = query.map_err(Problem::blocks)?;
    let (decision, room) = decide_document(&daemon, &caller, &query, document).await?;
    Ok(JsonText(decision, room))
}

/// Make this connection one for events: many of them under way at once, without a request for each.
///
/// The request has the headers `Connection: Upgrade` and `Upgrade: lineside-events/1`, and the grant of the publisher, if
/// it has one, which then holds for all events of the connection. After the answer, each event is a line
/// `{"type": "publish", "id": 1, "bytes": 211}` and so many bytes behind it, which are an event as `POST /v1/events` takes
/// it; the parameters of that path stand in the line. Its answer is a line with the same `id` and `bytes`, of the type
/// `decision` or `problem`, and the body that the path would have answered with. `{"type": "cancel", "id": 1}` has the
/// hooks of an event cancelled that has not happened yet; it is not answered then. Only over the Unix socket.
#[cfg_attr(feature = "describe", utoipa::path(
    post, path = "/v1/events/connection", tag = "events",
    responses(
        (status = 101, description = "the connection is one for events from here on"),
        (status = 426, body = Problem, description = "the upgrade was not asked for"),
    )
))]
pub(super) async fn connection(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    upgraded(&daemon, &caller, request, PROTOCOL, |upgrade, from| {
        connections::publish(&daemon, upgrade, from, caller.clone());
        Ok(HeaderMap::new())
    })
}

/// Publish many events; those of one session one after another, sessions beside one another.
///
/// A connection that breaks before the answer leaves those undecided that have not happened; all others are decided.
#[cfg_attr(feature = "describe", utoipa::path(
    post, path = "/v1/events/batch", tag = "events", params(PublishQuery), request_body = Events,
    responses((status = 200, body = Decisions), (status = 400, body = Problem))
))]
pub(super) async fn publish_many(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    query: Result<Query<PublishQuery>, Problem>,
    document: Result<Document, Problem>,
) -> Result<JsonText, Problem> {
    let Query(query) = query.map_err(Problem::blocks)?;
    let document = document.map_err(Problem::blocks)?;
    let held = Arc::clone(&daemon);
    let load = document.load(&daemon, || caller.tree(&daemon));
    as_far_as_happened(&daemon, load, |left| async move {
        decide_many(&held, &caller, &query, document, &left).await
    })
    .await
}

async fn decide_many(
    daemon: &Arc<Daemon>,
    caller: &Caller,
    query: &PublishQuery,
    document: Document,
    left: &CancellationToken,
) -> Result<JsonText, Problem> {
    let (fields, room) = document.fields(daemon).await?;
    let Events { events } = asked(fields).map_err(Problem::blocks)?;
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
    let lines = lines.into_values().map(async |line| {
        let mut decided = Vec::with_capacity(line.len());
        for (place, event) in line {
            let result = async {
                let (decision, ()) =
                    decide_if_happened(daemon, caller, query, read(daemon, event)?, (), left).await?;
                Ok(decision)
            };
            decided.push((place, result.await.unwrap_or_else(|problem: Problem| json!(problem).to_string())));
        }
        decided
    });
    let mut decisions = vec![String::new(); count];
    for (place, result) in join_all(lines).await.into_iter().flatten() {
        if let Some(slot) = decisions.get_mut(place) {
            *slot = result;
        }
    }
    Ok(JsonText(format!("{{\"decisions\":[{}]}}", decisions.join(",")), room))
}
