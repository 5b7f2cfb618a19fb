//! Work that was there before the bus: who has it says so when a session is opened, and when the bus comes to its end.

use std::sync::Arc;

use lineside_core::SessionId;

use crate::bus::Bus;
use crate::interceptor::Interceptor;

/// Has work for sessions that outlives them.
pub trait Keeper: Send + Sync + 'static {
    /// A session has been opened. If there is work for it from before, gives what stands for that: it is released,
    /// settled and cut like a hook that has taken events of the session.
    fn opened(&self, session: &SessionId) -> Option<Arc<dyn Interceptor>>;

    /// What has become of its jobs up to now.
    fn jobs(&self) -> JobCounts;
}

/// What has become of jobs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// Jobs that have come to rest: done, dead, or cancelled.
    pub finished: u64,
    /// Jobs that run.
    pub running: usize,
    /// Jobs that have not come to rest, the running ones among them, and that the next life goes on with.
    pub kept: usize,
    /// Jobs that have not come to rest, the running ones among them, and that end with the process.
    pub lost: usize,
}

impl Bus {
    /// From now on, this is told of every session that is opened. `false` when there is one already.
    #[must_use = "there can be only one"]
    pub fn keep_with(&self, keeper: Arc<dyn Keeper>) -> bool {
        self.shared.keeper.set(keeper).is_ok()
    }
}
