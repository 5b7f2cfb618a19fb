//! Events and hooks for the tests of this folder.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lineside_core::envelope::{Model, Source};
use lineside_core::json::Value;
use lineside_core::{AnyEvent, OnFailure};

use super::fields::Mode;
use super::handler::{Hook, Runtime};
use super::identity::Identity;
use super::triggers;
use crate::samples;

/// An event of a point, of the session `s1`.
pub(super) fn event(point: &str, payload: Value) -> AnyEvent {
    let source = Source {
        model: Some(Model { selected: Some("kimi-latest".into()), running: Some("kimi-k2".into()) }),
        ..Source::root("s1")
    };
    samples::event(point, payload, source)
}

/// A sync hook `h` of that trigger.
pub(super) fn hook(trigger: &str) -> Hook {
    Hook {
        identity: Identity {
            name: "h".into(),
            folder: PathBuf::from("/hooks/h"),
            trigger: triggers::find(trigger).unwrap(),
            trigger_as_written: trigger.to_owned(),
            mode: Mode::Sync,
        },
        timeout: Duration::from_secs(30),
        on_failure: OnFailure::Continue,
        worker: None,
        closed: None,
        runtime: Arc::new(Runtime { cwd: PathBuf::from("/"), path: None }),
    }
}
