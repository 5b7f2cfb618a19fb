//! Events for the tests of this crate.

use std::sync::Arc;

use lineside_core::envelope::{EventId, Source};
use lineside_core::json::Value;
use lineside_core::{AnyEvent, Envelope};

/// An event of a point, in turn 7 of its session.
pub(crate) fn event(point: &str, payload: Value, source: Source) -> AnyEvent {
    let point = lineside_points::find(point).unwrap();
    let Value::Object(fields) = payload else { panic!() };
    let envelope = Envelope {
        id: EventId::from_u128(0),
        time: "2026-03-01T10:20:30.040Z".parse().unwrap(),
        seq: 1,
        source: Arc::new(source),
        cause: None,
        turn: Some(7),
        extra: None,
    };
    AnyEvent::new(envelope, (point.decode)(point, fields).unwrap())
}

/// The event with another source.
pub(crate) fn of_source(event: &AnyEvent, change: impl FnOnce(&mut Source)) -> AnyEvent {
    let mut source = (*event.envelope().source).clone();
    change(&mut source);
    let envelope = Envelope { source: Arc::new(source), ..event.envelope().clone() };
    event.with_envelope(envelope)
}

/// The event with fields that only its host knows.
pub(crate) fn with_extra(event: &AnyEvent, extra: Value) -> AnyEvent {
    let Value::Object(extra) = extra else { panic!() };
    let envelope = Envelope { extra: Some(Arc::new(extra.into())), ..event.envelope().clone() };
    event.with_envelope(envelope)
}
