//! Work that was there before the bus: who has it says so when a session is opened, and when the bus comes to its end.

use std::sync::{Arc, OnceLock};

use lineside_core::SessionId;

use crate::api::bus::Bus;
use crate::base::caught::BoxFuture;
use crate::hook::interceptor::Interceptor;
use crate::hook::state::Shared;

/// Has work for sessions that outlives them.
pub trait JobStore: Send + Sync + 'static {
    /// A session has been opened. If there is work for it from before, gives what stands for that: it is released,
    /// settled and cut like a hook that has taken events of the session.
    fn opened(&self, session: &SessionId) -> Option<Arc<dyn Interceptor>>;

    /// The bus is about to end, and no further event will come. What has no more time from now on is left to the next
    /// life where something keeps it, and is lost otherwise.
    fn bus_ends(&self);

    /// Waits until everything has come to rest that does so by itself. Cancel safe.
    fn rested(&self) -> BoxFuture<()>;

    /// The bus has ended: what has not come to rest has no more time. Gives what has become of all jobs when that is on
    /// record, or when it is clear that it will not be.
    fn bus_ended(&self) -> BoxFuture<JobCounts>;
}

/// What has become of jobs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// Jobs that have come to rest: done, dead, or cancelled.
    pub finished: u64,
    /// Jobs that still ran when there was no more time. They are among those that are kept or lost, unless they ended in
    /// that moment.
    pub running: usize,
    /// Jobs that have not come to rest and that the next life goes on with.
    pub kept: usize,
    /// Jobs that have not come to rest and that nothing keeps.
    pub lost: usize,
    /// Dead letters that were thrown away, the oldest first, because there were more than there may be.
    pub forgotten: u64,
}

impl Bus {
    /// From now on, this is told of every session that is opened. `false` when there is one already.
    #[must_use = "there can be only one"]
    pub fn set_job_store(&self, job_store: Arc<dyn JobStore>) -> bool {
        self.extension(Kept::default).0.set(job_store).is_ok()
    }
}

/// Who has work that was there before the bus.
#[derive(Default)]
struct Kept(OnceLock<Arc<dyn JobStore>>);

impl Shared {
    /// Who has work that was there before the bus.
    pub(crate) fn job_store(&self) -> Option<Arc<dyn JobStore>> {
        self.extensions.get::<Kept>()?.0.get().cloned()
    }
}
