//! Events and hooks for the tests of this folder.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lineside_core::envelope::Source;
use lineside_core::invocation::Captured;
use lineside_core::json::{Map, Value};
use lineside_core::{AnyEvent, Envelope};

use super::definition::{Definition, OnError, Run};
use super::events;
use super::filter::Conditions;
use super::handler::{Hook, Runtime};
use crate::samples;

pub(super) use crate::samples::of_source;

/// An event of a point, of the session `s1`. What the point does not have stands beside the envelope.
pub(super) fn event(point: &str, payload: Value) -> AnyEvent {
    let point = lineside_points::find(point).unwrap();
    let Value::Object(fields) = payload else { panic!() };
    let (fields, extra): (Map, Map) = fields.into_iter().partition(|(name, _)| point.field(name).is_some());
    let extra = (!extra.is_empty()).then(|| Arc::new(extra.into()));
    let event = samples::event(point.name, Value::Object(fields), Source::root("s1"));
    event.with_envelope(Envelope { extra, ..event.envelope().clone() })
}

/// A hook `h` of that event that runs a command.
pub(super) fn hook(event: &str, command: &str) -> Hook {
    Hook {
        name: "h".into(),
        folder: Some(PathBuf::from("/hooks/h")),
        events: vec![events::find(event).unwrap()],
        definition: Arc::new(Definition {
            run: Run::Command(command.to_owned()),
            timeout: Duration::from_secs(10),
            retry: 0,
            on_error: OnError::Skip,
            filter: Conditions::default(),
        }),
        runtime: Arc::new(Runtime {
            cwd: PathBuf::from("/runtime"),
            path: Some("/usr/bin:/bin".into()),
            judge: None,
        }),
    }
}

/// What was printed.
pub(super) fn captured(bytes: impl Into<Vec<u8>>) -> Captured {
    Captured { bytes: bytes.into(), dropped: 0 }
}
