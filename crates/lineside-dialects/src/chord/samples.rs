//! Events and hooks for the tests of this folder.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lineside_core::envelope::{Model, Source};
use lineside_core::invocation::{Captured, Ended, Exit, Leaked};
use lineside_core::json::{Map, Value};
use lineside_core::{Agent, Amendment, AnyEvent, Diagnostic, Envelope};

use super::entry;
use super::file::{CONFIG, Entry};
use super::handler::{Hook, Runtime};
use crate::findings::Findings;
use crate::listed::Counts;
use crate::programs::Search;
use crate::samples;

/// What a test changes of an event.
pub(super) struct Sample {
    pub(super) source: Source,
    pub(super) turn: Option<u64>,
    pub(super) extra: Option<Value>,
}

impl Default for Sample {
    fn default() -> Self {
        let model = Model { selected: Some("acme/big".into()), running: Some("acme/small".into()) };
        let source = Source {
            root_session: "root".into(),
            agent: Agent { role: Some("coder".into()), ..Agent::main("main-1") },
            project_root: Some("/repo".into()),
            cwd: Some("/repo/sub".into()),
            model: Some(model),
            ..Source::root("s1")
        };
        Self { source, turn: Some(7), extra: None }
    }
}

impl Sample {
    /// An event of a point.
    pub(super) fn event(self, point: &str, payload: Value) -> AnyEvent {
        let event = samples::event(point, payload, self.source);
        let extra = self.extra.map(|extra| Arc::new(fields(extra).into()));
        event.with_envelope(Envelope { turn: self.turn, extra, ..event.envelope().clone() })
    }
}

/// An event of a point, of the session `s1` below `root`.
pub(super) fn event(point: &str, payload: Value) -> AnyEvent {
    Sample::default().event(point, payload)
}

/// The same event after a hook has changed a field.
pub(super) fn amended(event: &AnyEvent, field: &str, value: Value) -> AnyEvent {
    let amended = Amendment::default().with(field, value).apply(event.payload()).unwrap().unwrap();
    event.amended(amended.payload)
}

pub(super) fn fields(value: Value) -> Map {
    match value {
        Value::Object(fields) => fields,
        other => panic!("{other}"),
    }
}

/// The entries of a text, and what was found about it.
pub(super) fn read(text: &str) -> (Vec<Entry>, Vec<Diagnostic>) {
    let mut findings = Findings::about("/f/config.yaml".as_ref());
    let search = Search { path: Some("/no/such".to_owned()), work_dir: PathBuf::from("/") };
    let entries = CONFIG.entries(
        text.as_bytes(),
        &mut Counts::default(),
        &mut findings,
        |point, unnamed, item, findings| entry::read(point, unnamed, item, &search, findings),
    );
    (entries, findings.diagnostics)
}

/// The hook of a point with these further keys, which has to load without a finding.
pub(super) fn hook(point: &str, keys: &str) -> Hook {
    let (mut entries, diagnostics) =
        read(&format!("hooks:\n  {point}:\n  - {{name: h, command: [\"true\"]{keys}}}\n"));
    assert_eq!(diagnostics, []);
    let entry = entries.pop().unwrap();
    let declared = entry.declared.unwrap();
    Hook {
        name: entry.name.into(),
        point: entry.row,
        run: declared.run,
        timeout: declared.timeout,
        environment: declared.environment,
        on_failure: declared.on_failure,
        filter: Arc::new(declared.filter),
        report: declared.report,
        runtime: Arc::new(Runtime { cwd: PathBuf::from("/runtime"), not_inherited: Vec::new() }),
    }
}

/// A process that exited with 0 and printed this.
pub(super) fn printed(stdout: &str) -> Ended {
    Ended {
        exit: Exit::Code(0),
        stdout: captured(stdout),
        stderr: captured(""),
        took: Duration::from_millis(12),
        leaked: Leaked::Nothing,
    }
}

pub(super) fn captured(text: &str) -> Captured {
    Captured { bytes: text.into(), dropped: 0 }
}
