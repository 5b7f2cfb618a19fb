//! Events for the tests of this folder.

use std::sync::Arc;

use lineside_core::envelope::{EventId, Source};
use lineside_core::{AnyEvent, Envelope};
use serde_json::{Map, Value};
use uuid::Uuid;

/// An event of a point, in turn 7 of the session `s1`.
pub(super) fn event(point: &str, payload: Value) -> AnyEvent {
    let point = lineside_points::find(point).unwrap();
    let Value::Object(fields) = payload else { panic!() };
    let envelope = Envelope {
        id: EventId(Uuid::nil()),
        time: "2026-03-01T10:20:30.040Z".parse().unwrap(),
        seq: 1,
        source: Arc::new(Source::root("s1")),
        cause: None,
        turn: Some(7),
        extra: None,
    };
    AnyEvent::new(envelope, (point.decode)(point, fields).unwrap())
}

/// The event with another source.
pub(super) fn of(event: &AnyEvent, change: impl FnOnce(&mut Source)) -> AnyEvent {
    let mut source = (*event.envelope().source).clone();
    change(&mut source);
    let envelope = Envelope { source: Arc::new(source), ..event.envelope().clone() };
    AnyEvent::new(envelope, Arc::clone(event.payload()))
}

/// The event with fields that only the host knows.
pub(super) fn with_extra(event: &AnyEvent, extra: Value) -> AnyEvent {
    let Value::Object(extra) = extra else { panic!() };
    let envelope = Envelope { extra: Some(Arc::new(extra)), ..event.envelope().clone() };
    AnyEvent::new(envelope, Arc::clone(event.payload()))
}

/// An object.
pub(super) fn object(value: Value) -> Map<String, Value> {
    let Value::Object(fields) = value else { panic!() };
    fields
}
