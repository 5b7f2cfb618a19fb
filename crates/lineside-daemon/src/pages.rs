//! The pages of the dashboard over HTTP: who comes in, what a page is made of, what is changed on one.

use std::sync::Arc;

use axum::Router;
use axum::middleware;
use axum::routing::{get, post};

use crate::daemon::Daemon;

mod gate;
mod views;
mod changes;
mod stream;

/// Everything behind the door of the dashboard.
pub(crate) fn router(daemon: &Arc<Daemon>) -> Router {
    let pages = Router::new()
        .route("/", get(views::fleet))
        .route("/decisions", get(views::decisions))
        .route("/decisions/{event}", get(views::decision))
        .route("/sessions/{session}", get(views::timeline))
        .route("/sessions/{session}/data", get(views::timeline_data))
        .route("/lineage", get(views::lineage))
        .route("/hooks", get(views::hooks))
        .route("/approvals", get(views::approvals))
        .route("/approvals/{id}", post(changes::answer))
        .route("/jobs/{job}/{what}", post(changes::job))
        .route("/lab", get(views::lab).post(changes::explain))
        .route("/lab/flow", get(views::flow))
        .route("/events", get(stream::frames))
        .route("/assets/{name}", get(views::asset));
    Router::new()
        .route("/dashboard/open", get(gate::exchange))
        .route("/dashboard/", get(gate::without_slash))
        .nest("/dashboard", pages)
        .fallback(gate::elsewhere)
        .layer(middleware::from_fn_with_state(Arc::clone(daemon), gate::enter))
        .with_state(Arc::clone(daemon))
}
