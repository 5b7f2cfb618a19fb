//! A set of plugins in a room, and the worker that holds it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lineside_core::failure::FailureKind;
use lineside_core::invocation::{Environment, Program};
use lineside_core::json::{Map, Value, json};
use lineside_core::worker::{
    CallClass, HandlerKey, PluginLoaded, Repeat, StartWorkerError, WorkerBounds, WorkerCall, WorkerEnded,
    WorkerPlugin, WorkerReady, WorkerScript, WorkerSpec,
};
use lineside_exec::{LogLevel, LogSource, Worker, WorkerListener, WorkerLog};

use crate::room::{PATIENCE, Room, current_thread, millis};
use crate::script::SCRIPT;

/// Plugins by id and source; the source is CommonJS unless the id ends in `.mjs` or `.ts`.
pub(crate) type Plugins<'a> = &'a [(&'a str, &'a str)];

pub(crate) fn fields(value: Value) -> Map {
    match value {
        Value::Object(fields) => fields,
        other => panic!("no object: {other}"),
    }
}

pub(crate) fn spec(room: &Room, plugins: Plugins<'_>) -> WorkerSpec {
    let plugins = plugins.iter().map(|(name, source)| {
        let file = if name.contains('.') { (*name).to_owned() } else { format!("{name}.cjs") };
        let id = name.split('.').next().unwrap().to_owned();
        let source = source.replace("$ROOM", &room.text(""));
        let entry = room.file(&file, &source, 0o644);
        let load = fields(json!({ "id": id, "root": room.text(""), "entry": entry, "loader": "import" }));
        WorkerPlugin { id, load, content: String::new() }
    });
    WorkerSpec {
        program: Program::argv(["node", "--max-old-space-size=256"]),
        environment: Environment { set: room.mark(), ..Environment::default() },
        working_directory: None,
        hello: fields(json!({ "projectRoot": room.text(""), "home": "/h", "config": { "a": { "b": 1 } } })),
        plugins: plugins.collect(),
        bounds: WorkerBounds {
            hello: PATIENCE,
            load: PATIENCE,
            cancel: millis(500),
            shutdown: millis(2000),
            frame: 32 << 20,
            untold: 1024,
        },
    }
}

/// A worker and what it said.
pub(crate) struct Set {
    pub(crate) worker: Worker,
    pub(crate) ready: Result<WorkerReady, StartWorkerError>,
    logs: Arc<Mutex<Vec<WorkerLog>>>,
}

impl Set {
    pub(crate) async fn start(spec: WorkerSpec) -> Self {
        Self::start_script(spec, &SCRIPT).await
    }

    pub(crate) async fn start_script(spec: WorkerSpec, script: &WorkerScript) -> Self {
        let logs: Arc<Mutex<Vec<WorkerLog>>> = Arc::default();
        let heard = Arc::clone(&logs);
        let listener = WorkerListener::new(move |log| heard.lock().unwrap().push(log));
        let (worker, ready) = Worker::start(spec, script, listener).await;
        Self { worker, ready, logs }
    }

    pub(crate) fn plugin(&self, place: usize) -> &PluginLoaded {
        &self.ready.as_ref().unwrap().plugins[place]
    }

    /// The `loaded` frame of a plugin.
    pub(crate) fn loaded(&self, place: usize) -> &Map {
        match self.plugin(place) {
            PluginLoaded::Answered(frame) => frame,
            other => panic!("{other:?}"),
        }
    }

    /// Why a plugin was refused, by the worker.
    pub(crate) fn error(&self, place: usize) -> &str {
        self.loaded(place)["error"]["message"].as_str().unwrap()
    }

    /// Severity and message of each diagnostic of a plugin.
    pub(crate) fn diagnostics(&self, place: usize) -> Vec<String> {
        let found = self.loaded(place)["diagnostics"].as_array().unwrap();
        let text = |one: &Value, field: &str| one[field].as_str().unwrap().to_owned();
        found.iter().map(|one| format!("{}: {}", text(one, "severity"), text(one, "message"))).collect()
    }

    pub(crate) fn logs(&self) -> Vec<WorkerLog> {
        self.logs.lock().unwrap().clone()
    }

    /// Plugin and text of the lines from a source.
    pub(crate) fn lines(&self, from: LogSource) -> Vec<(Option<String>, LogLevel, String)> {
        let lines = self.logs().into_iter().filter_map(|log| match log {
            WorkerLog::Line { source, level, plugin, text } if source == from => Some((plugin, level, text)),
            _ => None,
        });
        lines.collect()
    }

    pub(crate) fn has_line(&self, from: LogSource, part: &str) -> bool {
        self.lines(from).iter().any(|(_, _, text)| text.contains(part))
    }

    /// Waits until something was said.
    pub(crate) async fn said(&self, from: LogSource, part: &str) {
        while !self.has_line(from, part) {
            tokio::time::sleep(millis(1)).await;
        }
    }

    pub(crate) async fn ask(&self, call: WorkerCall) -> WorkerEnded {
        self.worker.call(call).await
    }

    /// Asks the first `before_tool_call` of a plugin with these `params`.
    pub(crate) async fn guard(&self, plugin: &str, params: Value) -> WorkerEnded {
        self.ask(guard(plugin, params)).await
    }
}

pub(crate) fn call(plugin: &str, hook: &str, class: CallClass, event: Value) -> WorkerCall {
    WorkerCall {
        handler: HandlerKey { plugin: plugin.to_owned(), hook: hook.to_owned(), nth: 1 },
        class,
        event,
        ctx: json!({}),
        timeout: PATIENCE,
        repeat: Repeat::No,
    }
}

pub(crate) fn guard(plugin: &str, params: Value) -> WorkerCall {
    call(plugin, "before_tool_call", CallClass::Modifying, json!({ "toolName": "exec", "params": params }))
}

pub(crate) fn within(timeout: Duration, call: WorkerCall) -> WorkerCall {
    WorkerCall { timeout, ..call }
}

pub(crate) fn returned(value: Value) -> WorkerEnded {
    WorkerEnded::Returned(Some(value))
}

/// Kind and message of a failure of a function that had been started.
pub(crate) fn failed(ended: WorkerEnded) -> (FailureKind, String) {
    match ended {
        WorkerEnded::Failed { kind, message, started: true } => (kind, message),
        other => panic!("{other:?}"),
    }
}

/// Runs a test in a room with a worker, which is shut down at its end.
pub(crate) fn with<F: AsyncFnOnce(&Room, &Set)>(plugins: Plugins<'_>, test: F) {
    with_spec(|room| spec(room, plugins), test);
}

pub(crate) fn with_spec<F: AsyncFnOnce(&Room, &Set)>(spec: impl FnOnce(&Room) -> WorkerSpec, test: F) {
    let room = Room::enter();
    let spec = spec(&room);
    current_thread().block_on(async {
        let all = async {
            let set = Set::start(spec).await;
            test(&room, &set).await;
            set.worker.shutdown().await;
        };
        tokio::time::timeout(PATIENCE * 3, all).await.expect("it hangs");
    });
    room.leave();
}
