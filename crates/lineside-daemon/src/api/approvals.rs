//! Questions of hooks that wait for a person: looking at them, answering them, taking answers back.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use lineside::core::ApprovalScope;
use lineside::json::{Map, Value, json};

use super::shapes::{AnswerApproval, Approvals};
use crate::approvals::granted::Rule;
use crate::approvals::{AnswerQuestionError, Said};
use crate::body::{Asked, Json, Path, Written, listed};
use crate::caller::Caller;
use crate::daemon::Daemon;
use crate::problem::Problem;

/// The longest reason of an answer, in bytes.
const REASON: usize = 1 << 10;

/// The questions that wait, the oldest first, and the answers for patterns.
#[cfg_attr(feature = "describe", utoipa::path(get, path = "/v1/approvals", tag = "approvals", responses((status = 200, body = Approvals))))]
pub(super) async fn list(State(daemon): State<Arc<Daemon>>, caller: Caller) -> Result<Written, Problem> {
    daemon.agents.remember(caller.peer);
    listed(&daemon, &caller, all).await
}

/// What waits, and the answers for patterns.
pub(crate) fn all(daemon: &Daemon) -> Approvals {
    let waiting = daemon.approvals.list().iter().map(|(view, left)| view.to_json(*left)).collect();
    Approvals {
        waits: daemon.approvals.settings().is_some(),
        waiting,
        answers: daemon.approvals.rules().iter().map(rule).collect(),
    }
}

fn rule(rule: &Rule) -> Map {
    let fields = json!({
        "id": rule.id, "hook": rule.hook.name, "file": rule.hook.file, "tool": rule.tool, "pattern": rule.pattern,
        "project": rule.project, "answer": rule.answer.word(), "by": rule.answer.by(), "at": rule.answer.at(),
    });
    if let Value::Object(fields) = fields { fields } else { Map::new() }
}

/// Answer a question. The first answer counts.
///
/// A person does this, over the socket: whatever stands below an agent is refused, and over HTTP it is not known who asks.
#[cfg_attr(feature = "describe", utoipa::path(
    post, path = "/v1/approvals/{id}", tag = "approvals",
    params(("id" = String, Path, description = "the id of the question")),
    request_body = AnswerApproval,
    responses(
        (status = 200, body = Object, description = "the question that was answered"),
        (status = 400, body = Problem, description = "the pattern cannot be remembered, or does not fit the call"),
        (status = 403, body = Problem, description = "it stands below an agent, or who asks is not known"),
        (status = 404, body = Problem, description = "no question of that id waits"),
        (status = 409, body = Problem, description = "it is over: answered already, given up, or its time is over"),
    )
))]
pub(super) async fn answer(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    Path(id): Path<String>,
    Asked(body, _room): Asked<AnswerApproval>,
) -> Result<Json<Map>, Problem> {
    let by = caller.peer.map_or_else(
        || "a person".to_owned(),
        |process| format!("a person ({}, process {})", process.command(), process.pid),
    );
    answered(&daemon, &id, body, by).map(Json)
}

/// Answers a question in this name.
pub(crate) fn answered(daemon: &Daemon, id: &str, body: AnswerApproval, by: String) -> Result<Map, Problem> {
    let scope = match (&*body.scope, &body.pattern) {
        ("once", None) => ApprovalScope::Once,
        ("session", None) => ApprovalScope::Session,
        ("pattern", Some(_)) => ApprovalScope::Pattern,
        _ => {
            let detail = "`scope` is `once`, `session`, or `pattern` with a `pattern`";
            return Err(Problem::bad_request(detail));
        }
    };
    let is_allowed = match &*body.answer {
        "allow" => true,
        "deny" => false,
        _ => return Err(Problem::bad_request("`answer` is `allow` or `deny`")),
    };
    if body.reason.as_ref().is_some_and(|reason| reason.len() > REASON) {
        return Err(Problem::bad_request(format!("`reason` has at most {REASON} bytes")));
    }
    let said = Said { is_allowed, scope, pattern: body.pattern, reason: body.reason, by };
    let view = daemon.approvals.answer(id, &said).map_err(|error| not_answered(&error))?;
    Ok(view.to_json(std::time::Duration::ZERO))
}

/// Take back the answers for patterns that were given to a question; a person does this.
#[cfg_attr(feature = "describe", utoipa::path(
    delete, path = "/v1/approvals/{id}", tag = "approvals",
    params(("id" = String, Path, description = "the id of the question that it was given to")),
    responses(
        (status = 200, body = Object),
        (status = 403, body = Problem, description = "it stands below an agent, or who asks is not known"),
        (status = 404, body = Problem, description = "there is no such answer"),
    )
))]
pub(super) async fn forget(
    State(daemon): State<Arc<Daemon>>,
    Path(id): Path<String>,
) -> Result<Json<Map>, Problem> {
    if daemon.approvals.forget_rule(&id) {
        return Ok(Json(Map::from_iter([("id".to_owned(), json!(id))])));
    }
    let id: String = id.chars().take(64).collect();
    Err(Problem::not_found(format!("no answer for a pattern was given to a question `{id}`")))
}

fn not_answered(error: &AnswerQuestionError) -> Problem {
    let detail = error.to_string();
    match error {
        AnswerQuestionError::Unknown(_) => Problem::not_found(detail),
        AnswerQuestionError::Over { .. } => {
            Problem::new(StatusCode::CONFLICT, "approval-over", "The question is over", detail)
        }
        AnswerQuestionError::Pattern(_) => Problem::bad_request(detail),
    }
}
