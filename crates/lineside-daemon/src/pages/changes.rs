//! What a person changes on a page: the answer to a question, a dead job. Only a `POST` of one of our pages comes here, and
//! the process at the other end is looked at each time, as it is over the socket.

use std::sync::Arc;

use axum::Form;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Redirect, Response};
use lineside::json::{Map, Value, from_str, json};
use lineside_dashboard::page::BASE;
use serde::Deserialize;

use super::gate::{may, refused};
use super::views::lab_page;
use crate::api::shapes::AnswerApproval;
use crate::api::{approvals, hooks, jobs};
use crate::body::{Path, asked};
use crate::caller::Connection;
use crate::daemon::Daemon;
use crate::dashboard::keys::May;
use crate::problem::Problem;

/// That a person asks; else why it is refused.
async fn by_a_person(daemon: &Arc<Daemon>, connection: Option<&Connection>) -> Result<(), Box<Response>> {
    let why = match may(daemon, connection).await {
        Ok(May::Change) => return Ok(()),
        Ok(May::Look) => {
            "It is not known which program this browser is; do it at a terminal, with lineside approvals or lineside jobs."
                .to_owned()
        }
        Err(why) => why,
    };
    Err(Box::new(refused(StatusCode::FORBIDDEN, "A person does this", &why)))
}

fn went_wrong(problem: &Problem) -> Response {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_REQUEST);
    refused(status, problem.title, &problem.detail)
}

/// The form of an answer: `allow once`, `allow session`, or `deny once`.
#[derive(Deserialize)]
pub(super) struct Answered {
    answer: String,
    #[serde(default)]
    reason: String,
}

pub(super) async fn answer(
    State(daemon): State<Arc<Daemon>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let connection = request.extensions().get::<Connection>().cloned();
    if let Err(response) = by_a_person(&daemon, connection.as_ref()).await {
        return *response;
    }
    let answered = match form::<Answered>(request, &daemon).await {
        Ok(answered) => answered,
        Err(response) => return *response,
    };
    let (word, scope) = answered.answer.split_once(' ').unwrap_or((&answered.answer, "once"));
    let mut fields = Map::new();
    fields.insert("answer".to_owned(), json!(word));
    fields.insert("scope".to_owned(), json!(scope));
    if !answered.reason.trim().is_empty() {
        fields.insert("reason".to_owned(), json!(answered.reason.trim()));
    }
    let given = asked::<AnswerApproval>(fields);
    match given.and_then(|given| approvals::answered(&daemon, &id, given, "a person (dashboard)".to_owned()))
    {
        Ok(_) => Redirect::to(&format!("{BASE}/approvals")).into_response(),
        Err(problem) => went_wrong(&problem),
    }
}

pub(super) async fn job(
    State(daemon): State<Arc<Daemon>>,
    Path((job, what)): Path<(String, String)>,
    request: Request,
) -> Response {
    if let Err(response) = by_a_person(&daemon, request.extensions().get()).await {
        return *response;
    }
    let done = match &*what {
        "retry" => jobs::retry(State(daemon), Path(job)).await,
        "drop" => jobs::forget(State(daemon), Path(job)).await,
        _ => return super::gate::elsewhere().await,
    };
    match done {
        Ok(_) => Redirect::to(&format!("{BASE}/hooks")).into_response(),
        Err(problem) => went_wrong(&problem),
    }
}

#[derive(Deserialize)]
pub(super) struct Written {
    #[serde(default)]
    event: String,
}

/// Explains an event. Nothing changes by it.
pub(super) async fn explain(
    State(daemon): State<Arc<Daemon>>,
    headers: HeaderMap,
    request: Request,
) -> Response {
    let Written { event } = match form::<Written>(request, &daemon).await {
        Ok(written) => written,
        Err(response) => return *response,
    };
    let explained = match from_str::<Map>(&event) {
        Ok(fields) => hooks::explanation(&daemon, None, fields).await.map_err(|problem| problem.detail),
        Err(error) => Err(format!("it is no JSON object: {error}")),
    };
    let explained = explained.and_then(|explanation| {
        let text = lineside::json::to_string(&explanation).map_err(|error| error.to_string())?;
        from_str::<Value>(&text).map_err(|error| error.to_string())
    });
    lab_page(&daemon, &headers, &event, Some(&explained))
}

/// The fields of a form.
async fn form<T: serde::de::DeserializeOwned>(
    request: Request,
    daemon: &Arc<Daemon>,
) -> Result<T, Box<Response>> {
    use axum::extract::FromRequest as _;
    match tokio::time::timeout(daemon.settings.limits.whole, Form::<T>::from_request(request, &())).await {
        Ok(Ok(Form(form))) => Ok(form),
        Ok(Err(rejection)) => {
            Err(Box::new(refused(StatusCode::BAD_REQUEST, "No form", &rejection.body_text())))
        }
        Err(_) => {
            Err(Box::new(refused(StatusCode::REQUEST_TIMEOUT, "Too slow", "The form did not come in time.")))
        }
    }
}
