//! The invitation of a person to the dashboard. The pages themselves have a door of their own.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;

use crate::body::Json;
use crate::daemon::Daemon;
use crate::dashboard::keys::WAITS;
use crate::problem::Problem;

/// An invitation to the dashboard.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub(super) struct Invitation {
    /// What a browser opens, once.
    url: String,
    /// How long it waits for that, in milliseconds.
    expires_ms: u64,
}

/// Open the door of the dashboard, and invite one browser to it.
///
/// A person does this, over the socket: whatever stands below an agent is refused. The address in the answer is worth
/// something once, and for a minute.
#[cfg_attr(feature = "describe", utoipa::path(
    post, path = "/v1/dashboard", tag = "daemon",
    responses(
        (status = 200, body = Invitation),
        (status = 403, body = Problem, description = "it stands below an agent, or is not known"),
        (status = 503, body = Problem, description = "no port is free"),
    )
))]
pub(super) async fn invite(State(daemon): State<Arc<Daemon>>) -> Result<Response, Problem> {
    let unopened = |error: std::io::Error| {
        let (word, title) = ("no-dashboard", "The dashboard cannot be opened");
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, word, title, error.to_string())
    };
    let address = daemon.dashboard.open().await.map_err(unopened)?;
    let token = daemon.dashboard.keys.token().map_err(unopened)?;
    let url = format!("http://{address}{}/open?token={token}", lineside_dashboard::page::BASE);
    let expires_ms = u64::try_from(WAITS.as_millis()).unwrap_or(u64::MAX);
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(Invitation { url, expires_ms })).into_response())
}
