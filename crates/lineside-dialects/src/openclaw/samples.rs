//! Events and rooms for the tests of this folder.

use std::collections::BTreeMap;
use std::path::PathBuf;

use lineside_core::AnyEvent;
use lineside_core::envelope::Source;
use lineside_core::json::{Map, Value};

use crate::dialect::{Places, Trust};
use crate::samples;

pub(super) use crate::samples::{of_source as of, with_extra};

/// An event of a point, in turn 7 of the session `s1`.
pub(super) fn event(point: &str, payload: Value) -> AnyEvent {
    samples::event(point, payload, Source::root("s1"))
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
