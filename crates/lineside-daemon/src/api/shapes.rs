//! The forms of requests and answers. What the library writes as JSON itself is described here and not made.

use std::collections::BTreeMap;
use std::time::Duration;

use lineside::Session as BusSession;
use lineside::core::{Agent as BusAgent, AgentKind, Model as BusModel};
use lineside::json::{Map, Value};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

pub use approvals::{AnswerApproval, Approvals};
#[cfg(feature = "describe")]
pub use approvals::{ApprovalAnswer, WaitingApproval};
pub use attached::{AttachedEntry, AttachedOutcome, HookReach, RegisterHook, RegisteredHook, Removed};
pub use cluster::{
    ClusterDrain, ClusterDrained, ClusterJobs, ClusterLog, ClusterLogOf, ClusterLogQuery, ClusterMember,
    ClusterServer, ClusterSignalsQuery, ClusterStatus, ClusterUntrusted,
};
pub use control::{Ending, Failing, Finding, Health, Project, Reloaded, Status};

mod approvals;
mod attached;
mod cluster;
mod control;

/// A session to be opened. Everything but the id may be left out.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OpenSession {
    /// Its id, as its host names it: any text but the empty one.
    pub id: String,
    /// The session that starts it, which must be open. It is under every hook of that one. With a grant, that of the
    /// grant without it.
    pub parent: Option<String>,
    /// Its agent; `main` for a root, `subagent` below.
    pub agent: Option<Agent>,
    /// The root of its project.
    pub project_root: Option<String>,
    /// Its working directory.
    pub cwd: Option<String>,
    /// Its models.
    pub model: Option<Model>,
    /// The agent program that publishes.
    pub host: Option<String>,
    /// The W3C trace context; a span in that of the parent, or a new trace, without it.
    pub traceparent: Option<String>,
    /// Gives the session of that id when it is open already, instead of refusing.
    #[serde(default)]
    pub resume: bool,
    /// The token of a program that has attached, as `POST /v1/attach` gave it, when there are `hooks`.
    pub attachment: Option<String>,
    /// Hooks of that program: no event of the session, or of one below it, is decided before they stand.
    #[serde(default)]
    pub hooks: Vec<AttachedEntry>,
}

/// An agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// Its id, unique in its session.
    pub id: String,
    /// `main` or `subagent`.
    #[cfg_attr(feature = "describe", schema(value_type = String, example = "main"))]
    pub kind: AgentKind,
    /// Its type, such as `reviewer`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

/// The model that was asked for and the one that answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The one that was selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected: Option<String>,
    /// The one that is running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<String>,
}

/// A session.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Session {
    /// Its id.
    pub id: String,
    /// The session at the root of its tree.
    pub root: String,
    /// The session that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its distance from the root, 0 for a root.
    pub depth: u32,
    /// Its agent.
    pub agent: Agent,
    /// The number of its last event, 0 before the first.
    pub last_seq: u64,
    /// How many sessions were opened as children of it so far.
    pub children: u64,
    /// The digest of the hooks that it is under, in hexadecimal.
    pub coverage: String,
    /// The root of its project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_root: Option<String>,
    /// Its working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The agent program that publishes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The W3C trace context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// The connection that it was opened over, such as `socket:17`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// The machine that it is on, where that is another one of the cluster: it stands in for its session there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// By what its place was found: `grant`, `ancestry`, `nothing` or `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attributed: Option<&'static str>,
    /// The number of the process whose session it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// When it was opened, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

/// A session that was opened, and what processes that are started under it inherit.
#[derive(Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Opened {
    /// The session.
    #[serde(flatten)]
    pub session: Session,
    /// `LINESIDE_SOCKET`, `LINESIDE_SESSION`, `LINESIDE_GRANT` and `TRACEPARENT`. The grant is a secret: its holder
    /// opens sessions below this one, as long as this one is open.
    pub environment: BTreeMap<String, String>,
    /// What became of each of the `hooks`, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<AttachedOutcome>,
}

/// Open sessions.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Sessions {
    /// All of them in the order of their ids; those of a tree with each parent before its children.
    pub sessions: Vec<Session>,
}

/// Which sessions are wanted.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "describe", into_params(parameter_in = Query))]
pub struct SessionsQuery {
    /// Only this one and those below it, each parent before its children.
    pub below: Option<String>,
}

/// How long the end of a session waits.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "describe", into_params(parameter_in = Query))]
pub struct CloseQuery {
    /// How long background hooks may take at most, in milliseconds; each has its own time when this is left out.
    pub within_ms: Option<u64>,
}

/// What was closed.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Closed {
    /// The session.
    pub id: String,
    /// The number of its last event.
    pub last_seq: u64,
    /// Whether sessions below it are under its hooks still.
    pub inherited: bool,
}

/// How an event is published.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "describe", into_params(parameter_in = Query))]
pub struct PublishQuery {
    /// Opens the session of the event, below its `parent_session`, when it is not open. A closed one stays closed.
    pub open: bool,
    /// Gives the whole receipt with the decision.
    pub receipt: bool,
    /// At most this much time for the decision, in milliseconds: for all hooks together, and for what comes before them.
    pub within_ms: Option<u64>,
    /// Does not wait for the records of background work: what is accepted may be lost with a kill of the daemon.
    pub unkept: bool,
}

impl PublishQuery {
    /// With what is left of its time, of which a part was spent since then.
    pub(crate) fn since(&self, began: Instant) -> Self {
        let spent = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let within_ms = self.within_ms.map(|within| within.saturating_sub(spent));
        Self { within_ms, ..self.clone() }
    }

    /// Its time.
    pub(crate) fn within(&self) -> Option<Duration> {
        self.within_ms.map(Duration::from_millis)
    }
}

/// An event: the fields of its envelope, and the payload of its point. Other fields are handed on to hooks as `extra`.
#[cfg(feature = "describe")]
#[derive(Debug, Clone, utoipa::ToSchema)]
pub struct Event {
    /// The point, by its name in the catalogue or in one of the dialects.
    #[schema(example = "before_tool")]
    pub point: String,
    /// The session.
    pub session: String,
    /// The session that started it.
    pub parent_session: Option<String>,
    /// The fields of the point: those of the schema whose `x-point` names the point.
    #[schema(value_type = super::payloads::Payload)]
    pub payload: Option<Map>,
    /// The agent, when it is not the session's.
    pub agent: Option<Agent>,
    /// The turn of the agent.
    pub turn: Option<u64>,
    /// The id by which its publisher knows it, a UUID. Each event has an id of its own, which the decision
    /// has; hooks are given this one as `publisher_id` of `extra`.
    pub id: Option<String>,
    /// When it happened, RFC 3339; now without it. Of what is still to be decided the time is that of the daemon, and hooks
    /// are given this one as `publisher_time` of `extra`.
    pub time: Option<String>,
    /// The event that led to it, a UUID.
    pub cause: Option<String>,
    /// The root of the project, when it is not the session's.
    pub project_root: Option<String>,
    /// The working directory, when it is not the session's.
    pub cwd: Option<String>,
    /// The models, when they are not the session's.
    pub model: Option<Model>,
    /// The agent program.
    pub host: Option<String>,
    /// The W3C trace context.
    pub traceparent: Option<String>,
    /// The digest of the hooks that its publisher believes it is under, as the session's opening gave it. Another one is
    /// told in the decision, in the signals and in the status.
    pub coverage: Option<String>,
}

/// Events to be published: those of one session one after another, sessions beside one another.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Events {
    /// At most 10,000.
    #[cfg_attr(feature = "describe", schema(value_type = Vec<Event>))]
    pub events: Vec<Map>,
}

/// What became of events, in their order.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Decisions {
    /// A decision for each event, or the problem that kept it from being published.
    #[cfg_attr(feature = "describe", schema(value_type = Vec<Decision>))]
    pub decisions: Vec<Value>,
}

/// A decision. The publisher obeys it: the bus acts on nothing itself.
#[cfg(feature = "describe")]
#[derive(Debug, Clone, utoipa::ToSchema)]
pub struct Decision {
    /// The id of the event.
    pub id: Option<String>,
    /// The session.
    pub session: String,
    /// The number of the event in its session.
    pub seq: Option<u64>,
    /// The point.
    pub point: String,
    /// `continue`, `allow`, `ask`, `block` or `stop`.
    pub verdict: String,
    /// Why.
    pub reason: Option<String>,
    /// The hook whose verdict it is.
    pub by: Option<String>,
    /// The payload that may run, with every amendment.
    #[schema(value_type = Object)]
    pub payload: Map,
    /// The SHA-256 of the payload's compact JSON, in hexadecimal.
    pub payload_sha256: String,
    /// Messages that hooks append to the context: `role`, `text`, `hook`. They wait to be collected.
    pub context: Vec<Value>,
    /// Messages for the user: `level`, `text`, `hook`.
    pub notices: Vec<Value>,
    /// The fields that were amended.
    pub changed: Option<Vec<String>>,
    /// The hooks that could not answer: `hook`, `kind`, `detail`, and `taken_as`, the verdict that this counts as.
    pub failed: Option<Vec<Value>>,
    /// The hooks that work for it in the background.
    pub accepted: Option<Vec<BackgroundWork>>,
    /// What hooks have for the publisher under names of their formats.
    #[schema(value_type = Option<Object>)]
    pub extra: Option<Map>,
    /// The publisher stated another coverage than that of its session: `believed` and `in_force`.
    #[schema(value_type = Option<Object>)]
    pub coverage_mismatch: Option<Map>,
    /// Hooks are switched off: none has seen the event.
    pub off: Option<bool>,
    /// Of the event that has ended a session: whether sessions below it are under its hooks still.
    pub inherited: Option<bool>,
    /// How long it took, with the receipt.
    pub took_us: Option<u64>,
    /// What became of each hook, with the receipt.
    pub hooks: Option<Vec<Value>>,
    /// Each amended field with its author, before and after, with the receipt.
    pub changes: Option<Vec<Value>>,
    /// Whose event it is, of receipts and signals: the fields of an event, its payload apart, with `root_session`,
    /// `parent_session`, `depth`, `agent`, `cause`, `traceparent` and `connection`.
    #[schema(value_type = Option<Object>)]
    pub envelope: Option<Map>,
}

/// What a hook that works in the background has made of an event.
#[cfg(feature = "describe")]
#[derive(Debug, Clone, utoipa::ToSchema)]
pub struct BackgroundWork {
    /// The hook.
    pub hook: String,
    /// `held`, `queued` or `started`: there will be a run for it. `cancels`: it cancels work that waits. `refused`: there
    /// will be none. `unavailable`: its record is not kept, or was not within 5 seconds, so that it may be lost.
    #[serde(rename = "as")]
    #[schema(rename = "as")]
    pub verb: String,
    /// The number of its job.
    pub job: Option<u64>,
    /// What the run survives from now on: `memory`, `process` or `disk`.
    pub durability: Option<String>,
    /// Why there is no run, or why its record is not kept.
    pub why: Option<String>,
}

/// What is collected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Collect {
    /// Waits for the hooks that the next model call must wait for, each within its own time.
    pub before_next_model: bool,
    /// At most so many messages; 128.
    pub messages: Option<usize>,
    /// At most so many bytes of text; 49,152.
    pub bytes: Option<usize>,
    /// At most so many tokens; 12,000.
    pub tokens: Option<usize>,
}

/// Messages for the agent's context. They go back to its mailbox unless they are accepted in time.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Delivery {
    /// The name to accept it by; absent when there is nothing to accept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<String>,
    /// The messages, in order.
    #[cfg_attr(feature = "describe", schema(value_type = Vec<Message>))]
    pub messages: Vec<Map>,
    /// The same as one text, each message in an envelope of its own.
    pub text: String,
    /// What the agent does not get: `hook`, `dialect`, `why`, `messages`.
    pub missing: Vec<Value>,
    /// How many messages wait for the next delivery.
    pub remaining: usize,
}

/// A message for an agent's context.
#[cfg(feature = "describe")]
#[derive(Debug, Clone, utoipa::ToSchema)]
pub struct Message {
    /// Which message it is.
    pub id: String,
    /// The hook that gave it.
    pub hook: String,
    /// The format of that hook.
    pub dialect: String,
    /// The point of the event that it answers.
    pub point: String,
    /// The event that it answers.
    pub event: String,
    /// The session of that event.
    pub session: String,
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// Its text.
    pub text: String,
}

/// Messages that the agent has now; they are not handed over again.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Accepted {
    /// How many.
    pub messages: usize,
    /// What that survives: `memory`, `process` or `disk`.
    pub durability: &'static str,
}

/// A hook in force.
#[cfg(feature = "describe")]
#[derive(Debug, Clone, utoipa::ToSchema)]
pub struct Hook {
    /// Its name.
    pub name: String,
    /// The point.
    pub point: String,
    /// The format that it is written for.
    pub dialect: String,
    /// `managed`, `user`, `project` or `session`.
    pub layer: String,
    /// The depth of the session that it was registered on.
    pub depth: u32,
    /// Greater runs first.
    pub priority: i32,
    /// `gate`, `amender`, `detached`, `post_decision` or `observer`.
    pub part: String,
    /// `block` or `continue`.
    pub on_failure: String,
    /// Its time.
    pub timeout_ms: u64,
    /// `subtree`, `self` or `children`.
    pub reach: String,
    /// `ready`, or why it does not run.
    pub state: String,
    /// Who registered it.
    pub source: Option<String>,
    /// The file and line that declare it.
    pub origin: Option<String>,
    /// The events that it runs for.
    #[schema(rename = "match")]
    pub select: Option<String>,
}

/// The hooks that a session is under.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Hooks {
    /// The digest of all of them.
    pub coverage: String,
    /// By point, in the order in which they run; interceptors first.
    #[cfg_attr(feature = "describe", schema(value_type = Vec<Hook>))]
    pub hooks: Vec<Map>,
}

/// Which receipts are wanted.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "describe", into_params(parameter_in = Query))]
pub struct ReceiptsQuery {
    /// Of this session.
    pub session: Option<String>,
    /// At most so many, the latest; 100.
    pub most: Option<usize>,
    /// Answers once the decision log has what was decided so far, or after two seconds.
    pub written: bool,
}

/// Receipts, the oldest first.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Receipts {
    /// Whole decisions.
    #[cfg_attr(feature = "describe", schema(value_type = Vec<Decision>))]
    pub receipts: Vec<Map>,
}

/// Which jobs are wanted.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "describe", into_params(parameter_in = Query))]
pub struct JobsQuery {
    /// Of this automation.
    pub automation: Option<String>,
    /// Of this session.
    pub session: Option<String>,
    /// `live` or `dead`; any without it.
    pub state: Option<WhichState>,
    /// At most so many, the latest; 1,000.
    pub most: Option<usize>,
}

/// In which state.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum WhichState {
    /// Not settled.
    Live,
    /// In the dead letters.
    Dead,
}

/// Jobs, in the order in which their first events came.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
pub struct Jobs {
    /// The jobs.
    #[cfg_attr(feature = "describe", schema(value_type = Vec<Job>))]
    pub jobs: Vec<Map>,
}

/// A job of an automation.
#[cfg(feature = "describe")]
#[derive(Debug, Clone, utoipa::ToSchema)]
pub struct Job {
    /// Its number.
    pub job: u64,
    /// `debouncing`, `waiting`, `running`, `retrying`, `delivering`, `done`, `dead` or `cancelled`.
    pub state: String,
    /// Where it stands and why, for people.
    pub about: String,
    /// Its automation.
    pub automation: String,
    /// Its session.
    pub session: String,
    /// The ids of its events.
    pub events: Vec<String>,
    /// Its concurrency key.
    pub key: Option<String>,
    /// When its first event came.
    pub accepted: Option<String>,
    /// When its next attempt is.
    pub next: Option<String>,
    /// Why it came to a bad end.
    pub why: Option<String>,
    /// Its attempts.
    pub attempts: Vec<Value>,
}

/// Which signals are wanted.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "describe", into_params(parameter_in = Query))]
pub struct SignalsQuery {
    /// Of this session.
    pub session: Option<String>,
    /// With those of the sessions below it.
    pub below: bool,
    /// Of what is decided, only events of this point; nothing else that happens.
    pub point: Option<String>,
    /// From this id on, exclusive: what the header `Last-Event-ID` says takes precedence. Only new ones without either.
    pub after: Option<String>,
    /// Only what this asks for, in the words of `lineside log`; without `shadow`, which the log alone can answer.
    pub query: Option<String>,
    /// How much of each.
    #[cfg_attr(feature = "describe", param(inline))]
    pub form: SignalForm,
}

/// How much of a signal is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize)]
#[cfg_attr(feature = "describe", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SignalForm {
    /// Everything that it says.
    #[default]
    Whole,
    /// What the decision log keeps of it, without secrets: decisions as `lineside log --json` prints them, and of everything
    /// else `time`, `session`, `event`, `hook`, `job`, `took_us`, and `detail` for people.
    Log,
}

impl From<&BusAgent> for Agent {
    fn from(agent: &BusAgent) -> Self {
        Self { id: agent.id.to_string(), kind: agent.kind, role: agent.role.as_deref().map(str::to_owned) }
    }
}

impl From<Agent> for BusAgent {
    fn from(agent: Agent) -> Self {
        Self { id: agent.id.into(), kind: agent.kind, role: agent.role.map(Into::into) }
    }
}

impl From<Model> for BusModel {
    fn from(model: Model) -> Self {
        Self { selected: model.selected.map(Into::into), running: model.running.map(Into::into) }
    }
}

impl From<&BusSession> for Session {
    fn from(session: &BusSession) -> Self {
        let source = session.source();
        let text = |text: &Option<std::sync::Arc<str>>| text.as_deref().map(str::to_owned);
        Self {
            id: source.session.to_string(),
            root: source.root_session.to_string(),
            parent: source.parent_session.as_ref().map(ToString::to_string),
            depth: source.depth,
            agent: (&source.agent).into(),
            last_seq: session.last_seq(),
            children: session.children(),
            coverage: session.coverage().to_string(),
            project_root: text(&source.project_root),
            cwd: text(&source.cwd),
            host: text(&source.host),
            traceparent: text(&source.traceparent),
            connection: text(&source.connection),
            machine: crate::elsewhere::machine(session).map(str::to_owned),
            attributed: source.attribution.map(|attribution| attribution.by.as_str()),
            process: source.attribution.and_then(|attribution| attribution.process),
            since: source.attribution.map(|attribution| format!("{:.3}", attribution.since)),
        }
    }
}
