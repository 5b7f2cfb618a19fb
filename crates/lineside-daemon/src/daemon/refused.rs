//! Why a session is not opened, in the words of the API.

use axum::http::StatusCode;
use lineside::bus::OpenSessionError;
use lineside::bus::register::RegisterHookError;

use crate::problem::Problem;

pub(super) fn closed(id: &str) -> Problem {
    let detail = format!("session `{id}` is closed; open it anew with POST /v1/sessions");
    Problem::conflict("session-closed", "The session is closed", detail).blocks()
}

pub(super) fn not_entered(id: &str, error: &RegisterHookError) -> Problem {
    let detail = format!("session `{id}`: the hooks of its project cannot be loaded: {error}");
    Problem::conflict("session-not-opened", "The session cannot be opened", detail).blocks()
}

pub(super) fn cannot_open(id: &str, error: &OpenSessionError) -> Problem {
    match error {
        OpenSessionError::Draining => Problem::ending(),
        OpenSessionError::TooDeep(_) => too_deep(error),
        OpenSessionError::TooMany(_) => too_many(error),
        OpenSessionError::Taken(_) => Problem::conflict(
            "session-open",
            "The session is open already",
            format!("session `{id}` is open already"),
        ),
        other => Problem::conflict("session-not-opened", "The session cannot be opened", other.to_string()),
    }
}

/// The problem with a session for which there is no room.
pub(crate) fn too_many(error: &OpenSessionError) -> Problem {
    let (word, title) = ("too-many-sessions", "Too many sessions are open");
    Problem::new(StatusCode::TOO_MANY_REQUESTS, word, title, error.to_string()).blocks()
}

/// The problem with a session that would be too far below its root.
pub(crate) fn too_deep(error: &OpenSessionError) -> Problem {
    Problem::conflict("too-deep", "The session is too deep", error.to_string()).blocks()
}
