//! A document of a host to an event: its envelope, its payload, and everything else as `extra` (HO-7 to HO-14).

use std::borrow::Cow;
use std::sync::Arc;

use lineside_core::Timestamp;
use lineside_core::envelope::AgentKind;
use lineside_core::json::{Map, Value, read_strict};
use lineside_core::payload::DecodePayloadError;
use lineside_core::{Agent, Extra, Model, Payload, Point as _, PointInfo};
use lineside_points::{OnIdle, custom};

use super::call::HostEvent;
use super::recent;
use super::shared::shared;
use crate::hosts::program::Host;
use crate::hosts::quirks;
use crate::hosts::quirks::Documents;
use crate::hosts::table::{Field, Kind, Row, at, point, renamed};
use crate::hosts::tools::tool_fields;

/// The session of a document that names none.
const NAMELESS: &str = "unnamed";

/// How many names of unknown events have a point of their own.
const MOST_UNKNOWN: usize = 256;

/// An event of a host, as it is published.
#[derive(Debug, Clone)]
pub struct Incoming {
    /// The point.
    pub point: &'static PointInfo,
    /// The payload.
    pub payload: Arc<dyn Payload>,
    /// The session of the main agent.
    pub root: String,
    /// The subagent that it comes from.
    pub agent: Option<Agent>,
    /// The working directory.
    pub cwd: Option<String>,
    /// Whether the document names that itself.
    pub(super) names_cwd: bool,
    /// The root of the project, where the host names it.
    pub project_root: Option<String>,
    /// The model that was selected.
    pub model: Option<Model>,
    /// When it happened; `None` of what is still to be decided.
    pub time: Option<Timestamp>,
    /// Everything that has no place of its own.
    pub extra: Map,
    /// The fields of the document that are written in another way than here.
    pub(super) spelled: Vec<(String, String)>,
    /// The host that runs.
    pub host: Host,
    /// The id of the subagent that the event is about.
    pub(super) child: Option<String>,
    /// The name or type of that subagent.
    pub(super) child_name: Option<String>,
    /// What the host says of earlier blocks of this stop.
    pub(super) stop_flag: Option<bool>,
    /// The host's own count of them.
    pub(super) loops: Option<u64>,
    /// The ids of tasks that it names.
    pub(super) tasks: Vec<String>,
}

impl Incoming {
    /// The id of the session that it is an event of, apart from what the memory of the session makes of it.
    #[must_use]
    pub fn session(&self) -> String {
        match &self.agent {
            Some(agent) => format!("{}/{}", self.root, agent.id),
            None => self.root.clone(),
        }
    }

    /// The id and the name of the subagent that it is about.
    #[must_use]
    pub fn subagent(&self) -> (Option<&str>, Option<&str>) {
        (self.child.as_deref(), self.child_name.as_deref())
    }

    /// Everything that has no place of its own, as the host wrote it (HO-10).
    #[must_use]
    pub fn as_written(&self) -> Extra {
        let extra = Extra::from(self.extra.clone());
        self.spelled.iter().fold(extra, |extra, (name, json)| extra.spelled(name, json.as_str()))
    }
}

/// The session, and the ids of subagents, of a document.
struct Names {
    root: String,
    agent: Option<Agent>,
    /// The subagent that the event is about, where it is published in the parent's session.
    child: Option<String>,
}

/// The id of the subagent that a document comes from, and that of its parent's session.
const AGENT_ID: &[&str] = &["agent_id", "agentId"];
const PARENT_ID: &[&str] = &["parent_agent_id", "parentAgentId"];

/// The first of these fields that has a text, and the text.
fn text_at<'a, 'n>(document: &'a Map, names: &[&'n str]) -> Option<(&'n str, &'a str)> {
    let texts = names.iter().filter_map(|name| Some((*name, document.get(name)?.as_str()?)));
    texts.into_iter().find(|(_, text)| !text.is_empty())
}

/// The session of the main agent that a document names. What stands behind a `/` of a session's id is a subagent, so
/// that a `/` of the host's own is written as in a URL.
fn root(document: &Map, host: Host, about_a_subagent: bool) -> Cow<'_, str> {
    let text = |names| text_at(document, names).map(|(_, text)| text);
    let is_inside = !about_a_subagent && text(AGENT_ID).is_some();
    let Documents { session, names_parent, .. } = quirks(host).documents;
    let parent = text(PARENT_ID).filter(|_| is_inside && names_parent);
    let root = parent.or_else(|| text(session)).unwrap_or(NAMELESS);
    if root.contains('/') { Cow::Owned(root.replace('/', "%2F")) } else { Cow::Borrowed(root) }
}

/// The fields of a document that have not been read yet.
struct Unread(Map);

impl Unread {
    fn text(&mut self, names: &[&str]) -> Option<String> {
        let (name, _) = text_at(&self.0, names)?;
        match self.0.remove(name)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    fn names(&mut self, host: Host, about_a_subagent: bool) -> Names {
        let root = root(&self.0, host, about_a_subagent).into_owned();
        let Documents { session, child, names_parent, .. } = quirks(host).documents;
        self.text(session);
        if about_a_subagent {
            let child = self.text(child);
            return Names { root, agent: None, child };
        }
        let Some(id) = self.text(AGENT_ID) else {
            return Names { root, agent: None, child: None };
        };
        let role = self.text(&["agent_type", "agentType"]).map(Arc::from);
        if names_parent {
            self.text(PARENT_ID);
        }
        Names { root, agent: Some(Agent { id: id.into(), kind: AgentKind::Subagent, role }), child: None }
    }

    fn time(&mut self) -> Option<Timestamp> {
        let time = match self.0.get("timestamp")? {
            Value::String(text) => text.parse().ok()?,
            Value::Number(number) => Timestamp::from_millisecond(number.as_i64()?)?,
            _ => return None,
        };
        self.0.remove("timestamp");
        Some(time)
    }

    /// The value of a field of the payload. What is read whole is not left behind.
    fn field(&mut self, document: &Map, field: &Field) -> Option<Value> {
        let found = || field.theirs.iter().find_map(|path| Some((*path, at(document, path)?)));
        let (value, path) = match field.kind {
            Kind::Fixed(text) => return Some(text.into()),
            Kind::Null => return Some(Value::Null),
            Kind::True => return Some(true.into()),
            Kind::Members(members) => return self.members(document, members),
            Kind::Own(read) => (read(document)?, found().map(|(path, _)| path)),
            Kind::Source => match found() {
                Some((path, Value::String(text))) if text != "new" => (text.as_str().into(), Some(path)),
                Some((path, Value::String(_))) => ("startup".into(), Some(path)),
                _ => return Some("startup".into()),
            },
            Kind::Flag(text) => {
                let (path, _) = found().filter(|(_, value)| **value == Value::Bool(true))?;
                (text.into(), Some(path))
            }
            Kind::Error => {
                let (path, value) = found()?;
                let text = match value {
                    Value::String(text) => return self.taken(path, text.as_str().into()),
                    Value::Object(error) => match error.get("message").and_then(Value::as_str) {
                        Some(message) => message.to_owned(),
                        None => value.to_string(),
                    },
                    other => other.to_string(),
                };
                // The whole of it stays beside the text.
                return Some(text.into());
            }
            kind => {
                let (path, value) = found()?;
                (converted(kind, value)?, Some(path))
            }
        };
        match path {
            Some(path) => self.taken(path, value),
            None => Some(value),
        }
    }

    /// A field was read; of one that was read in part the rest is still wanted.
    fn taken(&mut self, path: &str, value: Value) -> Option<Value> {
        if !path.contains('.') {
            self.0.remove(path);
        }
        Some(value)
    }

    fn members(&mut self, document: &Map, members: &[(&str, &str)]) -> Option<Value> {
        let mut object = Map::new();
        for (ours, theirs) in members {
            if let Some(value) = at(document, theirs) {
                object.insert((*ours).to_owned(), value.clone());
                self.taken(theirs, Value::Null);
            }
        }
        (!object.is_empty()).then_some(Value::Object(object))
    }
}

fn converted(kind: Kind, value: &Value) -> Option<Value> {
    let text = value.as_str();
    match kind {
        Kind::Text => text.map(Value::from),
        Kind::Number => value.is_number().then(|| value.clone()),
        Kind::Filled => text.filter(|text| !text.is_empty()).map(Value::from),
        Kind::Prefixed(prefix) => {
            let text = text?;
            Some(if text.starts_with(prefix) { text.to_owned() } else { format!("{prefix}{text}") }.into())
        }
        Kind::Items(names) => {
            renamed(value, |name| names.iter().find(|(_, theirs)| *theirs == name).map(|(ours, _)| *ours))
        }
        Kind::Parsed => Some(
            text.and_then(|text| lineside_core::json::from_str(text).ok()).unwrap_or_else(|| value.clone()),
        ),
        Kind::Input => Some(match value {
            Value::Object(_) => value.clone(),
            other => match other.as_str().map(|text| read_strict(text.as_bytes())) {
                Some(Ok(object @ Value::Object(_))) => object,
                _ => lineside_core::json::json!({"input": other}),
            },
        }),
        _ => Some(value.clone()),
    }
}

/// Whether a tool's input is a text that the host reads as an object and that cannot be read as one here, or in two ways:
/// what a hook would be shown is not what the tool is called with.
pub(super) fn hides_its_input(row: &'static Row, document: &Map) -> bool {
    let inputs = row.fields.iter().chain(shared(row)).filter(|field| matches!(field.kind, Kind::Input));
    let mut texts =
        inputs.filter_map(|field| field.theirs.iter().find_map(|path| at(document, path))?.as_str());
    texts.any(|text| {
        text.trim_start_matches(|sign: char| sign.is_whitespace() || sign == '\u{feff}').starts_with('{')
            && !matches!(read_strict(text.as_bytes()), Ok(Value::Object(_)))
    })
}

/// The fields that hosts send with every event, which are no field of a payload.
const WITH_EVERY_EVENT: [&str; 14] = [
    "transcript_path", "transcriptPath", "permission_mode", "prompt_id", "turn_id", "generation_id",
    "effort", "model", "workspace_roots", "cursor_version", "user_email", "client_type", "session_id",
    "agent_transcript_path",
];

impl HostEvent {
    /// The session of the main agent that its document names, with `%2F` for each `/` of it.
    #[must_use]
    pub fn root(&self) -> Cow<'_, str> {
        let about_a_subagent =
            self.row.is_some_and(|row| matches!(row.point, "before_subagent" | "after_subagent"));
        root(&self.document, self.host, about_a_subagent)
    }

    /// Whether a session is over by it, of the main agent or of a subagent.
    #[must_use]
    pub fn is_end(&self) -> bool {
        self.row.is_some_and(|row| row.point == "after_session")
    }

    /// Whether it has happened, so that it is decided also where the host does not wait for that.
    #[must_use]
    pub fn is_fact(&self) -> bool {
        let point = self.row.and_then(|row| lineside_points::find(row.point).ok());
        point.is_some_and(PointInfo::is_fact)
    }
}

/// Reads the document of a call.
pub(super) fn read(arrival: &HostEvent) -> Incoming {
    let HostEvent { host, row, document, event, .. } = arrival;
    let mut unread = Unread(document.clone());
    for name in ["hook_event_name", "hookEventName"] {
        unread.0.remove(name);
    }
    let point_name = row.map(|row| row.point);
    let about_a_subagent = matches!(point_name, Some("before_subagent" | "after_subagent"));
    let Names { root, agent, child } = unread.names(*host, about_a_subagent);
    let Documents { names_time, names_model, project, hands_on_unknown, .. } = quirks(*host).documents;
    let mut time = if names_time { unread.time() } else { None };
    // Where the input of a tool has it as well, it is read from the whole document.
    let cwd = unread.text(&["cwd"]);
    let names_cwd = cwd.as_ref().is_some_and(|cwd| !cwd.is_empty());
    let (cwd, project_root) = match project {
        Some(field) => {
            let roots = document.get(field).and_then(Value::as_array);
            let first = roots.and_then(|roots| roots.first()?.as_str()).map(str::to_owned);
            if roots.is_some_and(|roots| roots.len() == 1) {
                unread.0.remove(field);
            }
            (cwd.or_else(|| first.clone()), first)
        }
        // The session's first `cwd` is it: a variable would be that of whatever has started the program.
        None => (cwd, None),
    };
    let model = if names_model(event) { unread.text(&["model"]) } else { None };
    let stop_flag =
        ["stop_hook_active", "stopHookActive"].iter().find_map(|name| document.get(name)?.as_bool());
    let loops = document.get("loop_count").and_then(Value::as_u64);
    if point_name == Some("before_stop") {
        unread.0.remove("stop_hook_active");
    }
    let mut payload = Map::new();
    for field in row.iter().flat_map(|row| row.fields) {
        if let Some(value) = unread.field(document, field) {
            payload.insert(field.ours.to_owned(), value);
        }
    }
    for field in row.iter().copied().flat_map(shared) {
        if !payload.contains_key(field.ours)
            && let Some(value) = unread.field(document, field)
        {
            payload.insert(field.ours.to_owned(), value);
        }
    }
    if let (Some(model), Some("after_model")) = (&model, point_name) {
        payload.get_or_insert_with("model", || model.as_str().into());
    }
    let own_fields =
        row.is_some_and(|row| row.point.starts_with("x.") && row.fields.is_empty() && hands_on_unknown);
    if own_fields {
        let (rest, fields) = std::mem::take(&mut unread.0)
            .into_iter()
            .partition(|(name, _)| WITH_EVERY_EVENT.contains(&name.as_str()));
        (unread.0, payload) = (rest, fields);
    }
    let child_name = payload.get("agent_type").and_then(Value::as_str).map(str::to_owned);
    if child.is_some() && child_name.is_some() {
        // It was read with the name of the subagent.
        for name in ["agent_type", "agentType"] {
            unread.0.remove(name);
        }
    }
    let tasks = document.get("background_tasks").and_then(Value::as_array);
    let tasks = tasks.into_iter().flatten().filter_map(|task| Some(task.get("id")?.as_str()?.to_owned()));
    let tasks = tasks.take(recent::MOST).collect();
    let point = row.and_then(point).or_else(|| unknown_point(*host, event));
    let point = point.unwrap_or(OnIdle::INFO);
    tool_fields(point, &mut payload);
    let mut extra = unread.0;
    // What is still to be decided happens now: limits go by its time, which a document could have stand still.
    if let Some(said) = document.get("timestamp").filter(|_| time.is_some() && !point.is_fact()) {
        time = None;
        extra.insert("timestamp".to_owned(), said.clone());
    }
    let payload = decoded(point, payload, &mut extra);
    Incoming {
        point,
        payload,
        root,
        agent,
        cwd,
        names_cwd,
        project_root,
        model: model.map(|model| Model { selected: Some(model.into()), running: None }),
        time,
        extra,
        spelled: arrival.spelled.clone(),
        host: *host,
        child,
        child_name,
        stop_flag,
        loops,
        tasks,
    }
}

/// The payload of a point. A value that the point cannot have is handed on beside it, and a field that must be there
/// is empty.
fn decoded(point: &'static PointInfo, mut payload: Map, extra: &mut Map) -> Arc<dyn Payload> {
    for _ in 0..=2 * point.fields.len() {
        match (point.decode)(point, payload.clone()) {
            Ok(decoded) => return decoded,
            Err(DecodePayloadError::Missing { field, .. }) => {
                payload.insert(field.to_owned(), empty(field));
            }
            Err(DecodePayloadError::WrongType { field, .. }) => {
                let value = payload.remove(field).unwrap_or_default();
                extra.get_or_insert_with(field, || value);
                if point.field(field).is_some_and(|field| field.required) {
                    payload.insert(field.to_owned(), empty(field));
                }
            }
            Err(DecodePayloadError::Unknown { field, .. }) => {
                payload.remove(&field);
            }
            Err(_) => break,
        }
    }
    Arc::new(custom::Custom::new(point, payload))
}

fn empty(field: &str) -> Value {
    match field {
        "stop_active" | "success" => false.into(),
        "tool_calls" | "changed_files" => Value::Array(Vec::new()),
        "tool_input" | "tool_output" => Value::Null,
        "kind" => "auto".into(),
        _ => "".into(),
    }
}

/// The point of an event that the table of its host does not have (HO-4).
fn unknown_point(host: Host, event: &str) -> Option<&'static PointInfo> {
    let mut name = String::new();
    for character in event.chars().take(64) {
        if character.is_ascii_uppercase() && !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
        name.push(if character.is_ascii_alphanumeric() { character.to_ascii_lowercase() } else { '_' });
    }
    let full = format!("x.{host}.on_{name}");
    if let Ok(known) = lineside_points::find(&full) {
        return Some(known);
    }
    let is_named = !name.is_empty() && custom::count() < MOST_UNKNOWN;
    let full = if is_named { full } else { format!("x.{host}.on_unknown") };
    custom::declare(&full, &[]).ok()
}

#[cfg(test)]
mod tests;
