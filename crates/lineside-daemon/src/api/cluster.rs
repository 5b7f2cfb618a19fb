//! What is asked of all machines of a cluster.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use futures_util::stream::unfold;
use lineside::json::{Map, Value};
use tokio::time::timeout;

use super::shapes::{ClusterDrain, ClusterDrained, ClusterLog, ClusterLogQuery, ClusterSignalsQuery};
use super::signals::QUIET;
use crate::body::{Asked, Json, Query};
use crate::daemon::Daemon;
use crate::problem::Problem;

/// What was decided on all machines of the cluster, each asked for what its own log has.
///
/// A machine that does not answer is named with the reason, and the others are given all the same.
#[cfg_attr(feature = "describe", utoipa::path(
    get, path = "/v1/cluster/log", tag = "daemon", params(ClusterLogQuery),
    responses(
        (status = 200, body = ClusterLog),
        (status = 400, body = Problem, description = "the query is none"),
        (status = 409, body = Problem, description = "the daemon is in no cluster"),
    )
))]
pub(super) async fn log(
    State(daemon): State<Arc<Daemon>>,
    Query(asked): Query<ClusterLogQuery>,
) -> Result<Json<ClusterLog>, Problem> {
    match daemon.cluster.logs(&*daemon, &asked).await {
        Some(Ok(log)) => Ok(Json(log)),
        Some(Err(wrong)) => Err(Problem::bad_request(wrong)),
        None => Err(no_cluster()),
    }
}

fn no_cluster() -> Problem {
    let detail = "this daemon is in no cluster; `lineside serve --nats URL`, or `cluster:` in config.yaml, has it join one";
    Problem::new(StatusCode::CONFLICT, "no-cluster", "The daemon is in no cluster", detail)
}

/// What happens on all machines of the cluster, as it happens (`text/event-stream`).
///
/// As `/v1/signals?form=log`, with `machine` in each. A machine that cannot be asked is said with `machine_away` and the
/// reason as `detail`, and that it answers again with `machine_back`; what it kept meanwhile follows, and what it has
/// lost is counted in an event `lost`. The stream begins anew for a reader that comes back.
#[cfg_attr(feature = "describe", utoipa::path(
    get, path = "/v1/cluster/signals", tag = "daemon", params(ClusterSignalsQuery),
    responses(
        (status = 200, content_type = "text/event-stream", body = String),
        (status = 400, body = Problem, description = "the query is none"),
        (status = 409, body = Problem, description = "the daemon is in no cluster"),
    )
))]
pub(super) async fn signals(
    State(daemon): State<Arc<Daemon>>,
    Query(ClusterSignalsQuery { query }): Query<ClusterSignalsQuery>,
) -> Result<Response, Problem> {
    let here = Arc::clone(&daemon);
    let tapped = match daemon.cluster.tap(here, query.unwrap_or_default()).await {
        Some(tapped) => tapped.map_err(Problem::bad_request)?,
        None => return Err(no_cluster()),
    };
    let pieces = unfold((tapped, true), async |(mut tapped, begins)| {
        let quiet = || ":\n\n".to_owned();
        let text = match begins {
            true => quiet(),
            false => match timeout(QUIET, tapped.next()).await {
                Ok(heard) => event(heard?),
                Err(_) => quiet(),
            },
        };
        Some((Ok::<_, Infallible>(text), (tapped, false)))
    });
    let head = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    Ok((head, Body::from_stream(pieces)).into_response())
}

fn event((id, fields): (String, Map)) -> String {
    let kind = fields.get("kind").and_then(Value::as_str).unwrap_or("decided").to_owned();
    format!("id: {id}\nevent: {kind}\ndata: {}\n\n", Value::Object(fields))
}

/// How long a machine waits at most before it leaves.
const LONGEST: Duration = Duration::from_secs(3_600);

/// Have this machine leave the cluster: it takes nothing more of others, waits for what is under way, and leaves. Answers when it
/// has, with what was under way still; its own sessions go on.
#[cfg_attr(feature = "describe", utoipa::path(
    post, path = "/v1/cluster/drain", tag = "daemon", request_body = ClusterDrain,
    responses(
        (status = 200, body = ClusterDrained),
        (status = 403, body = Problem, description = "it stands below an agent, or is not known"),
        (status = 409, body = Problem, description = "the daemon is in no cluster"),
    )
))]
pub(super) async fn drain(
    State(daemon): State<Arc<Daemon>>,
    Asked(ClusterDrain { within_ms }, _taken): Asked<ClusterDrain>,
) -> Result<Json<ClusterDrained>, Problem> {
    let within = Duration::from_millis(within_ms).min(LONGEST);
    let here = Arc::clone(&daemon);
    daemon.cluster.drain(here, within).await.map(Json).ok_or_else(no_cluster)
}
