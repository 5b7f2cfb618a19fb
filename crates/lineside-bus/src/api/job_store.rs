//! Jobs from before this bus: their store is notified when a session is opened and when the bus ends.

use std::sync::{Arc, OnceLock};

use lineside_core::SessionId;

use crate::api::bus::Bus;
use crate::base::caught::BoxFuture;
use crate::hook::durable_run::sealed::Sealed;
use crate::hook::interceptor::BackgroundRuns;
use crate::hook::state::Shared;

/// Has jobs that outlive their session.
///
/// Sealed: `lineside-automation` implements it, and further functions may be added.
pub trait JobStore: Sealed + Send + Sync + 'static {
    /// Called when a session is opened. Returns a stand-in for its earlier jobs, if there are any: the bus releases,
    /// settles and cuts it like a hook that has taken events of the session.
    fn opened(&self, session: &SessionId) -> Option<Arc<dyn BackgroundRuns>>;

    /// Called when the bus is about to end: no further event will come. Jobs without time from now on are left to the
    /// next process where they are recorded, and are lost otherwise.
    fn bus_ends(&self);

    /// Waits until every job is settled that settles by itself. Cancel safe.
    fn rested(&self) -> BoxFuture<()>;

    /// Called when the bus has ended: jobs that are not settled have no more time. Returns the counts when they are
    /// recorded, or when it is clear that they will not be.
    fn bus_ended(&self) -> BoxFuture<JobCounts>;
}

/// The number of jobs by their fate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// Settled jobs: done, dead, or cancelled.
    pub finished: u64,
    /// Jobs that still ran when there was no more time. They are among those that are kept or lost, unless they ended in
    /// that moment.
    pub running: usize,
    /// Unsettled jobs that the next process continues.
    pub kept: usize,
    /// Unsettled jobs without a record.
    pub lost: usize,
    /// Dead letters that were thrown away, the oldest first, because there were more than there may be.
    pub forgotten: u64,
}

impl Bus {
    /// Sets the store that is notified of every session that is opened. `false` when there is one already.
    #[must_use = "there can be only one"]
    pub fn set_job_store(&self, job_store: Arc<dyn JobStore>) -> bool {
        self.extension(Kept::default).0.set(job_store).is_ok()
    }
}

/// The store of jobs from before this bus.
#[derive(Default)]
struct Kept(OnceLock<Arc<dyn JobStore>>);

impl Shared {
    /// The store of jobs from before this bus.
    pub(crate) fn job_store(&self) -> Option<Arc<dyn JobStore>> {
        self.extensions.get::<Kept>()?.0.get().cloned()
    }
}
