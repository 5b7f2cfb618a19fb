//! Events and rooms for the tests of this folder.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use lineside_core::envelope::{EventId, Source};
use lineside_core::json::{Map, Value};
use lineside_core::{AnyEvent, Envelope};

use crate::dialect::{Places, Trust};

/// An event of a point, in turn 7 of the session `s1`.
pub(super) fn event(point: &str, payload: Value) -> AnyEvent {
    let point = lineside_points::find(point).unwrap();
    let Value::Object(fields) = payload else { panic!() };
    let envelope = Envelope {
        id: EventId::from_u128(0),
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
    event.with_envelope(envelope)
}

/// The event with fields that only the host knows.
pub(super) fn with_extra(event: &AnyEvent, extra: Value) -> AnyEvent {
    let Value::Object(extra) = extra else { panic!() };
    let envelope = Envelope { extra: Some(Arc::new(extra.into())), ..event.envelope().clone() };
    event.with_envelope(envelope)
}

/// An object.
pub(super) fn object(value: Value) -> Map {
    let Value::Object(fields) = value else { panic!() };
    fields
}

/// A home and a project beside each other, with files in them.
pub(super) struct Room(tempfile::TempDir);

impl Room {
    /// Paths below the room, and what is in the files.
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let room = Self(tempfile::tempdir().unwrap());
        for directory in ["home", "project"] {
            std::fs::create_dir_all(room.path(directory)).unwrap();
        }
        for (path, text) in files {
            room.write(path, text);
        }
        room
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A plugin of that id in a directory of the same name, with an empty schema.
    pub(super) fn plugin(&self, place: &str, id: &str) {
        let manifest = format!("{{ id: '{id}', configSchema: {{}} }}");
        self.write(&format!("{place}/{id}/openclaw.plugin.json"), &manifest);
        self.write(&format!("{place}/{id}/index.mjs"), "");
    }

    pub(super) fn places(&self, trust: Trust) -> Places {
        let home = self.path("home").to_string_lossy().into_owned();
        Places {
            environment: BTreeMap::from([("HOME".to_owned(), home)]),
            project_root: Some(self.path("project")),
            cwd: self.path("project"),
            trust,
        }
    }
}
