//! Durable runs: detached hooks whose runs are recorded, so that they continue in the next process.
//!
//! A bus has none unless something [takes runs over](crate::BackgroundRuns); otherwise they start at once, and begin and
//! end with the process. This is the interface between such a run and the bus; what is recorded, and where, is
//! decided in `lineside-automation`.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use lineside_core::{Failure, UntilOver};
use tokio_util::sync::CancellationToken;

use crate::base::caught::BoxFuture;

/// What an interceptor does with a run that it has taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// It runs for the event as soon as that is recorded.
    Runs,
    /// It holds the event, and perhaps others with it, until it is due.
    Holds,
}

/// How a durable run ended in this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It has answered, and the answer is delivered.
    Answered,
    /// It has failed for the last time.
    Failed(Failure),
    /// Its recorder has cancelled it.
    Cancelled,
    /// The session had no more time for it. It may run again.
    Left,
}

#[doc(hidden)]
pub mod sealed {
    /// Seals what only the crate that keeps jobs implements.
    pub trait Sealed {}
}

/// Records the attempts and the end of one run.
///
/// Sealed: `lineside-automation` implements it, and further functions may be added.
pub trait RunRecorder: sealed::Sealed + Send + Sync {
    /// The attempts that failed in earlier processes.
    fn earlier(&self) -> Vec<Failure>;

    /// Records that an attempt has failed and that the next one begins after `pause`.
    fn failed(&self, failure: &Failure, pause: Duration);

    /// Records that an attempt begins; resolves when that is recorded and the attempts before it have begun. A run
    /// that never reached its attempt does not count one.
    fn begins(&self) -> BoxFuture<UntilBegun>;

    /// What is held until everything has ended that the run has started. Its end is recorded before that.
    fn until_over(&self) -> Option<UntilOver> {
        None
    }

    /// Whether what is left of the run goes on in another life of the session. If it does not, a run that is cut
    /// short has failed, and is counted and signalled.
    fn is_kept(&self) -> bool;

    /// Records the end.
    fn ended(&self, ending: Ending);
}

/// A guard that is held until an attempt has begun: what it runs was started, or could not be. The next attempt begins
/// after that.
pub type UntilBegun = Box<dyn Any + Send>;

/// What a durable run is started with.
pub struct DurableRun {
    /// Its recorder.
    pub recorder: Arc<dyn RunRecorder>,
    /// Cancels the run when it resolves; it is dropped when the run is over.
    pub cancel: BoxFuture<()>,
    /// The result of taking it over.
    pub accepted: Accepted,
    /// The run that was started before it; it begins behind that one.
    pub behind: Option<Begun>,
}

/// Signals that a run has begun.
#[derive(Clone)]
pub struct Begun(pub(crate) CancellationToken);
