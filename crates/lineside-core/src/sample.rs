//! Events of made-up points, for the tests of this crate, which does not know the catalogue; and what tests check alike.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::envelope::{Envelope, Source};
use crate::event::AnyEvent;
use crate::id::EventId;
use crate::json::{Map, Value, from_str, json, to_string};
use crate::payload::{DecodePayloadError, Payload, Point, Probe, each_input_path};
use crate::point::{Field, Phase, PointInfo, PointRole, Slot};
use crate::timestamp::Timestamp;

/// A point of the catalogue with a tool and paths.
pub(crate) static TOOL: PointInfo =
    point("before_sample", Slot::Catalogue(0), &[field("tool_name"), field("tool_input"), field("paths")]);

/// A point of the catalogue with the tools of a step and what they changed.
pub(crate) static BATCH: PointInfo =
    point("after_sample", Slot::Catalogue(1), &[field("tool_calls"), field("changed_files")]);

/// A point that a vendor declared, whose events have any fields.
pub(crate) static DECLARED: PointInfo = point("x.sample.on_it", Slot::Declared, &[]);

pub(crate) const fn point(name: &'static str, slot: Slot, fields: &'static [Field]) -> PointInfo {
    let decode = |point, fields| Ok(Arc::new(Sample { point, fields }) as Arc<dyn Payload>);
    PointInfo { name, phase: Phase::Before, role: PointRole::None, slot, fields, decode }
}

const fn field(name: &'static str) -> Field {
    Field { name, required: false, amendable: false }
}

/// The event of a root session `s` with this payload, a JSON object.
pub(crate) fn event(point: &'static PointInfo, payload: Value) -> AnyEvent {
    event_of(Source::root("s"), None, point, payload)
}

pub(crate) fn event_of(
    source: Source,
    turn: Option<u64>,
    point: &'static PointInfo,
    payload: Value,
) -> AnyEvent {
    let Value::Object(fields) = payload else { panic!("{payload} is no object") };
    AnyEvent::of(Envelope { turn, ..envelope(source) }, Sample { point, fields })
}

/// The event of a root session `s` with a note of this title.
pub(crate) fn noted(title: &str) -> AnyEvent {
    AnyEvent::of(envelope(Source::root("s")), Note::titled(title))
}

/// The envelope of the first event of a session.
pub(crate) fn envelope(source: Source) -> Envelope {
    Envelope {
        id: EventId::from_u128(1),
        time: Timestamp::UNIX_EPOCH,
        seq: 1,
        source: Arc::new(source),
        cause: None,
        turn: None,
        extra: None,
    }
}

/// Each value is shown as its word, which `as_str` gives, and is that word in JSON.
pub(crate) fn check_words<T>(as_str: impl Fn(T) -> &'static str, words: &[(T, &str)])
where
    T: Copy + fmt::Debug + fmt::Display + PartialEq + Serialize + DeserializeOwned,
{
    for (value, word) in words {
        assert_eq!(as_str(*value), *word);
        assert_eq!(format!("{value} {value:>12}"), format!("{word} {word:>12}"));
        let json = format!("\"{word}\"");
        assert_eq!(to_string(value).unwrap(), json);
        assert_eq!(from_str::<T>(&json).unwrap(), *value);
    }
}

/// Any fields at a declared point, else those of the point.
#[derive(Debug, Clone)]
struct Sample {
    point: &'static PointInfo,
    fields: Map,
}

impl crate::payload::sealed::Sealed for Sample {}

impl Payload for Sample {
    fn info(&self) -> &'static PointInfo {
        self.point
    }

    fn to_json(&self) -> Map {
        self.fields.clone()
    }

    fn with_fields(&self, fields: &Map) -> Result<Arc<dyn Payload>, DecodePayloadError> {
        let mut copy = self.clone();
        for (name, value) in fields {
            if self.point.slot != Slot::Declared && self.point.field(name).is_none() {
                return Err(DecodePayloadError::Unknown { point: self.point.name, field: name.clone() });
            }
            copy.fields.insert(name.clone(), value.clone());
        }
        Ok(Arc::new(copy))
    }

    fn text(&self, field: &str) -> Option<&str> {
        self.value(field)?.as_str()
    }

    fn value(&self, field: &str) -> Option<&Value> {
        self.fields.get(field)
    }

    fn each_path(&self, visit: &mut dyn FnMut(&str)) {
        let named = self.value("paths").and_then(Value::as_array);
        named.into_iter().flatten().filter_map(Value::as_str).for_each(&mut *visit);
        each_input_path(self.value("tool_input").unwrap_or(&Value::Null), visit);
    }

    fn weight(&self) -> usize {
        0
    }
}

/// The payload of a point that only tests have.
#[derive(Debug, Clone, Default)]
pub(crate) struct Note {
    pub(crate) title: String,
    pub(crate) paths: Vec<String>,
}

impl Note {
    /// A note without paths.
    pub(crate) fn titled(title: &str) -> Self {
        Self { title: title.to_owned(), paths: Vec::new() }
    }
}

static NOTE: PointInfo = PointInfo {
    name: "x.test.before_note",
    phase: Phase::Before,
    role: PointRole::None,
    slot: Slot::Declared,
    fields: &[
        Field { name: "title", required: true, amendable: true },
        Field { name: "paths", required: true, amendable: false },
    ],
    decode: |point, _| Err(DecodePayloadError::Missing { point: point.name, field: "title" }),
};

impl crate::payload::sealed::Sealed for Note {}

impl Payload for Note {
    fn info(&self) -> &'static PointInfo {
        &NOTE
    }

    fn to_json(&self) -> Map {
        Map::from([("title".to_owned(), json!(self.title)), ("paths".to_owned(), json!(self.paths))])
    }

    fn with_fields(&self, fields: &Map) -> Result<Arc<dyn Payload>, DecodePayloadError> {
        let title = fields.get("title").and_then(Value::as_str).unwrap_or(&self.title).to_owned();
        Ok(Arc::new(Self { title, paths: self.paths.clone() }))
    }

    fn text(&self, field: &str) -> Option<&str> {
        (field == "title").then_some(&*self.title)
    }

    fn value(&self, _: &str) -> Option<&Value> {
        None
    }

    fn each_path(&self, visit: &mut dyn FnMut(&str)) {
        self.paths.each_path(visit);
    }

    fn weight(&self) -> usize {
        self.title.len() + self.paths.weight()
    }
}

impl Point for Note {
    const INFO: &'static PointInfo = &NOTE;
}
