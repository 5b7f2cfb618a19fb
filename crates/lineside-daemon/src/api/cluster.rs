//! What is asked of all machines of a cluster.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;

use super::shapes::{ClusterLog, ClusterLogQuery};
use crate::body::{Json, Query};
use crate::daemon::Daemon;
use crate::problem::Problem;

/// What was decided on all machines of the cluster, each asked for what its own log has.
///
/// A machine that does not answer is named with the reason, and the others are given all the same.
#[utoipa::path(
    get, path = "/v1/cluster/log", tag = "daemon", params(ClusterLogQuery),
    responses(
        (status = 200, body = ClusterLog),
        (status = 400, body = Problem, description = "the query is none"),
        (status = 409, body = Problem, description = "the daemon is in no cluster"),
    )
)]
pub(super) async fn log(
    State(daemon): State<Arc<Daemon>>,
    Query(asked): Query<ClusterLogQuery>,
) -> Result<Json<ClusterLog>, Problem> {
    match daemon.cluster.logs(&*daemon, &asked).await {
        Some(Ok(log)) => Ok(Json(log)),
        Some(Err(wrong)) => Err(Problem::bad_request(wrong)),
        None => {
            let detail = "this daemon is in no cluster; `lineside serve --nats URL`, or `cluster:` in config.yaml, has it join one";
            Err(Problem::new(StatusCode::CONFLICT, "no-cluster", "The daemon is in no cluster", detail))
        }
    }
}
