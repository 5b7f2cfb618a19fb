//! Hooks that live in programs: a program attaches, registers them on sessions, and is asked over its connection.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use lineside::Session;

use super::shapes::{AttachedEntry, AttachedOutcome, RegisterHook, RegisteredHook, Removed};
use super::upgrade::upgraded;
use crate::attachments::{Entry, ReadEntry, Registered, Registrant};
use crate::begun;
use crate::body::{Asked, Json};
use crate::caller::Caller;
use crate::daemon::Daemon;
use crate::problem::Problem;
use crate::shares::Tree;
use crate::whole::whole;

/// The protocol that is spoken after the upgrade, and its version.
const PROTOCOL: &str = "lineside-worker/2";
/// The header with the token of a program.
const TOKEN: &str = "lineside-attachment";

/// Attach: make this connection one of the line protocol of workers.
///
/// The request has the headers `Connection: Upgrade` and `Upgrade: lineside-worker/2`, and with `Lineside-Attachment` the
/// token of an earlier attachment, to be asked for the same hooks again. The answer has the token under the same name;
/// it is a secret of the program. After the answer the connection is that of a worker: the daemon says `hello` first.
/// Only over the Unix socket.
#[cfg_attr(feature = "describe", utoipa::path(
    post, path = "/v1/attach", tag = "hooks",
    params(("lineside-attachment" = Option<String>, Header, description = "the token of an earlier attachment")),
    responses(
        (status = 101, description = "the connection is that of a worker from here on"),
        (status = 426, body = Problem, description = "the upgrade was not asked for"),
    )
))]
pub(super) async fn attach(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    let token = token(request.headers());
    upgraded(&daemon, &caller, request, PROTOCOL, |upgrade, from| {
        let (token, place) = daemon.attachments.place(token.as_deref(), caller.tree(&daemon))?;
        begun::attach(&daemon, upgrade, from, place);
        let token = HeaderValue::try_from(token).map_err(|error| Problem::bad_request(error.to_string()))?;
        Ok([(HeaderName::from_static(TOKEN), token)].into_iter().collect())
    })
}

fn token(headers: &HeaderMap) -> Option<String> {
    headers.get(TOKEN).and_then(|token| token.to_str().ok()).map(str::to_owned)
}

/// Register a hook of a program that has attached.
///
/// It is in force for the session, and by `reach` for those below it, until it is removed or the session ends. While its
/// program is away it has failed, which means what `on_failure` says. A program that registers a hook of the same name on
/// the same session takes it over when its owner is gone; what is below an agent, shows a grant, or may have been left by an agent takes none over of the user's.
#[cfg_attr(feature = "describe", utoipa::path(
    post, path = "/v1/sessions/{session}/hooks", tag = "hooks", params(("session" = String, Path)),
    request_body = RegisterHook,
    responses(
        (status = 201, body = RegisteredHook),
        (status = 400, body = Problem, description = "the entry is not one"),
        (status = 403, body = Problem, description = "the hook is that of a program of the user"),
        (status = 409, body = Problem, description = "the hook has an owner that is there"),
    )
))]
pub(super) async fn register(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    Path(session): Path<String>,
    Asked(asked, _room): Asked<RegisterHook>,
) -> Result<Response, Problem> {
    let session = caller.hooked_session(&daemon, &session)?;
    let RegisterHook { attachment, called, reach, hook } = asked;
    daemon.attachments.greeted(&attachment).await?;
    let by = caller.registrant(&daemon)?;
    let entry = entry(attachment, AttachedEntry { called, reach, hook });
    let read = daemon.attachments.read(vec![entry], caller.tree(&daemon)).await;
    let read = read.into_iter().next().ok_or_else(|| Problem::bad_request("there is no hook"))?;
    let Registered { number, mut warnings } =
        daemon.attachments.register(&daemon.assembly, &session, read, by)?;
    warnings.extend(changed(&daemon, &session).await);
    let shape = RegisteredHook { hook: number, coverage: session.coverage().to_string(), warnings };
    Ok((StatusCode::CREATED, Json(shape)).into_response())
}

/// Has the other machines know that a session has other hooks; also where the program that waits for it leaves.
async fn changed(daemon: &Arc<Daemon>, session: &Session) -> Vec<String> {
    let (held, session) = (Arc::clone(daemon), session.clone());
    whole(&daemon.tracker, async move { held.cluster.changed(&*held, &session).await }).await
}

fn entry(owner: String, asked: AttachedEntry) -> Entry {
    let AttachedEntry { called, reach, hook } = asked;
    let name = hook.get("name").and_then(|name| name.as_str()).unwrap_or_default().to_owned();
    let text = lineside::json::to_string(&hook).unwrap_or_default();
    Entry { owner, called, reach: reach.into(), name, text }
}

/// The hooks that a session is opened with, of a program that is there.
#[derive(Default)]
pub(super) struct Brought {
    /// What each is called, and what was read of it.
    hooks: Vec<(String, ReadEntry)>,
}

impl Brought {
    /// Waits until the program is there, when there are hooks, and reads them.
    ///
    /// # Errors
    /// There are hooks and no program that is there.
    pub(super) async fn by(
        daemon: &Daemon,
        attachment: Option<String>,
        hooks: Vec<AttachedEntry>,
        tree: Option<Tree>,
    ) -> Result<Self, Problem> {
        if hooks.is_empty() {
            return Ok(Self::default());
        }
        let detail = "a session with `hooks` is opened with the `attachment` of their program";
        let attachment = attachment.ok_or_else(|| Problem::bad_request(detail))?;
        daemon.attachments.greeted(&attachment).await?;
        Ok(Self::read(daemon, &attachment, hooks, tree).await)
    }

    pub(super) async fn read(
        daemon: &Daemon,
        attachment: &str,
        hooks: Vec<AttachedEntry>,
        tree: Option<Tree>,
    ) -> Self {
        let called: Vec<String> = hooks.iter().map(|asked| asked.called.clone()).collect();
        let entries = hooks.into_iter().map(|asked| entry(attachment.to_owned(), asked)).collect();
        let read = daemon.attachments.read(entries, tree).await;
        Self { hooks: called.into_iter().zip(read).collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// Registers each on the session. It is one step: a request that is given up in between would leave the session
    /// open with a part of them.
    pub(super) fn register(
        self,
        daemon: &Daemon,
        session: &Session,
        by: &Registrant,
    ) -> Vec<AttachedOutcome> {
        let outcomes = self.hooks.into_iter().map(|(called, read)| {
            match daemon.attachments.register(&daemon.assembly, session, read, by.clone()) {
                Ok(Registered { number, warnings }) => {
                    AttachedOutcome { called, hook: Some(number), warnings, problem: None }
                }
                Err(problem) => {
                    AttachedOutcome { called, hook: None, warnings: Vec::new(), problem: Some(problem) }
                }
            }
        });
        outcomes.collect()
    }
}

/// Take a hook of a program away. Events under way end with it.
///
/// What is below an agent or shows a grant takes away the hooks of its own program alone, whose token it shows.
#[cfg_attr(feature = "describe", utoipa::path(
    delete, path = "/v1/sessions/{session}/hooks/{hook}", tag = "hooks",
    params(
        ("session" = String, Path),
        ("hook" = u64, Path),
        ("lineside-attachment" = Option<String>, Header, description = "the token of the program"),
    ),
    responses(
        (status = 200, body = Removed),
        (status = 403, body = Problem, description = "the hook is that of another program"),
        (status = 404, body = Problem),
    )
))]
pub(super) async fn remove(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    Path((session, hook)): Path<(String, u64)>,
    headers: HeaderMap,
) -> Result<Json<Removed>, Problem> {
    let session = caller.session(&daemon, &session)?;
    let by = caller.remover(&daemon, token(&headers))?;
    if !daemon.attachments.remove(&session, hook, &by)? {
        let detail = format!("session `{}` has no hook {hook} of a program", session.id());
        return Err(Problem::not_found(detail));
    }
    changed(&daemon, &session).await;
    Ok(Json(Removed { hook, coverage: session.coverage().to_string() }))
}
