//! Bodies in and out: read strictly and within bounds, written as JSON.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use lineside::core::json::read_strict;
use lineside::json::{Map, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::daemon::Daemon;
use crate::problem::Problem;

/// A JSON object that was read strictly: no doubled key, at most 64 levels, UTF-8, nothing after it.
pub(crate) struct Fields(pub(crate) Map);

/// A request of a documented form. An empty body counts as `{}`.
pub(crate) struct Asked<T>(pub(crate) T);

/// The parameters of the query, of a documented form.
pub(crate) struct Query<T>(pub(crate) T);

/// An answer.
pub(crate) struct Json<T>(pub(crate) T);

impl FromRequest<Arc<Daemon>> for Fields {
    type Rejection = Problem;

    async fn from_request(request: Request, daemon: &Arc<Daemon>) -> Result<Self, Problem> {
        let limits = &daemon.settings.limits;
        let bytes = whole(request, limits.body, limits.whole).await?;
        if bytes.trim_ascii().is_empty() {
            return Ok(Self(Map::new()));
        }
        match read_strict(&bytes) {
            Ok(Value::Object(fields)) => Ok(Self(fields)),
            Ok(_) => Err(Problem::bad_request("the body must be a JSON object").blocks()),
            Err(error) => Err(Problem::bad_request(format!("the body is not JSON: {error}")).blocks()),
        }
    }
}

impl<T: DeserializeOwned> FromRequest<Arc<Daemon>> for Asked<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, daemon: &Arc<Daemon>) -> Result<Self, Problem> {
        let Fields(fields) = Fields::from_request(request, daemon).await?;
        match lineside::json::from_value(&Value::Object(fields)) {
            Ok(asked) => Ok(Self(asked)),
            Err(error) => Err(Problem::bad_request(error.to_string())),
        }
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match axum::extract::Query::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(query)) => Ok(Self(query)),
            Err(rejection) => Err(Problem::bad_request(rejection.body_text())),
        }
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match lineside::json::to_vec(&self.0) {
            Ok(body) => {
                let kind = HeaderValue::from_static("application/json");
                ([(header::CONTENT_TYPE, kind)], body).into_response()
            }
            Err(error) => {
                let detail = format!("the answer could not be written: {error}");
                let (word, title) = ("not-written", "The answer could not be written");
                Problem::new(StatusCode::INTERNAL_SERVER_ERROR, word, title, detail).into_response()
            }
        }
    }
}

/// The whole of a body that is short enough and comes in time.
async fn whole(request: Request, most: usize, within: Duration) -> Result<Vec<u8>, Problem> {
    let announced = request.headers().get(header::CONTENT_LENGTH);
    let announced = announced.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| usize::try_from(length).map_or(true, |length| length > most)) {
        return Err(too_large(most));
    }
    let read = axum::body::to_bytes(Body::new(request.into_body()), most);
    match tokio::time::timeout(within, read).await {
        Ok(Ok(bytes)) => Ok(bytes.into()),
        Ok(Err(error)) if is_too_large(&error) => Err(too_large(most)),
        Ok(Err(error)) => Err(Problem::bad_request(format!("the body broke off: {error}")).blocks()),
        Err(_) => {
            let detail = format!("the body did not arrive within {} s", within.as_secs());
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", "The body is too slow", detail)
                .blocks())
        }
    }
}

fn too_large(most: usize) -> Problem {
    let detail = format!("the body has more than {most} bytes, so that no gate can see it");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "The body is too large", detail).blocks()
}

fn is_too_large(error: &axum::Error) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(one) = cause {
        if one.to_string().contains("length limit exceeded") {
            return true;
        }
        cause = one.source();
    }
    false
}
