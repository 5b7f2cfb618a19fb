//! The daemon itself: whether it lives, how it stands, its hooks loaded anew, its end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use lineside::automation::jobs::WhichState;
use lineside::core::{Diagnostic, Outcome, Receipt, tool_class};
use lineside::dialects::{Places, Trust};
use lineside::log::Log;

use super::shapes::{Ending, Failing, Finding, Health, Project, Reloaded, Status};
use crate::body::{Json, Written, listed};
use crate::caller::Caller;
use crate::daemon::{Daemon, Loaded};
use crate::observers::{Count, Observer};
use crate::problem::Problem;
use crate::projects::Stands;

/// Whether the daemon lives.
#[cfg_attr(feature = "describe", utoipa::path(get, path = "/v1/health", tag = "daemon", responses((status = 200, body = Health))))]
pub(super) async fn health(State(daemon): State<Arc<Daemon>>) -> Json<Health> {
    Json(healthy(&daemon))
}

/// How the daemon stands.
#[cfg_attr(feature = "describe", utoipa::path(get, path = "/v1/status", tag = "daemon", responses((status = 200, body = Status))))]
pub(super) async fn status(State(daemon): State<Arc<Daemon>>, caller: Caller) -> Result<Written, Problem> {
    listed(&daemon, &caller, standing).await
}

/// How the daemon stands. It takes about a millisecond, and longer where it has much.
pub(crate) fn standing(daemon: &Daemon) -> Status {
    daemon.say_switched();
    let (loaded, lately, projects) = (daemon.loaded(), lately(daemon), projects(daemon));
    let (attached, orphaned_hooks) = daemon.attachments.counts();
    let (coverage_mismatches, mismatches) = daemon.mismatches.told();
    let mismatches = mismatches.into_iter().map(|text| Finding { of: "daemon", severity: "warning", text });
    Status {
        health: healthy(daemon),
        off: daemon.switch.is_off(),
        generation: loaded.generation,
        hooks: loaded.count() + projects.iter().map(|project| project.hooks).sum::<usize>(),
        projects,
        findings: findings(daemon, &loaded)
            .into_iter()
            .chain(not_kept(daemon))
            .chain(not_logged(daemon))
            .chain(not_observed(daemon))
            .chain(not_sent(daemon))
            .chain(daemon.cluster.findings(&daemon.automations))
            .chain(mismatches)
            .collect(),
        project: trusted(&daemon.settings.places),
        cluster: daemon.cluster.status(),
        attached,
        orphaned_hooks,
        coverage_mismatches,
        sessions: daemon.bus().sessions().len(),
        failures: daemon.bus().failures(),
        failing: failing(&lately),
        unclassed_tools: unclassed(&lately).into_iter().collect(),
        durability: daemon.settings.durability.as_str(),
        journal: daemon.settings.journal().to_string_lossy().into_owned(),
        log: daemon.feed().log().map(|log| log.path().to_string_lossy().into_owned()),
        live_jobs: daemon.jobs(WhichState::Live),
        dead_jobs: daemon.jobs(WhichState::Dead),
    }
}

/// That background work or context is not kept any more, where its journal has failed.
fn not_kept(daemon: &Daemon) -> impl Iterator<Item = Finding> + use<> {
    // What is left to the next daemon has not failed.
    let is_ending = daemon.ending.is_cancelled();
    let work = daemon.automations.durability().err().filter(|_| !is_ending);
    let work = work.map(|why| ("background work is not kept and does not start", why));
    let context = daemon.bus().context_durability().err().map(|why| ("context is not kept", why));
    let text = |(what, why)| format!("{what}: {why}; a new start of the daemon opens it again");
    let found = work.into_iter().chain(context);
    found.map(move |found| Finding { of: "daemon", severity: "error", text: text(found) })
}

/// What is wrong with observers: that one cannot deliver, or has missed something.
fn not_observed(daemon: &Daemon) -> Vec<Finding> {
    let of = |observer: &Observer| {
        let Count { delivered, lost, dead, trouble, .. } = observer.count();
        let name = observer.name();
        let finding = |severity, text| Finding { of: "observe", severity, text };
        let trouble =
            trouble.map(|why| finding("error", format!("observer \"{name}\" cannot deliver: {why}")));
        let missed = (lost + dead > 0).then(|| {
            let text = format!(
                "observer \"{name}\" was given {delivered} records, {lost} came too fast for it, and {dead} were put aside in \
                 observe/{name}.dead.jsonl of the state folder"
            );
            finding("warning", text)
        });
        trouble.into_iter().chain(missed)
    };
    daemon.observers.iter().flat_map(|observer| of(observer)).collect()
}

/// What is wrong with what is sent to a collector.
fn not_sent(daemon: &Daemon) -> impl Iterator<Item = Finding> + use<> {
    let found = daemon.telemetry.findings().into_iter();
    found.map(|(severity, text)| Finding { of: "otel", severity, text })
}

/// What is wrong with the decision log: that it is not written now, that it has gaps, what was done to it.
fn not_logged(daemon: &Daemon) -> Vec<Finding> {
    let Some(log) = daemon.feed().log().map(Log::state) else { return Vec::new() };
    let finding = |severity, text| Finding { of: "log", severity, text };
    let lost = (log.lost > 0).then(|| {
        let all = log.written + log.lost;
        finding("warning", format!("{} of {all} records are not in the decision log", log.lost))
    });
    let trouble = log.trouble.map(|why| finding("error", why));
    trouble
        .into_iter()
        .chain(lost)
        .chain(log.notes.into_iter().map(|note| finding("warning", note)))
        .collect()
}

/// For how long the status names a hook that has failed.
const LATELY: i64 = 3_600_000;

/// How many events are looked through for failures, and how many hooks are named.
const LOOKED_THROUGH: usize = 1024;
const NAMED: usize = 16;
/// The longest name of a tool that it has, in characters.
const LONGEST: usize = 100;
/// How much is said of how a hook has failed, in characters.
const LONGEST_DETAIL: usize = 200;

/// The events that were decided lately, as far as the feed still has them.
fn lately(daemon: &Daemon) -> Vec<Arc<Receipt>> {
    let since = daemon.bus().wall_clock().as_millisecond() - LATELY;
    let mut receipts = daemon.feed().receipts(None, LOOKED_THROUGH);
    receipts.retain(|receipt| receipt.event.envelope().time.as_millisecond() >= since);
    receipts
}

/// The hooks that have failed in these events, each with how it failed last.
fn failing(lately: &[Arc<Receipt>]) -> Vec<Failing> {
    let mut failing: BTreeMap<Arc<str>, Failing> = BTreeMap::new();
    for receipt in lately {
        for run in &receipt.runs {
            let (Some(hook), Outcome::Failed { failure, .. }) = (receipt.hook(run.hook), &run.outcome) else {
                continue;
            };
            if failing.len() == NAMED && !failing.contains_key(&hook.name) {
                continue;
            }
            let failed = failing
                .entry(Arc::clone(&hook.name))
                .or_insert_with(|| Failing { hook: hook.name.to_string(), ..Failing::default() });
            failed.times += 1;
            failed.point = receipt.event.point().name;
            failed.failed = failure.kind.to_string();
            let (mut rest, mut detail) = (failure.detail.chars(), String::new());
            detail.extend(rest.by_ref().take(LONGEST_DETAIL));
            detail.extend(rest.next().map(|_| '…'));
            failed.detail = detail;
        }
    }
    failing.into_values().collect()
}

/// The tools that agents have called in these events and that no `tool: Shell` and its like can mean.
fn unclassed(lately: &[Arc<Receipt>]) -> BTreeSet<String> {
    let mut unclassed = BTreeSet::new();
    for receipt in lately {
        let payload = receipt.event.payload();
        let has_room = unclassed.len() < NAMED;
        let name = payload.text("tool_name").filter(|_| has_room && payload.text("tool_class").is_none());
        let is_unknown = |name: &&str| tool_class::of_call(name, payload.value("tool_input")).is_none();
        unclassed.extend(name.filter(is_unknown).map(|name| name.chars().take(LONGEST).collect::<String>()));
    }
    unclassed
}

/// The projects of the sessions.
fn projects(daemon: &Daemon) -> Vec<Project> {
    let sessions = daemon.projects.sessions();
    let shape = |project: Arc<crate::projects::Project>| {
        let now = project.now();
        Project {
            root: project.root.to_string_lossy().into_owned(),
            stands: now.stands.as_str(),
            hooks: now.report.in_force(),
            sessions: sessions.get(&project.root).copied().unwrap_or_default(),
        }
    };
    let all = daemon.projects.all().into_iter();
    all.filter(|project| project.now().stands != Stands::Empty).map(shape).collect()
}

/// The root of the project whose hooks may run.
fn trusted(places: &Places) -> Option<String> {
    (places.trust == Trust::Granted).then(|| places.work_dir().to_string_lossy().into_owned())
}

/// Whether the caller may take off guards: it stands below no agent. Asked before what is done without the daemon, such as
/// switching hooks off.
#[cfg_attr(feature = "describe", utoipa::path(
    get, path = "/v1/person", tag = "daemon",
    responses(
        (status = 200, body = Health),
        (status = 403, body = Problem, description = "it stands below an agent, or is not known"),
    )
))]
pub(super) async fn person(State(daemon): State<Arc<Daemon>>) -> Json<Health> {
    Json(healthy(&daemon))
}

/// Load all hook files anew. Events under way end with the hooks that they began with.
#[cfg_attr(feature = "describe", utoipa::path(
    post, path = "/v1/reload", tag = "daemon",
    responses(
        (status = 200, body = Reloaded),
        (status = 403, body = Problem, description = "it stands below an agent, or is not known"),
        (status = 500, body = Problem, description = "the hooks before stay in force"),
    )
))]
pub(super) async fn reload(State(daemon): State<Arc<Daemon>>) -> Result<Json<Reloaded>, Problem> {
    match daemon.load().await {
        Ok(loaded) => {
            let (generation, hooks, findings) =
                (loaded.generation, loaded.count(), findings(&daemon, &loaded));
            Ok(Json(Reloaded { generation, hooks, findings }))
        }
        Err(error) => {
            let (word, title) = ("not-loaded", "The hooks could not be loaded");
            let detail = format!("{error}; the hooks before stay in force");
            Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, word, title, detail))
        }
    }
}

/// End the daemon: what is under way comes to its end first.
#[cfg_attr(feature = "describe", utoipa::path(
    post, path = "/v1/stop", tag = "daemon",
    responses(
        (status = 202, body = Ending),
        (status = 403, body = Problem, description = "it stands below an agent, or is not known"),
    )
))]
pub(super) async fn stop(State(daemon): State<Arc<Daemon>>) -> Response {
    daemon.ending.cancel();
    (StatusCode::ACCEPTED, Json(Ending { status: "ending", pid: std::process::id() })).into_response()
}

/// This description.
#[cfg_attr(feature = "describe", utoipa::path(
    get, path = "/v1/openapi.json", tag = "daemon",
    responses((status = 200, content_type = "application/json", body = Object))
))]
pub(super) async fn openapi() -> Response {
    let kind = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, kind)], super::OPENAPI).into_response()
}

fn healthy(daemon: &Daemon) -> Health {
    let uptime = daemon.started.elapsed().as_millis();
    Health {
        status: if daemon.ending.is_cancelled() { "ending" } else { "ok" },
        version: env!("CARGO_PKG_VERSION"),
        pid: std::process::id(),
        uptime_ms: u64::try_from(uptime).unwrap_or(u64::MAX),
    }
}

fn findings(daemon: &Daemon, loaded: &Loaded) -> Vec<Finding> {
    let of = |of, diagnostics: &[Diagnostic]| {
        let finding = |diagnostic: &Diagnostic| Finding {
            of,
            severity: diagnostic.severity.as_str(),
            text: diagnostic.to_string(),
        };
        diagnostics.iter().map(finding).collect::<Vec<_>>()
    };
    let store = daemon.projects.finding().map(|text| Finding { of: "hooks", severity: "error", text });
    let of_projects: Vec<_> = daemon.projects.all().iter().flat_map(|project| project.findings()).collect();
    let own = [
        ("settings", &*daemon.settings.findings),
        ("hooks", &*loaded.report.diagnostics),
        ("hooks", &*of_projects),
    ];
    own.into_iter().flat_map(|(what, found)| of(what, found)).chain(store).collect()
}
