//! A session of the daemon: opened, published in, closed.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lineside_core::envelope::Agent;
use lineside_core::json::{Fields as _, Map, ObjectText, Value, json};
use lineside_core::payload::Point;
use lineside_core::propagation::{GRANT, Propagation, SESSION, SOCKET, TRACEPARENT};
use lineside_core::{Payload, SessionId};
use lineside_points::AfterSession;
use serde::Deserialize;

use crate::client::Client;
use crate::decision::Decision;
use crate::opening::{Closed, Opening};
use crate::request::RequestError;
use crate::segment::segment;

/// A handle on a session of a daemon. Cloning it costs little; dropping it closes nothing.
#[derive(Debug, Clone)]
pub struct Session {
    client: Client,
    id: SessionId,
    path: Arc<str>,
    /// Whether an event has stated the coverage.
    stated: Arc<AtomicBool>,
    environment: Arc<Propagation>,
    opening: Arc<Opening>,
}

/// A session about to be opened.
///
/// ```no_run
/// use lineside_core::Agent;
///
/// # async fn example(client: lineside_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let session = client
///     .session("s1")
///     .agent(Agent::main("planner"))
///     .project_root("/home/me/project")
///     .host("my-agent")
///     .open()
///     .await?;
/// assert_eq!(session.id().as_str(), "s1");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "a session is opened by `open().await`"]
pub struct OpenSession {
    client: Client,
    id: String,
    fields: Map,
    above: Option<Arc<Opening>>,
}

#[derive(Deserialize)]
struct Opened {
    coverage: String,
    #[serde(default)]
    environment: BTreeMap<String, String>,
}

impl Client {
    /// A session of that id, about to be opened: a root, or a child of the session whose grant this client has.
    pub fn session(&self, id: impl Into<String>) -> OpenSession {
        OpenSession::root(self.clone(), id.into())
    }
}

impl OpenSession {
    pub(crate) fn root(client: Client, id: String) -> Self {
        let mut fields = Map::new();
        fields.insert("id".to_owned(), json!(id));
        Self { client, id, fields, above: None }
    }

    /// Its agent; `main` for a root, `subagent` below.
    pub fn agent(self, agent: impl Into<Agent>) -> Self {
        self.with("agent", json!(agent.into()))
    }

    /// The root of its project.
    pub fn project_root(self, root: impl Into<String>) -> Self {
        self.with("project_root", Value::String(root.into()))
    }

    /// Its working directory.
    pub fn cwd(self, cwd: impl Into<String>) -> Self {
        self.with("cwd", Value::String(cwd.into()))
    }

    /// The agent program that publishes.
    pub fn host(self, host: impl Into<String>) -> Self {
        self.with("host", Value::String(host.into()))
    }

    /// The W3C trace context.
    pub fn traceparent(self, traceparent: impl Into<String>) -> Self {
        self.with("traceparent", Value::String(traceparent.into()))
    }

    fn with(mut self, field: &str, value: Value) -> Self {
        self.fields.insert(field.to_owned(), value);
        self
    }

    /// Takes the session of that id over if it is open already, with everything that is registered on it.
    pub fn resume(self) -> Self {
        self.with("resume", Value::Bool(true))
    }

    /// Opens it.
    ///
    /// Not cancel safe: a dropped call may have opened it.
    ///
    /// # Errors
    /// The id is taken, the parent is not open, or there is no daemon.
    pub async fn open(self) -> Result<Session, RequestError> {
        let Self { client, id, fields, above } = self;
        let opened: Opened = client.post("/v1/sessions", &fields).await?;
        let path = format!("/v1/sessions/{}", segment(&id)).into();
        let environment = [SOCKET, SESSION, GRANT, TRACEPARENT].into_iter();
        let environment = environment.filter_map(|name| Some((name, opened.environment.get(name)?)));
        let environment = environment.fold(Propagation::none(), |all, (name, value)| all.with(name, value));
        Ok(Session {
            client,
            id: id.into(),
            path,
            stated: Arc::default(),
            environment: Arc::new(environment),
            opening: Arc::new(Opening::new(fields, above, &opened.coverage)),
        })
    }
}

impl Session {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The digest of the hooks that it was under when it was opened, or when this process last registered a hook on it or
    /// removed one, in hexadecimal.
    #[must_use]
    pub fn coverage(&self) -> Arc<str> {
        self.opening.coverage()
    }

    /// The variables of a process that is started under this session. What it opens with them, through
    /// [`Client::from_environment`], stands below the session. They hold a secret, which dies with the session.
    #[must_use]
    pub fn environment(&self) -> &Propagation {
        &self.environment
    }

    /// A program that is about to be started under this session, with [`environment`](Self::environment). Nothing is
    /// started here, and who starts it ends it.
    ///
    /// ```no_run
    ///
    /// # async fn example(session: lineside_client::Session) -> Result<(), Box<dyn std::error::Error>> {
    /// // What the program opens with `Client::from_environment` is a child of this session.
    /// let status = session.command("my-subagent").arg("--review").status()?;
    /// assert!(status.success());
    /// # Ok(())
    /// # }
    /// ```
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.envs(self.environment.iter());
        command
    }

    /// A session below this one, under its hooks.
    ///
    /// ```no_run
    /// use lineside_core::Agent;
    ///
    /// # async fn example(session: lineside_client::Session) -> Result<(), Box<dyn std::error::Error>> {
    /// let child = session.subagent("s2").agent(Agent::subagent("reviewer")).open().await?;
    /// assert_eq!(child.coverage(), session.coverage());
    /// # Ok(())
    /// # }
    /// ```
    pub fn subagent(&self, id: impl Into<String>) -> OpenSession {
        let opening = OpenSession::root(self.client.clone(), id.into()).with("parent", json!(self.id));
        OpenSession { above: Some(Arc::clone(&self.opening)), ..opening }
    }

    /// Publishes an event and waits for the decision.
    ///
    /// Not cancel safe: dropping the future has the hooks cancelled that run, and leaves the event undecided. It is never
    /// sent twice.
    ///
    /// ```no_run
    /// use lineside_core::Verdict;
    /// use lineside_core::json::json;
    /// use lineside_points::BeforeTool;
    ///
    /// # async fn example(session: lineside_client::Session) -> Result<(), Box<dyn std::error::Error>> {
    /// let decision = session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await?;
    /// match decision.verdict() {
    ///     verdict if verdict.strength().is_final() => println!("refused: {verdict}"),
    ///     Verdict::Ask(reason) => println!("a person has to decide: {reason}"),
    ///     // Hooks may have changed the payload.
    ///     _ => println!("runs {:?}", decision.payload().command()),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// There is no decision: see [`RequestError`]. What was to happen must not happen then, unless the program says
    /// otherwise.
    pub async fn publish<P: Point>(&self, payload: P) -> Result<Decision<P>, RequestError> {
        let decision = self.send(P::INFO.name, &payload, None).await?;
        Decision::read(decision)
    }

    /// As [`publish`](Self::publish), with at most this much time for all hooks together.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use lineside_points::BeforePrompt;
    ///
    /// # async fn example(session: lineside_client::Session) -> Result<(), Box<dyn std::error::Error>> {
    /// let decision = session.publish_within(BeforePrompt::new("hello"), Duration::from_secs(2)).await?;
    /// assert!(!decision.is_refused());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`publish`](Self::publish).
    pub async fn publish_within<P: Point>(
        &self,
        payload: P,
        time: Duration,
    ) -> Result<Decision<P>, RequestError> {
        let decision = self.send(P::INFO.name, &payload, Some(time)).await?;
        Decision::read(decision)
    }

    /// Ends the session: its background hooks are waited for, each within its own time.
    ///
    /// # Errors
    /// It is not open, or there is no daemon.
    pub async fn close(&self) -> Result<(), RequestError> {
        let Closed { inherited } = self.client.delete(&self.path).await?;
        self.client.attachment().close(&self.opening, inherited);
        Ok(())
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn opening(&self) -> Arc<Opening> {
        Arc::clone(&self.opening)
    }

    pub(crate) fn path(&self, rest: &str) -> String {
        format!("{}{rest}", self.path)
    }

    async fn send(
        &self,
        point: &str,
        payload: &dyn Payload,
        within: Option<Duration>,
    ) -> Result<Map, RequestError> {
        let mut event = ObjectText::new();
        event.put("point", point);
        event.put("session", &self.id);
        event.put_json("payload", &payload.to_text());
        if !self.stated.swap(true, Ordering::Relaxed) {
            event.put("coverage", &*self.opening.coverage());
        }
        let decision = self.client.wire().publish(event.end(), within).await?;
        if point == AfterSession::INFO.name {
            let inherited = decision.get("inherited").and_then(Value::as_bool);
            self.client.attachment().close(&self.opening, inherited.unwrap_or_default());
        }
        Ok(decision)
    }
}
