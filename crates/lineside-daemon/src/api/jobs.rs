//! Jobs of automations: listed, shown, taken up again, dropped.

use std::sync::Arc;

use axum::extract::State;
use lineside::automation::jobs::{Which, WhichState};
use lineside::automation::machine::job::JobId;
use lineside::json::{Map, Value};
use lineside::wire;

#[cfg(feature = "describe")]
use super::shapes::Job;
use super::shapes::{self, Jobs, JobsQuery};
use crate::body::{Json, Path, Query, Written, listed};
use crate::caller::Caller;
use crate::daemon::Daemon;
use crate::problem::Problem;

/// How many are given when the request does not say.
const USUAL: usize = 1_000;

/// The jobs that are known.
#[cfg_attr(feature = "describe", utoipa::path(get, path = "/v1/jobs", tag = "jobs", params(JobsQuery), responses((status = 200, body = Jobs))))]
pub(super) async fn list(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    Query(query): Query<JobsQuery>,
) -> Result<Written, Problem> {
    let state = match query.state {
        None => WhichState::Any,
        Some(shapes::WhichState::Live) => WhichState::Live,
        Some(shapes::WhichState::Dead) => WhichState::Dead,
    };
    let most = Some(query.most.unwrap_or(USUAL));
    let which = Which { automation: query.automation, session: query.session.map(Into::into), state, most };
    let list = move |daemon: &Daemon| Jobs {
        jobs: daemon.automations.jobs().list(&which).iter().map(wire::job).collect(),
    };
    listed(&daemon, &caller, list).await
}

/// A job.
#[cfg_attr(feature = "describe", utoipa::path(
    get, path = "/v1/jobs/{job}", tag = "jobs", params(("job" = u64, Path)),
    responses((status = 200, body = Job), (status = 404, body = Problem))
))]
pub(super) async fn look_up(
    State(daemon): State<Arc<Daemon>>,
    Path(job): Path<String>,
) -> Result<Json<Map>, Problem> {
    show(&daemon, number(&job)?)
}

/// Take a dead job up again, with all its attempts before it.
#[cfg_attr(feature = "describe", utoipa::path(
    post, path = "/v1/jobs/{job}/retry", tag = "jobs", params(("job" = u64, Path)),
    responses((status = 200, body = Job), (status = 404, body = Problem), (status = 409, body = Problem))
))]
pub(crate) async fn retry(
    State(daemon): State<Arc<Daemon>>,
    Path(job): Path<String>,
) -> Result<Json<Map>, Problem> {
    let job = number(&job)?;
    let before = show(&daemon, job)?;
    if daemon.automations.jobs().retry(job) {
        return show(&daemon, job);
    }
    let detail = format!("job {} is {}; only a dead one is taken up again", job.0, state(&before));
    Err(Problem::conflict("job-not-dead", "The job is not dead", detail))
}

/// Drop a job: it is cancelled, or forgotten if it is dead; not one that has run, also while what it found is handed over.
///
/// Refused below an agent, as the end of the daemon.
#[cfg_attr(feature = "describe", utoipa::path(
    delete, path = "/v1/jobs/{job}", tag = "jobs", params(("job" = u64, Path)),
    responses((status = 200, body = Job, description = "the job as it was"), (status = 403, body = Problem, description = "below an agent"), (status = 404, body = Problem), (status = 409, body = Problem))
))]
pub(crate) async fn forget(
    State(daemon): State<Arc<Daemon>>,
    Path(job): Path<String>,
) -> Result<Json<Map>, Problem> {
    let job = number(&job)?;
    let before = show(&daemon, job)?;
    if daemon.automations.jobs().drop(job) {
        return Ok(before);
    }
    let detail = format!("job {} is {} and cannot be dropped", job.0, state(&before));
    Err(Problem::conflict("job-over", "The job is over", detail))
}

fn show(daemon: &Daemon, job: JobId) -> Result<Json<Map>, Problem> {
    let shown = daemon.automations.jobs().show(job);
    shown.map(|shown| Json(wire::job(&shown))).ok_or_else(|| no_job(job))
}

fn number(text: &str) -> Result<JobId, Problem> {
    text.parse().map(JobId).map_err(|_| Problem::bad_request(format!("`{text}` is not the number of a job")))
}

fn no_job(job: JobId) -> Problem {
    Problem::not_found(format!("there is no job {}, or it is not known any more", job.0))
}

fn state(shown: &Json<Map>) -> &str {
    shown.0.get("state").and_then(Value::as_str).unwrap_or_default()
}
