//! Context: handed over, and accepted or put back.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use lineside::Session;
use lineside::core::context::Bounds;
use lineside::json::json;
use lineside::wire;
use uuid::Uuid;

use super::shapes::{Accepted, Collect, Delivery};
use crate::body::{Asked, Json, Path};
use crate::caller::Caller;
use crate::daemon::Daemon;
use crate::deliveries::Deliveries;
use crate::elsewhere::machine;
use crate::problem::Problem;
use crate::shares::Tree;

/// Take the messages for an agent's context.
///
/// They go back to the mailbox, in their place, unless they are accepted within a minute. Those of a session on another
/// machine of the cluster are asked of that.
#[cfg_attr(feature = "describe", utoipa::path(
    post, path = "/v1/sessions/{session}/context/collect", tag = "context",
    params(("session" = String, Path)), request_body = Collect,
    responses((status = 200, body = Delivery), (status = 404, body = Problem))
))]
pub(super) async fn collect(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    Path(session): Path<String>,
    Asked(asked, _room): Asked<Collect>,
) -> Result<Json<Delivery>, Problem> {
    let session = caller.mailbox(&daemon, &session)?;
    if machine(&session).is_some() {
        return daemon.cluster.collect(&session, &asked).await.map(Json);
    }
    let (within, tree) = (daemon.settings.limits.delivery, caller.tree(&daemon));
    hand_over(&daemon.deliveries, within, (&session, &asked), tree).await.map(Json)
}

/// Takes the messages of a session out of its mailbox, to be accepted within this time.
///
/// # Errors
/// Too many deliveries are out.
pub(crate) async fn hand_over(
    deliveries: &Deliveries,
    within: Duration,
    (session, asked): (&Session, &Collect),
    tree: Option<Tree>,
) -> Result<Delivery, Problem> {
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
        return Ok(shape);
    }
    let name = Uuid::new_v4().to_string();
    match deliveries.keep(delivery, name, within, tree) {
        Ok(name) => shape.delivery = Some(name),
        Err(most) => {
            let detail =
                format!("{most} deliveries wait to be accepted; accept them, or wait until they go back");
            let (word, title) = ("too-many-deliveries", "Too many deliveries are out");
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, word, title, detail));
        }
    }
    Ok(shape)
}

/// The messages are in the agent's context now; they are not delivered again.
#[cfg_attr(feature = "describe", utoipa::path(
    post, path = "/v1/sessions/{session}/context/{delivery}/accept", tag = "context",
    params(("session" = String, Path), ("delivery" = String, Path)),
    responses((status = 200, body = Accepted), (status = 404, body = Problem))
))]
pub(super) async fn accept(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    Path((session, delivery)): Path<(String, String)>,
) -> Result<Json<Accepted>, Problem> {
    if caller.granted().is_some() {
        caller.session(&daemon, &session)?;
    }
    if daemon.session(&session).is_ok_and(|session| machine(&session).is_some()) {
        let session = caller.mailbox(&daemon, &session)?;
        return daemon.cluster.accept(&session, &delivery).await.map(Json);
    }
    accept_one(&daemon.deliveries, &delivery).await.map(Json)
}

/// Accepts a delivery.
///
/// # Errors
/// There is none of that name, or the acceptance is not on record.
pub(crate) async fn accept_one(deliveries: &Deliveries, delivery: &str) -> Result<Accepted, Problem> {
    let Some(taken) = deliveries.take(delivery) else {
        let detail = format!("delivery `{delivery}` was accepted before, or has gone back; collect again");
        return Err(Problem::not_found(detail));
    };
    match taken.accept_durably().await {
        Ok((messages, durability)) => {
            Ok(Accepted { messages: messages.len(), durability: durability.as_str() })
        }
        Err(error) => {
            let detail = format!("{error}: {}", error.why);
            let (word, title) = ("not-kept", "The acceptance is not on record");
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, word, title, detail))
        }
    }
}
