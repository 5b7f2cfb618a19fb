//! What is answered when a request is not the documented one, or cannot be met: problem documents (RFC 9457).

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// A problem document, sent as `application/problem+json`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Problem {
    /// Which problem it is: `urn:lineside:problem:` and a word that does not change.
    #[serde(rename = "type")]
    pub kind: String,
    /// The same in a few words.
    pub title: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// What happened, and what would be right.
    pub detail: String,
    /// Where a gate could not see the event: `block`. The event must not happen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<&'static str>,
}

impl Problem {
    /// A problem of this word, title and status.
    pub(crate) fn new(
        status: StatusCode,
        word: &str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            kind: format!("urn:lineside:problem:{word}"),
            title,
            status: status.as_u16(),
            detail: detail.into(),
            verdict: None,
        }
    }

    /// The event that was to be published must not happen, because no gate has seen it.
    pub(crate) fn blocks(mut self) -> Self {
        self.verdict = Some("block");
        self
    }

    /// The request is not the documented one.
    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", "The request is not the documented one", detail)
    }

    /// There is no such session.
    pub(crate) fn no_session(id: &str) -> Self {
        let detail = format!("session `{}` is not open; open it with POST /v1/sessions", short(id));
        Self::new(StatusCode::NOT_FOUND, "no-such-session", "The session is not open", detail)
    }

    /// There is no such thing.
    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "There is nothing here", detail)
    }

    /// It is there, in a state that does not allow this.
    pub(crate) fn conflict(word: &str, title: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, word, title, detail)
    }

    /// The answer has no JSON.
    pub(crate) fn unwritten(error: &lineside::json::Error) -> Self {
        let detail = format!("the answer could not be written: {error}");
        let (word, title) = ("not-written", "The answer could not be written");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, word, title, detail)
    }

    /// The door serves as many connections as it has room for.
    pub(crate) fn no_room_at_the_door() -> Self {
        let detail = "as many connections as there is room for are open; close one, or try it again later";
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "no-room",
            "There is no room for the connection now",
            detail,
        )
        .blocks()
    }

    /// The publisher left before the answer; what reads it does so for the record.
    pub(crate) fn left() -> Self {
        let detail = "the publisher left before its event was decided";
        Self::conflict("left", "The publisher has left", detail).blocks()
    }

    /// The daemon is ending.
    pub(crate) fn ending() -> Self {
        let (word, title) = ("ending", "The daemon is ending");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, word, title, "no event or session is let in any more")
            .blocks()
    }
}

/// As much of an id as a person needs to find it.
fn short(id: &str) -> &str {
    id.char_indices().nth(200).and_then(|(end, _)| id.get(..end)).unwrap_or(id)
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = lineside::json::to_vec(&self).unwrap_or_default();
        let kind = HeaderValue::from_static("application/problem+json");
        (status, [(header::CONTENT_TYPE, kind)], body).into_response()
    }
}
