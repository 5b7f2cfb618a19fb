//! Where the records of the machine are kept: a port. What keeps them is somebody else's.

use std::future::ready;

use lineside_bus::interceptor::BoxFuture;

use crate::record::Entry;

/// What a record survives once it is acknowledged; the greater survives more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Durability {
    /// Nothing: it is in the memory of the process.
    #[default]
    Memory,
    /// The end of the process.
    Process,
    /// The loss of power.
    Disk,
}

/// Records are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// What they survive from now on.
    pub durability: Durability,
}

/// No record is kept any more, from now until everything is opened again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("records are not kept any more: {why}")]
pub struct Unavailable {
    /// What happened, for a person.
    pub why: String,
}

/// Keeps records, in the order in which they come.
pub trait Records: Send + Sync + 'static {
    /// Keeps these records: all of them or, if the process ends before the answer, perhaps none. It is called again
    /// only when it has answered.
    ///
    /// # Errors
    /// They are not kept, or nobody knows; nothing is accepted any more then.
    fn append(&self, records: Vec<Entry>) -> BoxFuture<Result<Acknowledged, Unavailable>>;
}

/// Keeps nothing: what was accepted is lost with the process, and the acknowledgement says so.
#[derive(Debug, Clone, Copy, Default)]
pub struct InMemory;

impl Records for InMemory {
    fn append(&self, _records: Vec<Entry>) -> BoxFuture<Result<Acknowledged, Unavailable>> {
        Box::pin(ready(Ok(Acknowledged::default())))
    }
}
