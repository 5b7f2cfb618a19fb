//! A process that lives long and answers many calls: what is started, what is called, and how a call ended. Plain
//! values; who keeps the process is another crate's business.
//!
//! There are two kinds: one holds plugins, whose functions are found out by loading them, and one holds hooks, which
//! are called by their names.

use std::path::PathBuf;
use std::time::Duration;

use crate::SessionId;
use crate::json::{Map, Value};

use crate::failure::FailureKind;
use crate::invocation::{Environment, Program};
use crate::propagation::Propagation;

/// A worker: the process, and the plugins that it loads.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerSpec {
    /// The program and its arguments.
    pub program: Program,
    /// Its environment.
    pub environment: Environment,
    /// Its working directory.
    pub working_directory: Option<PathBuf>,
    /// The fields of its `hello` apart from `type`, `protocol`, `token`, `runtime` and `maxFrameBytes`.
    pub hello: Map,
    /// The plugins, in load order.
    pub plugins: Vec<WorkerPlugin>,
    /// Its bounds.
    pub bounds: WorkerBounds,
}

/// The program that a worker runs, as the texts of its files. They are written into a private directory, and the path
/// of the entry becomes the last argument of [`WorkerSpec::program`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerScript {
    /// The file that is run.
    pub entry: &'static str,
    /// Path below the directory, with `/` between its parts, and text of each file.
    pub files: &'static [(&'static str, &'static str)],
}

/// One plugin of a worker.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerPlugin {
    /// Its id.
    pub id: String,
    /// The object `plugin` of its `load` frame.
    pub load: Map,
    /// A digest of everything that the plugin is made of, so that a reload can tell whether it is still the same.
    pub content: String,
}

/// A worker that has loaded its plugins.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerReady {
    /// Its `hello` frame.
    pub hello: Map,
    /// How the loading of each plugin ended, in load order.
    pub plugins: Vec<PluginLoaded>,
}

/// Why there is no worker at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartWorkerError {
    /// Its program could not be started.
    NotFound {
        /// Why, one line.
        why: String,
    },
    /// It did not say `hello` in time, said it in another version, or ended before.
    Failed {
        /// Why, one line.
        why: String,
        /// Its `hello`, if it said one.
        hello: Option<Map>,
    },
}

/// The bounds of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerBounds {
    /// For its `hello`.
    pub hello: Duration,
    /// For loading one plugin.
    pub load: Duration,
    /// In which it must answer a `cancel`.
    pub cancel: Duration,
    /// From `shutdown` to its end.
    pub shutdown: Duration,
    /// The largest frame in either direction, in bytes.
    pub frame: usize,
    /// Calls without an answer that may be under way or waiting; one more is dropped.
    pub untold: usize,
}

/// How the loading of one plugin ended.
#[derive(Debug, Clone, PartialEq)]
pub enum PluginLoaded {
    /// The worker said so: its `loaded` frame, which may hold an error.
    Answered(Map),
    /// It took too long.
    TimedOut,
    /// The worker ended, or was stuck and killed, while it loaded this plugin.
    Died {
        /// How, one line.
        why: String,
    },
}

/// Which function of which plugin is called. Numbers would change when a worker is started again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HandlerKey {
    /// The plugin, by the id in its `loaded` frame.
    pub plugin: String,
    /// The name under which it registered the function.
    pub hook: String,
    /// Which one of those, from 1.
    pub nth: u32,
}

/// One call.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerCall {
    /// The function.
    pub handler: HandlerKey,
    /// How it is called.
    pub class: CallClass,
    /// The first argument.
    pub event: Value,
    /// The second argument.
    pub ctx: Value,
    /// From when the call is due to the last byte of its answer.
    pub timeout: Duration,
    /// Whether it is repeated to a worker that is started in place of another.
    pub repeat: Repeat,
}

/// How a function is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallClass {
    /// Its answer is awaited, promise or not.
    Modifying,
    /// Its answer may not be a promise.
    Sync,
    /// It is sent, and its answer is not read.
    Void,
}

impl CallClass {
    /// The word for it in a frame.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Modifying => "modifying",
            Self::Sync => "sync",
            Self::Void => "void",
        }
    }
}

/// Whether a call is repeated after a restart, before any other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Repeat {
    /// It is not.
    #[default]
    No,
    /// It is, until a call of [`Repeat::Ends`].
    AfterRestart,
    /// It is not, and what was to be repeated no longer is.
    Ends,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkerEnded {
    /// The function returned this; `None` for nothing that decides anything.
    Returned(Option<Value>),
    /// The hook answered with this JSON, as it was written; empty for nothing.
    Answered(String),
    /// It could not answer.
    Failed {
        /// How.
        kind: FailureKind,
        /// Why, as the worker said it or as it was found out: one line.
        message: String,
        /// Whether the function had been started.
        started: bool,
    },
    /// The event is larger than a frame may be, so that the function cannot be shown it.
    TooLarge,
    /// There were too many calls already, and it was not taken.
    Dropped,
}

/// A worker for hooks: a program that is kept and speaks the protocol of the page `workers.md`. Equal ones are one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HookWorker {
    /// Where it is.
    pub reach: WorkerReach,
    /// What its program is made of, so that a changed one differs from the one that runs. Empty where that is unknown.
    pub content: String,
    /// When it is started.
    pub start: WorkerStart,
    /// Its bounds.
    pub bounds: HookWorkerBounds,
}

/// Where a worker for hooks is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WorkerReach {
    /// It is a program that we start, and end.
    Program {
        /// The program and its arguments.
        program: Program,
        /// Its environment.
        environment: Environment,
        /// Its working directory; the runtime's own when absent.
        working_directory: Option<PathBuf>,
    },
    /// It is another program, runs already, and listens on this Unix socket.
    Socket(PathBuf),
    /// It is another program, runs already, and has attached, or will: the hook in it has this number.
    Attached(u64),
}

/// When a worker for hooks is started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum WorkerStart {
    /// By its first call.
    #[default]
    OnUse,
    /// At once, and again whenever it ends.
    Ahead,
}

/// The bounds of a worker for hooks.
///
/// ```
/// use std::time::Duration;
///
/// use lineside_core::worker::HookWorkerBounds;
///
/// let bounds = HookWorkerBounds { idle: Some(Duration::from_secs(60)), ..HookWorkerBounds::default() };
/// assert!(bounds.in_flight > 0 && bounds.frame > 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HookWorkerBounds {
    /// From its start to its `hello`.
    pub hello: Duration,
    /// In which a call must be over once it was cancelled.
    pub cancel: Duration,
    /// From `shutdown` to its end.
    pub shutdown: Duration,
    /// A silence after which it is asked whether it is there.
    pub silence: Duration,
    /// In which it must answer that.
    pub pong: Duration,
    /// A time without calls after which it is ended, until the next call; `None` keeps it.
    pub idle: Option<Duration>,
    /// The largest line in either direction, in bytes.
    pub frame: usize,
    /// Calls that are with it at the same time, at most.
    pub in_flight: usize,
    /// Calls that wait beside those, at most; one more fails at once.
    pub queue: usize,
}

impl Default for HookWorkerBounds {
    /// 10 s for the start, which an interpreter on a busy machine may need; 1 s for a cancelled call and 2 s for the
    /// end, as for plugins; a question after 30 s of silence, and 10 s for its answer; ended after 10 min without
    /// calls; lines of 10 MiB, the limit of a hook's output; 64 calls at a time, and 256 that wait.
    fn default() -> Self {
        Self {
            hello: Duration::from_secs(10),
            cancel: Duration::from_secs(1),
            shutdown: Duration::from_secs(2),
            silence: Duration::from_secs(30),
            pong: Duration::from_secs(10),
            idle: Some(Duration::from_secs(600)),
            frame: 10 << 20,
            in_flight: 64,
            queue: 256,
        }
    }
}

/// One call of a hook in a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCall {
    /// The hook's name, for a worker that has several.
    pub hook: String,
    /// The event: one JSON value in one line.
    pub event: String,
    /// What a process inherits that the hook starts for this event.
    pub environment: Propagation,
    /// From when the call is due to the last byte of its answer, with the start of the worker, if it comes to that.
    pub timeout: Duration,
    /// The session at the root of the tree that the event is of: none of them takes all the room of a worker.
    pub tree: Option<SessionId>,
}

#[cfg(test)]
mod tests {
    use super::CallClass;

    #[test]
    fn each_class_of_calls_has_its_word_of_the_protocol() {
        let words = [CallClass::Modifying, CallClass::Sync, CallClass::Void].map(CallClass::as_str);
        assert_eq!(words, ["modifying", "sync", "void"]);
    }
}
