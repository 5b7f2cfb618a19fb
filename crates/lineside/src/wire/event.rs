//! An event from JSON: the fields of the envelope at the top level, beside `payload`.
//!
//! What has no canonical name is kept as `extra` and handed on. `seq`, `root_session`, `depth` and `connection` are the
//! bus's to give and are ignored.

use std::sync::Arc;

use lineside_core::Timestamp;
use lineside_core::json::read_strict;
use lineside_core::json::{Map, Value};
use lineside_core::nearest::suggestion;
use lineside_core::payload::DecodePayloadError;
use lineside_core::point::Slot;
use lineside_core::{Agent, EventId, Model, Payload, PointInfo};
use lineside_dialects::hosts::tool_fields;
use lineside_dialects::{HostPayload, host_payload};
use serde::de::DeserializeOwned;

use super::vocabulary::{FindPointError, Vocabulary};

/// The fields of the envelope, and the payload, in the order in which an event is written.
pub const FIELDS: [&str; 21] = [
    "id", "point", "time", "seq", "session", "root_session", "parent_session", "depth", "cause", "agent",
    "turn", "project_root", "cwd", "model", "host", "traceparent", "connection", "attributed", "coverage",
    "payload", "extra",
];

/// An event that was read and is not published yet. What is absent takes the value of its session.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EventDraft {
    /// The point.
    pub point: &'static PointInfo,
    /// The payload, with the fields that the point has.
    pub payload: Arc<dyn Payload>,
    /// The session.
    pub session: Option<String>,
    /// The session that started it.
    pub parent: Option<String>,
    /// The agent.
    pub agent: Option<Agent>,
    /// The id by which its publisher knows it.
    pub id: Option<EventId>,
    /// The time at which it happened.
    pub time: Option<Timestamp>,
    /// The event that led to it.
    pub cause: Option<EventId>,
    /// The turn of the agent.
    pub turn: Option<u64>,
    /// The root of the project.
    pub project_root: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The models.
    pub model: Option<Model>,
    /// The agent program that publishes.
    pub host: Option<String>,
    /// The W3C trace context.
    pub traceparent: Option<String>,
    /// The digest of the hooks that its publisher believes it is under.
    pub coverage: Option<String>,
    /// Everything without a canonical name.
    pub extra: Map,
    /// Keys that the specification does not have, which went to `extra`.
    pub unknown: Vec<UnknownKey>,
}

/// A key that neither the envelope nor the point has.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct UnknownKey {
    /// The point of the event.
    pub point: &'static str,
    /// The key; one of the payload has that before it.
    pub key: String,
    /// What may have been meant.
    pub nearest: Option<&'static str>,
}

impl std::fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "unknown key `{}` at {}", self.key, self.point)?;
        match self.nearest {
            Some(nearest) => write!(f, "; the nearest is `{nearest}`"),
            None => f.write_str("; hooks get it as `extra`"),
        }
    }
}

/// Why JSON is not an event.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadEventDraftError {
    /// It is not exactly one JSON value, in UTF-8, without a doubled key, at most 64 levels deep.
    #[error("not JSON: {}", on_one_line(.0))]
    Json(lineside_core::json::Error),
    /// It is another kind of value.
    #[error("an event is a JSON object, not {0}")]
    NoObject(&'static str),
    /// A field that every event needs is absent.
    #[error("the field `{0}` is absent")]
    Absent(&'static str),
    /// A field has a value of another type.
    #[error("`{field}` must be {expected}, not {found}")]
    Field {
        /// The field.
        field: &'static str,
        /// What it must be.
        expected: &'static str,
        /// The value if it is short, else its kind.
        found: String,
    },
    /// It is what an agent program gives to its hooks.
    #[error("{}", of_host(.0))]
    OfHost(HostPayload),
    /// The point is not known.
    #[error(transparent)]
    Point(#[from] FindPointError),
    /// The payload is not one of the point.
    #[error(transparent)]
    Payload(#[from] DecodePayloadError),
}

fn of_host(HostPayload { program, event, point, .. }: &HostPayload) -> String {
    let here = point.map_or_else(String::new, |point| format!(" (here {})", point.name));
    format!(
        "this is what {program} gives to its hooks, of its event {event:?}; an event of lineside has `point`{here} and \
         `payload`"
    )
}

impl EventDraft {
    /// Reads the text of one event.
    ///
    /// # Errors
    /// It is not an event.
    ///
    /// # Examples
    /// ```
    /// use lineside::dialects::DIALECTS;
    /// use lineside::wire::{EventDraft, Vocabulary};
    ///
    /// let vocabulary = Vocabulary::new(DIALECTS);
    /// let text = br#"{"point": "before_tool", "payload": {"tool_name": "Shell", "tool_input": {"command": "ls"}}}"#;
    /// assert_eq!(EventDraft::parse(text, &vocabulary)?.point.name, "before_tool");
    /// let error = EventDraft::parse(br#"{"point": "before_tol"}"#, &vocabulary).unwrap_err();
    /// assert!(error.to_string().contains("the nearest is `before_tool`"));
    /// # Ok::<_, lineside::wire::ReadEventDraftError>(())
    /// ```
    pub fn parse(text: &[u8], vocabulary: &Vocabulary) -> Result<Self, ReadEventDraftError> {
        match read_strict(text).map_err(ReadEventDraftError::Json)? {
            Value::Object(fields) => Self::read(fields, vocabulary),
            other => Err(ReadEventDraftError::NoObject(kind_of(&other))),
        }
    }

    /// Reads an event from its fields.
    ///
    /// ```
    /// use lineside::dialects::DIALECTS;
    /// use lineside::json::{Map, json};
    /// use lineside::wire::{EventDraft, ReadEventDraftError, Vocabulary};
    ///
    /// let fields = Map::from([("point".to_owned(), json!("before_prompt"))]);
    /// let wrong = EventDraft::read(fields, &Vocabulary::new(DIALECTS)).expect_err("a prompt is absent");
    /// assert!(matches!(wrong, ReadEventDraftError::Payload(_)));
    /// ```
    ///
    /// # Errors
    /// The point is absent or unknown, a required field of its payload is absent, or a field has the wrong type.
    pub fn read(mut fields: Map, vocabulary: &Vocabulary) -> Result<Self, ReadEventDraftError> {
        // What is taken out leaves `null` behind, which counts as absent.
        let mut taken = |field| fields.get_mut(field).map_or(Value::Null, Value::take);
        let (name, payload) = (text("point", taken("point"))?, taken("payload"));
        let name = name.ok_or_else(|| match host_payload(&fields) {
            Some(payload) => ReadEventDraftError::OfHost(payload),
            None => ReadEventDraftError::Absent("point"),
        })?;
        let mut payload = object("payload", payload)?.unwrap_or_default();
        let point = vocabulary.point(&name, &payload)?;
        vocabulary.put_said(&name, &mut payload);
        let (mut payload, others) = known_fields(point, payload);
        if vocabulary.is_of_hosts() {
            tool_fields(point, &mut payload);
        }
        let payload = (point.decode)(point, payload)?;
        let mut draft = Self::of(point, payload);
        let mut unnamed = Map::new();
        for (name, value) in fields {
            draft.take(name, value, &mut unnamed)?;
        }
        draft.unknown = unknown_keys(point, &unnamed, &others);
        draft.extra = extra(draft.extra, unnamed, others);
        Ok(draft)
    }

    /// An event of which nothing else is said.
    fn of(point: &'static PointInfo, payload: Arc<dyn Payload>) -> Self {
        Self {
            point,
            payload,
            session: None,
            parent: None,
            agent: None,
            id: None,
            time: None,
            cause: None,
            turn: None,
            project_root: None,
            cwd: None,
            model: None,
            host: None,
            traceparent: None,
            coverage: None,
            extra: Map::new(),
            unknown: Vec::new(),
        }
    }

    /// Takes a field of the envelope; one that the envelope does not have goes to the `unnamed`.
    fn take(&mut self, name: String, value: Value, unnamed: &mut Map) -> Result<(), ReadEventDraftError> {
        match name.as_str() {
            "session" => self.session = text("session", value)?,
            "parent_session" => self.parent = text("parent_session", value)?,
            "agent" => self.agent = typed("agent", &value, "an object with `id` and `kind`")?,
            "id" => self.id = typed("id", &value, "a UUID")?,
            "time" => self.time = time(value)?,
            "cause" => self.cause = typed("cause", &value, "a UUID")?,
            "turn" => self.turn = typed("turn", &value, "a whole number from 0")?,
            "project_root" => self.project_root = text("project_root", value)?,
            "cwd" => self.cwd = text("cwd", value)?,
            "model" => self.model = typed("model", &value, "an object with `selected` or `running`")?,
            "host" => self.host = text("host", value)?,
            "traceparent" => self.traceparent = text("traceparent", value)?,
            "coverage" => self.coverage = text("coverage", value)?,
            "extra" => self.extra = object("extra", value)?.unwrap_or_default(),
            // Taken before, or given anew.
            "point" | "payload" | "seq" | "root_session" | "depth" | "connection" | "attributed" => {}
            _ => drop(unnamed.insert(name, value)),
        }
        Ok(())
    }
}

fn time(value: Value) -> Result<Option<Timestamp>, ReadEventDraftError> {
    let Some(text) = text("time", value)? else { return Ok(None) };
    let wrong = |_| ReadEventDraftError::Field {
        field: "time",
        expected: "a time such as 2026-03-02T09:14:00Z",
        found: format!("{text:?}"),
    };
    text.parse().map(Some).map_err(wrong)
}

/// A field that is a text; `null` counts as absent, here and below.
fn text(field: &'static str, value: Value) -> Result<Option<String>, ReadEventDraftError> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        other => Err(wrong(field, "a string", &other)),
    }
}

/// A field of another type.
fn typed<T: DeserializeOwned>(
    field: &'static str,
    value: &Value,
    expected: &'static str,
) -> Result<Option<T>, ReadEventDraftError> {
    match value {
        Value::Null => Ok(None),
        value => T::deserialize(value).map(Some).map_err(|_| wrong(field, expected, value)),
    }
}

/// A field that is an object, as it is, with the digits of its numbers.
fn object(field: &'static str, value: Value) -> Result<Option<Map>, ReadEventDraftError> {
    match value {
        Value::Null => Ok(None),
        Value::Object(object) => Ok(Some(object)),
        other => Err(wrong(field, "an object", &other)),
    }
}

fn wrong(field: &'static str, expected: &'static str, value: &Value) -> ReadEventDraftError {
    ReadEventDraftError::Field { field, expected, found: brief(value) }
}

/// The keys of an event that the specification does not have.
fn unknown_keys(point: &'static PointInfo, envelope: &Map, payload: &Map) -> Vec<UnknownKey> {
    let envelope = envelope.keys().filter(|key| !FIELDS.contains(&key.as_str())).map(|key| UnknownKey {
        point: point.name,
        key: key.clone(),
        nearest: suggestion(key, FIELDS),
    });
    let payload = payload.keys().map(|key| UnknownKey {
        point: point.name,
        key: format!("payload.{key}"),
        nearest: suggestion(key, point.fields.iter().map(|field| field.name)),
    });
    envelope.chain(payload).collect()
}

/// A value as it is written, if it is short, else what kind it is.
fn brief(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= 60 { text } else { kind_of(value).to_owned() }
}

/// The fields that the point has, and the others.
fn known_fields(point: &PointInfo, payload: Map) -> (Map, Map) {
    let is_known = |name: &String| point.field(name).is_some();
    if point.slot == Slot::Declared || payload.keys().all(is_known) {
        return (payload, Map::new());
    }
    payload.into_iter().partition(|(name, _)| is_known(name))
}

/// Everything without a canonical name. A name that is taken already gets a prefix, so that nothing is lost.
fn extra(mut extra: Map, envelope: Map, payload: Map) -> Map {
    for (prefix, fields) in [("envelope", envelope), ("payload", payload)] {
        for (name, value) in fields {
            let name = if extra.contains_key(&name) { format!("{prefix}.{name}") } else { name };
            extra.insert(name, value);
        }
    }
    extra
}

/// What is wrong with a text. Its line is stated where it has several.
fn on_one_line(error: &lineside_core::json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " at column ")
}

/// What a value is, for people.
///
/// ```
/// use lineside::json::json;
/// use lineside::wire::kind_of;
///
/// assert_eq!(kind_of(&json!([1, 2])), "a list");
/// ```
#[must_use]
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use lineside_core::json::json;
    use lineside_dialects::DIALECTS;

    use super::*;

    fn read(text: &[u8]) -> Result<EventDraft, ReadEventDraftError> {
        EventDraft::parse(text, &Vocabulary::new(DIALECTS))
    }

    fn refused(text: &[u8], expected: &str) {
        assert_eq!(
            read(text).map(|line| line.point.name).map_err(|error| error.to_string()),
            Err(expected.to_owned())
        );
    }

    #[test]
    fn an_event_needs_little() {
        let line = read(br#"{"point":"on_idle"}"#).unwrap();
        assert_eq!((line.point.name, line.session.as_deref()), ("on_idle", None));
        assert!(line.extra.is_empty());
    }

    #[test]
    fn the_envelope_is_read() {
        let line = read(
            br#"{"point":"pre-tool-call","session":"s2","parent_session":"s1","turn":7,"seq":9,"depth":1,
                "id":"019a0000-0000-7000-8000-000000000001","time":"2026-03-02T09:14:00.5+01:00",
                "agent":{"id":"r","kind":"subagent","type":"reviewer"},"model":{"running":"m"},"host":"h",
                "payload":{"tool_name":"Shell","tool_input":{}}}"#,
        )
        .unwrap();
        assert_eq!(line.point.name, "before_tool");
        assert_eq!((line.parent.as_deref(), line.turn), (Some("s1"), Some(7)));
        assert_eq!(line.time.unwrap().to_string(), "2026-03-02T08:14:00.5Z");
        assert_eq!(line.id.unwrap().to_string(), "019a0000-0000-7000-8000-000000000001");
        assert_eq!(line.agent.unwrap().role.as_deref(), Some("reviewer"));
        assert!(line.extra.is_empty());
    }

    #[test]
    fn what_has_no_canonical_name_is_handed_on() {
        let line = read(
            br#"{"point":"on_idle","colour":"red","extra":{"since":1},"payload":{"since":2,"colour":3,"why":null}}"#,
        )
        .unwrap();
        let expected = json!({"since":1,"colour":"red","payload.since":2,"payload.colour":3,"why":null});
        assert_eq!(Value::Object(line.extra), expected);
        assert!(line.payload.to_json().is_empty());
    }

    #[test]
    fn numbers_keep_their_digits() {
        let line = read(
            br#"{"point":"before_tool","payload":{"tool_name":"x","tool_input":{"a":-0,"b":1.10,"c":1e999}},"extra":{"d":-0}}"#,
        )
        .unwrap();
        assert_eq!(line.payload.to_json()["tool_input"].to_string(), r#"{"a":-0,"b":1.10,"c":1e999}"#);
        assert_eq!(line.extra["d"].to_string(), "-0");
    }

    #[test]
    fn an_unknown_key_is_told_with_the_nearest_one() {
        let line = read(br#"{"point":"before_tool","sesion":"s2","payload":{"tool_name":"x","tool_input":{},"tol_call_id":"c","colour":1}}"#).unwrap();
        let told: Vec<String> = line.unknown.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "unknown key `sesion` at before_tool; the nearest is `session`",
                "unknown key `payload.tol_call_id` at before_tool; the nearest is `tool_call_id`",
                "unknown key `payload.colour` at before_tool; hooks get it as `extra`",
            ]
        );
    }

    #[test]
    fn what_is_no_event_is_refused() {
        refused(
            br#"{"point":"before_tool","payload":{"tool_name":"x"}}"#,
            "before_tool needs the field `tool_input`",
        );
        refused(br#"{"point":"befor_tool"}"#, "unknown point `befor_tool`; the nearest is `before_tool`");
        refused(b"{}", "the field `point` is absent");
        refused(b"[1]", "an event is a JSON object, not a list");
        refused(br#"{"point":"on_idle","point":"on_error"}"#, "not JSON: duplicate key `point` at column 20");
        refused(b"{\"point\":\"on_idle\xff\"}", "not JSON: it is not UTF-8 at column 18");
        refused(b"{\"point\":", "not JSON: the text ends where a value is expected at column 10");
        refused(br#"{"point":"on_idle","turn":-1}"#, "`turn` must be a whole number from 0, not -1");
        refused(br#"{"point":"on_idle","payload":[]}"#, "`payload` must be an object, not []");
        let deep = format!("{{\"point\":\"on_idle\",\"x\":{}{}}}", "[".repeat(99), "]".repeat(99));
        assert!(read(deep.as_bytes()).is_err());
    }
}
