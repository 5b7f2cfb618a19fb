//! Runs that are on record: hooks that nobody waits for, whose runs somebody takes over so that they are found again in
//! another life of the process.
//!
//! A bus has none unless an interceptor says that it [is kept](crate::Interceptor::kept_as); otherwise runs begin and end
//! with the process. Here is only what such a run needs of the bus and the bus of it; what is on record, and where, is
//! not known here; see `lineside-automation`.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lineside_core::Failure;
use tokio_util::sync::CancellationToken;

use crate::base::caught::BoxFuture;

/// What an interceptor that has taken over a run does with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// It runs for the event as soon as that is on record.
    Runs,
    /// It holds the event, and perhaps others with it, until it is due.
    Holds,
}

/// How a run that is on record is over, as far as this life of the process is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It has answered, and what it said is delivered.
    Answered,
    /// It has failed for the last time.
    Failed(Failure),
    /// Whoever has it on record has cancelled it.
    Cancelled,
    /// The session had no more time for it. It may run again.
    Left,
}

/// Has one run on record.
pub trait RunRecorder: Send + Sync {
    /// The attempts that failed in earlier lives.
    fn earlier(&self) -> Vec<Failure>;

    /// An attempt has failed, and there is another one after so long.
    fn failed(&self, failure: &Failure, pause: Duration);

    /// An attempt has its turn and is about to begin; resolves when that is on record and those that were about to begin
    /// before it have begun. One that never had its turn does not count.
    fn begins(&self) -> BoxFuture<UntilBegun>;

    /// It is over.
    fn ended(&self, ending: Ending);
}

/// Is held until an attempt has begun: what it runs was started, or could not be. The next one begins after that.
pub type UntilBegun = Box<dyn Any + Send>;

/// What a run that is on record is started with.
pub struct DurableRun {
    /// Where it is.
    pub recorder: Arc<dyn RunRecorder>,
    /// Cancels it.
    pub cancel: CancellationToken,
    /// What was said of it when it was taken over.
    pub accepted: Accepted,
    /// The run that was started before it; it begins behind that one.
    pub behind: Option<Begun>,
}

/// Tells when a run has begun.
#[derive(Clone)]
pub struct Begun(pub(crate) CancellationToken);

/// Something that a run is given when it is accepted.
pub(crate) type Attachment = Arc<Mutex<Option<Box<dyn Any + Send>>>>;

/// What a run was given, if it is of this type.
pub(crate) fn unpack<T: Any + Send>(attachment: &Attachment) -> Option<T> {
    let mut attachment = attachment.lock().unwrap_or_else(PoisonError::into_inner);
    match attachment.take()?.downcast() {
        Ok(this) => Some(*this),
        Err(other) => {
            *attachment = Some(other);
            None
        }
    }
}
