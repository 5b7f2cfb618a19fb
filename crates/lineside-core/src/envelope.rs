//! The envelope of an event: which event, when, and of whom.
//!
//! Ids and times are given by the caller; nothing here reads a clock.

use std::fmt;
use std::sync::Arc;

use crate::json::{Fields, Map};
use crate::payload::fields_weight;
use serde::{Deserialize, Serialize};

pub use crate::id::EventId;
use crate::timestamp::Timestamp;

/// The id of a session, as its host names it. Any text; never used as a path.
///
/// ```
/// use lineside_core::SessionId;
///
/// let id = SessionId::from("s1");
/// assert_eq!(id.as_str(), "s1");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<Arc<str>>> From<T> for SessionId {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl std::borrow::Borrow<str> for SessionId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether an agent was started by a person or by another agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentKind {
    /// The agent that a person talks to.
    #[default]
    Main,
    /// An agent that another agent started.
    Subagent,
}

impl AgentKind {
    /// `main` or `subagent`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Subagent => "subagent",
        }
    }
}

/// Whose life an event belongs to.
///
/// ```
/// use lineside_core::{Agent, AgentKind};
///
/// assert_eq!(Agent::main("main").kind, AgentKind::Main);
/// assert_eq!(Agent::subagent("reviewer").role.as_deref(), Some("reviewer"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Agent {
    /// Its id, unique in its session.
    pub id: Arc<str>,
    /// Main agent or subagent.
    pub kind: AgentKind,
    /// Its type, e.g. `reviewer`.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Arc<str>>,
}

impl Agent {
    /// The agent that a person talks to.
    ///
    /// ```
    /// use lineside_core::{Agent, AgentKind};
    ///
    /// let agent = Agent::main("main");
    /// assert_eq!((&*agent.id, agent.kind, agent.role), ("main", AgentKind::Main, None));
    /// ```
    pub fn main(id: impl Into<Arc<str>>) -> Self {
        Self { id: id.into(), kind: AgentKind::Main, role: None }
    }

    /// A subagent whose id is also its type.
    ///
    /// ```
    /// use lineside_core::{Agent, AgentKind};
    ///
    /// let agent = Agent::subagent("reviewer");
    /// assert_eq!((&*agent.id, agent.kind), ("reviewer", AgentKind::Subagent));
    /// ```
    pub fn subagent(role: impl Into<Arc<str>>) -> Self {
        let role = role.into();
        Self { id: role.clone(), kind: AgentKind::Subagent, role: Some(role) }
    }
}

impl Default for Agent {
    fn default() -> Self {
        Self::main("main")
    }
}

/// The model that was asked for and the one that answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Model {
    /// The one that was selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<Arc<str>>,
    /// The one that is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<Arc<str>>,
}

/// By what the session above a new one was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttributedBy {
    /// Its opener showed the grant of a session.
    Grant,
    /// Its opener showed the grant of a session, and none of the processes above it is known to have that: hooks of
    /// sessions above can do nothing but refuse.
    Claim,
    /// Its process runs below the process of an agent that has a session.
    Ancestry,
    /// No process above it is that of an agent with a session.
    Nothing,
    /// Its process is not known, as one in a container is not, or one that has ended.
    Unknown,
}

impl AttributedBy {
    /// `grant`, `claim`, `ancestry`, `nothing` or `unknown`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Grant => "grant",
            Self::Claim => "claim",
            Self::Ancestry => "ancestry",
            Self::Nothing => "nothing",
            Self::Unknown => "unknown",
        }
    }
}

/// How a session has come to its place among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribution {
    /// By what the session above it was found.
    pub by: AttributedBy,
    /// The number of the process whose session it is.
    pub process: Option<u32>,
    /// When it was opened.
    pub since: Timestamp,
}

/// What all events of a session share unless an event says otherwise.
///
/// ```
/// use lineside_core::{Agent, Source};
///
/// let source = Source {
///     agent: Agent::subagent("reviewer"),
///     project_root: Some("/home/me/project".into()),
///     ..Source::root("s1")
/// };
/// assert_eq!((source.session.as_str(), source.depth), ("s1", 0));
/// assert_eq!(source.root_session, source.session);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The session.
    pub session: SessionId,
    /// The session at the root of its tree; itself for a root.
    pub root_session: SessionId,
    /// The session that started it.
    pub parent_session: Option<SessionId>,
    /// Its distance from the root, 0 for a root.
    pub depth: u32,
    /// The agent.
    pub agent: Agent,
    /// The root of the project that the agent works on.
    pub project_root: Option<Arc<str>>,
    /// The agent's working directory.
    pub cwd: Option<Arc<str>>,
    /// The models.
    pub model: Option<Model>,
    /// The agent program that publishes.
    pub host: Option<Arc<str>>,
    /// The W3C trace context.
    pub traceparent: Option<Arc<str>>,
    /// The connection that its publisher speaks over, where there is one.
    pub connection: Option<Arc<str>>,
    /// How the session has come to its place, where a daemon has looked.
    pub attribution: Option<Attribution>,
    /// The depth from which on hooks of sessions have their whole authority in it: those of sessions above can do nothing
    /// but refuse. 0 where all have it.
    pub border: u32,
}

impl Source {
    /// The longest id of a session, and of an agent, a model, and what else names something, in bytes, where programs
    /// of others choose it.
    pub const LONGEST_NAME: usize = 1_024;
    /// The longest path, in bytes; as long as Linux takes.
    pub const LONGEST_PATH: usize = 4_096;
    /// The greatest distance of a session from its root: hooks that start agents whose hooks start agents come to an
    /// end.
    pub const DEEPEST: u32 = 32;
    /// What the connection of a session is called that is on another machine, before the name of that machine.
    const ELSEWHERE: &str = "cluster:";

    /// The source of a root session of that name; everything else is absent or a default.
    pub fn root(session: impl Into<SessionId>) -> Self {
        let session = session.into();
        Self {
            root_session: session.clone(),
            session,
            parent_session: None,
            depth: 0,
            agent: Agent::default(),
            project_root: None,
            cwd: None,
            model: None,
            host: None,
            traceparent: None,
            connection: None,
            attribution: None,
            border: 0,
        }
    }
}

/// The event that led to another one, and how long that line of events is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cause {
    /// The event.
    pub event: EventId,
    /// How many events led here: 1 for an event that was published while the first was handled.
    pub depth: u8,
}

/// Everything about an event but its payload.
///
/// ```
/// use std::sync::Arc;
///
/// use lineside_core::{Envelope, EventId, Source, Timestamp};
///
/// let envelope = Envelope {
///     id: EventId::at(0, [7; 10]),
///     time: Timestamp::UNIX_EPOCH,
///     seq: 1,
///     source: Arc::new(Source::root("s1")),
///     cause: None,
///     turn: None,
///     extra: None,
/// };
/// assert_eq!(envelope.time_text(), "1970-01-01T00:00:00.000Z");
/// assert_eq!(envelope.to_json("before_tool")["session"], "s1");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// The event.
    pub id: EventId,
    /// When it was published, to the millisecond.
    pub time: Timestamp,
    /// Its number in its session: gap-free, from 1.
    pub seq: u64,
    /// Its session, agent and place.
    pub source: Arc<Source>,
    /// The event that led to it.
    pub cause: Option<Cause>,
    /// The turn of the agent.
    pub turn: Option<u64>,
    /// Fields of the host that have no canonical name, kept as they are and handed on.
    pub extra: Option<Arc<Extra>>,
}

/// Fields of a host that have no canonical name, in its order. Dereferences to the map of their values.
///
/// ```
/// use lineside_core::Extra;
/// use lineside_core::json::{Map, json};
///
/// let fields = Map::from([("cost".to_owned(), json!(0.5))]);
/// let extra = Extra::from(fields).spelled("cost", "0.50");
/// assert_eq!(extra.get("cost"), Some(&json!(0.5)));
/// assert_eq!(extra.spelling("cost"), Some("0.50"));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extra {
    fields: Map,
    /// The JSON of those that the host wrote in another way than [`Value`] does.
    spelled: Vec<(Box<str>, Box<str>)>,
}

impl Extra {
    /// Keeps the JSON text by which the host wrote the value of a field: compact, with the escapes of its texts. Has no
    /// effect for a field that is absent.
    #[must_use]
    pub fn spelled(mut self, name: &str, json: impl Into<Box<str>>) -> Self {
        if self.fields.contains_key(name) {
            self.spelled.push((name.into(), json.into()));
        }
        self
    }

    /// The JSON text of a field as the host wrote it; `None` where that is the compact text of its value.
    #[must_use]
    pub fn spelling(&self, name: &str) -> Option<&str> {
        self.spelled.iter().find(|(known, _)| **known == *name).map(|(_, json)| &**json)
    }
}

impl From<Map> for Extra {
    fn from(fields: Map) -> Self {
        Self { fields, spelled: Vec::new() }
    }
}

impl std::ops::Deref for Extra {
    type Target = Map;

    fn deref(&self) -> &Map {
        &self.fields
    }
}

impl Source {
    /// The machine that it is on, where that is another one of a cluster: what stands in for it here has that in its connection.
    #[must_use]
    pub fn machine(&self) -> Option<&str> {
        self.connection.as_deref()?.strip_prefix(Self::ELSEWHERE)
    }

    /// The connection of what stands in for a session on this machine, which is another one of a cluster.
    #[must_use]
    pub fn connection_to(machine: &str) -> String {
        format!("{}{machine}", Self::ELSEWHERE)
    }

    /// About how many bytes its texts take, without the ids of sessions and agents.
    #[must_use]
    pub fn weight(&self) -> usize {
        let Self { agent, project_root, cwd, model, host, traceparent, connection, .. } = self;
        let model = model.as_ref().map(|model| [&model.selected, &model.running]);
        [&agent.role, project_root, cwd, host, traceparent, connection]
            .into_iter()
            .chain(model.into_iter().flatten())
            .flatten()
            .map(|text| text.len())
            .sum()
    }
}

impl Extra {
    /// About how many bytes it takes.
    #[must_use]
    pub fn weight(&self) -> usize {
        let spelled = self.spelled.iter().map(|(name, json)| size_of_val(name) * 2 + name.len() + json.len());
        fields_weight(&self.fields) + spelled.sum::<usize>()
    }
}

impl Envelope {
    /// About how many bytes it keeps alive beside its own size and the ids of its session and agent.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.source.weight() + self.extra.as_ref().map_or(0, |extra| extra.weight())
    }

    /// The time as RFC 3339 in UTC with three digits of milliseconds and `Z`.
    #[must_use]
    pub fn time_text(&self) -> String {
        format!("{:.3}", self.time)
    }

    /// The envelope in the order of the specification, without its payload.
    #[must_use]
    pub fn to_json(&self, point: &str) -> Map {
        let mut map = Map::new();
        self.put(point, &mut map);
        self.put_extra(&mut map);
        map
    }

    /// Adds the fields, without `extra`.
    pub(crate) fn put(&self, point: &str, fields: &mut impl Fields) {
        let source = &self.source;
        fields.put("id", &self.id);
        fields.put("point", point);
        fields.put("time", &self.time_text());
        fields.put("seq", &self.seq);
        fields.put("session", &source.session);
        fields.put("root_session", &source.root_session);
        if let Some(parent) = &source.parent_session {
            fields.put("parent_session", parent);
        }
        fields.put("depth", &source.depth);
        if let Some(cause) = self.cause {
            fields.put("cause", &cause.event);
        }
        fields.put("agent", &source.agent);
        if let Some(turn) = self.turn {
            fields.put("turn", &turn);
        }
        for (name, text) in [("project_root", &source.project_root), ("cwd", &source.cwd)] {
            if let Some(text) = text {
                fields.put(name, text);
            }
        }
        if let Some(model) = &source.model {
            fields.put("model", model);
        }
        let last = [
            ("host", &source.host),
            ("traceparent", &source.traceparent),
            ("connection", &source.connection),
        ];
        for (name, text) in last {
            if let Some(text) = text {
                fields.put(name, text);
            }
        }
        if let Some(attribution) = source.attribution {
            fields.put("attributed", attribution.by.as_str());
        }
    }

    /// Adds `extra`, where there is any.
    pub(crate) fn put_extra(&self, fields: &mut impl Fields) {
        if let Some(extra) = &self.extra {
            fields.put("extra", &extra.fields);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{json, to_string};

    #[test]
    fn an_agent_has_a_type_only_when_another_agent_started_it() {
        assert_eq!(to_string(&Agent::main("a")).unwrap(), r#"{"id":"a","kind":"main"}"#);
        let reviewer = r#"{"id":"reviewer","kind":"subagent","type":"reviewer"}"#;
        assert_eq!(to_string(&Agent::subagent("reviewer")).unwrap(), reviewer);
        assert_eq!(Agent::default(), Agent::main("main"));
    }

    #[test]
    fn a_spelling_belongs_to_the_field_of_its_name() {
        let fields = Map::from([("n".to_owned(), json!(1.5)), ("m".to_owned(), json!(2))]);
        let extra = Extra::from(fields.clone()).spelled("n", "1.50").spelled("gone", "3");
        assert_eq!(*extra, fields, "the values stay as they are");
        assert_eq!(["n", "m", "gone"].map(|name| extra.spelling(name)), [Some("1.50"), None, None]);
    }

    #[test]
    fn an_envelope_as_json_has_the_order_of_the_specification() {
        let id = EventId::from_u128(7);
        let mut envelope = Envelope {
            id,
            time: Timestamp::UNIX_EPOCH,
            seq: 3,
            source: Arc::new(Source::root("s")),
            cause: None,
            turn: None,
            extra: None,
        };
        let least = r#"{"id":"00000000-0000-0000-0000-000000000007","point":"on_idle","time":"1970-01-01T00:00:00.000Z","seq":3,"session":"s","root_session":"s","depth":0,"agent":{"id":"main","kind":"main"}}"#;
        assert_eq!(to_string(&envelope.to_json("on_idle")).unwrap(), least);
        let text = |text: &str| Some(Arc::from(text));
        envelope.source = Arc::new(Source {
            root_session: "r".into(),
            parent_session: Some("p".into()),
            depth: 2,
            agent: Agent::subagent("tester"),
            project_root: text("/p"),
            cwd: text("/p/c"),
            model: Some(Model { selected: text("m"), running: None }),
            host: text("h"),
            traceparent: text("t"),
            connection: text("c"),
            ..Source::root("s")
        });
        envelope.cause = Some(Cause { event: EventId::from_u128(6), depth: 1 });
        envelope.turn = Some(4);
        envelope.extra = Some(Arc::new(Map::from([("x".to_owned(), json!(1))]).into()));
        let most = r#"{"id":"00000000-0000-0000-0000-000000000007","point":"on_idle","time":"1970-01-01T00:00:00.000Z","seq":3,"session":"s","root_session":"r","parent_session":"p","depth":2,"cause":"00000000-0000-0000-0000-000000000006","agent":{"id":"tester","kind":"subagent","type":"tester"},"turn":4,"project_root":"/p","cwd":"/p/c","model":{"selected":"m"},"host":"h","traceparent":"t","connection":"c","extra":{"x":1}}"#;
        assert_eq!(to_string(&envelope.to_json("on_idle")).unwrap(), most);
    }
}
