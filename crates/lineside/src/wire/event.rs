//! An event from JSON: the fields of the envelope at the top level, beside `payload`.
//!
//! What has no canonical name is kept as `extra` and handed on. `seq`, `root_session` and `depth` are the bus's to give
//! and are ignored.

use std::sync::Arc;

use jiff::Timestamp;
use lineside_core::json::read_strict;
use lineside_core::nearest::nearest;
use lineside_core::payload::DecodePayloadError;
use lineside_core::point::Slot;
use lineside_core::{Agent, EventId, Model, Payload, PointInfo};
use lineside_dialects::Dialect;
use lineside_points::{self as points, CATALOGUE};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The fields of the envelope, and the payload, in the order in which an event is written.
pub const FIELDS: [&str; 18] = [
    "id",
    "point",
    "time",
    "seq",
    "session",
    "root_session",
    "parent_session",
    "depth",
    "cause",
    "agent",
    "turn",
    "project_root",
    "cwd",
    "model",
    "host",
    "traceparent",
    "payload",
    "extra",
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
    /// The id that it already has.
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
    /// Everything without a canonical name.
    pub extra: Map<String, Value>,
}

/// Why JSON is not an event.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadEventError {
    /// It is not exactly one JSON value, in UTF-8, without a doubled key, at most 64 levels deep.
    #[error("not JSON: {}", on_one_line(.0))]
    Json(#[source] serde_json::Error),
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
    /// No point has this name.
    #[error("unknown point `{name}`; the nearest is `{nearest}`")]
    UnknownPoint {
        /// The name.
        name: String,
        /// The nearest known name.
        nearest: String,
    },
    /// A vendor's point that is not declared in this program.
    #[error("unknown point `{0}`: it is a vendor's, and this program has not declared it")]
    Undeclared(String),
    /// The payload is not one of the point.
    #[error(transparent)]
    Payload(#[from] DecodePayloadError),
}

impl EventDraft {
    /// Reads the text of one event.
    ///
    /// The point has its canonical name, or the name that one of `dialects` has for it.
    ///
    /// # Errors
    /// It is not an event.
    pub fn parse(text: &[u8], dialects: &[&'static dyn Dialect]) -> Result<Self, ReadEventError> {
        match read_strict(text).map_err(ReadEventError::Json)? {
            Value::Object(fields) => Self::read(fields, dialects),
            other => Err(ReadEventError::NoObject(kind_of(&other))),
        }
    }

    /// Reads an event from its fields.
    ///
    /// # Errors
    /// The point is absent or unknown, a required field of its payload is absent, or a field has the wrong type.
    pub fn read(
        mut fields: Map<String, Value>,
        dialects: &[&'static dyn Dialect],
    ) -> Result<Self, ReadEventError> {
        let name = take::<String>(&mut fields, "point", TEXT)?.ok_or(ReadEventError::Absent("point"))?;
        let payload = take::<Map<String, Value>>(&mut fields, "payload", "an object")?.unwrap_or_default();
        let point = point(&name, &payload, dialects)?;
        let (payload, unknown) = known_fields(point, payload);
        let payload = (point.decode)(point, payload)?;
        for given_anew in ["seq", "root_session", "depth"] {
            fields.shift_remove(given_anew);
        }
        Ok(Self {
            point,
            payload,
            session: take(&mut fields, "session", TEXT)?,
            parent: take(&mut fields, "parent_session", TEXT)?,
            agent: take(&mut fields, "agent", "an object with `id` and `kind`")?,
            id: take(&mut fields, "id", "a UUID")?,
            time: time(&mut fields)?,
            cause: take(&mut fields, "cause", "a UUID")?,
            turn: take(&mut fields, "turn", "a whole number from 0")?,
            project_root: take(&mut fields, "project_root", TEXT)?,
            cwd: take(&mut fields, "cwd", TEXT)?,
            model: take(&mut fields, "model", "an object with `selected` or `running`")?,
            host: take(&mut fields, "host", TEXT)?,
            traceparent: take(&mut fields, "traceparent", TEXT)?,
            extra: extra(take(&mut fields, "extra", "an object")?.unwrap_or_default(), fields, unknown),
        })
    }
}

/// What most fields are.
const TEXT: &str = "a string";

/// The point of a name. Where a dialect's name stands for several points, the payload decides.
fn point(
    name: &str,
    payload: &Map<String, Value>,
    dialects: &[&'static dyn Dialect],
) -> Result<&'static PointInfo, ReadEventError> {
    if let Ok(point) = points::find(name) {
        return Ok(point);
    }
    if let Some(point) = dialects.iter().find_map(|dialect| dialect.point(name, payload)) {
        return Ok(point);
    }
    if name.starts_with("x.") {
        return Err(ReadEventError::Undeclared(name.to_owned()));
    }
    let foreign = dialects.iter().flat_map(|dialect| dialect.names());
    let known = CATALOGUE.iter().map(|point| point.name).chain(foreign);
    let nearest = nearest(name, known).unwrap_or_default().to_owned();
    Err(ReadEventError::UnknownPoint { name: name.to_owned(), nearest })
}

fn time(fields: &mut Map<String, Value>) -> Result<Option<Timestamp>, ReadEventError> {
    let Some(text) = take::<String>(fields, "time", TEXT)? else { return Ok(None) };
    let wrong = |_| ReadEventError::Field {
        field: "time",
        expected: "a time such as 2026-03-02T09:14:00Z",
        found: format!("{text:?}"),
    };
    text.parse().map(Some).map_err(wrong)
}

/// Takes a field out; `null` counts as absent.
fn take<T: DeserializeOwned>(
    fields: &mut Map<String, Value>,
    field: &'static str,
    expected: &'static str,
) -> Result<Option<T>, ReadEventError> {
    match fields.shift_remove(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match T::deserialize(&value) {
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(ReadEventError::Field { field, expected, found: brief(&value) }),
        },
    }
}

/// A value as it is written, if it is short, else what kind it is.
fn brief(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= 60 { text } else { kind_of(value).to_owned() }
}

/// The fields that the point has, and the others.
fn known_fields(point: &PointInfo, payload: Map<String, Value>) -> (Map<String, Value>, Map<String, Value>) {
    if point.slot == Slot::Declared {
        return (payload, Map::new());
    }
    payload.into_iter().partition(|(name, _)| point.field(name).is_some())
}

/// Everything without a canonical name. A name that is taken already gets a prefix, so that nothing is lost.
fn extra(
    mut extra: Map<String, Value>,
    envelope: Map<String, Value>,
    payload: Map<String, Value>,
) -> Map<String, Value> {
    for (prefix, fields) in [("envelope", envelope), ("payload", payload)] {
        for (name, value) in fields {
            let name = if extra.contains_key(&name) { format!("{prefix}.{name}") } else { name };
            extra.insert(name, value);
        }
    }
    extra
}

/// What is wrong with a text. Its line is stated where it has several.
fn on_one_line(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " at column ")
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
