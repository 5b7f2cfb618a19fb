//! Receipts: the last ones, in memory.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use lineside::core::EventId;
use lineside::json::{Map, Value};
use lineside::wire;
use tokio::time::timeout;

#[cfg(feature = "describe")]
use super::shapes::Decision;
use super::shapes::{Receipts, ReceiptsQuery};
use crate::aside::Load;
use crate::body::{Json, JsonText, Path, Query, no_room_for_answer};
use crate::caller::Caller;
use crate::connections::written;
use crate::daemon::Daemon;
use crate::feed::size;
use crate::problem::Problem;

/// How many are given when the request does not say.
const USUAL: usize = 100;
/// How long is waited for the log.
const WRITTEN: Duration = Duration::from_secs(2);

/// The latest receipts.
#[cfg_attr(feature = "describe", utoipa::path(get, path = "/v1/receipts", tag = "events", params(ReceiptsQuery), responses((status = 200, body = Receipts), (status = 503, body = Problem))))]
pub(super) async fn list(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    Query(query): Query<ReceiptsQuery>,
) -> Result<JsonText, Problem> {
    if query.written {
        timeout(WRITTEN, written(&daemon)).await.ok();
    }
    let latest = daemon.feed().receipts(query.session.as_deref(), query.most.unwrap_or(USUAL));
    let bytes = latest.iter().map(|receipt| size(receipt)).sum();
    let room = timeout(daemon.settings.limits.whole, daemon.room.answer(bytes, caller.tree(&daemon))).await;
    let room = room.map_err(|_| no_room_for_answer("ask again later, or for fewer with `most`"))?;
    let text = async move {
        let receipts = Receipts { receipts: latest.iter().map(|receipt| wire::receipt(receipt)).collect() };
        lineside::json::to_string(&receipts)
    };
    let text = daemon.looks.run(Load::large(caller.tree(&daemon)), text).await;
    Ok(JsonText(text.map_err(|error| Problem::unwritten(&error))?, room))
}

/// The receipt of an event.
#[cfg_attr(feature = "describe", utoipa::path(
    get, path = "/v1/receipts/{event}", tag = "events", params(("event" = String, Path, description = "its id")),
    responses((status = 200, body = Decision), (status = 404, body = Problem))
))]
pub(super) async fn look_up(
    State(daemon): State<Arc<Daemon>>,
    Path(event): Path<String>,
) -> Result<Json<Map>, Problem> {
    let id: EventId = lineside::json::from_value(&Value::String(event.clone()))
        .map_err(|_| Problem::bad_request(format!("`{event}` is not the id of an event, which is a UUID")))?;
    match daemon.feed().receipt(id) {
        Some(receipt) => Ok(Json(wire::receipt(&receipt))),
        None => {
            let most = daemon.settings.limits.receipts;
            let detail = format!("event {event} is not among the last {most} that this daemon has decided");
            Err(Problem::not_found(detail))
        }
    }
}
