//! The description of the API, made of the handlers and of the shapes of bodies. It is committed, and served as it is committed.

use utoipa::OpenApi;

use super::{
    approvals, attach, cluster, context, control, dashboard, events, hooks, hosts, jobs, metrics, payloads,
    receipts, sessions, shapes, signals,
};
use crate::problem::Problem;

/// The description of the API.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "lineside",
        description = "One hook bus for every agent program of a user. The same API is served on a Unix socket, for the \
            same user alone, and on request on loopback HTTP with a bearer token. Bodies are JSON; whatever is not the \
            documented request is answered with a problem document (RFC 9457). Where a problem has the member `verdict`, \
            the event that was to be published must not happen.",
        license(name = "MIT OR Apache-2.0")
    ),
    paths(
        sessions::open,
        sessions::list,
        sessions::look_up,
        sessions::tree,
        sessions::close,
        sessions::hooks,
        hooks::list,
        hooks::explain,
        attach::attach,
        attach::register,
        attach::remove,
        events::publish,
        events::publish_many,
        events::connection,
        hosts::serve,
        context::collect,
        context::accept,
        receipts::list,
        receipts::look_up,
        jobs::list,
        jobs::look_up,
        jobs::retry,
        jobs::forget,
        approvals::list,
        approvals::answer,
        approvals::forget,
        signals::stream,
        control::health,
        control::status,
        metrics::metrics,
        cluster::log,
        cluster::signals,
        cluster::drain,
        control::person,
        dashboard::invite,
        control::reload,
        control::stop,
        control::openapi,
    ),
    components(schemas(Problem, shapes::WaitingApproval, shapes::ApprovalAnswer, shapes::Decision, shapes::Hook, shapes::Job, shapes::Message)),
    tags(
        (name = "sessions", description = "Agents' runs, and the tree that they form"),
        (name = "hooks", description = "Hooks that live in programs which attach"),
        (name = "events", description = "Publishing, and what was decided"),
        (name = "hosts", description = "Agent programs with a hook command, in their own words"),
        (name = "context", description = "Messages for an agent's context"),
        (name = "jobs", description = "Background work"),
        (name = "approvals", description = "Questions of hooks that wait for a person"),
        (name = "daemon", description = "The daemon itself"),
    )
)]
struct Description;

/// The document, anew.
#[must_use]
pub fn openapi() -> String {
    let mut description = Description::openapi();
    if let Some(components) = &mut description.components {
        components.schemas.extend(payloads::all());
    }
    let mut text = description.to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}
