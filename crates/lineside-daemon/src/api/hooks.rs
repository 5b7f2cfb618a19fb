//! The hooks in force, for display: all of them in their order, and what would become of an event.

use std::sync::Arc;

use axum::extract::State;
use futures_util::FutureExt as _;
use lineside::json::Map;
#[cfg(feature = "describe")]
use lineside::json::Value;
use lineside::listing::{self, Explanation};
use lineside::wire::{EventDraft, publication};
use lineside::{Bus, Session};
use serde::Deserialize;
use uuid::Uuid;

#[cfg(feature = "describe")]
use super::shapes::Event;
use crate::aside::Load;
use crate::body::{Fields, Query, Written, listed};
use crate::caller::Caller;
use crate::daemon::{Daemon, Opening};
use crate::problem::Problem;
use crate::shares::Tree;

/// Every hook that the last load has found, point by point, in the order in which the hooks run there.
#[cfg(feature = "describe")]
#[derive(utoipa::ToSchema)]
pub(super) struct HookListing {
    /// The hooks: `hook`, `point`, `order`, `priority`, `layer`, `dialect`, `trigger`, `part`, `on_failure`, `timeout_ms`,
    /// `condition`, `file`, `line`, `state`, `automate`.
    #[schema(value_type = Vec<Object>)]
    _hooks: Vec<Value>,
    /// What was found and is no hook that runs.
    #[schema(value_type = Vec<Object>)]
    _inert: Vec<Value>,
    /// What was wrong: `severity`, `origin`, `text`.
    #[schema(value_type = Vec<Object>)]
    _diagnostics: Vec<Value>,
}

/// What would become of an event.
#[cfg(feature = "describe")]
#[derive(utoipa::ToSchema)]
pub(super) struct EventExplanation {
    /// The `point` and the `session` of the event.
    #[schema(value_type = Object)]
    _event: Map,
    /// The hooks that wait for its point, in their order, as in the list of hooks, and `runs`, and why not as `skipped`.
    #[schema(value_type = Vec<Object>)]
    _hooks: Vec<Value>,
    /// The names of the hooks at other points.
    #[schema(value_type = Object)]
    _elsewhere: Map,
    /// What was wrong when hooks were loaded.
    #[schema(value_type = Vec<Object>)]
    _diagnostics: Vec<Value>,
}

/// Where hooks are asked for.
#[derive(Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::IntoParams))]
pub(super) struct HooksQuery {
    /// A folder: the hooks of the project that it is in are listed as well.
    cwd: Option<String>,
}

/// The hooks that the last load has found: those of the user, and of a project that is asked for.
#[cfg_attr(feature = "describe", utoipa::path(
    get, path = "/v1/hooks", tag = "hooks", params(HooksQuery), responses((status = 200, body = HookListing))
))]
pub(super) async fn list(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    Query(query): Query<HooksQuery>,
) -> Result<Written, Problem> {
    let session = Passing::below(&daemon, caller.tree(&daemon), None, query.cwd).await?;
    let list = move |daemon: &Daemon| {
        let report = daemon.projects.report(&session.0, &daemon.loaded().report);
        listing::listing(&session.0, &report)
    };
    listed(&daemon, &caller, list).await
}

/// Which hooks would run for an event, and why the others would not. No hook is run, and the event is not published.
///
/// In a session that is open, hooks that programs have registered there count as well.
#[cfg_attr(feature = "describe", utoipa::path(
    post, path = "/v1/explain", tag = "hooks", request_body = Event,
    responses((status = 200, body = EventExplanation), (status = 400, body = Problem, description = "no event"))
))]
pub(super) async fn explain(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    Fields(fields, _room): Fields,
) -> Result<Written, Problem> {
    let (held, tree) = (Arc::clone(&daemon), caller.tree(&daemon));
    // Every filter is worked out, of commands of any length, for each who asks.
    let explained = async move { Written::of(&explanation(&held, tree, fields).await?) };
    daemon.aside.run(Load::large(tree), explained).await
}

/// What would become of an event.
pub(crate) async fn explanation(
    daemon: &Daemon,
    tree: Option<Tree>,
    fields: Map,
) -> Result<Explanation, Problem> {
    let draft = EventDraft::read(fields, &daemon.vocabulary);
    let draft = draft.map_err(|error| Problem::bad_request(error.to_string()))?;
    let Some(id) = draft.session.clone() else {
        return Err(Problem::bad_request("the field `session` is absent"));
    };
    let report = |session: &Session| daemon.projects.report(session, &daemon.loaded().report);
    match daemon.bus().find(&id) {
        Some(session) => explained(&session, &id, draft, &report(&session)).await,
        None => {
            let parent = draft.parent.clone().filter(|parent| daemon.bus().find(parent).is_some());
            let work = draft.cwd.clone().or_else(|| draft.project_root.clone());
            let session = Passing::below(daemon, tree, parent, work).await?;
            explained(&session.0, &id, draft, &report(&session.0)).await
        }
    }
}

/// The event is made as it would reach hooks: published on a bus that has none.
async fn explained(
    session: &Session,
    id: &str,
    draft: EventDraft,
    report: &lineside::LoadReport,
) -> Result<Explanation, Problem> {
    let not_made = |error: String| Problem::conflict("not-explained", "The event cannot be explained", error);
    let source = session.source();
    let silent = Bus::new().session(id).agent(source.agent.clone());
    let silent =
        source.project_root.iter().fold(silent, |opening, root| opening.project_root(Arc::clone(root)));
    let silent = source.cwd.iter().fold(silent, |opening, cwd| opening.cwd(Arc::clone(cwd)));
    let silent = silent.open().await.map_err(|error| not_made(error.to_string()))?;
    let receipt = publication(&silent, draft).publish_any().await;
    let receipt = receipt.map_err(|error| not_made(error.to_string()))?;
    Ok(listing::explain(session, &receipt.event, report))
}

/// A session that is there to be looked at, for as long as this is.
struct Passing(Session);

impl Passing {
    async fn below(
        daemon: &Daemon,
        tree: Option<Tree>,
        parent: Option<String>,
        cwd: Option<String>,
    ) -> Result<Self, Problem> {
        let _turn = match tree {
            Some(tree) => daemon.passing.wait(tree, 1).await,
            None => None,
        };
        let id = format!("look-{}", Uuid::new_v4());
        daemon.open(Opening { id, parent, cwd, ..Opening::default() }).await.map(Self)
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        let session = self.0.clone();
        // It is over at the first poll, and has nothing to wait for.
        if (async move { session.close().await }).now_or_never().is_none() {
            tracing::warn!("a session to be looked at had work under way");
        }
    }
}
