//! Context: handed over, and accepted or put back.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use lineside::core::context::Bounds;
use lineside::json::json;
use lineside::wire;
use uuid::Uuid;

use super::shapes::{Accepted, Collect, Delivery};
use crate::body::{Asked, Json, Path};
use crate::caller::Caller;
use crate::daemon::Daemon;
use crate::problem::Problem;

/// Take the messages for an agent's context.
///
/// They go back to the mailbox, in their place, unless they are accepted within a minute.
#[utoipa::path(
    post, path = "/v1/sessions/{session}/context/collect", tag = "context",
    params(("session" = String, Path)), request_body = Collect,
    responses((status = 200, body = Delivery), (status = 404, body = Problem))
)]
pub(super) async fn collect(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    Path(session): Path<String>,
    Asked(asked, _room): Asked<Collect>,
) -> Result<Json<Delivery>, Problem> {
    let session = caller.spoken_session(&daemon, &session)?;
    let usual = Bounds::default();
    let bounds = Bounds {
        messages: asked.messages.unwrap_or(usual.messages),
        bytes: asked.bytes.unwrap_or(usual.bytes),
        tokens: asked.tokens.unwrap_or(usual.tokens),
    };
    let collect = session.collect().at_most(bounds);
    let delivery = if asked.before_next_model { collect.before_next_model().await } else { collect.ready() };
    let mut shape = Delivery {
        delivery: None,
        messages: delivery.messages().iter().map(wire::message).collect(),
        text: delivery.text(),
        missing: delivery.missing().iter().map(|missing| json!(missing)).collect(),
        remaining: delivery.remaining(),
    };
    if shape.messages.is_empty() && shape.missing.is_empty() {
        return Ok(Json(shape));
    }
    let name = Uuid::new_v4().to_string();
    let within = daemon.settings.limits.delivery;
    match daemon.deliveries.keep(delivery, name, within, caller.tree(&daemon)) {
        Ok(name) => shape.delivery = Some(name),
        Err(most) => {
            let detail =
                format!("{most} deliveries wait to be accepted; accept them, or wait until they go back");
            let (word, title) = ("too-many-deliveries", "Too many deliveries are out");
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, word, title, detail));
        }
    }
    Ok(Json(shape))
}

/// The messages are in the agent's context now; they are not delivered again.
#[utoipa::path(
    post, path = "/v1/sessions/{session}/context/{delivery}/accept", tag = "context",
    params(("session" = String, Path), ("delivery" = String, Path)),
    responses((status = 200, body = Accepted), (status = 404, body = Problem))
)]
pub(super) async fn accept(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    Path((session, delivery)): Path<(String, String)>,
) -> Result<Json<Accepted>, Problem> {
    if caller.granted().is_some() {
        caller.session(&daemon, &session)?;
    }
    let Some(taken) = daemon.deliveries.take(&delivery) else {
        let detail = format!("delivery `{delivery}` was accepted before, or has gone back; collect again");
        return Err(Problem::not_found(detail));
    };
    match taken.accept_durably().await {
        Ok((messages, durability)) => {
            Ok(Json(Accepted { messages: messages.len(), durability: durability.as_str() }))
        }
        Err(error) => {
            let detail = format!("{error}: {}", error.why);
            let (word, title) = ("not-kept", "The acceptance is not on record");
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, word, title, detail))
        }
    }
}
