//! Workers: a program that is kept, and calls in it.
//!
//! A [`Worker`] starts the process, loads the plugins one after the other, keeps it alive, and carries calls to it and
//! their answers back (OC-59 to OC-81). A [`HookWorkerClient`] does the same with any program that speaks the protocol of the
//! page `workers.md`, whether we start it or it is there already. Both are supervised in one way; `profile` is the table
//! in which they differ. A [`LineWorker`] is asked nothing: it is given lines. None knows events and hooks: which functions there are, when they are called and what their
//! answers mean is the dialect's business.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use lineside_core::UntilOver;
use lineside_core::failure::FailureKind;
use lineside_core::invocation::{Environment, Invocation, Limits, Program};
use lineside_core::worker::{
    StartWorkerError, WorkerCall, WorkerEnded, WorkerReady, WorkerScript, WorkerSpec,
};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use self::calls::{Calls, Order, Ticket};
pub use self::client::{HookWorkerClient, WorkerSeat};
use self::frames::Reason;
use self::helped::CallerPolled;
pub use self::kits::{KITS, Kit};
pub use self::line_worker::LineWorker;
pub use self::lines::LineRoom;
pub use self::log::{LogLevel, LogSource, WorkerLog};
use self::log_sink::LogSink;
pub use self::log_sink::WorkerListener;
use self::profile::WorkerProfile;
pub use self::retired::RetiredWorker;
use self::supervisor::{FirstStart, Shared, Supervisor};
use self::transport::{Connect, Start};
use crate::background::Background;
use crate::containment::Containment;
use crate::running::after;

mod script;

mod ids;
mod frames;
mod lines;
mod transport;
mod connection;

mod log;
mod log_sink;

mod profile;
mod loading;

mod calls;

mod heartbeat;
mod restarts;
mod helped;
mod supervisor;
mod retired;

mod line_worker;

mod kits;
mod client;

/// What stands in a `call` frame before its body, at most.
const HEAD: usize = 64;

/// A process that is kept, with plugins in it.
///
/// Clones are the same worker. When the last one is dropped, the process group is killed; [`Worker::shutdown`] and
/// [`Worker::retire`] are the kind ways.
///
/// ```
/// use std::time::Duration;
///
/// use lineside_core::invocation::{Environment, Program};
/// use lineside_core::json::Map;
/// use lineside_core::worker::{WorkerBounds, WorkerScript, WorkerSpec};
/// use lineside_exec::{Worker, WorkerListener};
///
/// /// Says hello, and goodbye when its input ends or it is to stop.
/// const SCRIPT: WorkerScript = WorkerScript {
///     entry: "worker.sh",
///     files: &[("worker.sh", r#"
///         read -r hello
///         token=$(printf %s "$hello" | sed 's/.*"token":"\([^"]*\)".*/\1/')
///         printf '{"type":"hello","protocol":1,"token":"%s"}\n' "$token"
///         while read -r frame; do
///             case $frame in *'"type":"shutdown"'*) exit ;; esac
///         done
///     "#)],
/// };
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let second = Duration::from_secs(1);
/// let spec = WorkerSpec {
///     program: Program::argv(["/bin/sh"]),
///     environment: Environment::default(),
///     working_directory: None,
///     hello: Map::new(),
///     plugins: Vec::new(),
///     bounds: WorkerBounds {
///         hello: 10 * second,
///         load: 10 * second,
///         cancel: second,
///         shutdown: 10 * second,
///         frame: 1 << 20,
///         untold: 1024,
///     },
/// };
/// let (worker, ready) = Worker::start(spec, &SCRIPT, WorkerListener::default()).await;
/// assert_eq!(ready.unwrap().hello["protocol"], 1);
/// worker.shutdown().await;
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Worker {
    kept: Arc<Kept>,
}

#[derive(Debug)]
struct Kept {
    shared: Arc<Shared>,
    task: Background,
    /// What that does; absent before its start.
    helped: OnceLock<Arc<CallerPolled>>,
    frame: usize,
}

impl Drop for Kept {
    fn drop(&mut self) {
        if !self.shared.retired.load(Ordering::Acquire) {
            self.shared.hurry.cancel();
        }
        self.shared.stop.cancel();
    }
}

impl Worker {
    /// Starts a worker and loads its plugins, one after the other.
    ///
    /// Says how the start ended; after an error each call fails with [`FailureKind::Spawn`], and nothing is started
    /// any more. A plugin that ends the worker while it is loaded, or that cannot be stopped from loading, is refused,
    /// and the worker is started anew without it.
    /// The times are those of [`WorkerSpec::bounds`], by the clock of tokio.
    ///
    /// Cancel safe: dropping the future kills what was started.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O and time enabled.
    pub async fn start(
        spec: WorkerSpec,
        script: &WorkerScript,
        listener: WorkerListener,
    ) -> (Self, Result<WorkerReady, StartWorkerError>) {
        Self::start_contained(spec, script, listener, Containment::new()).await
    }

    /// The same, with what keeps its processes together.
    ///
    /// Cancel safe, as [`Worker::start`].
    ///
    /// # Panics
    ///
    /// As [`Worker::start`].
    pub async fn start_contained(
        spec: WorkerSpec,
        script: &WorkerScript,
        listener: WorkerListener,
        containment: Containment,
    ) -> (Self, Result<WorkerReady, StartWorkerError>) {
        let (first, started) = oneshot::channel();
        let (program, environment) = (spec.program.clone(), spec.environment.clone());
        let (directory, profile) = (spec.working_directory.clone(), WorkerProfile::of_plugins(spec));
        let kept = Kept::new(&profile);
        let worker = Self { kept: Arc::new(kept) };
        match script::write(script) {
            Ok(script) => {
                let mut argv = program.argv;
                argv.push(script.entry.clone().into());
                let program = Program { argv, without_interpreter: None };
                let start = Start {
                    invocation: kept_program(program, environment, directory),
                    containment,
                    _script: Some(script),
                };
                worker.kept.keep(profile, Box::new(start), LogSink::new(listener), Some(first));
            }
            Err(error) => {
                let why = format!("cannot write the script of the worker: {error}");
                worker.kept.shared.calls().end(supervisor::spawn(&why));
                return (worker, Err(StartWorkerError::Failed { why, hello: None }));
            }
        }
        let stopped = || StartWorkerError::Failed { why: "it was stopped".to_owned(), hello: None };
        let started = started.await.unwrap_or_else(|_| Err(stopped()));
        (worker, started)
    }

    /// Calls a function and says how that ended.
    ///
    /// The time of the call counts from here and covers waiting for a worker, a restart, writing, running and reading.
    /// When it is over the worker is notified, and ended if it does not respond.
    /// A call that was sent to a worker that ended before it started the function is sent once more.
    ///
    /// Dropping the future cancels the call: the worker is notified.
    pub async fn call(&self, call: WorkerCall) -> WorkerEnded {
        self.call_until(call, None).await
    }

    /// As [`call`](Self::call), and drops `until_over` when the call is over in the worker as well: one that was given up is
    /// over when the worker says so, or has been ended because it does not.
    pub async fn call_until(&self, call: WorkerCall, until_over: Option<UntilOver>) -> WorkerEnded {
        let until = after(Instant::now(), call.timeout);
        let body = frames::call_body(&call.handler.hook, call.class.as_str(), &call.event, &call.ctx);
        if body.len() + HEAD > self.kept.frame {
            return WorkerEnded::TooLarge;
        }
        let WorkerCall { handler, class, timeout, repeat, .. } = call;
        let handler = Some(handler);
        let order = Order { handler, class, body: body.into(), timeout, until, repeat, tree: None };
        self.kept.call(order, until_over).await
    }

    /// What was to be repeated after a restart no longer is, as after a call of
    /// [`Repeat::Ends`](lineside_core::worker::Repeat::Ends).
    pub fn forget_repeats(&self) {
        self.kept.shared.calls().forget_repeats();
    }

    /// Calls without an answer that were dropped because there were too many.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.kept.shared.calls().dropped()
    }

    /// Calls that were sent to the process and are not over.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.kept.shared.calls().under_way()
    }

    /// Lets go of the worker: it ends when no clone of it is left, and no call is refused because of that.
    #[must_use = "its end is to be waited for some time"]
    pub fn retire(self) -> RetiredWorker {
        RetiredWorker::of(&self.kept)
    }

    /// Lets the calls under way finish, ends the process and its group, and waits for that.
    ///
    /// Further calls fail with [`FailureKind::Closed`], and so does what is not finished in time.
    /// Takes [`WorkerBounds::shutdown`](lineside_core::worker::WorkerBounds::shutdown) and half a second at most.
    /// Cancel safe: the end goes on without a waiter, and can be awaited again.
    pub async fn shutdown(&self) {
        self.kept.shutdown().await;
    }
}

/// A program that is kept has no input, time and outputs of a run.
fn kept_program(
    program: Program,
    environment: Environment,
    working_directory: Option<PathBuf>,
) -> Invocation {
    Invocation {
        program,
        // Not written from here: it says that there is an input.
        stdin: vec![b'\n'],
        environment,
        files: Vec::new(),
        working_directory,
        limits: Limits::default(),
    }
}

impl Kept {
    fn new(profile: &WorkerProfile) -> Self {
        let shared = Arc::new(Shared::new(Calls::new(profile.room)));
        Self { shared, task: Background::new(), helped: OnceLock::new(), frame: profile.frame }
    }

    fn keep(&self, profile: WorkerProfile, connect: Box<dyn Connect>, log_sink: LogSink, first: FirstStart) {
        let shared = Arc::clone(&self.shared);
        let supervisor = Supervisor { shared, profile, connect, log_sink };
        let runtime = Handle::current();
        let (helped, task) = CallerPolled::new(supervisor.run(first), &runtime);
        // A worker is kept once.
        self.helped.set(helped).ok();
        self.task.start(task, &runtime);
    }

    /// Has a call made and says how that ended.
    async fn call(&self, order: Order, until_over: Option<UntilOver>) -> WorkerEnded {
        let (until, timeout) = (order.until, order.timeout);
        let shared = &self.shared;
        let added = shared.calls().add(order, until_over);
        match self.helped.get() {
            Some(helped) => helped.after(|| shared.wake.notify_one()),
            None => shared.wake.notify_one(),
        }
        let (ticket, answer) = match added {
            Ok(added) => added,
            Err(ended) => return ended,
        };
        let mut waiting = Waiting { shared, ticket: Some(ticket) };
        tokio::select! {
            biased;
            ended = answer => {
                waiting.ticket = None;
                ended.unwrap_or_else(|_| WorkerEnded::Failed {
                    kind: FailureKind::Closed,
                    message: "the worker is stopping".to_owned(),
                    started: false,
                })
            }
            () = sleep_until(until) => WorkerEnded::Failed {
                kind: FailureKind::Timeout,
                message: format!("timed out after {}ms", timeout.as_millis()),
                started: waiting.give_up(Reason::Timeout),
            },
        }
    }

    async fn shutdown(&self) {
        self.shared.stop.cancel();
        self.task.ended().await;
    }
}

/// A caller that waits.
struct Waiting<'a> {
    shared: &'a Shared,
    ticket: Option<Ticket>,
}

impl Waiting<'_> {
    fn give_up(&mut self, reason: Reason) -> bool {
        let Some(ticket) = self.ticket.take() else {
            return false;
        };
        let started = self.shared.calls().give_up(ticket, reason);
        self.shared.wake.notify_one();
        started
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.give_up(Reason::Gone);
    }
}
