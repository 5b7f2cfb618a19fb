//! The API: one set of paths for the Unix socket and for loopback HTTP, described by the OpenAPI document that it serves.
//!
//! A handler turns a request into one call of the bus and its result into an answer; what may come in at all is decided
//! before it.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{delete, get, post};

use crate::body::weighed;
use crate::caller::{self, Connection};
use crate::daemon::{Counts, Daemon};
use crate::door::{self, Door};
use crate::problem::Problem;

pub mod shapes;

#[cfg(feature = "describe")]
pub mod described;
#[cfg(feature = "describe")]
mod payloads;

mod sessions;
pub(crate) mod hooks;
mod upgrade;
mod attach;
mod events;
mod hosts;
pub(crate) mod context;
mod receipts;
pub(crate) mod jobs;
pub(crate) mod approvals;
mod signals;
pub(crate) mod control;
mod metrics;
mod cluster;
mod dashboard;

/// The OpenAPI 3.1 document of the API, as it is served and committed; with the feature `describe` it is made anew.
pub const OPENAPI: &str = include_str!("api/openapi.json");

/// Everything behind one door.
pub(crate) fn router(daemon: &Arc<Daemon>, door: Door) -> Router {
    let user = Router::new()
        .route("/v1/hooks", get(hooks::list))
        .route("/v1/explain", post(hooks::explain))
        .route("/v1/receipts", get(receipts::list))
        .route("/v1/receipts/{event}", get(receipts::look_up))
        .route("/v1/jobs", get(jobs::list))
        .route("/v1/jobs/{job}", get(jobs::look_up))
        .route("/v1/jobs/{job}/retry", post(jobs::retry))
        .route("/v1/approvals", get(approvals::list))
        .route("/v1/status", get(control::status))
        .route("/v1/metrics", get(metrics::metrics))
        .route("/v1/cluster/log", get(cluster::log))
        .route("/v1/cluster/signals", get(cluster::signals))
        .route_layer(middleware::from_fn(caller::user_only));
    let person = Router::new()
        .route("/v1/person", get(control::person))
        .route("/v1/approvals/{id}", post(approvals::answer).delete(approvals::forget))
        .route("/v1/dashboard", post(dashboard::invite))
        .route("/v1/reload", post(control::reload))
        .route("/v1/stop", post(control::stop))
        .route("/v1/cluster/drain", post(cluster::drain))
        .route("/v1/jobs/{job}", delete(jobs::forget))
        .route_layer(middleware::from_fn_with_state(Arc::clone(daemon), caller::person_only))
        .route_layer(middleware::from_fn(caller::user_only));
    let session = Router::new()
        .route("/", get(sessions::look_up).delete(sessions::close))
        .route("/tree", get(sessions::tree))
        .route("/hooks", get(sessions::hooks).post(attach::register))
        .route("/hooks/{hook}", delete(attach::remove))
        .route("/context/collect", post(context::collect))
        .route("/context/{delivery}/accept", post(context::accept));
    Router::new()
        .merge(user)
        .merge(person)
        .route("/v1/sessions", get(sessions::list).post(sessions::open))
        .nest("/v1/sessions/{session}", session)
        .route("/v1/attach", post(attach::attach))
        .route("/v1/signals", get(signals::stream))
        .route("/v1/events", post(events::publish))
        .route("/v1/events/connection", post(events::connection))
        .route("/v1/events/batch", post(events::publish_many))
        .route("/v1/hosts/{host}", post(hosts::serve))
        .route("/v1/health", get(control::health))
        .route("/v1/openapi.json", get(control::openapi))
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        .layer(middleware::from_fn_with_state(Entrance { daemon: Arc::clone(daemon), door }, enter))
        .with_state(Arc::clone(daemon))
}

/// What a request comes through: one layer, because each costs every event a few allocations.
#[derive(Clone)]
struct Entrance {
    daemon: Arc<Daemon>,
    door: Door,
}

/// Counts a request, asks whether it may come in and who asks, and has it answered.
async fn enter(
    State(Entrance { daemon, door }): State<Entrance>,
    mut request: Request,
    next: Next,
) -> Response {
    let one = |count: &AtomicU64| Counts::one(count);
    one(&daemon.counts.requests);
    let admitted = door::admit(&door, request.method(), request.uri(), request.headers());
    let path = request.uri().path();
    // Other answers are bounded otherwise, and come of something that was done.
    let is_look = request.method() == Method::GET || path == "/v1/explain";
    let peer = request.extensions().get::<Connection>().and_then(|from| from.peer);
    let known = |()| request.extensions().get::<Connection>().map_or(Ok(()), |from| from.place.known(path));
    let mut recognised = admitted.and_then(known).and_then(|()| caller::recognise(&daemon, &request));
    if recognised.as_ref().is_err_and(caller::is_of_grant)
        && let Some(grant) = caller::grant(&request)
    {
        // It may be of another machine; then it is known here from now on.
        recognised = match daemon.cluster.admit(&*daemon, &grant).await {
            Ok(Some(_)) => caller::recognise(&daemon, &request),
            Ok(None) => recognised,
            Err(problem) => Err(problem),
        };
    }
    let response = match recognised {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        // An agent program reads no problem: it is refused in its own words.
        Err(problem) if caller::is_of_grant(&problem) && request.uri().path().starts_with("/v1/hosts/") => {
            request.extensions_mut().insert(problem);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    };
    let response = if is_look { weighed(&daemon, peer, response) } else { response };
    if response.status().is_client_error() || response.status().is_server_error() {
        one(&daemon.counts.problems);
    }
    response
}

async fn no_such_path(request: Request) -> Response {
    let path = request.uri().path();
    Problem::not_found(format!("there is no path {path:?}; GET /v1/openapi.json lists all of them"))
        .into_response()
}

async fn no_such_method(request: Request) -> Response {
    let (method, path) = (request.method(), request.uri().path());
    let detail = format!("{path:?} does not take {method}; GET /v1/openapi.json says what it takes");
    let status = axum::http::StatusCode::METHOD_NOT_ALLOWED;
    Problem::new(status, "no-such-method", "The path does not take this method", detail).into_response()
}
