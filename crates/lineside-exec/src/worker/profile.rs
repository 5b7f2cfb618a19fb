//! How a worker is kept running: the settings in which plugin workers, hook workers, and hook workers of other programs
//! differ. The supervisor has this table, and no case of its own for any of them.

use std::time::Duration;

use lineside_core::json::Map;
use lineside_core::worker::{HookWorkerBounds, WorkerPlugin, WorkerSpec, WorkerStart};

use super::calls::Room;
use super::frames::{HOOKS, PLUGINS, Protocol};
use super::restarts::{ASKED_FOR, Patience, STARTED};

/// The settings of one kind of worker.
#[derive(Debug)]
pub(super) struct WorkerProfile {
    /// The version and field names of its frames.
    pub(super) protocol: &'static Protocol,
    /// Further fields of its `hello`.
    pub(super) hello: Map,
    /// What it loads, in this order.
    pub(super) plugins: Vec<WorkerPlugin>,
    /// For its `hello`.
    pub(super) greeting: Duration,
    /// For loading one plugin.
    pub(super) loading: Duration,
    /// In which it must say that a cancelled call is over.
    pub(super) cancel: Duration,
    /// From `shutdown` to its end.
    pub(super) shutdown: Duration,
    /// The largest frame in either direction, in bytes.
    pub(super) frame: usize,
    /// How many calls there may be.
    pub(super) room: Room,
    /// Whether it is asked for its health.
    pub(super) health: Option<Health>,
    /// A time without calls after which it is ended.
    pub(super) idle: Option<Duration>,
    /// When it is started.
    pub(super) start: WorkerStart,
    /// How patient one is when it ends.
    pub(super) patience: Patience,
    /// What becomes of calls while it is not there.
    pub(super) meanwhile: WhenDown,
    /// Whether any end of a call ends its cancellation as well, and no other call is sent until then: what was sent to
    /// a worker that turns out to be stuck cannot be saved.
    pub(super) waits_for_ends: bool,
}

/// When a worker that says nothing is asked whether it is there, and how long it may think about that.
#[derive(Debug, Clone, Copy)]
pub(super) struct Health {
    pub(super) silence: Duration,
    pub(super) pong: Duration,
}

/// What becomes of calls while a worker is not there and is about to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhenDown {
    /// They wait, in their time, whatever becomes of a start.
    Wait,
    /// They wait for a start, and fail with it.
    WaitForStart,
    /// They fail at once, but for those that have it asked for.
    Fail,
    /// They fail at once; it comes by itself.
    FailAlways,
}

impl WorkerProfile {
    /// With plugins (OC-60).
    pub(super) fn of_plugins(spec: WorkerSpec) -> Self {
        let WorkerSpec { hello, plugins, bounds, .. } = spec;
        Self {
            protocol: &PLUGINS,
            hello,
            plugins,
            greeting: bounds.hello,
            loading: bounds.load,
            cancel: bounds.cancel,
            shutdown: bounds.shutdown,
            frame: bounds.frame,
            room: Room { void: bounds.untold, in_flight: usize::MAX, queue: usize::MAX, resends: true },
            health: None,
            idle: None,
            start: WorkerStart::Ahead,
            patience: STARTED,
            meanwhile: WhenDown::Wait,
            waits_for_ends: false,
        }
    }

    /// With hooks, a program that we start.
    pub(super) fn of_hooks(bounds: HookWorkerBounds, start: WorkerStart) -> Self {
        Self {
            protocol: &HOOKS,
            hello: Map::new(),
            plugins: Vec::new(),
            greeting: bounds.hello,
            loading: Duration::ZERO,
            cancel: bounds.cancel,
            shutdown: bounds.shutdown,
            frame: bounds.frame,
            room: Room { void: usize::MAX, in_flight: bounds.in_flight, queue: bounds.queue, resends: false },
            health: Some(Health { silence: bounds.silence, pong: bounds.pong }),
            idle: bounds.idle.filter(|_| start == WorkerStart::OnUse),
            start,
            patience: STARTED,
            meanwhile: WhenDown::WaitForStart,
            waits_for_ends: true,
        }
    }

    /// With hooks, another program that listens.
    pub(super) fn external(bounds: HookWorkerBounds, start: WorkerStart) -> Self {
        let profile = Self::of_hooks(bounds, start);
        Self { patience: ASKED_FOR, meanwhile: WhenDown::Fail, ..profile }
    }

    /// With hooks, another program that connects to this one.
    pub(super) fn attached(bounds: HookWorkerBounds) -> Self {
        let profile = Self::external(bounds, WorkerStart::Ahead);
        Self { meanwhile: WhenDown::FailAlways, ..profile }
    }
}
