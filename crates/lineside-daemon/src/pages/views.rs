//! The pages: what each shows is asked for here, of the model, the decision log and the daemon, and made by
//! `lineside-dashboard`.

use std::collections::HashSet;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse as _, Response};
use lineside::automation::jobs::{Which, WhichState};
use lineside::core::EventId;
use lineside::json::{Map, Value};
use lineside::log::{Decision, Look, LookError, Query as LogQuery};
use lineside::wire;
use lineside_dashboard::flow::Flow;
use lineside_dashboard::page::{self, Shell};
use lineside_dashboard::{assets, page as pages};
use serde::Deserialize;

use super::gate::refused;
use crate::api::shapes::{ClusterMember, Failing};
use crate::api::{approvals, control};
use crate::body::{Path, Query};
use crate::daemon::Daemon;
use crate::dashboard::keys::May;
use crate::logged;

/// How many decisions are shown, and how many of a tree are drawn.
const DECISIONS: usize = 200;
const DRAWN: usize = 2_000;
/// How many jobs are shown.
const JOBS: usize = 200;
/// What the page of hooks counts when nothing is asked.
const LATELY: &str = "since:1h";

/// The filter of a view, in the grammar of `lineside log`, and what it has chosen.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Filter {
    #[serde(default)]
    pub(super) q: String,
    session: Option<String>,
    event: Option<String>,
}

impl Filter {
    /// What the log is asked.
    ///
    /// # Errors
    /// It is no query: what is wrong with it.
    pub(super) fn query(&self, daemon: &Daemon) -> Result<LogQuery, String> {
        LogQuery::parse(&self.q, daemon.bus().wall_clock()).map_err(|error| error.to_string())
    }
}

/// Asks the log; `None` where there is none.
async fn ask<T: Send + 'static>(
    daemon: &Daemon,
    ask: impl FnOnce(&Look) -> Result<T, LookError> + Send + 'static,
) -> Result<Option<T>, String> {
    logged::ask(daemon.feed().log(), ask).await
}

/// The sessions in which a decision is that a filter finds.
///
/// # Errors
/// It is no query, or the log cannot be read.
pub(super) async fn sessions(daemon: &Daemon, filter: &Filter) -> Result<HashSet<String>, String> {
    let query = filter.query(daemon)?;
    Ok(ask(daemon, move |look| look.sessions_of(&query)).await?.unwrap_or_default())
}

/// The same where anything is asked, and what is wrong with that.
async fn chosen(daemon: &Daemon, filter: &Filter) -> (Option<HashSet<String>>, Option<String>) {
    if filter.q.trim().is_empty() {
        return (None, None);
    }
    match sessions(daemon, filter).await {
        Ok(only) => (Some(only), None),
        Err(wrong) => (None, Some(wrong)),
    }
}

/// A hook that has failed of late, in words.
fn failing(failing: &Failing) -> String {
    let Failing { hook, times, point, failed, detail } = failing;
    let times = if *times == 1 { "once".to_owned() } else { format!("{times} times") };
    format!("hook {hook} has failed {times} within the hour, last at {point} ({failed}): {detail}")
}

fn machine(member: &ClusterMember) -> pages::fleet::Machine {
    pages::fleet::Machine {
        name: member.machine.clone(),
        is_this: member.this,
        away: (!member.there).then_some(member.heard_ms),
    }
}

/// The whole page, or its content where that alone is asked for again.
fn shown(daemon: &Daemon, headers: &HeaderMap, mut shell: Shell<'_>, content: &page::Markup) -> Response {
    if headers.contains_key("x-part") {
        return Html(content.clone().into_string()).into_response();
    }
    shell.questions = daemon.approvals.list().len();
    Html(pages::page(&shell, content)).into_response()
}

fn failed(why: &str) -> Response {
    refused(StatusCode::INTERNAL_SERVER_ERROR, "It cannot be shown", why)
}

pub(super) async fn fleet(
    State(daemon): State<Arc<Daemon>>,
    Query(filter): Query<Filter>,
    headers: HeaderMap,
) -> Response {
    let (only, wrong) = chosen(&daemon, &filter).await;
    let status = control::standing(&daemon);
    let beside = pages::fleet::Beside {
        jobs: (status.live_jobs, status.dead_jobs),
        findings: status.findings.into_iter().map(|found| (found.severity.to_owned(), found.text)).collect(),
        projects: status
            .projects
            .into_iter()
            .filter(|project| project.stands != "trusted")
            .map(|project| (project.root, project.stands.to_owned()))
            .collect(),
        failing: status.failing.iter().map(failing).collect(),
        is_off: status.off,
        machines: status.cluster.iter().flat_map(|cluster| &cluster.members).map(machine).collect(),
    };
    let fits = |session: &str| only.as_ref().is_none_or(|only| only.contains(session));
    let content = daemon
        .dashboard
        .live
        .look(daemon.for_pages(), |model, now| pages::fleet::content(model, &beside, now, &fits));
    let shell = Shell {
        view: "",
        title: "Fleet",
        query: Some(&filter.q),
        wrong: wrong.as_deref(),
        script: Some("fleet.js"),
        every: 1_000,
        ..Shell::default()
    };
    shown(&daemon, &headers, shell, &content)
}

pub(super) async fn decisions(
    State(daemon): State<Arc<Daemon>>,
    Query(filter): Query<Filter>,
    headers: HeaderMap,
) -> Response {
    let (query, wrong) = match filter.query(&daemon) {
        Ok(query) => (Some(query), None),
        Err(wrong) => (None, Some(wrong)),
    };
    let found = match query {
        Some(query) => {
            ask(&daemon, move |look| Ok((look.decisions(&query, DECISIONS)?, look.lost(&query)?))).await
        }
        None => Ok(None),
    };
    let (found, lost) = match found {
        Ok(found) => found.unwrap_or_default(),
        Err(why) => return failed(&why),
    };
    let content = pages::decisions::content(&found, lost, DECISIONS);
    let shell = Shell {
        view: "/decisions",
        title: "Decisions",
        query: Some(&filter.q),
        wrong: wrong.as_deref(),
        every: 2_000,
        ..Shell::default()
    };
    shown(&daemon, &headers, shell, &content)
}

pub(super) async fn decision(
    State(daemon): State<Arc<Daemon>>,
    Path(event): Path<String>,
    headers: HeaderMap,
) -> Response {
    let id = event.clone();
    let found = match ask(&daemon, move |look| look.why(&id)).await {
        Ok(found) => found.unwrap_or_default(),
        Err(why) => return failed(&why),
    };
    match &found[..] {
        [why] => {
            let shell =
                Shell { view: "/decisions", title: &why.decision.point, every: 3_000, ..Shell::default() };
            shown(&daemon, &headers, shell, &pages::decision::content(why))
        }
        [] => {
            let text = "No such event is in the decision log. It is written within a fifth of a second after it was decided, which a question for a person may hold up, and kept as long as `log` in config.yaml says.";
            refused(StatusCode::NOT_FOUND, "Not in the log", text)
        }
        _ => refused(StatusCode::NOT_FOUND, "Several events", "Several events have an id that begins so."),
    }
}

/// The session at the root of the tree that a session is in.
async fn root_of(daemon: &Daemon, session: &str) -> Result<String, String> {
    if let Some(open) = daemon.bus().find(session) {
        return Ok(open.source().root_session.to_string());
    }
    let query = LogQuery::of_session(session);
    let last = ask(daemon, move |look| look.decisions(&query, 1)).await?;
    let last = last.and_then(|mut last| last.pop());
    Ok(last.map_or_else(|| session.to_owned(), |decision| decision.tree))
}

/// The questions of a tree of sessions that wait for a person.
fn waiting_in(daemon: &Daemon, root: &str) -> Vec<Decision> {
    let waiting = daemon.approvals.list().into_iter().filter(|(question, _)| question.text("root") == root);
    waiting.filter_map(|(question, left)| Decision::of_question(&question.to_json(left))).collect()
}

pub(super) async fn timeline(
    State(daemon): State<Arc<Daemon>>,
    Path(session): Path<String>,
    headers: HeaderMap,
) -> Response {
    let root = match root_of(&daemon, &session).await {
        Ok(root) => root,
        Err(why) => return failed(&why),
    };
    let query = LogQuery::of_tree(&root);
    let found = match ask(&daemon, move |look| look.decisions(&query, DECISIONS)).await {
        Ok(found) => found.unwrap_or_default(),
        Err(why) => return failed(&why),
    };
    let content = pages::timeline::content(&session, &root, &waiting_in(&daemon, &root), &found);
    let shell = Shell {
        view: "/sessions",
        title: "Timeline",
        script: Some("timeline.js"),
        every: 2_000,
        ..Shell::default()
    };
    shown(&daemon, &headers, shell, &content)
}

pub(super) async fn timeline_data(
    State(daemon): State<Arc<Daemon>>,
    Path(session): Path<String>,
) -> Response {
    let data = async {
        let root = root_of(&daemon, &session).await?;
        let (query, waiting) = (LogQuery::of_tree(&root), waiting_in(&daemon, &root));
        let asked = waiting.clone();
        let now = daemon.bus().wall_clock().as_millisecond();
        let made = ask(&daemon, move |look| {
            let decisions = look.decisions(&query, DRAWN)?;
            let mut news = Vec::new();
            for decision in &decisions {
                news.extend(look.since(decision.id)?.into_iter().map(|news| (decision.id, news)));
            }
            news.sort_by_key(|(_, news): &(EventId, _)| news.time);
            Ok(pages::timeline::data(&asked, &decisions, &news, now))
        });
        Ok::<_, String>(made.await?.unwrap_or_else(|| pages::timeline::data(&waiting, &[], &[], now)))
    };
    match data.await {
        Ok(data) => ([(header::CONTENT_TYPE, "application/json")], data).into_response(),
        Err(why) => failed(&why),
    }
}

pub(super) async fn lineage(
    State(daemon): State<Arc<Daemon>>,
    Query(filter): Query<Filter>,
    headers: HeaderMap,
) -> Response {
    let (only, wrong) = chosen(&daemon, &filter).await;
    let chosen = filter.session.as_deref().and_then(|session| daemon.bus().find(session)).map(|session| {
        let in_force = |(point, hook): &(&'static str, Arc<lineside::core::Hook>)| {
            let fields = wire::hook(point, hook);
            let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let origin = [text("origin"), text("source")].into_iter().find(|text| !text.is_empty());
            pages::lineage::InForce {
                name: text("name"),
                point: text("point"),
                part: text("part"),
                layer: text("layer"),
                depth: hook.depth,
                origin: origin.unwrap_or_default(),
                condition: text("match"),
                state: text("state"),
            }
        };
        pages::lineage::Chosen {
            session: session.id().to_string(),
            coverage: session.coverage().to_string(),
            hooks: session.hooks().iter().map(in_force).collect(),
        }
    });
    let fits = |session: &str| only.as_ref().is_none_or(|only| only.contains(session));
    let content = daemon
        .dashboard
        .live
        .look(daemon.for_pages(), |model, _| pages::lineage::content(model, chosen.as_ref(), &fits));
    let shell = Shell {
        view: "/lineage",
        title: "Lineage",
        query: Some(&filter.q),
        wrong: wrong.as_deref(),
        every: 3_000,
        ..Shell::default()
    };
    shown(&daemon, &headers, shell, &content)
}

/// A job as the page has it.
fn job(fields: &Map) -> pages::hooks::JobRow {
    let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let list = |name: &str| fields.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let some = |name: &str| text(name).unwrap_or_default();
    pages::hooks::JobRow {
        job: fields.get("job").and_then(Value::as_u64).unwrap_or_default(),
        state: some("state"),
        about: some("about"),
        hook: some("hook"),
        session: some("session"),
        event: list("events").last().and_then(Value::as_str).map(str::to_owned),
        key: text("key"),
        attempts: list("attempts").len(),
        why: text("why"),
    }
}

pub(super) async fn hooks(
    State(daemon): State<Arc<Daemon>>,
    Query(mut filter): Query<Filter>,
    Extension(may): Extension<May>,
    headers: HeaderMap,
) -> Response {
    if filter.q.trim().is_empty() {
        LATELY.clone_into(&mut filter.q);
    }
    let (query, wrong) = match filter.query(&daemon) {
        Ok(query) => (query, None),
        Err(wrong) => (LogQuery::default(), Some(wrong)),
    };
    let stats = match ask(&daemon, move |look| look.stats(&query, 1, 0)).await {
        Ok(stats) => stats,
        Err(why) => return failed(&why),
    };
    let which = |state| Which { state, most: Some(JOBS), ..Which::default() };
    let jobs = daemon.automations.jobs();
    let rows = [WhichState::Live, WhichState::Dead].into_iter().flat_map(|state| jobs.list(&which(state)));
    let rows: Vec<_> = rows.map(|shown| job(&wire::job(&shown))).collect();
    let more = daemon.jobs(WhichState::Live).saturating_sub(JOBS);
    let content = pages::hooks::content(stats.as_ref(), &rows, more, may == May::Change);
    let shell = Shell {
        view: "/hooks",
        title: "Hooks",
        query: Some(&filter.q),
        wrong: wrong.as_deref(),
        every: 3_000,
        ..Shell::default()
    };
    shown(&daemon, &headers, shell, &content)
}

pub(super) async fn approvals(
    State(daemon): State<Arc<Daemon>>,
    Extension(may): Extension<May>,
    headers: HeaderMap,
) -> Response {
    let asked = approvals::all(&daemon);
    let values = |maps: Vec<Map>| maps.into_iter().map(Value::Object).collect::<Vec<_>>();
    let (waiting, answers) = (values(asked.waiting), values(asked.answers));
    let content = pages::approvals::content(&waiting, &answers, asked.waits, may == May::Change);
    let shell = Shell { view: "/approvals", title: "Approvals", every: 1_000, ..Shell::default() };
    shown(&daemon, &headers, shell, &content)
}

pub(super) async fn lab(
    State(daemon): State<Arc<Daemon>>,
    Query(filter): Query<Filter>,
    headers: HeaderMap,
) -> Response {
    let event = match filter.event {
        Some(id) => ask(&daemon, move |look| Ok(look.why(&id)?.pop())).await.ok().flatten().flatten(),
        None => None,
    };
    let text = event.map_or_else(|| pages::lab::EXAMPLE.to_owned(), |why| pages::lab::event(&why.decision));
    lab_page(&daemon, &headers, &text, None)
}

/// The lab with an event and what would become of it.
pub(super) fn lab_page(
    daemon: &Daemon,
    headers: &HeaderMap,
    event: &str,
    explained: Option<&Result<Value, String>>,
) -> Response {
    let shell = Shell { view: "/lab", title: "Lab", ..Shell::default() };
    shown(daemon, headers, shell, &pages::lab::content(event, explained))
}

pub(super) async fn flow(
    State(daemon): State<Arc<Daemon>>,
    Query(flow): Query<Flow>,
    headers: HeaderMap,
) -> Response {
    let shell = Shell { view: "/lab", title: "Flow control", ..Shell::default() };
    shown(&daemon, &headers, shell, &pages::flow::content(&flow))
}

pub(super) async fn asset(Path(name): Path<String>) -> Response {
    match assets::find(&name) {
        Some(asset) => {
            let head = [
                (header::CONTENT_TYPE, asset.content_type),
                (header::CACHE_CONTROL, "private, max-age=3600"),
            ];
            (head, asset.text).into_response()
        }
        None => super::gate::elsewhere().await,
    }
}
