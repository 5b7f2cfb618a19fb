//! Workers for hooks: a program that speaks lines of JSON, and calls of the hooks that it has.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use lineside_core::UntilOver;
use lineside_core::failure::FailureKind;
use lineside_core::worker::{
    CallClass, HookCall, HookWorker, HookWorkerBounds, Repeat, WorkerEnded, WorkerReach,
};
use lineside_stream::Stream;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::calls::Order;
use super::frames;
use super::lines::LineRoom;
use super::log_sink::{LogSink, WorkerListener};
use super::profile::WorkerProfile;
use super::transport::{Await, Come, Connect, Dial, Start};
use super::{Kept, RetiredWorker, kept_program};
use crate::containment::Containment;
use crate::running::after;

/// What stands in a `call` frame before its body, at most.
const HEAD: usize = 96;

/// Calls hooks in a program that is kept running.
///
/// Clones are the same worker. When the last one is dropped, a program of ours is killed with its whole process tree,
/// and a connection is closed; [`HookWorkerClient::shutdown`] and [`HookWorkerClient::retire`] are the kind ways.
#[derive(Debug, Clone)]
pub struct HookWorkerClient {
    kept: Arc<Kept>,
}

/// The place for a worker that connects to this process: the listener hands its connection over here.
#[derive(Debug, Clone)]
pub struct WorkerSeat(mpsc::Sender<Come>);

impl WorkerSeat {
    /// Uses this connection for the worker when its present one is closed. The peer is trusted: the caller
    /// authenticates it first.
    ///
    /// Gives the connection back when there is one already that waits for its turn, or when the worker has been shut
    /// down.
    ///
    /// # Errors
    /// The connection.
    pub fn connect(&self, stream: Stream) -> Result<(), Stream> {
        self.come(Come { stream, begun: Vec::new(), room: None })
    }

    /// The same with what was read from the connection already, and the room for what the worker has begun to write and has
    /// not ended; that is held for as long as the connection is there.
    ///
    /// # Errors
    /// The connection.
    pub fn connect_within(
        &self,
        stream: Stream,
        begun: Vec<u8>,
        room: Box<dyn LineRoom>,
    ) -> Result<(), Stream> {
        self.come(Come { stream, begun, room: Some(room) })
    }

    fn come(&self, come: Come) -> Result<(), Stream> {
        self.0.try_send(come).map_err(|error| match error {
            mpsc::error::TrySendError::Full(come) | mpsc::error::TrySendError::Closed(come) => come.stream,
        })
    }
}

impl HookWorkerClient {
    /// A worker, which is started now or by its first call, as it says.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O and time enabled.
    #[must_use]
    pub fn new(worker: HookWorker, listener: WorkerListener, containment: Containment) -> Self {
        let HookWorker { reach, start, bounds, content: _ } = worker;
        match reach {
            WorkerReach::Program { program, environment, working_directory } => {
                let invocation = kept_program(program, environment, working_directory);
                let profile = WorkerProfile::of_hooks(bounds, start);
                Self::keep(profile, Box::new(Start { invocation, containment, _script: None }), listener)
            }
            WorkerReach::Socket(path) => {
                Self::keep(WorkerProfile::external(bounds, start), Box::new(Dial(path)), listener)
            }
            // There is no seat through which it could connect.
            WorkerReach::Attached(_) => Self::seated(bounds, listener).0,
        }
    }

    /// A worker that comes to us. While it is not there, each call fails at once with [`FailureKind::Closed`].
    ///
    /// # Panics
    ///
    /// As [`HookWorkerClient::new`].
    #[must_use]
    pub fn seated(bounds: HookWorkerBounds, listener: WorkerListener) -> (Self, WorkerSeat) {
        let (seat, come) = mpsc::channel(1);
        (Self::keep(WorkerProfile::attached(bounds), Box::new(Await(come)), listener), WorkerSeat(seat))
    }

    fn keep(profile: WorkerProfile, connect: Box<dyn Connect>, listener: WorkerListener) -> Self {
        let kept = Arc::new(Kept::new(&profile));
        kept.keep(profile, connect, LogSink::new(listener), None);
        Self { kept }
    }

    /// Calls a hook and says how that ended: [`WorkerEnded::Answered`], or why not.
    ///
    /// The time of the call counts from here and covers waiting in the queue, the start of the worker, writing, running
    /// and reading. When it is over the worker is notified, and its process tree is ended if the call does not end in
    /// the time that it has for that. Then each call that was sent to it fails, and those that were not sent go to the
    /// next one. A call that finds the queue full, or its tree of sessions with
    /// as much of it as one may have, is [`WorkerEnded::Dropped`].
    ///
    /// Dropping the future cancels the call: the worker is notified.
    pub async fn call(&self, call: HookCall) -> WorkerEnded {
        self.call_until(call, None).await
    }

    /// As [`call`](Self::call), and drops `until_over` when the call is over in the worker as well: one that was given up is
    /// over when the worker says so, or when its processes have ended, or its connection, because it does not.
    pub async fn call_until(&self, call: HookCall, until_over: Option<UntilOver>) -> WorkerEnded {
        let until = after(Instant::now(), call.timeout);
        let HookCall { hook, event, environment, timeout, tree } = call;
        if event.trim_end().contains(['\n', '\r']) {
            return WorkerEnded::Failed {
                kind: FailureKind::Error,
                message: "the event is not in one line".to_owned(),
                started: false,
            };
        }
        let body = frames::hook_body(&hook, &event, &environment);
        if body.len() + HEAD > self.kept.frame {
            return WorkerEnded::TooLarge;
        }
        let (class, repeat) = (CallClass::Modifying, Repeat::No);
        let tree = tree.map(|tree| BuildHasherDefault::<DefaultHasher>::default().hash_one(tree.as_str()));
        let order = Order { handler: None, class, body: body.into(), timeout, until, repeat, tree };
        self.kept.call(order, until_over).await
    }

    /// Has the worker know that a hook is asked no more, so that it can let go of what that holds.
    ///
    /// A worker that is not there does not hear of it, nor one that has left 4,096 of these unread.
    pub fn release(&self, hook: &str) {
        if self.is_there() {
            self.kept.shared.calls().release(hook.to_owned());
            self.kept.shared.wake.notify_one();
        }
    }

    /// Whether it is there: started, or come, and its first frame read. It may be gone the next moment.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.kept.shared.is_there()
    }

    /// Waits until it is there. Cancel safe.
    pub async fn connected(&self) {
        self.kept.shared.connected().await;
    }

    /// Calls that were sent to the worker and are not over.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.kept.shared.calls().under_way()
    }

    /// Calls that were not taken because the queue was full.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.kept.shared.calls().dropped()
    }

    /// Lets go of the worker: it ends when no clone of it is left, and no call is refused because of that.
    #[must_use = "its end is to be waited for some time"]
    pub fn retire(self) -> RetiredWorker {
        RetiredWorker::of(&self.kept)
    }

    /// Lets the calls under way finish, ends the worker and its process tree, and waits for that.
    ///
    /// Further calls fail with [`FailureKind::Closed`], and so does what is not finished in time.
    /// Takes [`HookWorkerBounds::shutdown`] and half a second at most.
    /// Cancel safe: the end goes on without a waiter, and can be awaited again.
    pub async fn shutdown(&self) {
        self.kept.shutdown().await;
    }
}
